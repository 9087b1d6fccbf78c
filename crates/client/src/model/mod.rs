//! Letting a model do a task: its context goes out, what it says comes back as the result.
//!
//! ```text
//!   a task that was claimed ──▶ context.build ──▶ POST …/chat/completions ──▶ task.complete
//!                                                              result, usage and lineage of it
//! ```
//!
//! Any endpoint will do that speaks the protocol of `OpenAI` chat completions.
//!
//! 1. The task is completed with what the model said, what that cost and what it was told: the
//!    sections of the context, how many tokens they had, and what was left out.
//! 2. If the model cannot be asked, or answers otherwise than it should, the task is failed with
//!    the reason, so that it is tried again as its author has said.
//! 3. The key of the endpoint goes to the endpoint and nowhere else: where the address begins with
//!    `https://`, to whom a trusted authority calls by that name.
//! 4. One call is made, it has a deadline, and what is read of the answer is bounded.
//!
//! Deliberately absent: tools, streaming and conversations, which are for a framework to bring.

mod completion;
mod endpoint;

use baton_core::Token;
use baton_core::context::Context;
use baton_core::task::Task;
use baton_handle::{Carrier, Failure, Workspace};
use baton_tls::TlsError;
use serde_json::json;
use thiserror::Error;

pub use completion::Completion;
pub use endpoint::Endpoint;

/// What the model is told besides the context.
const INSTRUCTIONS: &str = "You are one of several agents. Do the task that the user message \
describes, and answer with the result alone.";

/// Why a model gave nothing.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The endpoint cannot be used.
    #[error("the endpoint `{url}` cannot be used: {reason}")]
    Endpoint {
        /// Where it should be.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It could not be asked.
    #[error("the model could not be asked: {reason}")]
    Unreachable {
        /// What went wrong.
        reason: String,
    },
    /// It could not be asked safely: nobody who is trusted vouches for it, or it speaks no TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// It refused.
    #[error("the endpoint answered with status {status}: {detail}")]
    Refused {
        /// The status.
        status: u16,
        /// What it said, cut to a readable length.
        detail: String,
    },
    /// It answered otherwise than it should.
    #[error("the endpoint answered otherwise than it should: {reason}")]
    Odd {
        /// What is wrong with the answer.
        reason: String,
    },
}

/// Why a task could not be run.
#[derive(Debug, Error)]
pub enum RunError<E: std::error::Error> {
    /// Baton said no, or could not be reached.
    #[error(transparent)]
    Baton(E),
    /// The model gave nothing. The task was failed with this reason.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Lets a model do a task that was claimed under a token, and completes the task with what it said.
/// `instructions` stand before the context; there are usual ones.
pub async fn run_with_context<C: Carrier>(
    workspace: &Workspace<C>,
    task: &str,
    token: Token,
    endpoint: &Endpoint,
    instructions: Option<&str>,
    token_budget: Option<u64>,
) -> Result<Task, RunError<C::Error>> {
    let mut building = workspace.context().task(task);
    if let Some(tokens) = token_budget {
        building = building.token_budget(tokens);
    }
    let context = building.await.map_err(RunError::Baton)?;
    let asked =
        completion::ask(endpoint, instructions.unwrap_or(INSTRUCTIONS), &context.text).await;
    let tasks = workspace.tasks();
    match asked {
        Ok(completion) => {
            let done = tasks.complete(task, token).result(result(&completion, &context)).await;
            done.map(|done| done.task).map_err(RunError::Baton)
        }
        Err(error) => {
            let failed = tasks.fail(task, token, error.to_string()).await;
            // If not even that can be told, the lease ends by itself; what the model did not say
            // matters more.
            let _ = failed.map_err(|failure| failure.is_unknown());
            Err(error.into())
        }
    }
}

/// What the task is completed with.
fn result(completion: &Completion, context: &Context) -> serde_json::Value {
    let sections = context.sections.iter().map(
        |section| json!({"name": section.name, "items": section.items, "tokens": section.tokens}),
    );
    json!({
        "text": completion.text,
        "model": completion.model,
        "usage": completion.usage,
        "lineage": {
            "context_tokens": context.tokens,
            "sections": sections.collect::<Vec<_>>(),
            "left_out": context.left_out,
        },
    })
}

//! Runs a task with a model: sends its context, and stores the completion as the result.
//!
//! ```text
//!   a task that was claimed ──▶ context.build ──▶ POST …/chat/completions ──▶ task.complete
//!                                                              result, usage and lineage of it
//! ```
//!
//! The endpoint needs the protocol of `OpenAI` chat completions.
//!
//! 1. The result of the task has the completion, its usage and its lineage: the sections of the
//!    context, their sizes in tokens, and what was left out.
//! 2. If the model cannot be called, or its response is not valid, the task fails with the reason
//!    and is retried as it was configured.
//! 3. The API key is sent to the endpoint only; for `https://`, after its certificate was verified.
//! 4. One call is made. It has a time limit, and the size of the response is bounded.
//!
//! Deliberately absent: tools, streaming and conversations, which belong to a framework.

mod completion;
mod endpoint;

use baton_core::Token;
use baton_core::context::Context;
use baton_core::task::Task;
use baton_tls::TlsError;
use serde_json::json;
use thiserror::Error;

use crate::{Error as BatonError, Workspace};

pub use completion::Completion;
pub use endpoint::Endpoint;

/// The default instructions before the context.
const INSTRUCTIONS: &str = "You are one of several agents. Do the task that the user message \
describes, and answer with the result alone.";

/// Why there is no completion.
#[derive(Debug, Error)]
pub enum ModelError {
    /// The endpoint cannot be used.
    #[error("the endpoint `{url}` cannot be used: {reason}")]
    Endpoint {
        /// The endpoint.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The model could not be called.
    #[error("the model could not be asked: {reason}")]
    Unreachable {
        /// The error, in words.
        reason: String,
    },
    /// The endpoint could not be authenticated.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The endpoint reported an error.
    #[error("the endpoint answered with status {status}: {detail}")]
    Refused {
        /// The status.
        status: u16,
        /// The response, truncated.
        detail: String,
    },
    /// The response is not valid.
    #[error("the endpoint answered otherwise than it should: {reason}")]
    Odd {
        /// The reason.
        reason: String,
    },
}

/// Why a task could not be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// Baton refused a call, or could not be reached.
    #[error(transparent)]
    Baton(#[from] BatonError),
    /// There is no completion. The task failed with this reason.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Runs a task that was claimed under a token, and completes it with the completion of the model.
/// `instructions` precede the context; there are default ones.
pub async fn run_with_context(
    workspace: &Workspace,
    task: &str,
    token: Token,
    endpoint: &Endpoint,
    instructions: Option<&str>,
    token_budget: Option<u64>,
) -> Result<Task, RunError> {
    let mut building = workspace.context().task(task);
    if let Some(tokens) = token_budget {
        building = building.token_budget(tokens);
    }
    let context = building.await?;
    let asked =
        completion::ask(endpoint, instructions.unwrap_or(INSTRUCTIONS), &context.text).await;
    let tasks = workspace.tasks();
    match asked {
        Ok(completion) => {
            let done = tasks.complete(task, token).result(result(&completion, &context)).await;
            Ok(done?.task)
        }
        Err(error) => {
            let failed = tasks.fail(task, token, error.to_string()).await;
            // If this fails too, the lease expires; the error of the model matters more.
            let _ = failed.map_err(|failure| failure.is_unknown());
            Err(error.into())
        }
    }
}

/// The result of the task.
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

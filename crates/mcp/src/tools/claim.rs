//! `baton_claim`: a task, and its context.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{bad, given};
use crate::reference::task_id;
use crate::view;

/// The default lease: a model thinks longer between two reports than a program.
const LEASE_MS: u64 = 900_000;
/// How long a call waits at most: many clients give up after a minute.
const WAIT_MS_MAX: u64 = 50_000;
/// The size of the context, in tokens as Baton counts them.
const CONTEXT_TOKENS: u64 = 500;

/// The hint if there is no task.
const NOTHING: &str = "No task is ready that you can claim. Claim with wait_ms to wait for one, or \
with capabilities if ready_tasks of baton_brief list any that you have. Blocked tasks: \
baton_search kind:task status:pending.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    task: Option<String>,
    types: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    lease_ms: Option<u64>,
    wait_ms: Option<u64>,
}

/// How long a call waits. A longer time is refused: a model that waits for it would be wrong about
/// what the end of the wait means.
pub(super) fn wait(wait_ms: Option<u64>) -> Result<Option<u64>, Problem> {
    match wait_ms {
        Some(wait_ms) if wait_ms > WAIT_MS_MAX => {
            Err(bad("wait_ms", "a call waits for at most 50000; call again to wait longer"))
        }
        wait_ms => Ok(wait_ms),
    }
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let Arguments { task, types, capabilities, lease_ms, wait_ms } = call.read()?;
    let wait_ms = wait(wait_ms)?;
    let task = match task {
        Some(name) => Some(task_id(call.workspace, &name).await?),
        None => None,
    };
    let claimed = call.perform(
        "task.claim",
        given(json!({
            "task": task,
            "types": types,
            "capabilities": capabilities,
            "lease_ms": lease_ms.unwrap_or(LEASE_MS),
            "wait_ms": wait_ms,
        })),
    );
    let claimed = claimed.await?;
    let Some(id) = claimed["id"].as_str() else {
        return Ok(json!({"task": null, "next": NOTHING}));
    };
    let fields = json!({"task": id, "token_budget": CONTEXT_TOKENS});
    // The task is claimed: a context that cannot be built must not hide that.
    let context = call.perform("context.build", given(fields)).await.unwrap_or_default();
    Ok(json!({
        "task": view::task(&claimed, call.agent(), call.detail),
        "context": context["text"],
        "next": "Report with baton_report and this token before lease_ends.",
    }))
}

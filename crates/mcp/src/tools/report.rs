//! `baton_report`: progress and outcome of a task, and the decision of a review.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{bad, given, missing};
use crate::reference::task_id;
use crate::view;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    task: String,
    token: Option<u64>,
    status: Status,
    fraction: Option<f64>,
    note: Option<String>,
    result: Option<Value>,
    error: Option<Value>,
    retryable: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Progress,
    Done,
    Failed,
    Blocked,
    Retry,
    Complete,
    Fail,
}

impl Arguments {
    /// Refuses what would get lost: most outcomes have no place for all of these.
    fn check(&self) -> Result<(), Problem> {
        let Self { note, result, error, .. } = self;
        let (result, error) = (result.is_some(), error.is_some());
        let refused = match self.status {
            Status::Done if note.is_some() && result => {
                Some(("note", "with done it is the result: put it into result instead"))
            }
            Status::Failed if note.is_some() && error => {
                Some(("note", "with failed it is the error: put it into error instead"))
            }
            Status::Progress | Status::Blocked | Status::Failed if result => {
                Some(("result", "only done and the decision of a review have one: use note"))
            }
            Status::Failed => None,
            _ if error => Some(("error", "only failed has one: use note")),
            _ => None,
        };
        refused.map_or(Ok(()), |(argument, reason)| Err(bad(argument, reason)))
    }
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let arguments: Arguments = call.read()?;
    let task = task_id(call.workspace, &arguments.task).await?;
    arguments.check()?;
    let token = || arguments.token.ok_or_else(|| missing("token"));
    let note = arguments.note.as_deref();
    let (operation, fields) = match arguments.status {
        Status::Progress => {
            let fraction = match arguments.fraction {
                Some(fraction) => json!(fraction),
                None => known_fraction(call, &task).await?,
            };
            let token = token()?;
            let fields = json!({"task": task, "token": token, "fraction": fraction, "note": note});
            ("task.progress", fields)
        }
        Status::Done => {
            let result = arguments.result.clone().or_else(|| note.map(Value::from));
            ("task.complete", json!({"task": task, "token": token()?, "result": result}))
        }
        Status::Failed => {
            let error = arguments.error.clone().or_else(|| note.map(Value::from));
            let (error, retryable) = (error.unwrap_or(json!("failed")), arguments.retryable);
            let token = token()?;
            let fields =
                json!({"task": task, "token": token, "error": error, "retryable": retryable});
            ("task.fail", fields)
        }
        Status::Blocked => {
            ("task.release", json!({"task": task, "token": token()?, "reason": note}))
        }
        Status::Retry | Status::Complete | Status::Fail => {
            let verdict = match arguments.status {
                Status::Retry => "retry",
                Status::Complete => "complete",
                _ => "fail",
            };
            let result = &arguments.result;
            let fields = json!({"task": task, "verdict": verdict, "note": note, "result": result});
            ("task.review", fields)
        }
    };
    let answer = call.perform(operation, given(fields)).await?;
    // The reply to a completed task also has room for the next one.
    let task = if answer["task"].is_object() { &answer["task"] } else { &answer };
    Ok(json!({"task": brief(&view::task(task, call.agent(), call.detail))}))
}

/// Reporting a note alone does not move the progress.
async fn known_fraction(call: &Call<'_>, task: &str) -> Result<Value, Problem> {
    let task = call.perform("task.get", given(json!({"task": task}))).await?;
    let fraction = &task["progress"]["fraction"];
    Ok(if fraction.is_number() { fraction.clone() } else { json!(0) })
}

/// The changes. The agent knows what it has written itself.
fn brief(task: &Value) -> Value {
    let names = ["id", "type", "status", "holder", "token", "lease_ends", "warnings"];
    let members = names.iter().filter(|name| !task[**name].is_null());
    members.map(|name| ((*name).to_owned(), task[*name].clone())).collect()
}

//! `baton_checkpoint`: the state of a task, from which it can be continued later or by another
//! agent.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{given, missing};
use crate::reference::{long, task_id};
use crate::view::{CHECKPOINT, Detail};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    task: Option<String>,
    checkpoint: Option<String>,
    state: Option<Value>,
    description: Option<String>,
    label: Option<String>,
    token: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Save,
    Restore,
    Fork,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let arguments: Arguments = call.read()?;
    let task = match &arguments.task {
        Some(name) => Some(task_id(call.workspace, name).await?),
        None => None,
    };
    let checkpoint = || {
        let name = arguments.checkpoint.as_deref().ok_or_else(|| missing("checkpoint"))?;
        Ok::<_, Problem>(long(name))
    };
    let token = arguments.token;
    let (operation, fields) = match arguments.action {
        Action::Save => {
            let task = task.ok_or_else(|| missing("task"))?;
            let state = arguments.state.clone().ok_or_else(|| missing("state"))?;
            let (description, label) = (&arguments.description, &arguments.label);
            let fields = json!({
                "task": task, "state": state, "description": description, "label": label,
                "token": token,
            });
            ("checkpoint.save", fields)
        }
        Action::Restore => {
            ("checkpoint.restore", json!({"checkpoint": checkpoint()?, "token": token}))
        }
        Action::Fork => {
            let task = task.ok_or_else(|| missing("task"))?;
            let fields = json!({"checkpoint": checkpoint()?, "task": task, "token": token});
            ("checkpoint.fork", fields)
        }
    };
    let saved = call.perform(operation, given(fields)).await?;
    let mut shown = CHECKPOINT.of(&saved, Detail::Concise);
    if operation == "checkpoint.save" {
        // The agent has just written it.
        shown.remove(crate::view::UNTRUSTED);
    }
    Ok(json!({"checkpoint": shown}))
}

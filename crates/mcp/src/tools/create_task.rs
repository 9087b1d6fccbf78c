//! `baton_create_task`: one task or several, all or none.

use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Call;
use crate::operation::{Object, bad, given, perform_all};
use crate::reference::{short, task_id};

/// How many tasks can be created at once.
const TASKS_MAX: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    tasks: Vec<Value>,
    /// The answer is a task of the protocol, if the client knows such.
    #[serde(default)]
    wait: bool,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let Arguments { tasks, wait } = call.read()?;
    if wait && tasks.len() != 1 {
        return Err(bad("wait", "create one task to wait for it"));
    }
    if tasks.is_empty() || tasks.len() > TASKS_MAX {
        return Err(bad("tasks", "it must have 1 to 50 tasks"));
    }
    let own: Vec<String> =
        tasks.iter().filter_map(|task| task["id"].as_str().map(str::to_owned)).collect();
    let mut wanted = Vec::new();
    for task in tasks {
        if !task.is_object() {
            return Err(bad("tasks", "each task is an object with a type"));
        }
        wanted.push(resolved(call, given(task), &own).await?);
    }
    let created = if wanted.len() == 1 {
        let one = wanted.remove(0);
        Value::from(vec![call.perform("task.create", one).await?])
    } else {
        perform_all(call.workspace, "task.create", wanted).await?
    };
    let created = created.as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = created.iter().map(|task| {
        let id = short(task["id"].as_str().unwrap_or_default());
        let mut shown = json!({"id": id, "type": task["type"], "status": task["status"]});
        if task["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty()) {
            shown["warnings"] = task["warnings"].clone();
        }
        shown
    });
    Ok(json!({"created": shown.collect::<Vec<_>>()}))
}

/// The fields with ids instead of short names. Tasks that are created together name each other by
/// their own ids.
async fn resolved(call: &Call<'_>, mut fields: Object, own: &[String]) -> Result<Object, Problem> {
    let resolve = async |name: &str| {
        if own.iter().any(|id| id == name) {
            return Ok(name.to_owned());
        }
        task_id(call.workspace, name).await
    };
    if let Some(Value::String(parent)) = fields.get_mut("parent") {
        *parent = resolve(parent).await?;
    }
    if let Some(Value::Array(names)) = fields.get_mut("depends_on") {
        for name in names {
            if let Value::String(name) = name {
                *name = resolve(name).await?;
            }
        }
    }
    Ok(fields)
}

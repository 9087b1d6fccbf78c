//! A task of Baton as a task of the protocol.

use baton_core::task::{Status, Task};
use serde_json::{Map, Value, json};

use crate::message::{Message, Part};
use crate::transfer::TRANSFER_CONTEXT;

/// The name of the artifact that has the result.
pub(crate) const RESULT: &str = "result";
/// The member of a task's metadata that this protocol uses.
pub(crate) const MEMBER: &str = "a2a";
/// The member of a task's metadata with a question of its worker.
pub(crate) const QUESTION: &str = "question";

pub(crate) const SUBMITTED: &str = "TASK_STATE_SUBMITTED";
pub(crate) const WORKING: &str = "TASK_STATE_WORKING";
pub(crate) const INPUT_REQUIRED: &str = "TASK_STATE_INPUT_REQUIRED";
pub(crate) const COMPLETED: &str = "TASK_STATE_COMPLETED";
pub(crate) const FAILED: &str = "TASK_STATE_FAILED";
pub(crate) const CANCELED: &str = "TASK_STATE_CANCELED";

/// Every state of the protocol.
pub(crate) const STATES: [&str; 8] = [
    SUBMITTED,
    WORKING,
    INPUT_REQUIRED,
    COMPLETED,
    FAILED,
    CANCELED,
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
];

/// Whether a task in this state has ended.
pub(crate) fn has_ended(state: &str) -> bool {
    matches!(state, COMPLETED | FAILED | CANCELED)
}

/// The conversation of a task: its group, or the task alone.
pub(crate) fn context_of(task: &Task) -> &str {
    task.group.as_ref().map_or(task.id.as_str(), |group| group.as_str())
}

/// The metadata of a task as an object.
pub(crate) fn metadata_of(task: &Task) -> Value {
    task.metadata.as_ref().map_or(Value::Null, baton_core::Json::to_value)
}

/// The question of the worker, if it asks one.
pub(crate) fn question(metadata: &Value) -> Option<&Value> {
    metadata.get(QUESTION).filter(|question| !question.is_null())
}

/// The state of a task.
pub(crate) fn state_of(task: &Task) -> &'static str {
    match task.status {
        Status::Pending | Status::HandedOff => SUBMITTED,
        Status::InProgress if question(&metadata_of(task)).is_some() => INPUT_REQUIRED,
        Status::InProgress => WORKING,
        Status::WaitingReview => INPUT_REQUIRED,
        Status::Completed => COMPLETED,
        Status::Failed => FAILED,
        Status::Cancelled => CANCELED,
    }
}

/// The remark about the state: a question, the last note, an error or a reason.
fn remark(task: &Task) -> Option<Value> {
    let error = || task.error.as_ref().map(baton_core::Json::to_value);
    let reason = || task.reason.clone().map(Value::from);
    match task.status {
        Status::InProgress => {
            let asked = question(&metadata_of(task)).cloned();
            let note = || task.progress.as_ref()?.note.clone().map(Value::from);
            asked.or_else(note)
        }
        Status::Pending | Status::HandedOff | Status::Completed => None,
        Status::WaitingReview => match &task.submitted_by {
            Some(agent) => {
                Some(format!("`{agent}` submitted a result: accept or return it").into())
            }
            None => error().or_else(reason),
        },
        Status::Failed => error().or_else(reason),
        Status::Cancelled => reason().or_else(error),
    }
}

fn status(task: &Task) -> Value {
    let mut status = json!({"state": state_of(task), "timestamp": task.updated_at.to_string()});
    if let Some(remark) = remark(task) {
        let context = context_of(task);
        let message = Message::of_agent(task.id.as_str(), context, task.revision.0, &remark);
        status["message"] = message;
    }
    status
}

/// The artifacts of a result and of references to what the work has produced.
pub(crate) fn artifacts(result: Option<&Value>, references: Option<&Value>) -> Vec<Value> {
    let mut artifacts = Vec::new();
    if let Some(result) = result {
        artifacts.push(json!({"artifactId": RESULT, "name": RESULT, "parts": [Part::of(result)]}));
    }
    let references = references.and_then(Value::as_array).into_iter().flatten();
    for (index, reference) in references.enumerate() {
        // An artifact of Baton is named by the digest of its bytes.
        let id = reference.as_str().or_else(|| reference["id"].as_str());
        let id = id.map_or_else(|| format!("artifact-{}", index + 1), str::to_owned);
        artifacts.push(json!({"artifactId": id, "name": id, "parts": [Part::of(reference)]}));
    }
    artifacts
}

/// The message that a task was created by; for a task that was created elsewhere, its description.
fn history(task: &Task, length: usize) -> Vec<Value> {
    if length == 0 {
        return Vec::new();
    }
    let definition = task.definition.as_ref().map(baton_core::Json::to_value);
    let sent = definition.as_ref().and_then(|definition| definition.get("message"));
    let sent = sent.filter(|_| metadata_of(task).get(MEMBER).is_some());
    let mut message = match (sent, &task.description) {
        (Some(message), _) => message.clone(),
        (None, Some(text)) => json!({
            "messageId": task.id.as_str(), "role": "ROLE_USER", "parts": [{"text": text}],
        }),
        (None, None) => return Vec::new(),
    };
    message["taskId"] = task.id.as_str().into();
    message["contextId"] = context_of(task).into();
    vec![message]
}

fn metadata(task: &Task) -> Value {
    let mut baton = Map::new();
    let mut member = |name: &str, value: Value| {
        baton.insert(name.to_owned(), value);
    };
    member("type", task.task_type.as_str().into());
    member("requestedBy", task.requested_by.as_str().into());
    member("attempts", task.attempts.into());
    member("revision", task.revision.0.into());
    if let Some(lease) = &task.lease {
        member("holder", lease.holder.as_str().into());
    }
    if let Some(progress) = &task.progress {
        member("progress", progress.fraction.into());
    }
    let mut metadata = json!({"baton": baton});
    if let Some(context) = metadata_of(task).get("transfer_context") {
        metadata[TRANSFER_CONTEXT] = context.clone();
    }
    metadata
}

/// A task of Baton as a task of the protocol.
pub fn task_json(task: &Task, history_length: usize, with_artifacts: bool) -> Value {
    let mut json = json!({
        "id": task.id.as_str(),
        "contextId": context_of(task),
        "status": status(task),
        "metadata": metadata(task),
    });
    let history = history(task, history_length);
    if !history.is_empty() {
        json["history"] = history.into();
    }
    if with_artifacts {
        let result = task.result.as_ref().map(baton_core::Json::to_value);
        let references = task.artifacts.as_ref().map(baton_core::Json::to_value);
        json["artifacts"] = artifacts(result.as_ref(), references.as_ref()).into();
    }
    json
}

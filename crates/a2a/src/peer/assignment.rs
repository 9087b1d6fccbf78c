//! The message that is sent to an agent of another system.

use baton_core::handoff::{Handoff, TransferContext};
use baton_core::task::Task;
use serde_json::{Map, Value, json};

use super::interface::Interface;
use crate::message::Part;
use crate::send::derived;
use crate::task::{MEMBER, metadata_of};
use crate::transfer::TRANSFER_CONTEXT;

/// A task that an agent of another system is to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The id of the message, which is the same in every repetition.
    pub message_id: String,
    /// The conversation, which only this message begins.
    pub context_id: String,
    parts: Vec<Part>,
    metadata: Map<String, Value>,
    transfer: Option<Value>,
}

impl Assignment {
    /// The assignment of a task that came by a hand-off, with the values of its keys, or that is
    /// assigned to the peer. Without a `message_id` of an earlier attempt, it is made from the
    /// hand-off or the lease.
    pub fn of(
        workspace: &str,
        task: &Task,
        handoff: Option<(&Handoff, Map<String, Value>)>,
        message_id: Option<&str>,
    ) -> Self {
        let (handoff, values) = match handoff {
            Some((handoff, values)) => (Some(handoff), values),
            None => (None, Map::new()),
        };
        let token = task.lease.as_ref().map(|lease| lease.token);
        let lease = token.map_or_else(String::new, |token| token.0.to_string());
        let made = || match handoff {
            Some(handoff) => derived("m-", &[workspace, task.id.as_str(), handoff.id.as_str()]),
            None => derived("m-", &[workspace, task.id.as_str(), &lease]),
        };
        let message_id = message_id.map_or_else(made, str::to_owned);
        let mut metadata = Map::new();
        metadata.insert("type".to_owned(), task.task_type.as_str().into());
        if let Some(skill) = task.capabilities.first() {
            metadata.insert("skill".to_owned(), skill.as_str().into());
        }
        Self {
            context_id: derived("c-", &[&message_id]),
            message_id,
            parts: parts_of(task, handoff, values),
            metadata,
            transfer: transfer_of(task, handoff),
        }
    }

    /// The parameters of `SendMessage`, for an agent with this interface.
    pub fn params(&self, interface: &Interface) -> Value {
        let (mut parts, mut metadata) = (self.parts.clone(), self.metadata.clone());
        let mut extensions = Vec::new();
        if let Some(transfer) = &self.transfer {
            if interface.transfer_context {
                metadata.insert(TRANSFER_CONTEXT.to_owned(), transfer.clone());
                extensions.push(TRANSFER_CONTEXT);
            } else {
                // An agent without the extension would not see the state otherwise.
                parts.push(Part::of(&json!({"transfer_context": transfer})));
            }
        }
        json!({
            "message": {
                "messageId": self.message_id, "contextId": self.context_id, "role": "ROLE_USER",
                "parts": parts, "metadata": metadata, "extensions": extensions,
            },
            "configuration": {"returnImmediately": true},
        })
    }
}

fn parts_of(task: &Task, handoff: Option<&Handoff>, values: Map<String, Value>) -> Vec<Part> {
    let definition = task.definition.as_ref().map(baton_core::Json::to_value);
    // A task that came over the protocol is passed on as it came.
    let sent = definition.as_ref().and_then(|definition| definition["message"].get("parts"));
    let sent = sent.filter(|_| metadata_of(task).get(MEMBER).is_some());
    let sent = sent.and_then(|parts| serde_json::from_value::<Vec<Part>>(parts.clone()).ok());
    let mut parts = match sent {
        Some(parts) => parts,
        None => {
            let text = task.description.as_deref().map(Value::from);
            text.iter().chain(&definition).map(Part::of).collect()
        }
    };
    if let Some(handoff) = handoff {
        let mut notes = Map::new();
        let given = [
            ("work_completed", &handoff.work_completed),
            ("remaining_work", &handoff.remaining_work),
            ("notes", &handoff.notes),
            ("artifacts", &handoff.artifacts),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                notes.insert(name.to_owned(), value.to_value());
            }
        }
        if !values.is_empty() {
            notes.insert("keys".to_owned(), values.into());
        }
        if !notes.is_empty() {
            parts.push(Part::of(&json!({"handoff": notes})));
        }
    }
    if parts.is_empty() {
        parts.push(Part::of(&Value::from(task.task_type.as_str())));
    }
    parts
}

/// The block of the hand-off, or the one that the task was created with. A task without either has
/// none: nothing is handed over with it.
fn transfer_of(task: &Task, handoff: Option<&Handoff>) -> Option<Value> {
    let kept = metadata_of(task).get("transfer_context").cloned();
    let mut context = match (handoff, kept) {
        (Some(handoff), _) => TransferContext::from(handoff),
        (None, Some(kept)) => serde_json::from_value(kept).ok()?,
        (None, None) => return None,
    };
    context.originating_task_id = Some(task.id.as_str().to_owned());
    let giver = task.requested_by.as_str().to_owned();
    context.originating_agent.get_or_insert(giver);
    // Without the token of the lease: a repetition under another lease must be the same message.
    serde_json::to_value(context).ok()
}

/// The parameters of `SendMessage` for an answer to a question about a task.
pub fn reply(task: &str, context: &str, message_id: &str, body: &Value) -> Value {
    let given = body.get("message").unwrap_or(body);
    let parts = given.get("parts").filter(|parts| parts.is_array()).cloned();
    let parts = parts.unwrap_or_else(|| json!([Part::of(given)]));
    let mut message = json!({"messageId": message_id, "role": "ROLE_USER", "taskId": task,
                             "parts": parts});
    if !context.is_empty() {
        message["contextId"] = context.into();
    }
    json!({"message": message, "configuration": {"returnImmediately": true}})
}

//! The records that may reference an artifact.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{HandoffId, Key, MessageId, NamespaceName, TaskId};

/// A record that can reference artifacts, which are kept as long as it does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// An entry of shared state, by its value.
    Entry(NamespaceName, Key),
    /// A task, by its definition, metadata, result and artifacts.
    Task(TaskId),
    /// A hand-off, by its content and its result.
    Handoff(HandoffId),
    /// A checkpoint of a task, by its state and metadata.
    Checkpoint(TaskId, u64),
    /// A message, by its body and the answer to it.
    Message(MessageId),
}

/// The subject as events have it, plus the number of a checkpoint. A request may move to another
/// inbox, so the inbox is not part of the name of a message.
impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(namespace, key) => write!(formatter, "state/{namespace}/{key}"),
            Self::Task(task) => write!(formatter, "tasks/{task}"),
            Self::Handoff(handoff) => write!(formatter, "handoffs/{handoff}"),
            Self::Checkpoint(task, number) => write!(formatter, "checkpoints/{task}/{number}"),
            Self::Message(message) => write!(formatter, "messages/{message}"),
        }
    }
}

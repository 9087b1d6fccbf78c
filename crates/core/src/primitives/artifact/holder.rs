//! What may name an artifact.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{HandoffId, Key, MessageId, NamespaceName, TaskId};

/// A record that can name artifacts, and keeps those it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// An entry of shared state, by its value.
    Entry(NamespaceName, Key),
    /// A task, by what it shall do, its metadata, its result and its artifacts.
    Task(TaskId),
    /// A hand-off, by what the receiver is told and what came of it.
    Handoff(HandoffId),
    /// A checkpoint of a task by its number, by its state and metadata.
    Checkpoint(TaskId, u64),
    /// A message, by its body and the answer to it.
    Message(MessageId),
}

/// As the subject of an event names it, with the number of a checkpoint after that. A message may
/// come into another inbox, so that is not part of its name.
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

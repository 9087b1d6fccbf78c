//! The kinds of documents.

use serde::{Deserialize, Serialize};

/// The kind of a search result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// A task.
    Task,
    /// A message.
    Message,
    /// An entry of shared state.
    Key,
    /// An event.
    Event,
}

impl SearchKind {
    /// Every kind, as on the wire.
    pub(super) const WORDS: [&str; 4] = ["task", "message", "key", "event"];

    /// The value as text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Message => "message",
            Self::Key => "key",
            Self::Event => "event",
        }
    }

    /// The identity of a record among all of its kind: its subject, without the part that may
    /// change.
    pub(super) fn identity(self, subject: &str) -> &str {
        match self {
            Self::Task => subject.strip_prefix("tasks/").unwrap_or(subject),
            // The inbox of a request changes when another agent gets it.
            Self::Message => subject.rsplit('/').next().unwrap_or(subject),
            Self::Key | Self::Event => subject,
        }
    }
}

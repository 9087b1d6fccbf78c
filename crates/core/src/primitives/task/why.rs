//! Why a task is not running, as a sentence and as facts.

use serde::{Deserialize, Serialize};

use super::Status;
use crate::names::{AgentId, TaskId};
use crate::time::Timestamp;

/// Why a task is where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// Which task.
    pub task: TaskId,
    /// Where it is in its life.
    pub status: Status,
    /// All of it, for a person.
    pub sentence: String,
    /// One by one, for a program.
    pub facts: Vec<Fact>,
}

/// One reason, or one circumstance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Stable word, such as `waits_for`, `delayed`, `no_capable_agent`.
    pub code: String,
    /// The same as a part of a sentence.
    pub detail: String,
    /// The task it is about, if another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The agent it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The moment it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

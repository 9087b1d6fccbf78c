//! Why a task is not running, as a sentence and as facts.

use serde::{Deserialize, Serialize};

use super::Status;
use crate::names::{AgentId, TaskId};
use crate::time::Timestamp;

/// Why a task has its status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// The task.
    pub task: TaskId,
    /// The status.
    pub status: Status,
    /// All reasons as one sentence.
    pub sentence: String,
    /// The reasons one by one.
    pub facts: Vec<Fact>,
}

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// A stable code, such as `waits_for`, `delayed` or `no_capable_agent`.
    pub code: String,
    /// The reason as part of a sentence.
    pub detail: String,
    /// The other task that it is about. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The agent that it is about. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The time that it is about. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

//! The creation of a task, as an event.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Backoff, OnExhausted, Reviewers};
use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, TaskId, TaskType, Traceparent};
use crate::spending::Budget;
use crate::time::Timestamp;

/// A task was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The task.
    pub task: TaskId,
    /// The task type.
    pub task_type: TaskType,
    /// Whether it can be claimed at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// Human-readable description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The definition of the work, as data.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// The only agent that may claim it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// The capabilities that an agent needs to claim it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Higher priorities come first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The budget of the task with all its subtasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Whether its result must be accepted before it is completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its result; any agent but its author if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// Tasks that must be completed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// It cannot be claimed before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// It fails unless it is finished by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How often a failed attempt is retried; the default if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// The delay before a retry; the default if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// The action after the last attempt; by default the task fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
    /// The version of the schema of `definition`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// Additional context.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

impl Created {
    /// Its size without the subject, in bytes.
    pub(crate) fn load(&self) -> usize {
        // The names of all fields, and the numbers.
        const FRAME: usize = 496;
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len());
        let agent = |agent: Option<&AgentId>| agent.map_or(0, |agent| agent.as_str().len());
        let exhausted = match &self.on_exhausted {
            Some(OnExhausted::Agent(to)) => Some(to),
            Some(OnExhausted::Fail | OnExhausted::Review) | None => None,
        };
        FRAME
            + self.task_type.as_str().len()
            + self.description.as_ref().map_or(0, String::len)
            + json(&self.definition)
            + json(&self.metadata)
            + json(&self.schema_version)
            + agent(self.assigned_agent.as_ref())
            + agent(exhausted)
            + self.capabilities.iter().map(|name| name.len() + 5).sum::<usize>()
            + self.depends_on.iter().map(|task| task.as_str().len() + 5).sum::<usize>()
            + self.group.as_ref().map_or(0, |group| group.as_str().len())
            + self.parent.as_ref().map_or(0, |parent| parent.as_str().len())
            + self.reviewers.as_ref().map_or(0, Reviewers::bytes)
            + self.traceparent.as_ref().map_or(0, Traceparent::bytes)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

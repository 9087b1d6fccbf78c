//! A task as callers see it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, HandoffId, TaskId, TaskType, Traceparent};
use crate::numbers::{Revision, Token};
use crate::state::Warning;
use crate::time::Timestamp;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Nobody works on it.
    Pending,
    /// Somebody holds its lease.
    InProgress,
    /// It was handed to an agent that has not taken it up yet.
    HandedOff,
    /// It failed too often, and a person decides.
    WaitingReview,
    /// It was done.
    Completed,
    /// It was given up.
    Failed,
    /// It is not wanted any more.
    Cancelled,
}

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::InProgress,
        Self::HandedOff,
        Self::WaitingReview,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether nothing changes any more.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Pending | Self::InProgress | Self::HandedOff | Self::WaitingReview => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// The status as it stands on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::HandedOff => "handed_off",
            Self::WaitingReview => "waiting_review",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status as it stands in a sentence, after `is`.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in progress",
            Self::HandedOff => "handed off",
            Self::WaitingReview => "waiting for review",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How long to wait before the next try: `initial_ms`, then each time `multiplier` times as long,
/// up to `max_ms`, each spread by the part `jitter` to either side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// Before the first repetition.
    pub initial_ms: u64,
    /// By how much longer each time; at least 1.
    pub multiplier: f64,
    /// The longest, before it is spread.
    pub max_ms: u64,
    /// How far it is spread, so that what failed together is not repeated together: 0 to 1.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial_ms: 1_000, multiplier: 2.0, max_ms: 60_000, jitter: 0.2 }
    }
}

/// What becomes of a task that failed too often.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// It has failed.
    #[default]
    Fail,
    /// It waits for a person to decide.
    Review,
    /// This agent tries, as often again; after that it has failed.
    Agent(AgentId),
}

/// The right to work on a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lease {
    /// Who works on it.
    pub holder: AgentId,
    /// What every later call about it must carry.
    pub token: Token,
    /// Since when.
    pub claimed_at: Timestamp,
    /// When it ends unless it is renewed.
    pub expires_at: Timestamp,
    /// How long a renewal lasts.
    pub lease_ms: u64,
    /// It is offered to another by this hand-off: until that is settled it does not end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
}

/// How far the work is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// The part that is done: 0 to 1.
    pub fraction: f64,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When that was said.
    pub at: Timestamp,
}

/// A task as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// Which.
    pub id: TaskId,
    /// What kind of work it is.
    #[serde(rename = "type")]
    pub task_type: TaskType,
    /// Where it is in its life.
    pub status: Status,
    /// What is to be done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What is to be done, as data.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// Who wants it.
    pub requested_by: AgentId,
    /// The only agent that may work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// What an agent must be able to do to work on it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Higher is sooner.
    pub priority: i32,
    /// Which tasks it belongs with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The task it is a part of: with that it is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// What must be completed before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// What of that is not yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<TaskId>,
    /// It is not begun before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// It has failed if it is not finished by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How often it may be tried again.
    pub max_retries: u64,
    /// How long to wait before that.
    pub backoff: Backoff,
    /// What becomes of it after that.
    pub on_exhausted: OnExhausted,
    /// How often it was claimed.
    pub attempts: u64,
    /// How many tries have failed.
    pub retries: u64,
    /// Who works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// How far the work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What came of it; of a task in progress, so far.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What it made besides: a list.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Why the last try failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Why it was last released, cancelled or reviewed so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Which version of the definition's schema it follows.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// Whatever else is worth knowing: an object.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The trace that it is a part of, as W3C Trace Context writes it: whoever works on it goes on
    /// with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was first claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The revision that made it what it is.
    pub revision: Revision,
    /// What the call that made it should have been told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

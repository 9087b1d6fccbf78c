//! A task as callers see it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Reviewers;

use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, HandoffId, TaskId, TaskType, Traceparent};
use crate::numbers::{Revision, Token};
use crate::state::Warning;
use crate::time::Timestamp;

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TaskStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waiting to be claimed.
    Pending,
    /// An agent holds its lease.
    InProgress,
    /// Handed to an agent that has not claimed it yet.
    HandedOff,
    /// It waits for review: its result was submitted, it failed too often, or it was handed over
    /// and neither its receiver nor its giver claimed it in time.
    WaitingReview,
    /// It was completed.
    Completed,
    /// It failed and is not retried.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl Status {
    /// Every status, in the order of the life cycle.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::InProgress,
        Self::HandedOff,
        Self::WaitingReview,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether it never changes again.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Pending | Self::InProgress | Self::HandedOff | Self::WaitingReview => false,
            Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// The status as on the wire.
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

    /// The status as used in a sentence, after `is`.
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

    /// The status as the predicate of a sentence about a task.
    pub fn clause(self) -> &'static str {
        match self {
            Self::Pending => "is pending",
            Self::InProgress => "is in progress",
            Self::HandedOff => "is handed off",
            Self::WaitingReview => "is waiting for review",
            Self::Completed => "is completed",
            Self::Failed => "has failed",
            Self::Cancelled => "is cancelled",
        }
    }
}

/// The delay before the next attempt: `initial_ms`, multiplied by `multiplier` after each failure,
/// up to `max_ms`, and randomised by the fraction `jitter` in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Backoff {
    /// The delay before the first retry in milliseconds.
    pub initial_ms: u64,
    /// The factor by which each delay grows; at least 1.
    pub multiplier: f64,
    /// The maximum delay in milliseconds, before jitter.
    pub max_ms: u64,
    /// The fraction of random variation, 0 to 1, so that tasks that failed together are not retried
    /// together.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial_ms: 1_000, multiplier: 2.0, max_ms: 60_000, jitter: 0.2 }
    }
}

/// The action on a task after its last attempt has failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The task fails.
    #[default]
    Fail,
    /// The task waits for review.
    Review,
    /// This agent gets the same number of attempts; after that the task fails.
    Agent(AgentId),
}

/// The right to work on a task for a limited time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lease {
    /// The holder.
    pub holder: AgentId,
    /// The fencing token, which every later call about the task must carry. Absent unless the
    /// caller is the holder, an operator or an admin.
    #[serde(default, skip_serializing_if = "Token::is_hidden")]
    pub token: Token,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When it expires unless it is renewed.
    pub expires_at: Timestamp,
    /// The lease in milliseconds that a renewal grants.
    pub lease_ms: u64,
    /// The hand-off that offers the task; until that is settled the lease does not expire. Absent
    /// if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffId>,
    /// Whether the session of the holder has ended: the token is invalid, and the task can only be
    /// taken over by the hand-off. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
}

impl Lease {
    /// Whether a token permits to act on the task.
    pub fn permits(&self, token: Token) -> bool {
        self.token == token && !self.abandoned
    }

    /// The lease as refusals show it: without its token.
    pub(crate) fn without_token(&self) -> Self {
        Self { token: Token::HIDDEN, ..self.clone() }
    }
}

/// The progress of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// The completed fraction, 0 to 1.
    pub fraction: f64,
    /// A note in words. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was reported.
    pub at: Timestamp,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// The id of the task.
    pub id: TaskId,
    /// The task type.
    #[serde(rename = "type")]
    pub task_type: TaskType,
    /// The status.
    pub status: Status,
    /// Human-readable description. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The work as data. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// The agent that created it.
    pub requested_by: AgentId,
    /// The only agent that may claim it. Absent if any agent may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// Capabilities that an agent needs to claim it. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// The priority; higher is claimed first.
    pub priority: i32,
    /// The group. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The parent task; if that is cancelled, this one is too. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// Tasks that must be completed first. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The dependencies that are not completed yet. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<TaskId>,
    /// It cannot be claimed before this time. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// It fails unless it is finished by then. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How often a failed attempt is retried.
    pub max_retries: u64,
    /// The delay before a retry.
    pub backoff: Backoff,
    /// The action after the last attempt.
    pub on_exhausted: OnExhausted,
    /// Whether its result must be accepted before it is completed. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its result. Absent if any agent except the one that did the work
    /// may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// The agent whose result waits for review. Absent if no result waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<AgentId>,
    /// How often it was claimed.
    pub attempts: u64,
    /// The number of failed attempts.
    pub retries: u64,
    /// The lease. Absent if no agent holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// The last reported progress. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The result; for a task in progress, the result so far. Absent if there is none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// References to what it produced: a list. Absent if there are none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// The error of the last failed attempt. Absent if there is none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// The reason of the last release, cancellation or review. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version of the schema of `definition`. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// An object with free-form metadata. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`), to be continued by the worker. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it was first claimed. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or cancelled. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The revision of the last change.
    pub revision: Revision,
    /// Warnings about the call that created it. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Task {
    /// Approximate size as an answer, in bytes.
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 1_024;
        const WARNING: usize = 512;
        let json = [
            &self.definition,
            &self.result,
            &self.artifacts,
            &self.error,
            &self.schema_version,
            &self.metadata,
        ];
        let json = json.into_iter().flatten().map(|json| json.as_bytes().len());
        let text = [&self.description, &self.reason].into_iter().flatten().map(String::len);
        let needs = self.capabilities.iter().map(|need| need.len() + 8);
        let others = self.depends_on.iter().chain(&self.waiting_for);
        let others = others.map(|task| task.as_str().len() + 8);
        FRAME
            + json.chain(text).chain(needs).chain(others).sum::<usize>()
            + self.reviewers.as_ref().map_or(0, Reviewers::bytes)
            + self.warnings.len() * WARNING
    }
}

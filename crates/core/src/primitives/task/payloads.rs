//! Commands and queries of tasks with many fields.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Backoff, OnExhausted, Reviewers, Status};
use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, GroupName, TaskId, TaskType, Traceparent};
use crate::numbers::{Revision, Token};
use crate::space::batch::Batch;
use crate::spending::Budget;
use crate::time::Timestamp;
use crate::wire::notice::shown_fields;

/// Creates a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The id of the task. If omitted, it is generated. In a WebSocket frame, where `id` numbers
    /// the request, the field is called `task`.
    #[serde(default, alias = "task", skip_serializing_if = "Option::is_none")]
    pub id: Option<TaskId>,
    /// The task type, which claims filter by.
    #[serde(rename = "type")]
    pub task_type: TaskType,
    /// Human-readable description. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The work as data: any JSON. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// The only agent that may claim it. If omitted, any agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_agent: Option<AgentId>,
    /// Capabilities that an agent needs to claim it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// The priority; higher is claimed first. One point is worth one minute of age.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Delay in milliseconds before it can be claimed. If omitted, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Deadline in milliseconds from now; the task fails unless it is finished by then. If omitted,
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How often a failed attempt is retried.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::RETRIES_DEFAULT),
        range(min = 0, max = limits::RETRIES_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// The delay before a retry. If omitted, the defaults of `Backoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// The action after the last attempt.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "fail")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
    /// Whether its result must be accepted by another agent before it is completed. If `true`,
    /// `task.complete` submits the result, and `task.review` decides on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its result. If given, it has `review`. If omitted, any agent
    /// except the one that did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// Tasks that must be completed first. If one of them fails or is cancelled, this task is
    /// cancelled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<TaskId>,
    /// The parent task. If that is cancelled, this one is too; if its lease is lost, this one
    /// returns to the queue; if it fails, this one is not affected. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// A group, for joins and filters. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The budget of the task and its subtasks. Once it is used up, none of them can start. If
    /// omitted, only the budgets of the tasks above it, the agent and the workspace apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The version of the schema of `definition`: a string or a number. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<Json>,
    /// An object with free-form metadata. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Reject the task if no active agent is able to claim it. If `false`, that is a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub if_capable: bool,
}

impl Create {
    /// A task with only a type.
    pub fn new(task_type: TaskType) -> Self {
        Self {
            id: None,
            task_type,
            description: None,
            definition: None,
            assigned_agent: None,
            capabilities: BTreeSet::new(),
            priority: None,
            delay_ms: None,
            deadline_ms: None,
            max_retries: None,
            backoff: None,
            on_exhausted: None,
            review: false,
            reviewers: None,
            depends_on: Vec::new(),
            parent: None,
            group: None,
            budget: None,
            schema_version: None,
            metadata: None,
            traceparent: None,
            if_capable: false,
        }
    }
}

/// Claims the next task, or waits for one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Only tasks of these types. If omitted, any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<TaskType>>,
    /// The capabilities of the caller. If omitted, those of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<String>>,
    /// Only this task. If omitted, any task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The lease in milliseconds, unless it is renewed.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::LEASE_MS_DEFAULT),
        range(min = limits::LEASE_MS_MIN, max = limits::LEASE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long to wait for a task, in milliseconds. If omitted, the call does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The maximum number of tasks. If it is more than 1, the answer is a list of those that were
    /// ready. A call that has to wait gets the first one that becomes ready.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = 1),
        range(min = 1, max = limits::CLAIMED_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Claims the next task in the same commit that completes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Next {
    /// Only tasks of these types. If omitted, any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<BTreeSet<TaskType>>,
    /// The capabilities of the caller. If omitted, those of its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<String>>,
    /// The lease in milliseconds, unless it is renewed.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::LEASE_MS_DEFAULT),
        range(min = limits::LEASE_MS_MIN, max = limits::LEASE_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Renews the lease of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The new lease in milliseconds, from now on. If omitted, the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Reports progress and renews the lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The completed fraction, 0 to 1.
    pub fraction: f64,
    /// A note in words. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Changes fields of a task: `description` and `priority`, and by JSON Merge Patch `definition`,
/// `metadata` and `result`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// An object with the fields to change.
    pub fields: Json,
}

/// Releases a task so that another agent can claim it. This does not count as a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The reason, which is recorded. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Completes a task, or submits its result if it must be reviewed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The result. If omitted, the result so far.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// References to what it produced: a list, usually of artifact ids. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// Claim the next task in the same commit. If omitted, no task is claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then_claim: Option<Next>,
}

/// Reports a failed attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// The task.
    pub task: TaskId,
    /// The token of the lease.
    pub token: Token,
    /// The error.
    pub error: Json,
    /// Whether a retry may help. If `false`, the task is not retried.
    #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Decides on a task that waits for review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Review {
    /// The task.
    pub task: TaskId,
    /// The verdict.
    pub verdict: Verdict,
    /// The number of the attempt that was reviewed: `attempts` of the task. The verdict is refused
    /// if another attempt waits for review. If omitted, the verdict is about the attempt that
    /// waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// A note, which is recorded. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The result. If omitted, the result so far.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
}

/// Returns a failed task to the queue under its own id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The failed task.
    pub task: TaskId,
    /// The reason for the retry. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A new deadline, in milliseconds from now. Default: the task keeps its deadline, or has none
    /// if that has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Return it to its queue, with its full number of retries. The note explains the reason to the
    /// next worker.
    Retry,
    /// Complete it, with the submitted result if there is one. An agent cannot accept its own
    /// result, and if there are `reviewers` only they can accept it.
    Complete,
    /// Fail it.
    Fail,
}

/// A page of tasks, by id.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only tasks with this status. If omitted, any status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Only tasks of this type. If omitted, any type.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Only tasks that this agent holds or is assigned to. If omitted, any agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Only tasks of this group. If omitted, any group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// Only direct subtasks of this task. If omitted, any task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<TaskId>,
}

/// An event of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transition {
    /// The revision.
    pub revision: Revision,
    /// The time.
    pub time: Timestamp,
    /// The agent that caused it.
    pub agent: AgentId,
    /// The event type, such as `task.claimed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The fields of the event.
    pub fields: Json,
}

impl Transition {
    /// The transition that an event of a batch describes.
    pub fn of(batch: &Batch, index: usize) -> Self {
        let event = &batch.events[index];
        let fields = Json::trusted(&shown_fields(event));
        Self {
            revision: batch.revision,
            time: batch.time,
            agent: batch.author(index).clone(),
            kind: event.kind().to_owned(),
            fields,
        }
    }
}

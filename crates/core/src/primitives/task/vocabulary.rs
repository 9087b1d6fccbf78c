//! Commands, queries, replies and events of tasks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, HandoffId, TaskId, TaskType, Traceparent};
use crate::numbers::{Revision, Token, WaitId};
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

use super::{
    Cause, Claim, Complete, Create, Created, Fail, Heartbeat, List, Outcome, Reassignment, Release,
    Report, Retry, Returns, Review, Statistics, Task, Transition, Update, Verdict, Why, load,
};
pub use crate::state::Warning;

/// Commands that change tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `task.create`
    Create(Box<Create>),
    /// `task.claim`
    Claim(Claim),
    /// `task.heartbeat`
    Heartbeat(Heartbeat),
    /// `task.progress`
    Progress(Report),
    /// `task.update`
    Update(Update),
    /// `task.release`
    Release(Release),
    /// `task.complete`
    Complete(Box<Complete>),
    /// `task.fail`
    Fail(Fail),
    /// `task.cancel`: the task and its subtasks.
    Cancel {
        /// The task.
        task: TaskId,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `task.review`
    Review(Review),
    /// `task.retry`
    Retry(Retry),
}

/// Signals to tasks.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when a task that a call may wait for has become ready, or never will.
    Assign {
        /// The task.
        task: TaskId,
    },
    /// Sent by a policy when a stage of a pipeline no longer needs its tasks.
    CancelAll {
        /// The tasks.
        tasks: Vec<TaskId>,
        /// The reason.
        reason: String,
    },
    /// Sent by a policy when a hand-off moves a task.
    Pass(Reassignment),
}

/// Queries about tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `task.get`
    Get {
        /// The task.
        task: TaskId,
    },
    /// `task.list`
    List(List),
    /// `task.stats`
    Stats {
        /// Only tasks of this type. If omitted, all tasks.
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        task_type: Option<TaskType>,
    },
    /// `task.why`: why it is not running.
    Why {
        /// The task.
        task: TaskId,
    },
    /// `task.history`: a page of its events, newest first.
    History {
        /// The task.
        task: TaskId,
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// Replies about tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One task.
    Task(Box<Task>),
    /// The claimed task. `null` if there was none in time.
    Claimed(Option<Box<Task>>),
    /// The tasks that were claimed with a `limit` above 1, in order. Empty if there was none in
    /// time.
    ClaimedTasks {
        /// The tasks.
        tasks: Vec<Task>,
    },
    /// A task was completed.
    Completed {
        /// The completed task.
        task: Box<Task>,
        /// The task claimed by `then_claim`. Absent if there was none, or `then_claim` was not
        /// given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Box<Task>>,
    },
    /// A page of tasks, by id. It may have fewer results than requested, or none, and not be the
    /// last: only the last page has no cursor.
    Tasks {
        /// The results on this page.
        tasks: Vec<Task>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TaskId>,
    },
    /// Counts, durations and failure reasons.
    Stats(Box<Statistics>),
    /// Why a task is not running.
    Why(Box<Why>),
    /// A page of events of a task, newest first.
    History {
        /// The results on this page.
        events: Vec<Transition>,
        /// Events up to this revision are no longer kept; 0 if all are kept.
        #[serde(default)]
        oldest: Revision,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// Events of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A task was created.
    Created(Box<Created>),
    /// A task was claimed.
    Claimed {
        /// The task.
        task: TaskId,
        /// The holder.
        holder: AgentId,
        /// The token of the lease. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// The lease in milliseconds.
        lease_ms: u64,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// A claim waits for a task.
    Queued {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waits.
        claimant: AgentId,
        /// When the wait times out.
        until: Timestamp,
        /// Only tasks of these types.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        types: Option<BTreeSet<TaskType>>,
        /// The capabilities of the claimant.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        capabilities: BTreeSet<String>,
        /// Only this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The requested lease in milliseconds.
        lease_ms: u64,
        /// The maximum number of tasks, if it is more than 1: the answer is a list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// A claim stopped waiting without a task.
    GaveUp {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waited.
        claimant: AgentId,
        /// The reason.
        left: Left,
    },
    /// The lease was renewed.
    Renewed {
        /// The task.
        task: TaskId,
        /// The new lease in milliseconds.
        lease_ms: u64,
    },
    /// Progress was reported, and the lease renewed.
    Progressed {
        /// The task.
        task: TaskId,
        /// The completed fraction.
        fraction: f64,
        /// A note in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The holder updated fields; each one that is present has changed.
    Updated {
        /// The task.
        task: TaskId,
        /// The new description.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// The new definition.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        definition: Option<Json>,
        /// The new metadata.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        metadata: Option<Json>,
        /// The new result so far.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// The new priority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<i32>,
    },
    /// The holder released it. This does not count as a failed attempt.
    Released {
        /// The task.
        task: TaskId,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It can be claimed: its delay has passed, or its dependencies are completed.
    Ready {
        /// The task.
        task: TaskId,
    },
    /// Its holder offers it to another agent, and keeps it until that is settled.
    Offered {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
    },
    /// The session of its holder ended while it was offered: the token is void, and the offer
    /// stays open.
    Abandoned {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
    },
    /// The offer ended without acceptance: the holder keeps it, with a renewed lease.
    TakenBack {
        /// The task.
        task: TaskId,
        /// The hand-off that offered it.
        handoff: HandoffId,
    },
    /// Another agent holds it now; the previous lease and token are void.
    HandedOver {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
        /// The new holder.
        holder: AgentId,
        /// The token of the lease. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// The lease in milliseconds.
        lease_ms: u64,
    },
    /// Its holder handed it to another agent, which has to claim it.
    HandedOff {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
        /// The receiving agent.
        to: AgentId,
        /// The action if the task is not claimed.
        returns: Returns,
    },
    /// It was completed.
    Completed {
        /// The task.
        task: TaskId,
        /// The result. Absent if the previous result stays.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// References to what it produced.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        artifacts: Option<Json>,
    },
    /// Its holder finished it, and its result waits for review.
    Submitted {
        /// The task.
        task: TaskId,
        /// The result. Absent if the previous result stays.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// References to what it produced.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        artifacts: Option<Json>,
    },
    /// An attempt failed, or the deadline passed.
    Failed {
        /// The task.
        task: TaskId,
        /// The error.
        error: Json,
        /// The reporter.
        cause: Cause,
        /// The new state of the task.
        outcome: Outcome,
    },
    /// It was cancelled.
    Cancelled {
        /// The task.
        task: TaskId,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The task whose end made this one impossible. Retrying that task restores this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<TaskId>,
    },
    /// A failed task is pending again, or a task that was cancelled because of it.
    Retried {
        /// The task.
        task: TaskId,
        /// The retried task that this one was cancelled with; none if this is that task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<TaskId>,
        /// The deadline from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
        /// Why it is retried.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was reviewed.
    Reviewed {
        /// The task.
        task: TaskId,
        /// The verdict.
        verdict: Verdict,
        /// Whether it accepts the work: the task is completed by an event in the same commit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        accepts: bool,
        /// The note of the reviewer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The result.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Claim(claim) = self { claim.wait_ms } else { None }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Heartbeat(Heartbeat { token, .. })
            | Self::Progress(Report { token, .. })
            | Self::Update(Update { token, .. })
            | Self::Release(Release { token, .. })
            | Self::Fail(Fail { token, .. }) => Some(*token),
            Self::Complete(complete) => Some(complete.token),
            Self::Create(_)
            | Self::Claim(_)
            | Self::Cancel { .. }
            | Self::Review(_)
            | Self::Retry(_) => None,
        }
    }

    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        if let Self::Create(create) = self { Some(&mut create.traceparent) } else { None }
    }
}

impl Event {
    /// The task that it is about; none if it is about a waiting claim.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Created(created) => Some(&created.task),
            Self::Claimed { task, .. }
            | Self::Renewed { task, .. }
            | Self::Progressed { task, .. }
            | Self::Updated { task, .. }
            | Self::Released { task, .. }
            | Self::Ready { task }
            | Self::Offered { task, .. }
            | Self::Abandoned { task, .. }
            | Self::TakenBack { task, .. }
            | Self::HandedOver { task, .. }
            | Self::HandedOff { task, .. }
            | Self::Completed { task, .. }
            | Self::Failed { task, .. }
            | Self::Cancelled { task, .. }
            | Self::Submitted { task, .. }
            | Self::Reviewed { task, .. }
            | Self::Retried { task, .. } => Some(task),
            Self::Queued { .. } | Self::GaveUp { .. } => None,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created(_) => "task.created",
            Self::Claimed { .. } => "task.claimed",
            Self::Queued { .. } => "task.queued",
            Self::GaveUp { .. } => "task.gave_up",
            Self::Renewed { .. } => "task.renewed",
            Self::Progressed { .. } => "task.progressed",
            Self::Updated { .. } => "task.updated",
            Self::Released { .. } => "task.released",
            Self::Ready { .. } => "task.ready",
            Self::Offered { .. } => "task.offered",
            Self::Abandoned { .. } => "task.abandoned",
            Self::TakenBack { .. } => "task.taken_back",
            Self::HandedOver { .. } => "task.handed_over",
            Self::HandedOff { .. } => "task.handed_off",
            Self::Completed { .. } => "task.completed",
            Self::Failed { .. } => "task.failed",
            Self::Cancelled { .. } => "task.cancelled",
            Self::Submitted { .. } => "task.submitted",
            Self::Reviewed { .. } => "task.reviewed",
            Self::Retried { .. } => "task.retried",
        }
    }

    /// `tasks/` and the task, or `claims/` and the waiting agent.
    fn subject_parts(&self) -> [&str; 4] {
        match self {
            Self::Queued { claimant, .. } | Self::GaveUp { claimant, .. } => {
                ["claims/", claimant.as_str(), "", ""]
            }
            event => {
                let task = event.task().expect("all others are about a task");
                ["tasks/", task.as_str(), "", ""]
            }
        }
    }

    fn load(&self) -> usize {
        load(self)
    }

    fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Queued { .. } | Self::GaveUp { .. })
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Claimed { wait, .. } => wait.map(Step::Granted),
            Self::GaveUp { left: Left::Elsewhere, .. } => None,
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            _ => None,
        }
    }

    fn token(&self) -> Option<Token> {
        let (Self::Claimed { token, .. } | Self::HandedOver { token, .. }) = self else {
            return None;
        };
        Some(*token)
    }
}

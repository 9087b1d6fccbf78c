//! The words of tasks.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, HandoffId, TaskId, TaskType};
use crate::numbers::{Revision, Token, WaitId};
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

use super::{
    Cause, Claim, Complete, Create, Created, Fail, Heartbeat, List, Outcome, Reassignment, Release,
    Report, Returns, Review, Statistics, Task, Transition, Update, Verdict, Why, load,
};
pub use crate::state::Warning;

/// What one may ask of tasks so that they change.
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
    /// `task.cancel`: the task and everything below it.
    Cancel {
        /// Which task.
        task: TaskId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `task.review`
    Review(Review),
    /// Sent by the policies when a task that somebody may wait for has become ready, or will never.
    Assign {
        /// Which task.
        task: TaskId,
    },
    /// Sent by the policies when a stage of a pipeline needs its tasks no longer.
    CancelAll {
        /// Which tasks.
        tasks: Vec<TaskId>,
        /// Why.
        reason: String,
    },
    /// Sent by the policies when a hand-off moves a task.
    Pass(Reassignment),
    /// Sent by the policies when an agent's session has ended.
    LetGo {
        /// Whose.
        agent: AgentId,
    },
    /// Sent by the engine when a caller is gone.
    GiveUp {
        /// Which call.
        wait: WaitId,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// What one may ask of tasks without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `task.get`
    Get {
        /// Which task.
        task: TaskId,
    },
    /// `task.list`
    List(List),
    /// `task.stats`
    Stats {
        /// Only tasks of this type.
        #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
        task_type: Option<TaskType>,
    },
    /// `task.why`: why it is not running.
    Why {
        /// Which task.
        task: TaskId,
    },
    /// `task.history`: a page of what happened to it, newest first.
    History {
        /// Which task.
        task: TaskId,
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// Answers of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One task.
    Task(Box<Task>),
    /// The task that was claimed; nothing if there was none to get in time.
    Claimed(Option<Box<Task>>),
    /// A task is done.
    Completed {
        /// Which.
        task: Box<Task>,
        /// The one that was claimed next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<Box<Task>>,
    },
    /// A page of tasks, by id. It may have fewer than were asked for, or none, and still not be the
    /// last: that is the one without a cursor.
    Tasks {
        /// The page.
        tasks: Vec<Task>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<TaskId>,
    },
    /// How many there are, how long they took, why they failed.
    Stats(Box<Statistics>),
    /// Why a task is not running.
    Why(Box<Why>),
    /// A page of what happened to a task, newest first.
    History {
        /// The page.
        events: Vec<Transition>,
        /// What happened up to this revision is no longer kept; 0 if all of it is.
        #[serde(default)]
        oldest: Revision,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody wants something done.
    Created(Box<Created>),
    /// Somebody works on it.
    Claimed {
        /// Which task.
        task: TaskId,
        /// Who.
        holder: AgentId,
        /// The lease's token.
        token: Token,
        /// How long the lease is.
        lease_ms: u64,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// A claim waits for a task.
    Queued {
        /// Which call.
        wait: WaitId,
        /// Who waits.
        claimant: AgentId,
        /// Until when at most.
        until: Timestamp,
        /// Only tasks of these types.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        types: Option<BTreeSet<TaskType>>,
        /// What the claimant can do.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        capabilities: BTreeSet<String>,
        /// Only this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// How long the lease shall be.
        lease_ms: u64,
    },
    /// A claim waits no longer.
    GaveUp {
        /// Which call.
        wait: WaitId,
        /// Who waited.
        claimant: AgentId,
        /// Why.
        left: Left,
    },
    /// The lease lasts longer.
    Renewed {
        /// Which task.
        task: TaskId,
        /// How long from now on.
        lease_ms: u64,
    },
    /// The work went on; the lease lasts longer.
    Progressed {
        /// Which task.
        task: TaskId,
        /// The part that is done.
        fraction: f64,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The worker changed something about it: each field that is here, to what it says.
    Updated {
        /// Which task.
        task: TaskId,
        /// What is to be done, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// What is to be done, as data.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        definition: Option<Json>,
        /// Whatever else is worth knowing.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        metadata: Option<Json>,
        /// What came of it so far.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// Higher is sooner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<i32>,
    },
    /// The worker let it go; that counts as no try.
    Released {
        /// Which task.
        task: TaskId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It can be claimed: its time has come, or what it waited for is done.
    Ready {
        /// Which task.
        task: TaskId,
    },
    /// Its holder offers it to another, and holds it until that is settled.
    Offered {
        /// Which task.
        task: TaskId,
        /// By which hand-off.
        handoff: HandoffId,
    },
    /// Nobody took it: its holder goes on, with a lease that begins anew.
    TakenBack {
        /// Which task.
        task: TaskId,
        /// By which hand-off it was offered.
        handoff: HandoffId,
    },
    /// Another goes on with it: the lease and the token before are void.
    HandedOver {
        /// Which task.
        task: TaskId,
        /// By which hand-off.
        handoff: HandoffId,
        /// Who holds it now.
        holder: AgentId,
        /// The lease's token.
        token: Token,
        /// How long the lease is.
        lease_ms: u64,
    },
    /// Its holder has finished with it, and another shall take it up.
    HandedOff {
        /// Which task.
        task: TaskId,
        /// By which hand-off.
        handoff: HandoffId,
        /// Who shall.
        to: AgentId,
        /// What becomes of it otherwise.
        returns: Returns,
    },
    /// It is done.
    Completed {
        /// Which task.
        task: TaskId,
        /// What came of it; what there was so far if not given.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
        /// What it made besides.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        artifacts: Option<Json>,
    },
    /// A try failed, or its time was over.
    Failed {
        /// Which task.
        task: TaskId,
        /// What went wrong.
        error: Json,
        /// Who says so.
        cause: Cause,
        /// What becomes of it.
        outcome: Outcome,
    },
    /// It is not wanted any more.
    Cancelled {
        /// Which task.
        task: TaskId,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person has decided about it.
    Reviewed {
        /// Which task.
        task: TaskId,
        /// What.
        verdict: Verdict,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// What came of it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        result: Option<Json>,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
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
            Self::TakenBack { .. } => "task.taken_back",
            Self::HandedOver { .. } => "task.handed_over",
            Self::HandedOff { .. } => "task.handed_off",
            Self::Completed { .. } => "task.completed",
            Self::Failed { .. } => "task.failed",
            Self::Cancelled { .. } => "task.cancelled",
            Self::Reviewed { .. } => "task.reviewed",
        }
    }

    /// The task it is about; none if it is about a claim that waits.
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
            | Self::TakenBack { task, .. }
            | Self::HandedOver { task, .. }
            | Self::HandedOff { task, .. }
            | Self::Completed { task, .. }
            | Self::Failed { task, .. }
            | Self::Cancelled { task, .. }
            | Self::Reviewed { task, .. } => Some(task),
            Self::Queued { .. } | Self::GaveUp { .. } => None,
        }
    }

    /// The two parts of its subject: `tasks/` and the task, or `claims/` and who waits.
    pub fn subject_parts(&self) -> [&str; 2] {
        match self {
            Self::Queued { claimant, .. } | Self::GaveUp { claimant, .. } => {
                ["claims/", claimant.as_str()]
            }
            Self::Created(_)
            | Self::Claimed { .. }
            | Self::Renewed { .. }
            | Self::Progressed { .. }
            | Self::Updated { .. }
            | Self::Released { .. }
            | Self::Ready { .. }
            | Self::Offered { .. }
            | Self::TakenBack { .. }
            | Self::HandedOver { .. }
            | Self::HandedOff { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reviewed { .. } => {
                ["tasks/", self.task().expect("all others are about a task").as_str()]
            }
        }
    }

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Claimed { wait, .. } => wait.map(Step::Granted),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Created(_)
            | Self::Renewed { .. }
            | Self::Progressed { .. }
            | Self::Updated { .. }
            | Self::Released { .. }
            | Self::Ready { .. }
            | Self::Offered { .. }
            | Self::TakenBack { .. }
            | Self::HandedOver { .. }
            | Self::HandedOff { .. }
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Reviewed { .. } => None,
        }
    }

    /// The token it gives.
    pub fn token(&self) -> Option<Token> {
        let (Self::Claimed { token, .. } | Self::HandedOver { token, .. }) = self else {
            return None;
        };
        Some(*token)
    }

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    pub(crate) fn load(&self) -> usize {
        load(self)
    }
}

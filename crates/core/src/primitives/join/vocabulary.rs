//! The words of joins.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, JoinId, TaskId};
use crate::numbers::WaitId;
use crate::task;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// What one may ask of joins so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `join.create`
    Create(Create),
    /// `join.wait`: the join when it has settled.
    Wait {
        /// Which join.
        join: JoinId,
        /// How long to wait at most; not at all if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// Sent by the policies when it has turned out what becomes of some joins.
    Settle,
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

/// Begins to look after tasks: of a group, or those that are named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The id it shall have; a fresh one if not given. In a frame, where `id` is the number of the
    /// request, it is called `join`.
    #[serde(default, alias = "join", skip_serializing_if = "Option::is_none")]
    pub id: Option<JoinId>,
    /// All tasks of this group, those that are created later too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// These tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskId>>,
    /// How many must be completed; if not given, all must have finished, however that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<Need>,
    /// How long it waits for them at most; as long as it takes if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// What one may ask of joins without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `join.get`
    Get {
        /// Which join.
        join: JoinId,
    },
}

/// What a join waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Need {
    /// That so many are completed.
    Number(u64),
    /// That all have finished, however that was.
    Every(Every),
}

/// The word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// All of them.
    All,
}

impl Default for Need {
    fn default() -> Self {
        Self::Every(Every::All)
    }
}

/// What has become of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "JoinStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not enough have finished.
    Waiting,
    /// Enough have.
    Open,
    /// Enough never will.
    Failed,
    /// Its deadline has passed before.
    Expired,
}

/// A task in a join, as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Which task.
    pub task: TaskId,
    /// Where it is in its life.
    pub status: task::Status,
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Whether it finished after the join had settled.
    pub late: bool,
    /// Whether what came of it is too large to be repeated here: the task has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
}

/// A join as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Join {
    /// Which.
    pub id: JoinId,
    /// What has become of it.
    pub status: Status,
    /// What it waits for.
    pub need: Need,
    /// The group it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The tasks: in the order they were named, or that of their creation in the group.
    pub members: Vec<Part>,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who created it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// How long it waits at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When it ceased to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
}

/// Answers of joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One join.
    Join(Box<Join>),
    /// A join that has settled; nothing if it has not in time.
    Settled(Option<Box<Join>>),
    /// Nothing had to be done.
    Done,
}

/// Facts about joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody looks after tasks.
    Created {
        /// Which join.
        join: JoinId,
        /// What it waits for.
        need: Need,
        /// The group it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<GroupName>,
        /// The tasks it is about, if it is not about a group.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
        /// How long it waits at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// It waits no longer.
    Settled {
        /// Which join.
        join: JoinId,
        /// What has become of it.
        status: Status,
        /// Why it failed, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Somebody waits for it.
    Queued {
        /// Which join.
        join: JoinId,
        /// Who.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// Until when at most.
        until: Timestamp,
    },
    /// Somebody who waited for it is told; follows its settling.
    Answered {
        /// Which join.
        join: JoinId,
        /// Who.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
    },
    /// Somebody waits no longer.
    GaveUp {
        /// Which join.
        join: JoinId,
        /// Who waited.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// Why.
        left: Left,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "join.created",
            Self::Settled { .. } => "join.settled",
            Self::Queued { .. } => "join.queued",
            Self::Answered { .. } => "join.answered",
            Self::GaveUp { .. } => "join.gave_up",
        }
    }

    /// The join it is about.
    pub fn join(&self) -> &JoinId {
        match self {
            Self::Created { join, .. }
            | Self::Settled { join, .. }
            | Self::Queued { join, .. }
            | Self::Answered { join, .. }
            | Self::GaveUp { join, .. } => join,
        }
    }

    /// What it means for a call that waits. Nothing was granted to whoever is told how a join has
    /// settled: asked again, they are told the same, so that no receipt needs to repeat it.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Answered { wait, .. } | Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Created { .. } | Self::Settled { .. } => None,
        }
    }

    /// Bytes of what is in it beyond the id of the join.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Created { group, tasks, .. } => {
                let group = group.as_ref().map_or(0, |group| group.as_str().len());
                group + tasks.iter().map(|task| task.as_str().len() + 5).sum::<usize>()
            }
            Self::Settled { reason, .. } => reason.as_ref().map_or(0, String::len),
            Self::Queued { waiter, .. }
            | Self::Answered { waiter, .. }
            | Self::GaveUp { waiter, .. } => waiter.as_str().len(),
        }
    }
}

//! Commands, queries, replies and events of joins.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, GroupName, JoinId, TaskId};
use crate::numbers::WaitId;
use crate::primitive;
use crate::task;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that change joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `join.create`
    Create(Create),
    /// `join.wait`: the join once it has settled.
    Wait {
        /// The join.
        join: JoinId,
        /// How long to wait, in milliseconds. If omitted, the call does not wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
}

/// Signals to joins.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when the outcome of joins is known.
    Settle,
}

/// Creates a join over the tasks of a group, or over named tasks. Exactly one of `group` and
/// `tasks` is required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The id of the join. If omitted, it is generated. In a WebSocket frame, where `id` numbers
    /// the request, the field is called `join`.
    #[serde(default, alias = "join", skip_serializing_if = "Option::is_none")]
    pub id: Option<JoinId>,
    /// The group. Tasks that are added to the group later belong to the join too. If omitted,
    /// `tasks` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The tasks. If omitted, `group` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskId>>,
    /// The number of tasks that must complete, or `"all"`: every task must finish, with any
    /// outcome.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "all")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need: Option<Need>,
    /// How long the join waits, in milliseconds. If omitted, there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Queries about joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `join.get`
    Get {
        /// The join.
        join: JoinId,
    },
}

/// The condition that a join waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "it must be a number of tasks, or `all`")]
pub enum Need {
    /// This number of tasks must complete.
    Number(u64),
    /// All tasks must finish, with any outcome.
    Every(Every),
}

/// The word `all`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Every {
    /// All tasks.
    All,
}

impl Default for Need {
    fn default() -> Self {
        Self::Every(Every::All)
    }
}

/// The status of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "JoinStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not enough tasks have finished yet.
    Waiting,
    /// Enough tasks have finished. Older logs contain `open`.
    #[serde(alias = "open")]
    Satisfied,
    /// Enough tasks can never complete.
    Failed,
    /// The deadline passed first.
    Expired,
}

/// A task in a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// The task.
    pub task: TaskId,
    /// The status of the task.
    pub status: task::Status,
    /// The result of the task. Absent if it has none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The error of the task. Absent if it did not fail.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Whether the task finished after the join had settled.
    pub late: bool,
    /// Whether the result is too large to be copied here; read it from the task. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omitted: bool,
}

/// A join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Join {
    /// The id of the join.
    pub id: JoinId,
    /// The status.
    pub status: Status,
    /// The condition.
    pub need: Need,
    /// The group. Absent if tasks are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The tasks in the order they were named, or in order of creation in the group.
    pub members: Vec<Part>,
    /// Why it failed, in words. Absent unless it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// The deadline. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// When it settled. Absent while it is waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
}

/// Replies about joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One join.
    Join(Box<Join>),
    /// The settled join. `null` if it did not settle in time.
    Settled(Option<Box<Join>>),
}

/// Events of joins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A join was created.
    Created {
        /// The join.
        join: JoinId,
        /// The condition.
        need: Need,
        /// The group. Absent if tasks are named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<GroupName>,
        /// The named tasks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
        /// The deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// The join settled.
    Settled {
        /// The join.
        join: JoinId,
        /// The outcome.
        status: Status,
        /// Why it failed, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A call waits for the join.
    Queued {
        /// The join.
        join: JoinId,
        /// The agent that waits.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// When the wait times out.
        until: Timestamp,
    },
    /// A waiting call is answered. It follows `join.settled`.
    Answered {
        /// The join.
        join: JoinId,
        /// The agent that waits.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The join.
        join: JoinId,
        /// The agent that waited.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The reason.
        left: Left,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Wait { wait_ms, .. } = self { *wait_ms } else { None }
    }
}

impl Event {
    /// The join that it is about.
    pub fn join(&self) -> &JoinId {
        match self {
            Self::Created { join, .. }
            | Self::Settled { join, .. }
            | Self::Queued { join, .. }
            | Self::Answered { join, .. }
            | Self::GaveUp { join, .. } => join,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created { .. } => "join.created",
            Self::Settled { .. } => "join.settled",
            Self::Queued { .. } => "join.queued",
            Self::Answered { .. } => "join.answered",
            Self::GaveUp { .. } => "join.gave_up",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["joins/", self.join().as_str(), "", ""]
    }

    fn load(&self) -> usize {
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

    fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Queued { .. } | Self::Answered { .. } | Self::GaveUp { .. })
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Answered { wait, .. } | Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            _ => None,
        }
    }
}

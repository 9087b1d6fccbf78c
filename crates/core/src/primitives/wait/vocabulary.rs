//! Commands, replies and events of waits for a status.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Goal, Next, Work};
use crate::handoff::{self, Handoff};
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::WaitId;
use crate::primitive;
use crate::task::{self, Task};
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that wait for a status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `task.wait`: the task, once it has finished or has one of these statuses.
    #[serde(rename = "task.wait")]
    Task {
        /// The task.
        task: TaskId,
        /// Return as soon as the task has one of these statuses. If omitted, when it has finished.
        /// A finished task always ends the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statuses: Option<BTreeSet<task::Status>>,
        /// How long to wait, in milliseconds. If omitted, the call does not wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// `handoff.wait`: the hand-off, once it has ended or has one of these statuses.
    #[serde(rename = "handoff.wait")]
    Handoff {
        /// The hand-off.
        handoff: HandoffId,
        /// Return as soon as the hand-off has one of these statuses. If omitted, when it has
        /// ended. A hand-off that has ended always ends the wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        statuses: Option<BTreeSet<handoff::Status>>,
        /// How long to wait, in milliseconds. If omitted, the call does not wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// `agent.next`: the next hand-off, message or task for the caller.
    #[serde(rename = "agent.next")]
    Next(Next),
}

/// Signals to waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when a status that calls wait for is reached.
    Answer,
}

/// There are no queries about waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {}

/// Replies to waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The task with its new status. `null` if it was not reached in time.
    Task(Option<Box<Task>>),
    /// The hand-off with its new status. `null` if it was not reached in time.
    Handoff(Option<Arc<Handoff>>),
    /// The next work. `null` if there was none in time.
    Next(Option<Work>),
}

/// Events of waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A call waits for a status.
    Queued {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waits.
        waiter: AgentId,
        /// When the wait times out.
        until: Timestamp,
        /// The status to wait for.
        goal: Goal,
    },
    /// A waiting call is answered.
    Answered {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waits.
        waiter: AgentId,
        /// The status that it waited for.
        goal: Goal,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waited.
        waiter: AgentId,
        /// The status that it waited for.
        goal: Goal,
        /// The reason.
        left: Left,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        match self {
            Self::Task { wait_ms, .. } | Self::Handoff { wait_ms, .. } => *wait_ms,
            Self::Next(next) => next.wait_ms,
        }
    }
}

impl Event {
    /// The agent that waits, and what for.
    fn parts(&self) -> (&AgentId, &Goal) {
        match self {
            Self::Queued { waiter, goal, .. }
            | Self::Answered { waiter, goal, .. }
            | Self::GaveUp { waiter, goal, .. } => (waiter, goal),
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Queued { .. } => "wait.queued",
            Self::Answered { .. } => "wait.answered",
            Self::GaveUp { .. } => "wait.gave_up",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["waits/", self.parts().0.as_str(), "", ""]
    }

    fn load(&self) -> usize {
        let (waiter, goal) = self.parts();
        32 + waiter.as_str().len() + goal.bytes()
    }

    fn is_about_waiting(&self) -> bool {
        true
    }

    fn wait(&self) -> Option<Step> {
        Some(match self {
            Self::Queued { wait, .. } => Step::Begins(*wait),
            Self::Answered { wait, .. } | Self::GaveUp { wait, .. } => Step::Left(*wait),
        })
    }
}

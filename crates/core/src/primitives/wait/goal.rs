//! The condition that a call waits for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::names::{HandoffId, TaskId};
use crate::{handoff, task};

/// The status that a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// A task.
    Task {
        /// The task.
        id: TaskId,
        /// Any of these statuses, besides the final ones.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        statuses: BTreeSet<task::Status>,
    },
    /// A hand-off.
    Handoff {
        /// The hand-off.
        id: HandoffId,
        /// Any of these statuses, besides the final ones.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        statuses: BTreeSet<handoff::Status>,
    },
}

/// The task or hand-off that a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A task.
    Task(TaskId),
    /// A hand-off.
    Handoff(HandoffId),
}

/// The current status of a target; none if it is no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// Of a task.
    Task(Option<task::Status>),
    /// Of a hand-off.
    Handoff(Option<handoff::Status>),
}

impl Goal {
    /// The task or hand-off.
    pub fn target(&self) -> Target {
        match self {
            Self::Task { id, .. } => Target::Task(id.clone()),
            Self::Handoff { id, .. } => Target::Handoff(id.clone()),
        }
    }

    /// Whether the call can be answered. A task or hand-off that is no longer known has ended.
    pub fn is_reached(&self, present: Present) -> bool {
        match (self, present) {
            #[cfg(feature = "planted")]
            (Self::Task { statuses, .. }, Present::Task(Some(now)))
                if crate::planted::is("wait.only_completed_ends") =>
            {
                now == task::Status::Completed || statuses.contains(&now)
            }
            (Self::Task { statuses, .. }, Present::Task(now)) => {
                now.is_none_or(|now| now.is_finished() || statuses.contains(&now))
            }
            (Self::Handoff { statuses, .. }, Present::Handoff(now)) => {
                now.is_none_or(|now| now.is_finished() || statuses.contains(&now))
            }
            (Self::Task { .. }, Present::Handoff(_)) | (Self::Handoff { .. }, Present::Task(_)) => {
                false
            }
        }
    }

    /// The size of its names in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Task { id, statuses } => id.as_str().len() + 16 * statuses.len(),
            Self::Handoff { id, statuses } => id.as_str().len() + 16 * statuses.len(),
        }
    }
}

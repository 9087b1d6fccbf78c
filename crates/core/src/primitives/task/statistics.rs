//! Counts, durations and failure reasons of tasks, as callers see them.

use serde::{Deserialize, Serialize};

use crate::histogram::Durations;

/// Statistics about the tasks of a workspace, or of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// Tasks by status.
    pub tasks: Counts,
    /// The number of waiting claims.
    pub claims_waiting: u64,
    /// How long tasks stayed in each status.
    pub time_in_state: TimeInState,
    /// Reasons of failed attempts, most frequent first.
    pub failures: Vec<Failure>,
}

/// Tasks by status. Only finished tasks that are still kept are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Pending: `ready`, `delayed` and `blocked` together.
    pub pending: u64,
    /// Pending tasks that can be claimed now.
    pub ready: u64,
    /// Pending tasks whose start time has not come.
    pub delayed: u64,
    /// Pending tasks that wait for another task.
    pub blocked: u64,
    /// Tasks with a lease.
    pub in_progress: u64,
    /// Tasks that were handed to an agent that has not claimed them yet.
    #[serde(default)]
    pub handed_off: u64,
    /// Tasks that wait for review.
    pub waiting_review: u64,
    /// Completed tasks.
    pub completed: u64,
    /// Failed tasks.
    pub failed: u64,
    /// Cancelled tasks.
    pub cancelled: u64,
}

/// How long tasks stayed in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeInState {
    /// Until they were claimed.
    pub pending: Durations,
    /// Until the attempt was completed, failed or released.
    pub in_progress: Durations,
    /// Until the receiver of a hand-off claimed them.
    #[serde(default)]
    pub handed_off: Durations,
    /// Until they were reviewed.
    pub waiting_review: Durations,
}

/// A reason of failed attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The `code`, `reason` or `type` of the error, or its text; `other` for all rare ones.
    pub reason: String,
    /// The number of failed attempts.
    pub count: u64,
}

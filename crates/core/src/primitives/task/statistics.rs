//! How many tasks there are, how long they took, and why they failed, as callers see it.

use serde::{Deserialize, Serialize};

use crate::histogram::Durations;

/// Everything about the tasks of a workspace, or of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statistics {
    /// How many there are.
    pub tasks: Counts,
    /// How many claims wait for a task.
    pub claims_waiting: u64,
    /// How long tasks stayed in each state that ends.
    pub time_in_state: TimeInState,
    /// Why tries failed, the most frequent reason first.
    pub failures: Vec<Failure>,
}

/// Tasks by status. Of finished tasks those that are still kept are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Nobody works on them: ready, delayed and blocked together.
    pub pending: u64,
    /// Of these: those that can be claimed now.
    pub ready: u64,
    /// Of these: those whose time has not come.
    pub delayed: u64,
    /// Of these: those that wait for another task.
    pub blocked: u64,
    /// Somebody holds their lease.
    pub in_progress: u64,
    /// Handed to somebody who has not taken them up yet.
    #[serde(default)]
    pub handed_off: u64,
    /// A person must decide.
    pub waiting_review: u64,
    /// Done.
    pub completed: u64,
    /// Given up.
    pub failed: u64,
    /// Not wanted any more.
    pub cancelled: u64,
}

/// How long tasks stayed in each state that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeInState {
    /// Until somebody claimed them.
    pub pending: Durations,
    /// Until the work was done, failed or let go.
    pub in_progress: Durations,
    /// Until whom they were handed to took them up.
    #[serde(default)]
    pub handed_off: Durations,
    /// Until a person had decided.
    pub waiting_review: Durations,
}

/// A reason why tries failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The error's `code`, `reason` or `type`, or its text; `other` for all the rare ones.
    pub reason: String,
    /// How many tries failed for it.
    pub count: u64,
}

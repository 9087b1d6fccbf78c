//! How many hand-offs there were, how they ended, and how long they took, as callers see it.

use serde::{Deserialize, Serialize};

use crate::histogram::Durations;
use crate::names::AgentId;

/// Everything about the hand-offs of a workspace, or between two agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HandoffStatistics")
)]
pub struct Statistics {
    /// How many there were.
    pub count: u64,
    /// How many can still be accepted.
    pub open: u64,
    /// How many were accepted and are not done.
    pub accepted: u64,
    /// How many were done.
    pub completed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many were not wanted by their receiver.
    pub rejected: u64,
    /// How many nobody took in time.
    pub expired: u64,
    /// How many were withdrawn.
    pub cancelled: u64,
    /// How many failed because a rule forbade them.
    pub validation_errors: u64,
    /// Completed ones among those that ended; 0 if none has.
    pub success_rate: f64,
    /// How long they took from the offer to the end.
    pub durations: Durations,
    /// How long they took from the offer until they were accepted.
    pub acceptance: Durations,
    /// The same for each pair of agents, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
}

/// What is known about hand-offs from one agent to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// Who gave.
    pub from: AgentId,
    /// To whom, as it was said: an agent, or what it can do.
    pub to: String,
    /// How many there were.
    pub count: u64,
    /// How many were done.
    pub completed: u64,
    /// How many ended otherwise.
    pub ended_otherwise: u64,
    /// How long they took from the offer to the end.
    pub durations: Durations,
}

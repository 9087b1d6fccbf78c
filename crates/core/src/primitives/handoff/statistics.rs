//! Counts, outcomes and durations of hand-offs, as callers see them.

use serde::{Deserialize, Serialize};

use crate::histogram::Durations;
use crate::names::AgentId;

/// Statistics about the hand-offs of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HandoffStatistics")
)]
pub struct Statistics {
    /// The total number.
    pub count: u64,
    /// The number that can still be accepted.
    pub open: u64,
    /// The number that were accepted and are not completed.
    pub accepted: u64,
    /// The number that were completed.
    pub completed: u64,
    /// The number that failed.
    pub failed: u64,
    /// The number that were rejected.
    pub rejected: u64,
    /// The number that expired.
    pub expired: u64,
    /// The number that were cancelled.
    pub cancelled: u64,
    /// The number that failed because of a rule.
    pub validation_errors: u64,
    /// The share of completed ones among those that ended; 0 if none has.
    pub success_rate: f64,
    /// Durations from offer to end.
    pub durations: Durations,
    /// Durations from offer to acceptance.
    pub acceptance: Durations,
    /// The same per pair of agents, most frequent first. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<Pair>,
}

/// Statistics about the hand-offs from one agent to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The giver.
    pub from: AgentId,
    /// The receiver as addressed: an agent, or a capability.
    pub to: String,
    /// The total number.
    pub count: u64,
    /// The number that were completed.
    pub completed: u64,
    /// The number that ended otherwise.
    pub ended_otherwise: u64,
    /// Durations from offer to end.
    pub durations: Durations,
}

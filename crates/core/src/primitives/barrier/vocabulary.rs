//! Commands, queries, replies and events of barriers.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, BarrierName};
use crate::numbers::{Generation, WaitId};
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that change barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `barrier.arrive`
    Arrive(Arrive),
    /// `barrier.reset`: discards all arrivals. Without arrivals nothing changes.
    Reset {
        /// The barrier.
        name: BarrierName,
    },
}

/// No signal is only for barriers.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// Arrives at a barrier, and waits until it opens if `wait_ms` is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arrive {
    /// The barrier.
    pub name: BarrierName,
    /// The number of arrivals that opens the barrier. It must be the same in every call of a
    /// generation.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = limits::BARRIER_COUNT_MAX))
    )]
    pub count: u64,
    /// How long to wait for the barrier to open, in milliseconds. If omitted, the call returns at
    /// once and the arrival stays. If the wait times out, the arrival is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Queries about barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `barrier.get`
    Get {
        /// The barrier.
        name: BarrierName,
    },
}

/// The result of an arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrival {
    /// The barrier.
    pub name: BarrierName,
    /// The generation that it counts for.
    pub generation: Generation,
    /// Whether that generation has opened.
    pub opened: bool,
    /// The number of arrivals in the generation.
    pub arrived: u64,
    /// The number of arrivals that opens it.
    pub count: u64,
}

/// A barrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Barrier {
    /// The name of the barrier.
    pub name: BarrierName,
    /// The current generation. Earlier ones have opened or were reset.
    pub generation: Generation,
    /// The number of arrivals that opens it. Absent before the first arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The agents that have arrived.
    pub arrived: Vec<AgentId>,
    /// The number of arrived agents with a waiting call.
    pub waiting: u64,
}

/// Replies about barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The result of an arrival.
    Arrival(Arrival),
    /// One barrier.
    Barrier(Barrier),
}

/// Events of barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An agent arrived.
    Arrived {
        /// The barrier.
        name: BarrierName,
        /// The agent that arrived.
        party: AgentId,
        /// The generation.
        generation: Generation,
        /// The number of arrivals that opens it.
        count: u64,
        /// The waiting call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
        /// When the wait times out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Enough agents have arrived.
    Opened {
        /// The barrier.
        name: BarrierName,
        /// The generation.
        generation: Generation,
    },
    /// A waiting call is answered. It follows `barrier.opened`.
    Passed {
        /// The barrier.
        name: BarrierName,
        /// The agent that arrived.
        party: AgentId,
        /// The generation.
        generation: Generation,
        /// The number of arrivals that opened it.
        count: u64,
        /// The waiting call that this answers.
        wait: WaitId,
    },
    /// An arrival was withdrawn.
    Withdrawn {
        /// The barrier.
        name: BarrierName,
        /// The agent that arrived.
        party: AgentId,
        /// The generation.
        generation: Generation,
        /// The number of arrivals that opens it.
        count: u64,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
        /// The reason. Absent if the barrier was reset.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Left>,
    },
    /// All arrivals were discarded; the generation never opens.
    Reset {
        /// The barrier.
        name: BarrierName,
        /// The generation.
        generation: Generation,
    },
    /// The record of the longest unused barrier was removed to make room.
    Forgotten {
        /// The barrier.
        name: BarrierName,
        /// The generation that would have been next.
        generation: Generation,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Arrive(arrive) = self { arrive.wait_ms } else { None }
    }
}

impl Event {
    /// The barrier that it is about.
    pub fn name(&self) -> &BarrierName {
        match self {
            Self::Arrived { name, .. }
            | Self::Opened { name, .. }
            | Self::Passed { name, .. }
            | Self::Withdrawn { name, .. }
            | Self::Reset { name, .. }
            | Self::Forgotten { name, .. } => name,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Arrived { .. } => "barrier.arrived",
            Self::Opened { .. } => "barrier.opened",
            Self::Passed { .. } => "barrier.passed",
            Self::Withdrawn { .. } => "barrier.withdrawn",
            Self::Reset { .. } => "barrier.reset",
            Self::Forgotten { .. } => "barrier.forgotten",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["barriers/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Arrived { party, .. }
            | Self::Passed { party, .. }
            | Self::Withdrawn { party, .. } => party.as_str().len(),
            Self::Opened { .. } | Self::Reset { .. } | Self::Forgotten { .. } => 0,
        }
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Arrived { wait, .. } => wait.map(Step::Begins),
            Self::Passed { wait, .. } => Some(Step::Granted(*wait)),
            Self::Withdrawn { wait, .. } => wait.map(Step::Left),
            _ => None,
        }
    }
}

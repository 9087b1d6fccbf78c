//! The words of barriers.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, BarrierName};
use crate::numbers::{Generation, WaitId};
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// What one may ask of barriers so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `barrier.arrive`
    Arrive(Arrive),
    /// `barrier.reset`: whoever has arrived has not; nothing changes if nobody has.
    Reset {
        /// Which barrier.
        name: BarrierName,
    },
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

/// Arrives at a barrier, and perhaps waits until it opens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Arrive {
    /// Which barrier.
    pub name: BarrierName,
    /// How many it takes to open it. All who arrive in one generation say the same.
    pub count: u64,
    /// How long to wait for the others at most; not at all if not given. Whoever waits in vain has
    /// not arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What one may ask of barriers without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `barrier.get`
    Get {
        /// Which barrier.
        name: BarrierName,
    },
}

/// What came of an arrival.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrival {
    /// At which barrier.
    pub name: BarrierName,
    /// In which generation.
    pub generation: Generation,
    /// Whether that has opened.
    pub opened: bool,
    /// How many have arrived in it.
    pub arrived: u64,
    /// How many it takes.
    pub count: u64,
}

/// A barrier as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Barrier {
    /// Which.
    pub name: BarrierName,
    /// The generation that gathers now. All before it have opened or were reset.
    pub generation: Generation,
    /// How many it takes; nothing as long as nobody has arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Who has arrived.
    pub arrived: Vec<AgentId>,
    /// How many of them have a call that waits.
    pub waiting: u64,
}

/// Answers of barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What came of an arrival.
    Arrival(Arrival),
    /// One barrier.
    Barrier(Barrier),
    /// Nothing had to be done.
    Done,
}

/// Facts about barriers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody is there.
    Arrived {
        /// Which barrier.
        name: BarrierName,
        /// Who.
        party: AgentId,
        /// In which generation.
        generation: Generation,
        /// How many it takes.
        count: u64,
        /// The call that waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
        /// Until when at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// So many have arrived that all may go on.
    Opened {
        /// Which barrier.
        name: BarrierName,
        /// Which generation.
        generation: Generation,
    },
    /// Somebody who waited may go on; follows the opening.
    Passed {
        /// Which barrier.
        name: BarrierName,
        /// Who.
        party: AgentId,
        /// In which generation.
        generation: Generation,
        /// How many had to arrive.
        count: u64,
        /// The call that waited.
        wait: WaitId,
    },
    /// Somebody is no longer there.
    Withdrawn {
        /// Which barrier.
        name: BarrierName,
        /// Who.
        party: AgentId,
        /// In which generation.
        generation: Generation,
        /// How many it takes.
        count: u64,
        /// The call that waited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
        /// Why; because the barrier is reset if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<Left>,
    },
    /// Nobody is there any more, and the generation never opens.
    Reset {
        /// Which barrier.
        name: BarrierName,
        /// Which generation.
        generation: Generation,
    },
    /// It made room for another: nobody had been there for longer.
    Forgotten {
        /// Which barrier.
        name: BarrierName,
        /// The generation that would have been next.
        generation: Generation,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Arrived { .. } => "barrier.arrived",
            Self::Opened { .. } => "barrier.opened",
            Self::Passed { .. } => "barrier.passed",
            Self::Withdrawn { .. } => "barrier.withdrawn",
            Self::Reset { .. } => "barrier.reset",
            Self::Forgotten { .. } => "barrier.forgotten",
        }
    }

    /// The barrier it is about.
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

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Arrived { wait, .. } => wait.map(Step::Begins),
            Self::Passed { wait, .. } => Some(Step::Granted(*wait)),
            Self::Withdrawn { wait, .. } => wait.map(Step::Left),
            Self::Opened { .. } | Self::Reset { .. } | Self::Forgotten { .. } => None,
        }
    }

    /// Bytes of the names in it beyond that of the barrier.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Arrived { party, .. }
            | Self::Passed { party, .. }
            | Self::Withdrawn { party, .. } => party.as_str().len(),
            Self::Opened { .. } | Self::Reset { .. } | Self::Forgotten { .. } => 0,
        }
    }
}

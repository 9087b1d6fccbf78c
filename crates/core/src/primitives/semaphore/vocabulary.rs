//! The words of semaphores.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, SemaphoreName};
use crate::numbers::{Token, WaitId};
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step, Wait};

/// What one may ask of semaphores so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `semaphore.acquire`
    Acquire(Acquire),
    /// `semaphore.renew`
    Renew {
        /// Which semaphore.
        name: SemaphoreName,
        /// The permit's token.
        token: Token,
        /// How long from now on; as long as before if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<u64>,
    },
    /// `semaphore.release`
    Release {
        /// Which semaphore.
        name: SemaphoreName,
        /// The permit's token.
        token: Token,
    },
    /// Sent by the policies when a permit that somebody waits for has become free.
    HandOver {
        /// Which semaphore.
        name: SemaphoreName,
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

/// Takes a permit, or waits for one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// Which semaphore.
    pub name: SemaphoreName,
    /// How many permits the semaphore has. Whoever uses it first says so; the same number, or none,
    /// is said later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permits: Option<u64>,
    /// How long the permit is held unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait for it at most; not at all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What one may ask of semaphores without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `semaphore.get`
    Get {
        /// Which semaphore.
        name: SemaphoreName,
    },
    /// `semaphore.list`: a page of them, by name.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<SemaphoreName>,
    },
}

/// Somebody holds a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Permit {
    /// Of which semaphore.
    pub name: SemaphoreName,
    /// Who holds it.
    pub holder: AgentId,
    /// What the holder shows for it.
    pub token: Token,
    /// Since when.
    pub acquired_at: Timestamp,
    /// When it ends unless it is renewed.
    pub expires_at: Timestamp,
    /// How long a renewal lasts.
    pub ttl_ms: u64,
}

/// A semaphore as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Semaphore {
    /// Which.
    pub name: SemaphoreName,
    /// How many may hold a permit at a time.
    pub permits: u64,
    /// How many permits nobody holds.
    pub free: u64,
    /// Who holds one, the longest first.
    pub holders: Vec<Permit>,
    /// Who waits for one, the first in line first.
    pub waiters: Vec<Wait>,
}

/// Answers of semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A permit was taken; nothing if there was none to get in time.
    Permit(Option<Permit>),
    /// One semaphore.
    Semaphore(Semaphore),
    /// A page of them, by name.
    Semaphores {
        /// The page.
        semaphores: Vec<Semaphore>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<SemaphoreName>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It is there from now on.
    Created {
        /// Which semaphore.
        name: SemaphoreName,
        /// How many may hold a permit at a time.
        permits: u64,
    },
    /// Somebody holds a permit.
    Acquired {
        /// Which semaphore.
        name: SemaphoreName,
        /// Who holds it.
        holder: AgentId,
        /// The permit's token.
        token: Token,
        /// How long it lasts.
        ttl_ms: u64,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// A permit lasts longer.
    Renewed {
        /// Which semaphore.
        name: SemaphoreName,
        /// The permit's token.
        token: Token,
        /// How long from now on.
        ttl_ms: u64,
    },
    /// The holder of a permit let it go.
    Released {
        /// Which semaphore.
        name: SemaphoreName,
        /// The token that is stale now.
        token: Token,
    },
    /// The time of a permit was over.
    Expired {
        /// Which semaphore.
        name: SemaphoreName,
        /// The token that is stale now.
        token: Token,
    },
    /// The session of a permit's holder ended.
    Dropped {
        /// Which semaphore.
        name: SemaphoreName,
        /// The token that is stale now.
        token: Token,
    },
    /// Somebody waits for a permit.
    Queued {
        /// Which semaphore.
        name: SemaphoreName,
        /// Who.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// How long the permit shall be held.
        ttl_ms: u64,
        /// Until when at most.
        until: Timestamp,
    },
    /// Somebody waits no longer.
    GaveUp {
        /// Which semaphore.
        name: SemaphoreName,
        /// Who waited.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// Why.
        left: Left,
    },
    /// It made room for another: nobody had held a permit for longer.
    Forgotten {
        /// Which semaphore.
        name: SemaphoreName,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "semaphore.created",
            Self::Acquired { .. } => "semaphore.acquired",
            Self::Renewed { .. } => "semaphore.renewed",
            Self::Released { .. } => "semaphore.released",
            Self::Expired { .. } => "semaphore.expired",
            Self::Dropped { .. } => "semaphore.dropped",
            Self::Queued { .. } => "semaphore.queued",
            Self::GaveUp { .. } => "semaphore.gave_up",
            Self::Forgotten { .. } => "semaphore.forgotten",
        }
    }

    /// The semaphore it is about.
    pub fn name(&self) -> &SemaphoreName {
        match self {
            Self::Created { name, .. }
            | Self::Acquired { name, .. }
            | Self::Renewed { name, .. }
            | Self::Released { name, .. }
            | Self::Expired { name, .. }
            | Self::Dropped { name, .. }
            | Self::Queued { name, .. }
            | Self::GaveUp { name, .. }
            | Self::Forgotten { name } => name,
        }
    }

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Acquired { wait, .. } => wait.map(Step::Granted),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Created { .. }
            | Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Forgotten { .. } => None,
        }
    }

    /// The token it gives.
    pub fn token(&self) -> Option<Token> {
        match self {
            Self::Acquired { token, .. } => Some(*token),
            Self::Created { .. }
            | Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Queued { .. }
            | Self::GaveUp { .. }
            | Self::Forgotten { .. } => None,
        }
    }

    /// Bytes of the names in it beyond that of the semaphore.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Acquired { holder: agent, .. }
            | Self::Queued { waiter: agent, .. }
            | Self::GaveUp { waiter: agent, .. } => agent.as_str().len(),
            Self::Created { .. }
            | Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Forgotten { .. } => 0,
        }
    }
}

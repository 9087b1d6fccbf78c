//! The words of locks.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, LockName};
use crate::numbers::{Token, WaitId};
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step, Wait};

/// What one may ask of locks so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `lock.acquire`
    Acquire(Acquire),
    /// `lock.renew`
    Renew {
        /// Which lock.
        name: LockName,
        /// The hold's token.
        token: Token,
        /// How long from now on; as long as before if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<u64>,
    },
    /// `lock.release`
    Release {
        /// Which lock.
        name: LockName,
        /// The hold's token.
        token: Token,
    },
    /// Sent by the policies when a lock that somebody waits for has become free.
    HandOver {
        /// Which lock.
        name: LockName,
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

/// Takes a lock, or waits for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// Which lock.
    pub name: LockName,
    /// How long it is held unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait for it at most; not at all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What one may ask of locks without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `lock.get`
    Get {
        /// Which lock.
        name: LockName,
    },
    /// `lock.list`: a page of those that are held, by name.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<LockName>,
    },
}

/// Whether anyone has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LockStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Somebody has.
    Held,
    /// Nobody has.
    Free,
}

/// Somebody has a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hold {
    /// Which lock.
    pub name: LockName,
    /// Who has it.
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

/// A lock as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    /// Which.
    pub name: LockName,
    /// Whether anyone has it.
    pub status: Status,
    /// Who has it, if anyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Who waits for it, the first in line first.
    pub waiters: Vec<Wait>,
}

/// One step of a circle in which everyone waits for the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Who waits.
    pub agent: AgentId,
    /// For which lock.
    pub waits_for: LockName,
    /// Who has it.
    pub held_by: AgentId,
}

/// Answers of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The lock was taken; nothing if there was none to get in time.
    Hold(Option<Hold>),
    /// One lock.
    Lock(Lock),
    /// A page of them, by name.
    Locks {
        /// The page.
        locks: Vec<Lock>,
        /// Circles in which everyone waits for the next, so that nobody goes on.
        deadlocks: Vec<Vec<Link>>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<LockName>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody has it.
    Acquired {
        /// Which lock.
        name: LockName,
        /// Who has it.
        holder: AgentId,
        /// The hold's token.
        token: Token,
        /// How long it lasts.
        ttl_ms: u64,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// It lasts longer.
    Renewed {
        /// Which lock.
        name: LockName,
        /// How long from now on.
        ttl_ms: u64,
    },
    /// Its holder let it go.
    Released {
        /// Which lock.
        name: LockName,
        /// The token that is stale now.
        token: Token,
    },
    /// Its time was over.
    Expired {
        /// Which lock.
        name: LockName,
        /// The token that is stale now.
        token: Token,
    },
    /// Its holder's session ended.
    Dropped {
        /// Which lock.
        name: LockName,
        /// The token that is stale now.
        token: Token,
    },
    /// Somebody waits for it.
    Queued {
        /// Which lock.
        name: LockName,
        /// Who.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// How long it shall be held.
        ttl_ms: u64,
        /// Until when at most.
        until: Timestamp,
    },
    /// Somebody waits no longer.
    GaveUp {
        /// Which lock.
        name: LockName,
        /// Who waited.
        waiter: AgentId,
        /// Which call.
        wait: WaitId,
        /// Why.
        left: Left,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Acquired { .. } => "lock.acquired",
            Self::Renewed { .. } => "lock.renewed",
            Self::Released { .. } => "lock.released",
            Self::Expired { .. } => "lock.expired",
            Self::Dropped { .. } => "lock.dropped",
            Self::Queued { .. } => "lock.queued",
            Self::GaveUp { .. } => "lock.gave_up",
        }
    }

    /// The lock it is about.
    pub fn name(&self) -> &LockName {
        match self {
            Self::Acquired { name, .. }
            | Self::Renewed { name, .. }
            | Self::Released { name, .. }
            | Self::Expired { name, .. }
            | Self::Dropped { name, .. }
            | Self::Queued { name, .. }
            | Self::GaveUp { name, .. } => name,
        }
    }

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Acquired { wait, .. } => wait.map(Step::Granted),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. } => None,
        }
    }

    /// The token it gives.
    pub fn token(&self) -> Option<Token> {
        match self {
            Self::Acquired { token, .. } => Some(*token),
            Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Queued { .. }
            | Self::GaveUp { .. } => None,
        }
    }

    /// Bytes of the names in it beyond that of the lock.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Acquired { holder: agent, .. }
            | Self::Queued { waiter: agent, .. }
            | Self::GaveUp { waiter: agent, .. } => agent.as_str().len(),
            Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. } => 0,
        }
    }
}

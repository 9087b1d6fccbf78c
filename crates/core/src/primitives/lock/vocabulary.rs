//! Commands, queries, replies and events of locks.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, LockName};
use crate::numbers::{Token, WaitId};
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step, Wait};

/// Commands that change locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `lock.acquire`
    Acquire(Acquire),
    /// `lock.renew`
    Renew {
        /// The lock.
        name: LockName,
        /// The token of the hold.
        token: Token,
        /// The new time to live in milliseconds, from now on. If omitted, the previous one.
        #[cfg_attr(
            feature = "schema",
            schemars(range(min = limits::HOLD_TTL_MS_MIN, max = limits::HOLD_TTL_MS_MAX))
        )]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<u64>,
    },
    /// `lock.release`
    Release {
        /// The lock.
        name: LockName,
        /// The token of the hold.
        token: Token,
    },
}

/// Signals to locks.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when a lock with waiters has become free.
    HandOver {
        /// The lock.
        name: LockName,
    },
}

/// Acquires a lock, or waits for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// The lock.
    pub name: LockName,
    /// Time to live of the hold in milliseconds, unless it is renewed.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::HOLD_TTL_MS_DEFAULT),
        range(min = limits::HOLD_TTL_MS_MIN, max = limits::HOLD_TTL_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait for the lock, in milliseconds. If omitted, the call does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Queries about locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `lock.get`
    Get {
        /// The lock.
        name: LockName,
    },
    /// `lock.list`: a page of held locks, by name.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<LockName>,
    },
}

/// Whether a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LockStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// An agent holds it.
    Held,
    /// It is free.
    Free,
}

/// A held lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hold {
    /// The lock.
    pub name: LockName,
    /// The holder.
    pub holder: AgentId,
    /// The fencing token of the hold. Absent unless the caller is the holder, an operator or an
    /// admin.
    #[serde(default, skip_serializing_if = "Token::is_hidden")]
    pub token: Token,
    /// When it was acquired.
    pub acquired_at: Timestamp,
    /// When it expires unless it is renewed.
    pub expires_at: Timestamp,
    /// The time to live in milliseconds that a renewal grants.
    pub ttl_ms: u64,
}

/// A lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lock {
    /// The name of the lock.
    pub name: LockName,
    /// Whether it is held.
    pub status: Status,
    /// The hold. Absent if the lock is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// The wait queue, first in line first.
    pub waiters: Vec<Wait>,
}

/// One edge of a deadlock: each agent waits for the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The agent that waits.
    pub agent: AgentId,
    /// The lock that it waits for.
    pub waits_for: LockName,
    /// The holder of that lock.
    pub held_by: AgentId,
}

/// Replies about locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The acquired or renewed hold. `null` if the lock was not granted in time.
    Hold(Option<Hold>),
    /// One lock.
    Lock(Lock),
    /// A page of results, by name.
    Locks {
        /// The results on this page.
        locks: Vec<Lock>,
        /// Deadlocks: cycles of agents that wait for each other.
        deadlocks: Vec<Vec<Link>>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<LockName>,
    },
}

/// Events of locks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The lock was acquired.
    Acquired {
        /// The lock.
        name: LockName,
        /// The holder.
        holder: AgentId,
        /// The token of the hold. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// How long it lasts, in milliseconds.
        ttl_ms: u64,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The hold was renewed.
    Renewed {
        /// The lock.
        name: LockName,
        /// The new duration in milliseconds, from now on.
        ttl_ms: u64,
    },
    /// The holder released it.
    Released {
        /// The lock.
        name: LockName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// The hold expired.
    Expired {
        /// The lock.
        name: LockName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// The session of the holder ended.
    Dropped {
        /// The lock.
        name: LockName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// A call waits for the lock.
    Queued {
        /// The lock.
        name: LockName,
        /// The agent that waits.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// Time to live of the hold in milliseconds, once granted.
        ttl_ms: u64,
        /// When the wait times out.
        until: Timestamp,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The lock.
        name: LockName,
        /// The agent that waited.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The reason.
        left: Left,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Acquire(acquire) = self { acquire.wait_ms } else { None }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Renew { token, .. } | Self::Release { token, .. } => Some(*token),
            Self::Acquire(_) => None,
        }
    }
}

impl Event {
    /// The lock that it is about.
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
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
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

    fn subject_parts(&self) -> [&str; 4] {
        ["locks/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
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

    fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Queued { .. } | Self::GaveUp { .. })
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Acquired { wait, .. } => wait.map(Step::Granted),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            _ => None,
        }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Acquired { token, .. } => Some(*token),
            _ => None,
        }
    }
}

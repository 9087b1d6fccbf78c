//! Commands, queries, replies and events of semaphores.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, SemaphoreName};
use crate::numbers::{Token, WaitId};
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step, Wait};
use crate::waiting::wait_queue::{is_one, one};

/// Commands that change semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `semaphore.acquire`
    Acquire(Acquire),
    /// `semaphore.renew`
    Renew {
        /// The semaphore.
        name: SemaphoreName,
        /// The token of the permit.
        token: Token,
        /// The new time to live in milliseconds, from now on. If omitted, the previous one.
        #[cfg_attr(
            feature = "schema",
            schemars(range(min = limits::HOLD_TTL_MS_MIN, max = limits::HOLD_TTL_MS_MAX))
        )]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ttl_ms: Option<u64>,
    },
    /// `semaphore.release`
    Release {
        /// The semaphore.
        name: SemaphoreName,
        /// The token of the permit.
        token: Token,
    },
    /// `semaphore.resize`
    Resize {
        /// The semaphore.
        name: SemaphoreName,
        /// The new number of permits. Calls of `semaphore.acquire` that give another number in
        /// `permits` are accepted from then on.
        #[cfg_attr(
            feature = "schema",
            schemars(range(min = 1, max = limits::PERMITS_PER_SEMAPHORE_MAX))
        )]
        permits: u64,
    },
}

/// Signals to semaphores.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when permits may have become free for waiting calls.
    HandOver {
        /// The semaphore.
        name: SemaphoreName,
    },
}

/// Acquires a permit, or waits for one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// The semaphore.
    pub name: SemaphoreName,
    /// The number of permits of the semaphore. Required in the first call for a name; later calls
    /// must give the same number, unless `semaphore.resize` has set another since. If omitted
    /// later, the existing number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permits: Option<u64>,
    /// How many of the permits to take, at most as many as the semaphore has. They are acquired
    /// and released together, under one token.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = 1),
        range(min = 1, max = limits::PERMITS_PER_SEMAPHORE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// Time to live of the permit in milliseconds, unless it is renewed.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::HOLD_TTL_MS_DEFAULT),
        range(min = limits::HOLD_TTL_MS_MIN, max = limits::HOLD_TTL_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait for a permit, in milliseconds. If omitted, the call does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Queries about semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `semaphore.get`
    Get {
        /// The semaphore.
        name: SemaphoreName,
    },
    /// `semaphore.list`: a page of semaphores, by name.
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
        cursor: Option<SemaphoreName>,
    },
}

/// A held permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Permit {
    /// The semaphore.
    pub name: SemaphoreName,
    /// The holder.
    pub holder: AgentId,
    /// The fencing token of the permit. Absent unless the caller is the holder, an operator or an
    /// admin.
    #[serde(default, skip_serializing_if = "Token::is_hidden")]
    pub token: Token,
    /// How many permits of the semaphore it takes.
    #[serde(default = "one")]
    pub weight: u64,
    /// When it was acquired.
    pub acquired_at: Timestamp,
    /// When it expires unless it is renewed.
    pub expires_at: Timestamp,
    /// The time to live in milliseconds that a renewal grants.
    pub ttl_ms: u64,
}

/// A call that waits for a permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PermitWait {
    /// The waiting call.
    pub id: WaitId,
    /// The agent that waits.
    pub agent: AgentId,
    /// When it started to wait.
    pub since: Timestamp,
    /// When the wait times out.
    pub until: Timestamp,
    /// How many permits it waits for.
    #[serde(default = "one")]
    pub weight: u64,
}

impl PermitWait {
    /// A waiting call as callers see it.
    pub(super) fn of(wait: &Wait, weight: u64) -> Self {
        let Wait { id, agent, since, until } = wait.clone();
        Self { id, agent, since, until, weight }
    }
}

/// A semaphore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Semaphore {
    /// The name of the semaphore.
    pub name: SemaphoreName,
    /// The number of permits.
    pub permits: u64,
    /// The number of free permits. 0 while more permits are held than the semaphore has, after it
    /// was made smaller.
    pub free: u64,
    /// The held permits, oldest first.
    pub holders: Vec<Permit>,
    /// The wait queue, first in line first.
    pub waiters: Vec<PermitWait>,
}

/// Replies about semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The acquired or renewed permit. `null` if none was granted in time.
    Permit(Option<Permit>),
    /// One semaphore.
    Semaphore(Semaphore),
    /// A page of results, by name.
    Semaphores {
        /// The results on this page.
        semaphores: Vec<Semaphore>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<SemaphoreName>,
    },
}

/// Events of semaphores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A semaphore was created.
    Created {
        /// The semaphore.
        name: SemaphoreName,
        /// The number of permits.
        permits: u64,
    },
    /// The number of permits was changed.
    Resized {
        /// The semaphore.
        name: SemaphoreName,
        /// The new number of permits.
        permits: u64,
    },
    /// A permit was acquired.
    Acquired {
        /// The semaphore.
        name: SemaphoreName,
        /// The holder.
        holder: AgentId,
        /// The token of the permit. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// How long it lasts, in milliseconds.
        ttl_ms: u64,
        /// How many permits it takes.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        weight: u64,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// A permit was renewed.
    Renewed {
        /// The semaphore.
        name: SemaphoreName,
        /// The token of the permit. Notices leave it out.
        #[serde(default)]
        token: Token,
        /// The new duration in milliseconds, from now on.
        ttl_ms: u64,
    },
    /// The holder released a permit.
    Released {
        /// The semaphore.
        name: SemaphoreName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// A permit expired.
    Expired {
        /// The semaphore.
        name: SemaphoreName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// The session of the holder ended.
    Dropped {
        /// The semaphore.
        name: SemaphoreName,
        /// The token, which is stale from now on.
        token: Token,
    },
    /// A call waits for a permit.
    Queued {
        /// The semaphore.
        name: SemaphoreName,
        /// The agent that waits.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// Time to live of the permit in milliseconds, once granted.
        ttl_ms: u64,
        /// When the wait times out.
        until: Timestamp,
        /// How many permits it waits for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        weight: u64,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The semaphore.
        name: SemaphoreName,
        /// The agent that waited.
        waiter: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The reason.
        left: Left,
        /// How many permits it waited for.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        weight: u64,
    },
    /// The record of the longest idle semaphore was removed to make room.
    Forgotten {
        /// The semaphore.
        name: SemaphoreName,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Acquire(acquire) = self { acquire.wait_ms } else { None }
    }

    fn token(&self) -> Option<Token> {
        match self {
            Self::Renew { token, .. } | Self::Release { token, .. } => Some(*token),
            Self::Acquire(_) | Self::Resize { .. } => None,
        }
    }
}

impl Event {
    /// The semaphore that it is about.
    pub fn name(&self) -> &SemaphoreName {
        match self {
            Self::Created { name, .. }
            | Self::Resized { name, .. }
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
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created { .. } => "semaphore.created",
            Self::Resized { .. } => "semaphore.resized",
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

    fn subject_parts(&self) -> [&str; 4] {
        ["semaphores/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Acquired { holder: agent, .. }
            | Self::Queued { waiter: agent, .. }
            | Self::GaveUp { waiter: agent, .. } => agent.as_str().len(),
            Self::Created { .. }
            | Self::Resized { .. }
            | Self::Renewed { .. }
            | Self::Released { .. }
            | Self::Expired { .. }
            | Self::Dropped { .. }
            | Self::Forgotten { .. } => 0,
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

    fn has_live_token(&self) -> bool {
        matches!(self, Self::Acquired { .. } | Self::Renewed { .. })
    }
}

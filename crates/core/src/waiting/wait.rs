//! Waiting calls: for a lock, a permit, a task, for others to arrive.
//!
//! ```text
//!   call ──▶ not available ──▶ queued ───▶ granted by the commit of another ────▶ answered
//!                                  ├─────▶ timed out ──────────────────────────▶ answered: null
//!                                  ├─────▶ the caller is gone ─────────────────▶ no answer
//!                                  └─────▶ the caller's session has ended ─────▶ refused
//! ```
//!
//! A wait is recorded like anything else, so that its position in the queue is known after the
//! workspace is loaded again, and a release grants to the next waiter in the same commit. The
//! callers themselves do not survive the process: when a workspace is loaded, all its waits are
//! ended first.
//!
//! Invariants:
//!
//! 1. A wait starts once and ends once.
//! 2. A commit starts at most one, and a transaction none: commands that are decided together
//!    cannot wait.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, IdempotencyKey};
use crate::numbers::WaitId;
use crate::time::Timestamp;

/// A waiting call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wait {
    /// The waiting call.
    pub id: WaitId,
    /// The agent that waits.
    pub agent: AgentId,
    /// When it started to wait.
    pub since: Timestamp,
    /// When the wait times out.
    pub until: Timestamp,
}

/// The effect of an event on a waiting call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It starts to wait.
    Begins(WaitId),
    /// It got what it waited for.
    Granted(WaitId),
    /// It stopped waiting without a result.
    Left(WaitId),
}

impl Step {
    /// The call that stopped waiting.
    pub fn ended(self) -> Option<WaitId> {
        match self {
            Self::Begins(_) => None,
            Self::Granted(wait) | Self::Left(wait) => Some(wait),
        }
    }
}

/// Why a wait ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// It timed out.
    Timeout,
    /// The caller was gone.
    Gone,
    /// The session of the caller had ended.
    SessionEnded,
    /// The call waited in several queues, and was answered by another one.
    Elsewhere,
    /// The semaphore was made smaller than the weight that the call asked for.
    TooHeavy,
}

/// The idempotency key under which a call waits: a repeated call takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    /// The waiting call.
    pub wait: WaitId,
    /// The caller. The commit of another agent may end the wait, so it is not always the author.
    pub agent: AgentId,
    /// The idempotency key.
    pub key: IdempotencyKey,
    /// Digest of the request.
    pub digest: u64,
}

/// All waiting calls with a key.
#[derive(Default)]
pub struct KeyedWaits {
    by_wait: BTreeMap<WaitId, Keyed>,
    by_key: BTreeMap<(AgentId, IdempotencyKey), WaitId>,
}

impl KeyedWaits {
    /// The waiting call with this key.
    pub fn find(&self, agent: &AgentId, key: &IdempotencyKey) -> Option<&Keyed> {
        if self.by_key.is_empty() {
            return None;
        }
        let wait = self.by_key.get(&(agent.clone(), key.clone()))?;
        self.by_wait.get(wait)
    }

    /// The key of a waiting call.
    pub fn get(&self, wait: WaitId) -> Option<&Keyed> {
        self.by_wait.get(&wait)
    }

    /// Registers a waiting call with a key.
    pub fn begin(&mut self, keyed: &Keyed) {
        let name = (keyed.agent.clone(), keyed.key.clone());
        let before = self.by_key.insert(name, keyed.wait);
        assert!(before.is_none(), "a call that is repeated takes the place of the first");
        self.by_wait.insert(keyed.wait, keyed.clone());
    }

    /// Removes a waiting call; returns its key.
    pub fn end(&mut self, wait: WaitId) -> Option<Keyed> {
        let keyed = self.by_wait.remove(&wait)?;
        self.by_key.remove(&(keyed.agent.clone(), keyed.key.clone()));
        Some(keyed)
    }

    /// All of them, for a snapshot.
    pub fn all(&self) -> impl Iterator<Item = &Keyed> {
        self.by_wait.values()
    }

    /// Assembles the contents of a snapshot.
    pub fn restore(all: &[Keyed]) -> Self {
        let mut waits = Self::default();
        for keyed in all {
            waits.begin(keyed);
        }
        waits
    }
}

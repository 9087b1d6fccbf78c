//! Holds: what agents hold of named resources until it is released, expires or is dropped, and the
//! calls that wait for it.
//!
//! ```text
//!                    ┌─ by key ── by token ── by holder ── by end
//!   Holds of locks ──┤
//!   or semaphores    └─ wait queues
//! ```
//!
//! Locks and semaphores share this table. A lock is held by one holder, so its holds are found by
//! its name; a semaphore has several permits, each found by its token.
//!
//! Invariants, checked by [`Holds::check`]:
//!
//! 1. No two holds have the same token.
//! 2. Every hold has a holder and an end.
//!
//! Deliberately absent: who is granted what. That is a rule of each primitive.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::limits;
use crate::names::AgentId;
use crate::numbers::{Token, WaitId};
use crate::refusal::{TooMany, has_room};
use crate::time::Timestamp;
use crate::waiting::wait::Left;
use crate::waiting::wait_queue::{WaitQueues, Waiter};

/// A held object: a lock, or permits of a semaphore.
pub trait Holding: Clone {
    /// The name of the resource.
    type Name: Clone + Ord;
    /// The key of a hold.
    type Key: Clone + Ord;
    /// The events of the primitive.
    type Event;
    /// The name of the holds and waits that one agent may have a limited number of, for refusals.
    const HELD_OR_AWAITED: &'static str;

    /// The smallest key.
    fn least_key() -> Self::Key;
    /// Its key.
    fn key(&self) -> Self::Key;
    /// The holder.
    fn holder(&self) -> &AgentId;
    /// The fencing token.
    fn token(&self) -> Token;
    /// When it expires by what is recorded, and its time to live in milliseconds.
    fn expiry(&self) -> (Timestamp, u64);
    /// Its time to live has elapsed.
    fn expired(&self) -> Self::Event;
    /// The session of its holder has ended.
    fn dropped(&self) -> Self::Event;
    /// A call waits no longer.
    fn gave_up(waiter: &Waiter<Self::Name>, left: Left) -> Self::Event;

    /// When it expires. Time without a server does not count, because no renewal could arrive.
    fn end(&self, awake_since: Timestamp) -> Timestamp {
        let (expires_at, ttl_ms) = self.expiry();
        expires_at.max(awake_since.after(ttl_ms))
    }
}

/// All holds of one kind, and the calls that wait for one.
pub struct Holds<H: Holding> {
    by_key: BTreeMap<H::Key, H>,
    by_token: BTreeMap<Token, H::Key>,
    by_holder: BTreeSet<(AgentId, H::Key)>,
    ends: BTreeSet<(Timestamp, H::Key)>,
    wait_queues: WaitQueues<H::Name>,
    // Not logged: since when this server has been up to receive renewals.
    awake_since: Timestamp,
}

/// A change of a hold and of a waiter, in either direction.
pub struct HoldChange<H: Holding> {
    /// The hold with this key after the change.
    pub hold: Option<(H::Key, Option<H>)>,
    /// The waiting call with this number after the change.
    pub wait: Option<(WaitId, Option<Waiter<H::Name>>)>,
}

impl<H: Holding> Default for Holds<H> {
    fn default() -> Self {
        Self {
            by_key: BTreeMap::new(),
            by_token: BTreeMap::new(),
            by_holder: BTreeSet::new(),
            ends: BTreeSet::new(),
            wait_queues: WaitQueues::default(),
            awake_since: Timestamp::default(),
        }
    }
}

impl<H: Holding> Holds<H> {
    /// Assembles the contents of a snapshot.
    pub fn restore(holds: Vec<H>, waits: Vec<Waiter<H::Name>>) -> Self {
        let mut table = Self::default();
        for hold in holds {
            table.replace_hold(&hold.key(), Some(hold));
        }
        for waiter in waits {
            table.wait_queues.replace(waiter.wait.id, Some(waiter));
        }
        table
    }

    /// Applies a change; returns how to undo it.
    pub fn replace(&mut self, change: HoldChange<H>) -> HoldChange<H> {
        let HoldChange { hold, wait } = change;
        let hold = hold.map(|(key, after)| {
            let before = self.replace_hold(&key, after);
            (key, before)
        });
        HoldChange { hold, wait: wait.map(|(id, after)| (id, self.wait_queues.replace(id, after))) }
    }

    fn replace_hold(&mut self, key: &H::Key, after: Option<H>) -> Option<H> {
        let before = self.by_key.remove(key);
        if let Some(before) = &before {
            self.by_token.remove(&before.token());
            self.by_holder.remove(&(before.holder().clone(), key.clone()));
            self.ends.remove(&(before.end(self.awake_since), key.clone()));
        }
        if let Some(after) = after {
            let twice = self.by_token.insert(after.token(), key.clone());
            assert!(twice.is_none(), "no two holds have the same token");
            self.by_holder.insert((after.holder().clone(), key.clone()));
            self.ends.insert((after.end(self.awake_since), key.clone()));
            self.by_key.insert(key.clone(), after);
        }
        before
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        let indexes = [self.by_token.len(), self.by_holder.len(), self.ends.len()];
        assert_eq!(indexes, [self.by_key.len(); 3], "every hold has a token, a holder and an end");
        self.wait_queues.check();
    }

    /// When the next hold expires or the next call times out.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let hold = self.ends.first().map(|(moment, _)| *moment);
        hold.into_iter().chain(self.wait_queues.next_end()).min()
    }

    /// Renewals can be received since this time.
    pub fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        self.ends = self.by_key.iter().map(|(key, hold)| (hold.end(moment), key.clone())).collect();
    }

    /// The hold with this key.
    pub fn get(&self, key: &H::Key) -> Option<&H> {
        self.by_key.get(key)
    }

    /// The agent that holds something with this token.
    pub fn holder_of(&self, token: Token) -> Option<&AgentId> {
        self.by_token.get(&token).map(|key| self.by_key[key].holder())
    }

    /// The number of holds.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Holds in the order of their keys, after this one.
    pub fn after(&self, cursor: Option<&H::Key>) -> impl Iterator<Item = &H> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_key.range::<H::Key, _>((from, Bound::Unbounded)).map(|(_, hold)| hold)
    }

    /// The holds of an agent, in the order of their keys.
    pub fn of_agent(&self, agent: &AgentId) -> impl Iterator<Item = &H> {
        let keys = self.by_holder.range((agent.clone(), H::least_key())..);
        keys.take_while(move |(holder, _)| holder == agent).map(|(_, key)| &self.by_key[key])
    }

    fn count_of(&self, agent: &AgentId) -> usize {
        let keys = self.by_holder.range((agent.clone(), H::least_key())..);
        let held = keys.take_while(|(holder, _)| holder == agent).count();
        held + self.wait_queues.count_of(agent)
    }

    /// The calls that wait.
    pub fn waits(&self) -> &WaitQueues<H::Name> {
        &self.wait_queues
    }

    /// Whether another hold or wait is allowed. Waits count as holds of the agent, because they
    /// become holds without another check.
    pub fn check_counts(
        &self,
        agent: &AgentId,
        all: (&'static str, usize, usize),
    ) -> Result<(), TooMany> {
        let of_all = self.by_key.len() + self.wait_queues.all().len();
        // While there are few of all agents, there is no need to count those of one.
        let own = if of_all < limits::HOLDS_PER_AGENT_MAX { of_all } else { self.count_of(agent) };
        has_room([(H::HELD_OR_AWAITED, own, limits::HOLDS_PER_AGENT_MAX), all])
    }

    /// The events that end all that an agent holds and waits for. Waits first: nothing must be
    /// granted to an agent whose session has ended.
    pub fn let_go(&self, agent: &AgentId) -> Vec<H::Event> {
        let waits = self.wait_queues.of_agent(agent);
        let waits = waits.map(|waiter| H::gave_up(waiter, Left::SessionEnded));
        waits.chain(self.of_agent(agent).map(H::dropped)).collect()
    }

    /// The events after which a call waits no longer.
    pub fn give_up(&self, wait: WaitId) -> Vec<H::Event> {
        let waiter = self.wait_queues.get(wait);
        waiter.map(|waiter| H::gave_up(waiter, Left::Gone)).into_iter().collect()
    }

    /// The events that end what has timed out and what has expired. Waits first: a call that timed
    /// out must not be granted anything.
    pub fn expire(&self, now: Timestamp) -> Vec<H::Event> {
        let waits = self.wait_queues.overdue(now);
        let waits = waits.map(|waiter| H::gave_up(waiter, Left::Timeout));
        let over = self.ends.iter().take_while(|(moment, _)| *moment <= now);
        let holds = over.map(|(_, key)| self.by_key[key].expired());
        waits.chain(holds).take(limits::EXPIRIES_PER_BATCH_MAX).collect()
    }
}

//! Wait queues: the waiters of each resource in order of arrival.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::names::AgentId;
use crate::numbers::WaitId;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;

/// A call that waits for a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter<Name> {
    /// The resource.
    pub name: Name,
    /// The agent, and the timeout.
    pub wait: Wait,
    /// How long it will be held; 0 if it is not held.
    pub ttl_ms: u64,
    /// How many permits it takes. A resource that is not a semaphore is taken completely.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub weight: u64,
}

impl<Name> Waiter<Name> {
    /// A call that waits for the whole of a resource.
    pub fn new(name: Name, wait: Wait, ttl_ms: u64) -> Self {
        Self { name, wait, ttl_ms, weight: one() }
    }
}

/// The weight of what was recorded without one.
pub(crate) fn one() -> u64 {
    1
}

/// Whether a weight is not recorded.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_one(weight: &u64) -> bool {
    *weight == 1
}

/// The wait queues of one kind of resource, one per name.
pub struct WaitQueues<Name> {
    waits: BTreeMap<WaitId, Waiter<Name>>,
    // Calls are numbered in order of arrival, so this is the order of the queue.
    by_name: BTreeSet<(Name, WaitId)>,
    by_agent: BTreeSet<(AgentId, WaitId)>,
    ends: BTreeSet<(Timestamp, WaitId)>,
}

impl<Name> Default for WaitQueues<Name> {
    fn default() -> Self {
        let (by_name, by_agent, ends) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { waits: BTreeMap::new(), by_name, by_agent, ends }
    }
}

impl<Name: Clone + Ord> WaitQueues<Name> {
    /// Adds or removes a waiter; returns the previous one.
    pub fn replace(&mut self, id: WaitId, after: Option<Waiter<Name>>) -> Option<Waiter<Name>> {
        let before = self.waits.remove(&id);
        if let Some(Waiter { name, wait, .. }) = &before {
            self.by_name.remove(&(name.clone(), id));
            self.by_agent.remove(&(wait.agent.clone(), id));
            self.ends.remove(&(wait.until, id));
        }
        if let Some(after) = after {
            self.by_name.insert((after.name.clone(), id));
            self.by_agent.insert((after.wait.agent.clone(), id));
            self.ends.insert((after.wait.until, id));
            self.waits.insert(id, after);
        }
        before
    }

    /// A waiting call.
    pub fn get(&self, id: WaitId) -> Option<&Waiter<Name>> {
        self.waits.get(&id)
    }

    /// The agent that waits with this call.
    pub fn caller(&self, id: WaitId) -> Option<&AgentId> {
        self.get(id).map(|waiter| &waiter.wait.agent)
    }

    /// Whether a call of this agent waits.
    pub fn has_caller(&self, agent: &AgentId) -> bool {
        self.of_agent(agent).next().is_some()
    }

    /// All waiting calls, in order of arrival.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Waiter<Name>> {
        self.waits.values()
    }

    /// All calls that wait for one resource, in order of arrival.
    pub fn of(&self, name: &Name) -> impl Iterator<Item = &Waiter<Name>> {
        let line = self.by_name.range((name.clone(), WaitId(0))..);
        line.take_while(move |(there, _)| there == name).map(|(_, id)| &self.waits[id])
    }

    /// The waiting calls of an agent, in order of arrival.
    pub fn of_agent(&self, agent: &AgentId) -> impl Iterator<Item = &Waiter<Name>> {
        let calls = self.by_agent.range((agent.clone(), WaitId(0))..);
        calls.take_while(move |(there, _)| there == agent).map(|(_, id)| &self.waits[id])
    }

    /// The number of waiting calls of an agent.
    pub fn count_of(&self, agent: &AgentId) -> usize {
        let calls = self.by_agent.range((agent.clone(), WaitId(0))..);
        calls.take_while(|(there, _)| there == agent).count()
    }

    /// Waiting calls that have timed out.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Waiter<Name>> {
        let over = self.ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, id)| &self.waits[id])
    }

    /// When the next call times out.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(moment, _)| *moment)
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        let indexes = [self.by_name.len(), self.by_agent.len(), self.ends.len()];
        assert_eq!(indexes, [self.waits.len(); 3], "every wait has a place in line and an end");
    }
}

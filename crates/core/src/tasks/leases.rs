//! Who works on what.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{AgentId, TaskId};

/// Every task that somebody has a lease of, by whom.
#[derive(Default)]
pub struct Leases(BTreeMap<AgentId, BTreeSet<TaskId>>);

impl Leases {
    /// An agent has a lease.
    pub fn insert(&mut self, agent: &AgentId, task: &TaskId) {
        self.0.entry(agent.clone()).or_default().insert(task.clone());
    }

    /// It has no more.
    pub fn remove(&mut self, agent: &AgentId, task: &TaskId) {
        let held = self.0.get_mut(agent).expect("only a lease that there is ends");
        held.remove(task);
        if held.is_empty() {
            self.0.remove(agent);
        }
    }

    /// What an agent works on, by id.
    pub fn of(&self, agent: &AgentId) -> impl Iterator<Item = &TaskId> {
        self.0.get(agent).into_iter().flatten()
    }

    /// How much that is.
    pub fn count(&self, agent: &AgentId) -> usize {
        self.0.get(agent).map_or(0, BTreeSet::len)
    }

    /// What anybody works on.
    pub fn all(&self) -> impl Iterator<Item = &TaskId> {
        self.0.values().flatten()
    }
}

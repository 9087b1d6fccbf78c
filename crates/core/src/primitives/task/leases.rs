//! Current leases, by holder and by token.

use std::collections::{BTreeMap, BTreeSet};

use super::Lease;
use crate::names::{AgentId, TaskId};
use crate::numbers::Token;

/// Every lease whose holder has not gone.
#[derive(Default)]
pub struct Leases {
    by_agent: BTreeMap<AgentId, BTreeSet<TaskId>>,
    tokens: BTreeMap<Token, AgentId>,
}

impl Leases {
    /// A lease of a task begins.
    pub fn insert(&mut self, lease: &Lease, task: &TaskId) {
        if lease.abandoned {
            return;
        }
        self.by_agent.entry(lease.holder.clone()).or_default().insert(task.clone());
        self.tokens.insert(lease.token, lease.holder.clone());
    }

    /// Removes a lease.
    pub fn remove(&mut self, lease: &Lease, task: &TaskId) {
        if lease.abandoned {
            return;
        }
        let held = self.by_agent.get_mut(&lease.holder).expect("only what has begun ends");
        held.remove(task);
        if held.is_empty() {
            self.by_agent.remove(&lease.holder);
        }
        self.tokens.remove(&lease.token);
    }

    /// The tasks that an agent holds, by id.
    pub fn of(&self, agent: &AgentId) -> impl Iterator<Item = &TaskId> {
        self.by_agent.get(agent).into_iter().flatten()
    }

    /// How many tasks an agent holds.
    pub fn count(&self, agent: &AgentId) -> usize {
        self.by_agent.get(agent).map_or(0, BTreeSet::len)
    }

    /// All held tasks.
    pub fn all(&self) -> impl Iterator<Item = &TaskId> {
        self.by_agent.values().flatten()
    }

    /// The agent whose lease has this token.
    pub fn holder_of(&self, token: Token) -> Option<&AgentId> {
        self.tokens.get(&token)
    }

    /// The number of leases, which both indexes agree on.
    pub fn counts(&self) -> [usize; 2] {
        [self.all().count(), self.tokens.len()]
    }
}

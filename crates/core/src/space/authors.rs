//! Agents by number, so that a million entries need not each store a name.

use std::collections::BTreeMap;

use crate::names::AgentId;

/// Every agent that ever wrote into a workspace, numbered in order of appearance. Numbers are
/// never reused: entries refer to them.
#[derive(Clone, Debug, Default)]
pub struct Authors {
    by_number: Vec<AgentId>,
    by_name: BTreeMap<AgentId, u32>,
    /// The last requested number, since agents tend to write several times in a row.
    latest: usize,
}

impl Authors {
    /// The number of an agent, assigned if it is new.
    pub fn number(&mut self, agent: &AgentId) -> u32 {
        let as_number = |index: usize| u32::try_from(index).expect("fewer than 2^32 agents");
        if self.by_number.get(self.latest) == Some(agent) {
            return as_number(self.latest);
        }
        if let Some(number) = self.by_name.get(agent) {
            self.latest = *number as usize;
            return *number;
        }
        self.latest = self.by_number.len();
        let number = as_number(self.latest);
        self.by_number.push(agent.clone());
        self.by_name.insert(agent.clone(), number);
        number
    }

    /// The agent of an assigned number.
    pub fn name(&self, number: u32) -> &AgentId {
        &self.by_number[number as usize]
    }

    /// How many numbers are assigned.
    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether no number is assigned.
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Undoes the latest assignments.
    pub fn truncate(&mut self, len: usize) {
        for agent in self.by_number.drain(len..) {
            self.by_name.remove(&agent);
        }
    }

    /// All of them, in order of number.
    pub fn names(&self) -> &[AgentId] {
        &self.by_number
    }
}

impl PartialEq for Authors {
    fn eq(&self, other: &Self) -> bool {
        self.by_number == other.by_number
    }
}

impl Eq for Authors {}

impl FromIterator<AgentId> for Authors {
    fn from_iter<I: IntoIterator<Item = AgentId>>(agents: I) -> Self {
        let mut authors = Self::default();
        for agent in agents {
            authors.number(&agent);
        }
        authors
    }
}

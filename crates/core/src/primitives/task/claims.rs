//! Waiting claims, in order of arrival.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Record;
use crate::names::{AgentId, TaskId, TaskType};
use crate::numbers::WaitId;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;

/// A waiting claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The agent, and the timeout.
    pub wait: Wait,
    /// Only for tasks of these types.
    pub types: Option<BTreeSet<TaskType>>,
    /// The capabilities of the claimant.
    pub capabilities: BTreeSet<String>,
    /// Only for this task.
    pub task: Option<TaskId>,
    /// The requested lease.
    pub lease_ms: u64,
    /// The maximum number of tasks, if it is more than 1: the answer is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl Waiting {
    /// Whether a task matches the claim.
    pub fn wants(&self, record: &Record) -> bool {
        self.task.as_ref().is_none_or(|task| *task == record.id)
            && self.types.as_ref().is_none_or(|types| types.contains(&record.task_type))
            && record.suits(&self.wait.agent, &self.capabilities)
    }
}

/// All waiting claims. Their numbers grow, so they are in order of arrival.
#[derive(Default)]
pub struct Claims {
    by_id: BTreeMap<WaitId, Waiting>,
    by_type: BTreeSet<(TaskType, WaitId)>,
    by_task: BTreeSet<(TaskId, WaitId)>,
    of_any_type: BTreeSet<WaitId>,
    by_agent: BTreeSet<(AgentId, WaitId)>,
    ends: BTreeSet<(Timestamp, WaitId)>,
}

impl Claims {
    /// Adds a waiting claim.
    pub fn insert(&mut self, waiting: Waiting) {
        let id = waiting.wait.id;
        match (&waiting.task, &waiting.types) {
            (Some(task), _) => drop(self.by_task.insert((task.clone(), id))),
            (None, Some(types)) => {
                self.by_type.extend(types.iter().map(|task_type| (task_type.clone(), id)));
            }
            (None, None) => drop(self.of_any_type.insert(id)),
        }
        self.by_agent.insert((waiting.wait.agent.clone(), id));
        self.ends.insert((waiting.wait.until, id));
        let before = self.by_id.insert(id, waiting);
        assert!(before.is_none(), "a call begins to wait once");
    }

    /// Removes a waiting claim.
    pub fn remove(&mut self, id: WaitId) -> Waiting {
        let waiting = self.by_id.remove(&id).expect("what ends to wait has waited");
        match (&waiting.task, &waiting.types) {
            (Some(task), _) => drop(self.by_task.remove(&(task.clone(), id))),
            (None, Some(types)) => {
                for task_type in types {
                    self.by_type.remove(&(task_type.clone(), id));
                }
            }
            (None, None) => drop(self.of_any_type.remove(&id)),
        }
        self.by_agent.remove(&(waiting.wait.agent.clone(), id));
        self.ends.remove(&(waiting.wait.until, id));
        waiting
    }

    /// The first waiting claim that matches a task, among those of agents that may start one.
    pub fn first_for(
        &self,
        record: &Record,
        may_start: &impl Fn(&AgentId) -> bool,
    ) -> Option<&Waiting> {
        if self.by_id.is_empty() {
            return None;
        }
        let wants = |waiting: &&Waiting| waiting.wants(record) && may_start(&waiting.wait.agent);
        let wanting = |id: &WaitId| self.by_id.get(id).filter(wants);
        let of_type = self.by_type.range((record.task_type.clone(), WaitId(0))..);
        let of_type = of_type.take_while(|(there, _)| *there == record.task_type);
        let firsts = [
            of_type.map(|(_, id)| id).find_map(wanting),
            self.of_any_type.iter().find_map(wanting),
            self.of_task(&record.id).find(wants),
        ];
        #[cfg(feature = "planted")]
        if crate::planted::is("task.any_claim_first") {
            return self.of_any_type.iter().rev().find_map(wanting).or(firsts[0]).or(firsts[2]);
        }
        firsts.into_iter().flatten().min_by_key(|waiting| waiting.wait.id)
    }

    /// The claims that wait for exactly this task.
    pub fn of_task(&self, task: &TaskId) -> impl Iterator<Item = &Waiting> {
        let claims = self.by_task.range((task.clone(), WaitId(0))..);
        claims.take_while(move |(there, _)| there == task).map(|(_, id)| &self.by_id[id])
    }

    /// The claims of an agent.
    pub fn of_agent(&self, agent: &AgentId) -> impl Iterator<Item = &Waiting> {
        let claims = self.by_agent.range((agent.clone(), WaitId(0))..);
        claims.take_while(move |(there, _)| there == agent).map(|(_, id)| &self.by_id[id])
    }

    /// Claims that have timed out.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = &Waiting> {
        let over = self.ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, id)| &self.by_id[id])
    }

    /// When the first of them times out.
    pub fn next_end(&self) -> Option<Timestamp> {
        self.ends.first().map(|(moment, _)| *moment)
    }

    /// A waiting claim.
    pub fn get(&self, id: WaitId) -> Option<&Waiting> {
        self.by_id.get(&id)
    }

    /// All of them, in order of arrival.
    pub fn all(&self) -> impl ExactSizeIterator<Item = &Waiting> {
        self.by_id.values()
    }

    /// Whether no claim waits.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// How many claims wait for tasks of a type, among others or alone.
    pub fn of_type(&self, task_type: &TaskType) -> usize {
        let of_type = self.by_type.range((task_type.clone(), WaitId(0))..);
        let of_type = of_type.take_while(|(there, _)| there == task_type).count();
        of_type + self.of_any_type.len()
    }

    /// Asserts that all indexes agree.
    pub fn check(&self) {
        let count = self.by_id.len();
        assert_eq!([self.by_agent.len(), self.ends.len()], [count; 2], "every claim is listed");
        let listed = |waiting: &Waiting| match (&waiting.task, &waiting.types) {
            (None, Some(types)) => types.len(),
            (Some(_), _) | (None, None) => 1,
        };
        let wanted: usize = self.by_id.values().map(listed).sum();
        let found = self.by_type.len() + self.by_task.len() + self.of_any_type.len();
        assert_eq!(wanted, found, "every claim is listed under what it waits for");
    }
}

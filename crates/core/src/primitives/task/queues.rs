//! Which task is next, for any claim.
//!
//! ```text
//!   for anyone ─┬─ review, needs nothing ─▶ t-3 ▶ t-9 ▶ …      heads: t-3, t-5, …
//!               └─ write, needs `rust`   ─▶ t-5 ▶ …            in order of place
//!   for bob    ─── write, needs nothing  ─▶ t-4
//! ```
//!
//! Tasks that the same agents may claim stand in one line. A claim of some types looks at the heads
//! of the lines of these types; a claim of any type goes along all heads, in order, to the first
//! that suits. Neither depends on how long the lines are.

use std::collections::{BTreeMap, BTreeSet};

use super::{Needs, Place, Record};
use crate::names::{AgentId, TaskId, TaskType};

/// Every ready task, in order.
#[derive(Default)]
pub struct Queues {
    shelves: BTreeMap<Option<AgentId>, Shelf>,
    len: usize,
}

/// What one agent alone may claim, or anyone.
#[derive(Default)]
struct Shelf {
    lines: BTreeMap<(TaskType, Needs), BTreeMap<Place, TaskId>>,
    heads: BTreeMap<Place, (TaskType, Needs)>,
}

impl Queues {
    /// How many are ready.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is ready.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A task has become ready.
    pub fn insert(&mut self, record: &Record) {
        let shelf = self.shelves.entry(record.assigned_agent().cloned()).or_default();
        shelf.change(record, |line| line.insert(record.place(), record.id.clone()).is_none());
        self.len += 1;
    }

    /// A task is ready no longer.
    pub fn remove(&mut self, record: &Record) {
        let assigned = record.assigned_agent().cloned();
        let shelf = self.shelves.get_mut(&assigned).expect("a ready task is listed");
        shelf.change(record, |line| line.remove(&record.place()).is_some());
        if shelf.lines.is_empty() {
            self.shelves.remove(&assigned);
        }
        self.len -= 1;
    }

    /// The task that an agent claims next.
    pub fn first(
        &self,
        agent: &AgentId,
        types: Option<&BTreeSet<TaskType>>,
        capabilities: &BTreeSet<String>,
    ) -> Option<&TaskId> {
        let own = self.shelves.get(&Some(agent.clone()));
        let shelves = self.shelves.get(&None).into_iter().chain(own);
        let found = shelves.filter_map(|shelf| shelf.first(types, capabilities));
        found.min_by_key(|(place, _)| *place).map(|(_, task)| task)
    }

    /// How many tasks of the same line come before a task, counted up to a limit.
    pub fn before(&self, record: &Record, max: usize) -> usize {
        let shelf = self.shelves.get(&record.assigned_agent().cloned());
        let line = shelf.and_then(|shelf| shelf.lines.get(&line_of(record)));
        line.map_or(0, |line| line.range(..record.place()).take(max).count())
    }

    /// Asserts that every line has its head, and nothing else is one.
    pub fn check(&self) {
        let mut len = 0;
        for shelf in self.shelves.values() {
            assert_eq!(shelf.lines.len(), shelf.heads.len(), "every line has one head");
            for (name, line) in &shelf.lines {
                let head = line.first_key_value().expect("no line is empty").0;
                assert_eq!(shelf.heads.get(head), Some(name), "the first is the head");
                len += line.len();
            }
        }
        assert_eq!(len, self.len, "all are counted");
    }
}

fn line_of(record: &Record) -> (TaskType, Needs) {
    (record.task_type.clone(), record.needs())
}

impl Shelf {
    /// Changes the line of a record, and its head if that is another then.
    fn change(
        &mut self,
        record: &Record,
        change: impl FnOnce(&mut BTreeMap<Place, TaskId>) -> bool,
    ) {
        let name = line_of(record);
        let line = self.lines.entry(name.clone()).or_default();
        let before = line.first_key_value().map(|(place, _)| *place);
        assert!(change(line), "a task becomes ready once, and once not ready");
        let after = line.first_key_value().map(|(place, _)| *place);
        if before == after {
            return;
        }
        before.map(|place| self.heads.remove(&place));
        match after {
            Some(place) => drop(self.heads.insert(place, name)),
            None => drop(self.lines.remove(&name)),
        }
    }

    fn first(
        &self,
        types: Option<&BTreeSet<TaskType>>,
        capabilities: &BTreeSet<String>,
    ) -> Option<(Place, &TaskId)> {
        let able = |needs: &Needs| needs.as_ref().is_none_or(|needs| needs.is_subset(capabilities));
        let Some(types) = types else {
            let mut heads = self.heads.iter().filter(|(_, (_, needs))| able(needs));
            return heads.next().map(|(place, name)| (*place, &self.lines[name][place]));
        };
        let lines = types.iter().flat_map(|task_type| {
            let lines = self.lines.range((task_type.clone(), None)..);
            lines.take_while(move |((there, _), _)| there == task_type)
        });
        let heads = lines
            .filter(|((_, needs), _)| able(needs))
            .map(|(_, line)| line.first_key_value().expect("no line is empty"));
        heads.min_by_key(|(place, _)| **place).map(|(place, task)| (*place, task))
    }
}

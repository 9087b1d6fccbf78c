//! The queues of ready tasks.
//!
//! ```text
//!   for anyone ─┬─ review, needs nothing ─▶ t-3 ▶ t-9 ▶ …      heads: t-3, t-5, …
//!               └─ write, needs `rust`   ─▶ t-5 ▶ …            in order of place
//!   for bob    ─── write, needs nothing  ─▶ t-4
//! ```
//!
//! Tasks that the same agents may claim form one queue. A claim of some types examines the heads of
//! the queues of these types; a claim of any type scans all heads, in order, up to the first match.
//! Neither depends on the length of the queues, unless tasks are held back because their budget is
//! used up: those are skipped one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::{Needs, QueuePosition, Record};
use crate::names::{AgentId, TaskId, TaskType};

/// All ready tasks, in order.
#[derive(Default)]
pub struct Queues {
    buckets: BTreeMap<Option<AgentId>, Bucket>,
    len: usize,
}

/// The tasks that only one agent may claim, or any agent.
#[derive(Default)]
struct Bucket {
    queues: BTreeMap<(TaskType, Needs), BTreeMap<QueuePosition, TaskId>>,
    heads: BTreeMap<QueuePosition, (TaskType, Needs)>,
}

impl Queues {
    /// The number of ready tasks.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no task is ready.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a task that has become ready.
    pub fn insert(&mut self, record: &Record) {
        let bucket = self.buckets.entry(record.assigned_agent().cloned()).or_default();
        bucket.change(record, |queue| {
            queue.insert(record.queue_position(), record.id.clone()).is_none()
        });
        self.len += 1;
    }

    /// Removes a task that is no longer ready.
    pub fn remove(&mut self, record: &Record) {
        let assigned = record.assigned_agent().cloned();
        let bucket = self.buckets.get_mut(&assigned).expect("a ready task is listed");
        bucket.change(record, |queue| queue.remove(&record.queue_position()).is_some());
        if bucket.queues.is_empty() {
            self.buckets.remove(&assigned);
        }
        self.len -= 1;
    }

    /// The task that an agent claims next, among those that may start.
    pub fn first(
        &self,
        agent: &AgentId,
        types: Option<&BTreeSet<TaskType>>,
        capabilities: &BTreeSet<String>,
        may_start: &impl Fn(&TaskId) -> bool,
    ) -> Option<&TaskId> {
        let own = self.buckets.get(&Some(agent.clone()));
        let buckets = self.buckets.get(&None).into_iter().chain(own);
        let found = buckets.filter_map(|bucket| bucket.first(types, capabilities, may_start));
        found.min_by_key(|(position, _)| *position).map(|(_, task)| task)
    }

    /// How many tasks are before a task in its queue, counted up to a limit.
    pub fn before(&self, record: &Record, max: usize) -> usize {
        let bucket = self.buckets.get(&record.assigned_agent().cloned());
        let queue = bucket.and_then(|bucket| bucket.queues.get(&queue_of(record)));
        queue.map_or(0, |queue| queue.range(..record.queue_position()).take(max).count())
    }

    /// Asserts that the heads are exactly the first tasks of the queues.
    pub fn check(&self) {
        let mut len = 0;
        for bucket in self.buckets.values() {
            assert_eq!(bucket.queues.len(), bucket.heads.len(), "every line has one head");
            for (name, queue) in &bucket.queues {
                let head = queue.first_key_value().expect("no line is empty").0;
                assert_eq!(bucket.heads.get(head), Some(name), "the first is the head");
                len += queue.len();
            }
        }
        assert_eq!(len, self.len, "all are counted");
    }
}

fn queue_of(record: &Record) -> (TaskType, Needs) {
    (record.task_type.clone(), record.needs())
}

/// The first task of a queue that may start.
fn first_of<'a>(
    queue: &'a BTreeMap<QueuePosition, TaskId>,
    may_start: &impl Fn(&TaskId) -> bool,
) -> Option<(QueuePosition, &'a TaskId)> {
    let mut queue = queue.iter().map(|(position, task)| (*position, task));
    queue.find(|(_, task)| may_start(task))
}

impl Bucket {
    /// Changes the queue of a record, and updates its head.
    fn change(
        &mut self,
        record: &Record,
        change: impl FnOnce(&mut BTreeMap<QueuePosition, TaskId>) -> bool,
    ) {
        let name = queue_of(record);
        let queue = self.queues.entry(name.clone()).or_default();
        let before = queue.first_key_value().map(|(position, _)| *position);
        assert!(change(queue), "a task becomes ready once, and once not ready");
        let after = queue.first_key_value().map(|(position, _)| *position);
        if before == after {
            return;
        }
        before.map(|position| self.heads.remove(&position));
        match after {
            Some(position) => drop(self.heads.insert(position, name)),
            None => drop(self.queues.remove(&name)),
        }
    }

    fn first(
        &self,
        types: Option<&BTreeSet<TaskType>>,
        capabilities: &BTreeSet<String>,
        may_start: &impl Fn(&TaskId) -> bool,
    ) -> Option<(QueuePosition, &TaskId)> {
        let able = |needs: &Needs| needs.as_ref().is_none_or(|needs| needs.is_subset(capabilities));
        let Some(types) = types else {
            let heads = self.heads.iter().filter(|(_, (_, needs))| able(needs));
            let mut found = None;
            for (position, name) in heads {
                // The others of a queue come after its head.
                if found.is_some_and(|(first, _)| first < *position) {
                    break;
                }
                let first = first_of(&self.queues[name], may_start);
                found = found.into_iter().chain(first).min_by_key(|(position, _)| *position);
            }
            return found;
        };
        let queues = types.iter().flat_map(|task_type| {
            let queues = self.queues.range((task_type.clone(), None)..);
            queues.take_while(move |((there, _), _)| there == task_type)
        });
        let firsts = queues
            .filter(|((_, needs), _)| able(needs))
            .filter_map(|(_, queue)| first_of(queue, may_start));
        firsts.min_by_key(|(position, _)| *position)
    }
}

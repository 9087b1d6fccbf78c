//! The time-driven transitions of tasks.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::TaskId;
use crate::time::Timestamp;

/// The next such moment of every task that has one.
#[derive(Default)]
pub struct Timers {
    by_moment: BTreeSet<(Timestamp, TaskId)>,
    by_task: BTreeMap<TaskId, Timestamp>,
}

impl Timers {
    /// The next moment of a task; none if nothing happens by itself.
    pub fn set(&mut self, task: &TaskId, moment: Option<Timestamp>) {
        let before = match moment {
            Some(moment) => self.by_task.insert(task.clone(), moment),
            None => self.by_task.remove(task),
        };
        if before == moment {
            return;
        }
        if let Some(moment) = before {
            self.by_moment.remove(&(moment, task.clone()));
        }
        if let Some(moment) = moment {
            self.by_moment.insert((moment, task.clone()));
        }
    }

    /// The next moment of a task.
    pub fn get(&self, task: &TaskId) -> Option<Timestamp> {
        self.by_task.get(task).copied()
    }

    /// The tasks whose moment has come, in order of time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = &TaskId> {
        self.by_moment.iter().take_while(move |(moment, _)| *moment <= now).map(|(_, task)| task)
    }

    /// The first moment of all.
    pub fn next(&self) -> Option<Timestamp> {
        self.by_moment.first().map(|(moment, _)| *moment)
    }

    /// How many tasks have one.
    pub fn len(&self) -> usize {
        assert_eq!(self.by_task.len(), self.by_moment.len(), "a task has one moment at most");
        self.by_task.len()
    }

    /// Whether none has one.
    pub fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }
}

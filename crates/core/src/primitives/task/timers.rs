//! Timers of tasks.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::TaskId;
use crate::time::Timestamp;

/// The next timed transition of each task that has one.
#[derive(Default)]
pub struct Timers {
    by_moment: BTreeSet<(Timestamp, TaskId)>,
    by_task: BTreeMap<TaskId, Timestamp>,
}

impl Timers {
    /// Sets or clears the timer of a task.
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

    /// The timer of a task.
    pub fn get(&self, task: &TaskId) -> Option<Timestamp> {
        self.by_task.get(task).copied()
    }

    /// The tasks whose timer is due, by time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = &TaskId> {
        self.by_moment.iter().take_while(move |(moment, _)| *moment <= now).map(|(_, task)| task)
    }

    /// The next timer.
    pub fn next(&self) -> Option<Timestamp> {
        self.by_moment.first().map(|(moment, _)| *moment)
    }

    /// The number of timers.
    pub fn len(&self) -> usize {
        assert_eq!(self.by_task.len(), self.by_moment.len(), "a task has one moment at most");
        self.by_task.len()
    }

    /// Whether there are no timers.
    pub fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }
}

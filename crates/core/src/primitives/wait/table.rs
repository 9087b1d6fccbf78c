//! The table of calls that wait for a status.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Event, Goal, Present, Target};
use crate::names::AgentId;
use crate::numbers::WaitId;
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{self, WaitQueues};

/// A call that waits for a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiter {
    /// The agent, and the timeout.
    pub wait: Wait,
    /// The status to wait for.
    pub goal: Goal,
    /// Whether that is reached, and the call is not answered yet.
    #[serde(default)]
    pub is_due: bool,
}

/// Everything about waits that a snapshot holds: all waiting calls, in order of arrival.
pub type Facts = Vec<Waiter>;

/// All calls that wait for a status. Changes only by `Table::evolve`, `Table::undo` and
/// `Table::note`.
#[derive(Default)]
pub struct Table {
    waits: BTreeMap<WaitId, Waiter>,
    wait_queues: WaitQueues<Target>,
    // The calls whose status is reached.
    due: BTreeSet<WaitId>,
}

/// How to undo one change.
pub enum Undo {
    /// A call started or stopped waiting: the previous state.
    Wait(WaitId, Option<Waiter>),
    /// The status of these calls is reached, or no longer is.
    Noted(Vec<WaitId>),
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        match event {
            Event::Queued { wait, waiter, until, goal } => {
                let (agent, since) = (waiter.clone(), moment.time);
                let there = Wait { id: *wait, agent, since, until: *until };
                let waiter = Waiter { wait: there, goal: goal.clone(), is_due: false };
                Undo::Wait(*wait, self.replace(*wait, Some(waiter)))
            }
            Event::Answered { wait, .. } | Event::GaveUp { wait, .. } => {
                Undo::Wait(*wait, self.replace(*wait, None))
            }
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Wait(wait, before) => drop(self.replace(wait, before)),
            Undo::Noted(waits) => {
                for wait in waits {
                    self.toggle(wait);
                }
            }
        }
    }

    fn facts(&self) -> Facts {
        self.waits.values().cloned().collect()
    }

    fn restore(waits: Facts) -> Self {
        let mut table = Self::default();
        for waiter in waits {
            table.replace(waiter.wait.id, Some(waiter));
        }
        table
    }

    fn check(&self) {
        self.wait_queues.check();
        assert_eq!(self.wait_queues.all().len(), self.waits.len(), "every call is in line");
        let due = self.waits.values().filter(|waiter| waiter.is_due).count();
        assert_eq!(due, self.due.len(), "every call that can be answered is listed");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let due = self.due.first().map(|_| Timestamp(0));
        due.into_iter().chain(self.wait_queues.next_end()).min()
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.waits.keys().copied()
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.wait_queues.caller(wait)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.wait_queues.has_caller(agent)
    }
}

impl Table {
    fn replace(&mut self, id: WaitId, after: Option<Waiter>) -> Option<Waiter> {
        let before = self.waits.remove(&id);
        self.due.remove(&id);
        let queued = after.as_ref().map(|Waiter { wait, goal, .. }| {
            wait_queue::Waiter::new(goal.target(), wait.clone(), 0)
        });
        self.wait_queues.replace(id, queued);
        if let Some(after) = after {
            if after.is_due {
                self.due.insert(id);
            }
            self.waits.insert(id, after);
        }
        before
    }

    fn toggle(&mut self, id: WaitId) {
        let waiter = self.waits.get_mut(&id).expect("only a waiting call becomes due");
        waiter.is_due = !waiter.is_due;
        if waiter.is_due {
            self.due.insert(id);
        } else {
            self.due.remove(&id);
        }
    }

    /// Records the status of a task or hand-off; none if that makes no difference to any call.
    pub fn note(&mut self, target: &Target, present: Present) -> Option<Undo> {
        let waiters = self.wait_queues.of(target).map(|waiter| &self.waits[&waiter.wait.id]);
        let changed = waiters.filter(|it| it.goal.is_reached(present) != it.is_due);
        let changed: Vec<WaitId> = changed.map(|waiter| waiter.wait.id).collect();
        for wait in &changed {
            self.toggle(*wait);
        }
        (!changed.is_empty()).then_some(Undo::Noted(changed))
    }

    /// Whether no call waits.
    pub fn is_idle(&self) -> bool {
        self.waits.is_empty()
    }

    /// A waiting call.
    pub fn waiter(&self, id: WaitId) -> Option<&Waiter> {
        self.waits.get(&id)
    }

    /// All waiting calls, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.waits.values()
    }

    /// The calls that wait for a task or hand-off, in order of arrival.
    pub fn of(&self, target: &Target) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of(target).map(|waiter| &self.waits[&waiter.wait.id])
    }

    /// The waiting calls of an agent, in order of arrival.
    pub fn of_agent(&self, agent: &AgentId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of_agent(agent).map(|waiter| &self.waits[&waiter.wait.id])
    }

    /// The calls whose status is reached, in order of arrival.
    pub fn due(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.due.iter().map(|wait| &self.waits[wait])
    }

    /// Calls that have timed out without their status.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &Waiter> {
        let over = self.wait_queues.overdue(now).map(|waiter| &self.waits[&waiter.wait.id]);
        over.filter(|waiter| !waiter.is_due)
    }
}

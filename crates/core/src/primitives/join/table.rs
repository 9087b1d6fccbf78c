//! The table of joins.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::View;
use super::vocabulary::{Event, Status};
use crate::join::{Member, Outcome, Record};
use crate::limits;
use crate::names::{AgentId, GroupName, JoinId, TaskId};
use crate::numbers::{Revision, WaitId};
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{self, WaitQueues};

/// A call that waits for a join.
pub type Waiter = wait_queue::Waiter<JoinId>;

/// The contents of a snapshot: how many were ever created, the records, and the waiting calls.
pub type Facts = (u64, Vec<Record>, Vec<Waiter>);

/// All joins of a workspace. Changes only by what [`primitive::Table`] lists,
/// [`Table::add_members`], [`Table::finish`] and [`Table::grow`].
#[derive(Default)]
pub struct Table {
    records: BTreeMap<JoinId, Record>,
    // Unfinished members, and their positions.
    by_task: BTreeSet<(TaskId, JoinId, usize)>,
    // Open joins of a group.
    by_group: BTreeSet<(GroupName, JoinId)>,
    // Open joins with a deadline.
    deadlines: BTreeSet<(Timestamp, JoinId)>,
    // Open joins whose outcome is determined.
    ripe: BTreeSet<JoinId>,
    // Settled joins: the first to be forgotten comes first.
    settled: BTreeSet<(Timestamp, u64, JoinId)>,
    wait_queues: WaitQueues<JoinId>,
    // How many members the open joins have, or may get.
    members: usize,
    // How many members the settled joins have.
    settled_members: usize,
    // The total size of the copied results.
    bytes: usize,
    // How many were ever created.
    created: u64,
}

/// How to undo one change.
pub enum Undo {
    /// A join was created.
    Created(JoinId),
    /// A join has settled.
    Settled(JoinId),
    /// A call started or stopped waiting: the previous state.
    Wait(WaitId, Option<Waiter>),
    /// A task finished that is a member of these joins.
    Finished(Vec<(JoinId, usize)>),
    /// These joins have got another member, or one too many: the previous number, and whether there
    /// had been too many before.
    Grown(Vec<(JoinId, usize, bool)>),
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        match event {
            Event::Created { join, need, group, deadline, .. } => {
                let record = Record {
                    id: join.clone(),
                    number: self.created,
                    need: *need,
                    group: group.clone(),
                    members: Vec::new(),
                    outgrown: false,
                    status: Status::Waiting,
                    reason: None,
                    created_by: moment.agent.clone(),
                    created_at: moment.time,
                    deadline: *deadline,
                    settled_at: None,
                    completed: 0,
                    unfinished: 0,
                    bytes: 0,
                };
                self.created += 1;
                self.put_in(record);
                Undo::Created(join.clone())
            }
            Event::Settled { join, status, reason } => {
                self.settle(join, *status, reason.clone(), Some(moment.time));
                Undo::Settled(join.clone())
            }
            Event::Queued { join, waiter, wait, until } => {
                let (agent, since) = (waiter.clone(), moment.time);
                let who = Wait { id: *wait, agent, since, until: *until };
                let waiter = Waiter::new(join.clone(), who, 0);
                Undo::Wait(*wait, self.wait_queues.replace(*wait, Some(waiter)))
            }
            Event::Answered { wait, .. } | Event::GaveUp { wait, .. } => {
                Undo::Wait(*wait, self.wait_queues.replace(*wait, None))
            }
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Created(join) => {
                self.take_out(&join);
                self.created -= 1;
            }
            Undo::Settled(join) => self.settle(&join, Status::Waiting, None, None),
            Undo::Wait(wait, before) => drop(self.wait_queues.replace(wait, before)),
            Undo::Finished(there) => {
                for (join, index) in there {
                    self.note(&join, index, None);
                }
            }
            Undo::Grown(joins) => {
                for (join, before, outgrown) in joins {
                    let mut record = self.take_head(&join);
                    record.outgrown = outgrown;
                    for Member { task, .. } in record.members.split_off(before) {
                        record.unfinished -= 1;
                        self.by_task.remove(&(task, join.clone(), before));
                    }
                    self.put_head(record);
                }
            }
        }
    }

    fn facts(&self) -> Facts {
        let records = self.records.values().cloned().collect();
        (self.created, records, self.wait_queues.all().cloned().collect())
    }

    fn restore((created, records, waits): Facts) -> Self {
        let mut table = Self { created, ..Self::default() };
        for record in records {
            table.put_in(record);
        }
        for waiter in waits {
            table.wait_queues.replace(waiter.wait.id, Some(waiter));
        }
        table
    }

    fn check(&self) {
        let (mut unfinished, mut bytes) = (0, 0);
        for record in self.records.values() {
            let is_open = |member: &&Member| member.outcome.is_none();
            let open = record.members.iter().filter(is_open).count();
            assert_eq!(open, record.unfinished, "who has not finished is counted");
            assert_eq!(record.status == Status::Waiting, record.settled_at.is_none());
            assert!(record.bytes <= limits::JOIN_BYTES_MAX, "copied results have a limit");
            unfinished += open;
            bytes += record.bytes;
        }
        assert_eq!(unfinished, self.by_task.len(), "who has not finished is found by its task");
        assert_eq!(bytes, self.bytes, "what is copied is counted");
        assert!(bytes <= limits::JOINS_BYTES_MAX, "copied results have a limit");
        self.wait_queues.check();
        for waiter in self.wait_queues.all() {
            let record = self.get(&waiter.name);
            let waits = record.is_some_and(|record| record.settled_at.is_none());
            assert!(waits, "no call waits for a settled join");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        if !self.ripe.is_empty() {
            return Some(Timestamp(0));
        }
        let deadline = self.deadlines.first().map(|(moment, _)| *moment);
        deadline.into_iter().chain(self.wait_queues.next_end()).min()
    }

    /// Forgets the joins that settled first, if there are too many. It runs after every batch, so
    /// that replay forgets the same ones.
    fn trim(&mut self) -> Vec<Forgotten> {
        while self.settled.len() > limits::JOINS_SETTLED_MAX
            || self.settled_members > limits::SETTLED_TASKS_MAX
        {
            let Some((_, _, join)) = self.settled.first().cloned() else { break };
            self.take_out(&join);
        }
        Vec::new()
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.wait_queues.all().map(|waiter| waiter.wait.id)
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.wait_queues.caller(wait)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.wait_queues.has_caller(agent)
    }
}

impl Table {
    /// Adds the known members of a join that was just created. Undoing the creation removes them.
    pub fn add_members(&mut self, join: &JoinId, tasks: &[TaskId], view: &impl View) {
        let mut record = self.take_head(join);
        let there = record.group.as_ref().map(|group| view.group(group));
        for task in there.as_deref().unwrap_or(tasks) {
            let (index, outcome) = (record.members.len(), view.outcome(task));
            record.grow(task.clone());
            if let Some(outcome) = outcome {
                let outcome = fitting(self.bytes + record.bytes, &record, outcome);
                record.note(index, Some(outcome));
            }
        }
        self.put_in(record);
    }

    /// Records that a task has finished; none if it is in no join.
    pub fn finish(&mut self, task: &TaskId, view: &impl View) -> Option<Undo> {
        let there: Vec<_> =
            self.places(task).map(|(_, join, index)| (join.clone(), *index)).collect();
        if there.is_empty() {
            return None;
        }
        let outcome = view.outcome(task).expect("a task that has finished has an outcome");
        for (join, index) in &there {
            let outcome = fitting(self.bytes, &self.records[join], outcome.clone());
            self.note(join, *index, Some(outcome));
        }
        Some(Undo::Finished(there))
    }

    /// Records that a task was created in a group; none if no join is about that group.
    pub fn grow(&mut self, group: &GroupName, task: &TaskId) -> Option<Undo> {
        let joins: Vec<_> = self.of_group(group).cloned().collect();
        if joins.is_empty() {
            return None;
        }
        let mut grown = Vec::with_capacity(joins.len());
        for join in joins {
            let mut record = self.take_head(&join);
            let (before, outgrown) = (record.members.len(), record.outgrown);
            record.grow(task.clone());
            if record.members.len() > before {
                self.by_task.insert((task.clone(), join.clone(), before));
            }
            self.put_head(record);
            grown.push((join, before, outgrown));
        }
        Some(Undo::Grown(grown))
    }

    fn note(&mut self, join: &JoinId, index: usize, outcome: Option<Outcome>) {
        let mut record = self.take_head(join);
        let place = (record.members[index].task.clone(), join.clone(), index);
        if outcome.is_some() {
            self.by_task.remove(&place);
        } else {
            self.by_task.insert(place);
        }
        record.note(index, outcome);
        self.put_head(record);
    }

    fn settle(
        &mut self,
        join: &JoinId,
        status: Status,
        reason: Option<String>,
        settled_at: Option<Timestamp>,
    ) {
        let mut record = self.take_head(join);
        (record.status, record.reason, record.settled_at) = (status, reason, settled_at);
        self.put_head(record);
    }

    /// Removes a join from all indexes but that of its members.
    fn take_head(&mut self, join: &JoinId) -> Record {
        let record = self.records.remove(join).expect("only a known join changes");
        self.bytes -= record.bytes;
        if let Some(settled_at) = record.settled_at {
            self.settled.remove(&(settled_at, record.number, join.clone()));
            self.settled_members -= record.members.len();
            return record;
        }
        self.members -= record.size();
        self.ripe.remove(join);
        if let Some(group) = &record.group {
            self.by_group.remove(&(group.clone(), join.clone()));
        }
        if let Some(deadline) = record.deadline {
            self.deadlines.remove(&(deadline, join.clone()));
        }
        record
    }

    fn put_head(&mut self, record: Record) {
        let join = record.id.clone();
        self.bytes += record.bytes;
        if let Some(settled_at) = record.settled_at {
            self.settled.insert((settled_at, record.number, join.clone()));
            self.settled_members += record.members.len();
        } else {
            self.members += record.size();
            if record.verdict().is_some() {
                self.ripe.insert(join.clone());
            }
            if let Some(group) = &record.group {
                self.by_group.insert((group.clone(), join.clone()));
            }
            if let Some(deadline) = record.deadline {
                self.deadlines.insert((deadline, join.clone()));
            }
        }
        self.records.insert(join, record);
    }

    fn take_out(&mut self, join: &JoinId) {
        let record = self.take_head(join);
        for (index, member) in record.members.into_iter().enumerate() {
            if member.outcome.is_none() {
                self.by_task.remove(&(member.task, join.clone(), index));
            }
        }
    }

    fn put_in(&mut self, record: Record) {
        for (index, member) in record.members.iter().enumerate() {
            if member.outcome.is_none() {
                self.by_task.insert((member.task.clone(), record.id.clone(), index));
            }
        }
        self.put_head(record);
    }

    /// The record of a join.
    pub fn get(&self, join: &JoinId) -> Option<&Record> {
        self.records.get(join)
    }

    /// An unused id for a join that is created by this revision.
    pub fn fresh_id(&self, revision: Revision) -> JoinId {
        let mut ids = (1..).map(|number| JoinId::of_revision(revision, number));
        ids.find(|id| !self.records.contains_key(id)).expect("there is always another")
    }

    fn places(&self, task: &TaskId) -> impl Iterator<Item = &(TaskId, JoinId, usize)> {
        let from = || (task.clone(), JoinId::least(), 0);
        // Most workspaces have no joins.
        let places = (!self.by_task.is_empty()).then(|| self.by_task.range(from()..));
        places.into_iter().flatten().take_while(move |(there, _, _)| there == task)
    }

    /// The joins that have an unfinished task as a member.
    pub fn of_task(&self, task: &TaskId) -> impl Iterator<Item = &JoinId> {
        self.places(task).map(|(_, join, _)| join)
    }

    /// The open joins of a group.
    pub fn of_group(&self, group: &GroupName) -> impl Iterator<Item = &JoinId> {
        let from = self.by_group.range((group.clone(), JoinId::least())..);
        from.take_while(move |(there, _)| there == group).map(|(_, join)| join)
    }

    /// Whether no join depends on any task.
    pub fn is_idle(&self) -> bool {
        self.by_task.is_empty() && self.by_group.is_empty()
    }

    /// The number of open joins.
    pub fn waiting(&self) -> usize {
        self.records.len() - self.settled.len()
    }

    /// How many members the open joins have, or may get.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Open joins whose outcome is determined.
    pub fn ripe(&self) -> impl ExactSizeIterator<Item = &JoinId> {
        self.ripe.iter()
    }

    /// Open joins whose deadline has passed.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &JoinId> {
        let over = self.deadlines.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, join)| join)
    }

    /// All calls that wait for a join, in order of arrival.
    pub fn line(&self, join: &JoinId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of(join)
    }

    /// A waiting call.
    pub fn waiter(&self, id: WaitId) -> Option<&Waiter> {
        self.wait_queues.get(id)
    }

    /// All waiting calls, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.wait_queues.all()
    }

    /// The waiting calls of an agent, in order of arrival.
    pub fn waits_of(&self, agent: &AgentId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of_agent(agent)
    }

    /// Waiting calls that have timed out.
    pub fn overdue_waits(&self, now: Timestamp) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.overdue(now)
    }
}

/// How a task ended, with its result if it fits into the join and into the total limit.
fn fitting(copied: usize, record: &Record, outcome: Outcome) -> Outcome {
    let bytes = outcome.bytes();
    let fits =
        record.bytes + bytes <= limits::JOIN_BYTES_MAX && copied + bytes <= limits::JOINS_BYTES_MAX;
    if fits || bytes == 0 { outcome } else { outcome.bare() }
}

//! The facts about joins.

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

/// Somebody who waits for a join.
pub type Waiter = wait_queue::Waiter<JoinId>;

/// Every join, for a snapshot: how many were ever created, those that are known, who waits.
pub type Facts = (u64, Vec<Record>, Vec<Waiter>);

/// Every join of a workspace. Changes only by what [`primitive::Table`] lists,
/// [`Table::add_members`], [`Table::finish`] and [`Table::grow`].
#[derive(Default)]
pub struct Table {
    records: BTreeMap<JoinId, Record>,
    // Members that have not finished, and where they stand.
    by_task: BTreeSet<(TaskId, JoinId, usize)>,
    // Those that wait, and are about a group.
    by_group: BTreeSet<(GroupName, JoinId)>,
    // Those that wait, and not for ever.
    deadlines: BTreeSet<(Timestamp, JoinId)>,
    // Those that wait although it has turned out what becomes of them.
    ripe: BTreeSet<JoinId>,
    // The others: the first to be forgotten stands first.
    settled: BTreeSet<(Timestamp, u64, JoinId)>,
    wait_queues: WaitQueues<JoinId>,
    // How many tasks are, or may yet be, in those that wait.
    members: usize,
    // How many are in the others.
    settled_members: usize,
    // How much is copied in all of them.
    bytes: usize,
    // How many were ever created.
    created: u64,
}

/// How to take back one change.
pub enum Undo {
    /// A join was created.
    Created(JoinId),
    /// A join has settled.
    Settled(JoinId),
    /// Somebody began or ceased to wait: how it was.
    Wait(WaitId, Option<Waiter>),
    /// A task has finished that is there in these joins.
    Finished(Vec<(JoinId, usize)>),
    /// These joins have one more member, or one too many: how many there were, and whether there
    /// had been too many already.
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
                let waiter = Waiter { name: join.clone(), wait: who, ttl_ms: 0 };
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
            assert!(waits, "nobody waits for what has settled");
        }
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        if !self.ripe.is_empty() {
            return Some(Timestamp(0));
        }
        let deadline = self.deadlines.first().map(|(moment, _)| *moment);
        deadline.into_iter().chain(self.wait_queues.next_end()).min()
    }

    /// Forgets the joins that settled first, if there are too many. It happens after every batch,
    /// to the same joins whenever the batch is replayed.
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

    fn is_waiting(&self, wait: WaitId) -> bool {
        self.wait_queues.get(wait).is_some()
    }
}

impl Table {
    /// Adds the members of a join that was just created, as far as they are known. Taking back the
    /// creation takes them back.
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

    /// Notes that a task has finished; none if no join is about it.
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

    /// Notes that a task was created in a group; none if no join is about that.
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

    /// Takes a join out of all lists but that of its members.
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

    /// What is known of a join.
    pub fn get(&self, join: &JoinId) -> Option<&Record> {
        self.records.get(join)
    }

    /// An id that no join has, for a join that is created by this revision.
    pub fn fresh_id(&self, revision: Revision) -> JoinId {
        let mut ids = (1..).map(|number| JoinId::of_revision(revision, number));
        ids.find(|id| !self.records.contains_key(id)).expect("there is always another")
    }

    fn places(&self, task: &TaskId) -> impl Iterator<Item = &(TaskId, JoinId, usize)> {
        let from = (task.clone(), JoinId::least(), 0);
        self.by_task.range(from..).take_while(move |(there, _, _)| there == task)
    }

    /// The joins that a task which has not finished is in.
    pub fn of_task(&self, task: &TaskId) -> impl Iterator<Item = &JoinId> {
        self.places(task).map(|(_, join, _)| join)
    }

    /// The joins of a group that wait.
    pub fn of_group(&self, group: &GroupName) -> impl Iterator<Item = &JoinId> {
        let from = self.by_group.range((group.clone(), JoinId::least())..);
        from.take_while(move |(there, _)| there == group).map(|(_, join)| join)
    }

    /// Whether what happens to tasks concerns no join.
    pub fn is_idle(&self) -> bool {
        self.by_task.is_empty() && self.by_group.is_empty()
    }

    /// How many joins wait.
    pub fn waiting(&self) -> usize {
        self.records.len() - self.settled.len()
    }

    /// How many tasks are, or may yet be, in joins that wait.
    pub fn members(&self) -> usize {
        self.members
    }

    /// Joins of which it has turned out what becomes of them, and is not yet told.
    pub fn ripe(&self) -> impl ExactSizeIterator<Item = &JoinId> {
        self.ripe.iter()
    }

    /// Joins that wait although their deadline has passed.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &JoinId> {
        let over = self.deadlines.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, join)| join)
    }

    /// Everybody who waits for a join, the first in line first.
    pub fn line(&self, join: &JoinId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of(join)
    }

    /// Somebody who waits.
    pub fn waiter(&self, id: WaitId) -> Option<&Waiter> {
        self.wait_queues.get(id)
    }

    /// Everybody who waits, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = &Waiter> {
        self.wait_queues.all()
    }

    /// The calls of an agent that wait, in order of arrival.
    pub fn waits_of(&self, agent: &AgentId) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.of_agent(agent)
    }

    /// Calls whose time is over.
    pub fn overdue_waits(&self, now: Timestamp) -> impl Iterator<Item = &Waiter> {
        self.wait_queues.overdue(now)
    }
}

/// What became of a task, as far as there is room for it in the join and beside all that is copied.
fn fitting(copied: usize, record: &Record, outcome: Outcome) -> Outcome {
    let bytes = outcome.bytes();
    let fits =
        record.bytes + bytes <= limits::JOIN_BYTES_MAX && copied + bytes <= limits::JOINS_BYTES_MAX;
    if fits || bytes == 0 { outcome } else { outcome.bare() }
}

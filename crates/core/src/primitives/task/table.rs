//! The table of tasks.

mod invariants;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::{Event, List, Status, Task, Warning};
use crate::limits;
use crate::names::{AgentId, GroupName, TaskId, TaskType};
use crate::numbers::{Revision, Token, WaitId};
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::storage::Records;
use crate::task::{
    Added, Claims, Counters, Facts, Leases, Links, Queues, Record, Stage, Statistics, Timers,
    Waiting,
};
use crate::time::Timestamp;
use crate::waiting::wait::Wait;

/// All tasks of a workspace, and the waiting claims. Changes only by `Table::evolve`, `Table::undo`
/// and `Table::trim`.
#[derive(Default)]
pub struct Table {
    by_id: Records<TaskId, Arc<Record>>,
    queues: Queues,
    claims: Claims,
    counters: Counters,
    links: Links,
    timers: Timers,
    // Tasks that are pending and not ready.
    stages: BTreeMap<TaskId, Stage>,
    // All tasks but pending ones, of which there may be too many to index them twice.
    by_status: BTreeSet<(Status, TaskId)>,
    leases: Leases,
    // Finished tasks for which claims still wait.
    in_vain: BTreeSet<TaskId>,
    // Finished tasks that no other task needs: the first to be forgotten comes first.
    forgettable: BTreeSet<(Timestamp, u64, TaskId)>,
    // How many bytes those that have not ended take, and those that have.
    unfinished_bytes: usize,
    finished_bytes: usize,
    // How many tasks were ever created.
    created: u64,
    // How many tasks the last creating revision has created: their ids are numbered.
    latest: (Revision, usize),
    // Not logged: since when this server has been up to receive heartbeats.
    awake_since: Timestamp,
}

/// How to undo one change.
pub struct Undo {
    task: Option<(TaskId, Option<Arc<Record>>)>,
    added: Option<Added>,
    claim: Option<Call>,
    created: u64,
    latest: (Revision, usize),
}

/// A change of a waiting claim.
enum Call {
    Began(WaitId),
    Ended(Box<Waiting>),
}

/// A timed transition of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// Its deadline has passed.
    Deadline,
    /// Its lease has expired.
    LeaseOver,
    /// It can never run: its parent was cancelled, or a dependency failed or was cancelled.
    Doomed(TaskId, Status),
    /// It becomes ready.
    Ready,
    /// The receiver of a hand-off did not claim it.
    Returns,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let (created, latest) = (self.created, self.latest);
        let claim = self.evolve_claim(event, moment);
        let mut undo = Undo { task: None, added: None, claim, created, latest };
        let Some(id) = event.task() else {
            return undo;
        };
        let before = self.by_id.get(id).cloned();
        let after = Arc::new(match (event, &before) {
            (Event::Created(new), None) => {
                let number = if latest.0 == moment.revision { latest.1 + 1 } else { 1 };
                self.latest = (moment.revision, number);
                self.created += 1;
                Record::new(new, created, moment)
            }
            (Event::Created(_), Some(_)) => panic!("a task is created once"),
            (event, Some(before)) => before.after(event, moment),
            // A log from before finished tasks had a limit in bytes may retry one that is forgotten
            // by now.
            (_, None) => return undo,
        });
        self.replace(id, Some(&after));
        if let Some(before) = &before {
            let error = if let Event::Failed { error, .. } = event { Some(error) } else { None };
            undo.added = Some(self.counters.add(before, &after, error, moment.time));
        }
        undo.task = Some((id.clone(), before));
        undo
    }

    fn undo(&mut self, undo: Undo) {
        let Undo { task, added, claim, created, latest } = undo;
        if let Some(added) = added {
            self.counters.take_back(added);
        }
        if let Some((id, before)) = task {
            self.replace(&id, before.as_ref());
        }
        match claim {
            Some(Call::Began(wait)) => drop(self.dequeue(wait)),
            Some(Call::Ended(waiting)) => self.queue(*waiting),
            None => {}
        }
        (self.created, self.latest) = (created, latest);
    }

    fn facts(&self) -> Facts {
        Facts {
            records: self.by_id.values().map(Arc::clone).collect(),
            claims: self.claims.all().cloned().collect(),
            created: self.created,
            past: self.counters.past(),
        }
    }

    fn restore(facts: Facts) -> Self {
        let Facts { records, claims, created, past } = facts;
        let mut table = Self { created, ..Self::default() };
        for record in records {
            #[cfg(feature = "planted")]
            if crate::planted::is("task.lost_in_a_snapshot") && record.attempts > 1 {
                continue;
            }
            table.replace(&record.id, Some(&record));
        }
        for waiting in claims {
            table.queue(waiting);
        }
        table.counters.remember(past);
        table
    }

    fn check(&self) {
        self.check_invariants();
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let in_vain = self.in_vain.first().map(|_| Timestamp(0));
        [in_vain, self.timers.next(), self.claims.next_end()].into_iter().flatten().min()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        let held = self.leases.all();
        let from = (Status::HandedOff, TaskId::least());
        let handed = self.by_status.range(from..);
        let handed = handed.take_while(|(status, _)| *status == Status::HandedOff);
        let moved: Vec<TaskId> = held.chain(handed.map(|(_, task)| task)).cloned().collect();
        for task in moved {
            let record = Arc::clone(&self.by_id[&task]);
            self.settle(Some(&record), Some(&record));
        }
    }

    fn trim(&mut self) -> Vec<Forgotten> {
        let (count, bytes) = (limits::TASKS_FINISHED_MAX, limits::TASKS_FINISHED_BYTES_MAX);
        self.trim_to(count, bytes).into_iter().map(Forgotten::Task).collect()
    }

    fn wait_ids(&self) -> impl Iterator<Item = WaitId> {
        self.claims.all().map(|waiting| waiting.wait.id)
    }

    fn caller(&self, wait: WaitId) -> Option<&AgentId> {
        self.claims.get(wait).map(|waiting| &waiting.wait.agent)
    }

    fn has_caller(&self, agent: &AgentId) -> bool {
        self.claims.of_agent(agent).next().is_some()
    }

    fn holder_of(&self, token: Token) -> Option<&AgentId> {
        self.leases.holder_of(token)
    }
}

impl Table {
    fn evolve_claim(&mut self, event: &Event, moment: &Moment<'_>) -> Option<Call> {
        match event {
            Event::Queued { wait, claimant, until, types, capabilities, task, lease_ms, limit } => {
                let (agent, since) = (claimant.clone(), moment.time);
                self.queue(Waiting {
                    wait: Wait { id: *wait, agent, since, until: *until },
                    types: types.clone(),
                    capabilities: capabilities.clone(),
                    task: task.clone(),
                    lease_ms: *lease_ms,
                    limit: *limit,
                });
                Some(Call::Began(*wait))
            }
            Event::Claimed { wait: Some(wait), .. } | Event::GaveUp { wait, .. } => {
                Some(Call::Ended(Box::new(self.dequeue(*wait))))
            }
            Event::Created(_)
            | Event::Claimed { wait: None, .. }
            | Event::Renewed { .. }
            | Event::Progressed { .. }
            | Event::Updated { .. }
            | Event::Released { .. }
            | Event::Ready { .. }
            | Event::Offered { .. }
            | Event::Abandoned { .. }
            | Event::TakenBack { .. }
            | Event::HandedOver { .. }
            | Event::HandedOff { .. }
            | Event::Completed { .. }
            | Event::Submitted { .. }
            | Event::Failed { .. }
            | Event::Cancelled { .. }
            | Event::Reviewed { .. }
            | Event::Retried { .. } => None,
        }
    }

    fn queue(&mut self, waiting: Waiting) {
        let task = waiting.task.clone();
        self.claims.insert(waiting);
        if let Some(task) = task {
            self.settle_claims(&task);
        }
    }

    fn dequeue(&mut self, wait: WaitId) -> Waiting {
        let waiting = self.claims.remove(wait);
        if let Some(task) = &waiting.task {
            self.settle_claims(task);
        }
        waiting
    }

    /// How many bytes the tasks take that have not ended.
    pub fn unfinished_bytes(&self) -> usize {
        self.unfinished_bytes
    }

    /// The total to which the bytes of a task belong.
    fn bytes_of_kind(&mut self, record: &Record) -> &mut usize {
        let is_finished = record.status.is_finished();
        if is_finished { &mut self.finished_bytes } else { &mut self.unfinished_bytes }
    }

    /// Determines whether claims wait for a task that can never be granted to them.
    fn settle_claims(&mut self, task: &TaskId) {
        if self.claims.is_empty() && self.in_vain.is_empty() {
            return;
        }
        let is_over = self.get(task).is_none_or(|record| record.status.is_finished());
        if is_over && self.claims.of_task(task).next().is_some() {
            self.in_vain.insert(task.clone());
        } else {
            self.in_vain.remove(task);
        }
    }

    fn replace(&mut self, id: &TaskId, after: Option<&Arc<Record>>) {
        let before = match after {
            Some(record) => self.by_id.insert(id, Arc::clone(record)),
            None => self.by_id.remove(id),
        };
        let (before, after) = (before.as_deref(), after.map(Arc::as_ref));
        if let Some(record) = before {
            *self.bytes_of_kind(record) -= record.bytes();
        }
        if let Some(record) = after {
            *self.bytes_of_kind(record) += record.bytes();
        }
        let status = |record: Option<&Record>| record.map(|record| record.status);
        let turned = status(before) != status(after);
        if after.is_none() {
            self.settle(before, None);
        }
        self.counters.count(before, after);
        self.list(before, after);
        if turned {
            self.links.change(before, after);
        }
        if let Some(record) = after {
            self.settle(Some(record), Some(record));
        }
        let is_over = |status: Option<Status>| status.is_none_or(Status::is_finished);
        if turned && (is_over(status(before)) || is_over(status(after))) {
            self.settle_around(before.or(after).expect("something changed"));
            self.settle_claims(id);
        }
    }

    /// Updates the indexes that depend on the record alone.
    fn list(&mut self, before: Option<&Record>, after: Option<&Record>) {
        if let Some(record) = before {
            if record.ready {
                self.queues.remove(record);
            }
            if record.status != Status::Pending {
                self.by_status.remove(&(record.status, record.id.clone()));
            }
            if let Some(lease) = &record.lease {
                self.leases.remove(lease, &record.id);
            }
            if let Some(finished_at) = record.finished_at() {
                self.forgettable.remove(&(finished_at, record.number, record.id.clone()));
            }
        }
        if let Some(record) = after {
            if record.ready {
                self.queues.insert(record);
            }
            if record.status != Status::Pending {
                self.by_status.insert((record.status, record.id.clone()));
            }
            if let Some(lease) = &record.lease {
                self.leases.insert(lease, &record.id);
            }
        }
    }

    /// Updates what a task waits for, and its timer.
    fn settle(&mut self, listed: Option<&Record>, record: Option<&Record>) {
        let Some(id) = listed.map(|record| &record.id) else { return };
        let (stage, moment) = match record {
            None => (None, None),
            Some(record) => (self.stage_of(record), self.moment_of(record)),
        };
        self.timers.set(id, moment);
        let before = match stage {
            Some(stage) => self.stages.insert(id.clone(), stage),
            None if self.stages.is_empty() => None,
            None => self.stages.remove(id),
        };
        if let Some(record) = listed.filter(|_| before != stage) {
            self.counters.stage(record, before, stage);
        }
    }

    /// After a task has ended or was restored: updates its subtasks and dependents, and whether its
    /// parent and dependencies can be forgotten.
    fn settle_around(&mut self, record: &Record) {
        let id = &record.id;
        let below = self.links.children(id).chain(self.links.dependents(id));
        let below: Vec<Arc<Record>> =
            below.filter_map(|task| self.by_id.get(task)).map(Arc::clone).collect();
        for record in &below {
            self.settle(Some(record), Some(record));
        }
        let above = record.parent().into_iter().chain(record.depends_on()).chain([id]);
        for task in above {
            let known = self.by_id.get(task);
            let known = known.and_then(|record| Some((record.finished_at()?, record.number)));
            let Some((finished_at, number)) = known else { continue };
            let name = (finished_at, number, task.clone());
            if self.links.is_needed(task) {
                self.forgettable.remove(&name);
            } else {
                self.forgettable.insert(name);
            }
        }
    }

    /// The condition that a pending task waits for before it is ready.
    fn stage_of(&self, record: &Record) -> Option<Stage> {
        if record.status != Status::Pending || record.ready {
            return None;
        }
        let is_blocked = self.waiting_for(record).next().is_some();
        Some(if is_blocked { Stage::Blocked } else { Stage::Delayed })
    }

    /// The next timed transition of a task.
    fn moment_of(&self, record: &Record) -> Option<Timestamp> {
        if record.status.is_finished() {
            return None;
        }
        if self.doom_of(record).is_some() {
            return Some(Timestamp(0));
        }
        let own = match record.status {
            #[cfg(feature = "planted")]
            Status::InProgress if crate::planted::is("task.ends_early") => {
                record.lease.as_ref().map(|lease| lease.claimed_at.after(lease.lease_ms / 2))
            }
            Status::InProgress if record.is_offered() => None,
            Status::HandedOff => record
                .returns()
                .map(|returns| returns.at.max(self.awake_since.after(returns.within_ms))),
            // Time without a server does not count, because no renewal could arrive.
            Status::InProgress => record
                .lease
                .as_ref()
                .map(|lease| lease.expires_at.max(self.awake_since.after(lease.lease_ms))),
            Status::Pending if record.ready || self.waiting_for(record).next().is_some() => None,
            Status::Pending => Some(record.not_before().unwrap_or_default()),
            Status::WaitingReview | Status::Completed | Status::Failed | Status::Cancelled => None,
        };
        own.into_iter().chain(record.deadline()).min()
    }

    /// The task that keeps a task from ever running, if any.
    pub(super) fn doom_of<'a>(&'a self, record: &'a Record) -> Option<(&'a TaskId, Status)> {
        self.dooms_of(record).next()
    }

    /// The tasks that keep a task from ever being done: a cancelled parent, and dependencies that
    /// failed or were cancelled.
    pub(super) fn dooms_of<'a>(
        &'a self,
        record: &'a Record,
    ) -> impl Iterator<Item = (&'a TaskId, Status)> {
        let ended = |task: &'a TaskId| Some((task, self.by_id.get(task)?.status));
        let parent = record.parent().and_then(ended);
        let parent = parent.filter(|(_, status)| *status == Status::Cancelled);
        let dependencies = record.depends_on().iter().filter_map(ended);
        let is_dead = |status| matches!(status, Status::Failed | Status::Cancelled);
        parent.into_iter().chain(dependencies.filter(move |(_, status)| is_dead(*status)))
    }

    /// The dependencies that a task still waits for.
    pub fn waiting_for<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = &'a TaskId> {
        self.incomplete(record).filter(|_| !record.status.is_finished())
    }

    /// The dependencies of a task that are not completed.
    pub(super) fn incomplete<'a>(&'a self, record: &'a Record) -> impl Iterator<Item = &'a TaskId> {
        record.depends_on().iter().filter(|task| {
            self.by_id.get(*task).is_some_and(|record| record.status != Status::Completed)
        })
    }

    pub(super) fn trim_to(&mut self, finished_max: usize, bytes_max: usize) -> Vec<TaskId> {
        let mut forgotten = Vec::new();
        while self.finished() > finished_max || self.finished_bytes > bytes_max {
            let Some((_, _, task)) = self.forgettable.pop_first() else { break };
            self.replace(&task, None);
            forgotten.push(task);
        }
        forgotten
    }

    /// The number of finished tasks.
    pub fn finished(&self) -> usize {
        let finished = Status::ALL.into_iter().filter(|status| status.is_finished());
        finished.map(|status| self.counters.of_status(status)).sum()
    }

    /// How many tasks are known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All tasks, by id.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.by_id.values().map(|record| &**record)
    }

    /// A task.
    pub fn get(&self, id: &TaskId) -> Option<&Record> {
        self.by_id.get(id).map(Arc::as_ref)
    }

    /// A task as callers see it.
    pub fn shown(&self, id: &TaskId, warnings: Vec<Warning>) -> Option<Task> {
        let record = self.get(id)?;
        Some(record.shown(self.waiting_for(record).cloned().collect(), warnings))
    }

    /// An unused id for a task that is created by this revision.
    pub fn fresh_id(&self, revision: Revision) -> TaskId {
        let first = if self.latest.0 == revision { self.latest.1 + 1 } else { 1 };
        let mut ids = (first..).map(|number| TaskId::of_revision(revision, number));
        ids.find(|id| !self.by_id.contains(id)).expect("there is always another")
    }

    /// The task that an agent claims next, among those that may start.
    pub fn first(
        &self,
        agent: &AgentId,
        types: Option<&BTreeSet<TaskType>>,
        capabilities: &BTreeSet<String>,
        may_start: &impl Fn(&TaskId) -> bool,
    ) -> Option<&Record> {
        let task = self.queues.first(agent, types, capabilities, may_start)?;
        self.get(task)
    }

    /// A known task and those above it, nearest first.
    pub fn lineage<'a>(&'a self, task: &TaskId) -> impl Iterator<Item = &'a TaskId> {
        let above = |record: &&'a Record| record.parent().and_then(|parent| self.get(parent));
        let records = std::iter::successors(self.get(task), above);
        records.map(|record| &record.id).take(limits::TASK_DEPTH_MAX)
    }

    /// How many tasks are before a ready one in its queue, counted up to a limit.
    pub fn before(&self, record: &Record, max: usize) -> usize {
        self.queues.before(record, max)
    }

    /// The claims that wait.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// All waiting calls, in order of arrival.
    pub fn waits(&self) -> impl ExactSizeIterator<Item = &Wait> {
        self.claims.all().map(|waiting| &waiting.wait)
    }

    /// The links between tasks.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The known tasks of a group, by id.
    pub fn group<'a>(&'a self, group: &'a GroupName) -> impl Iterator<Item = &'a Record> {
        self.links.group(group, None).filter_map(|task| self.get(task))
    }

    /// The tasks that an agent works on.
    pub fn held_by(&self, agent: &AgentId) -> impl Iterator<Item = &Record> {
        self.leases.of(agent).filter_map(|task| self.get(task))
    }

    /// The current lease holders.
    pub fn leases(&self) -> &Leases {
        &self.leases
    }

    /// Counts, durations and failures.
    pub fn statistics(&self, task_type: Option<&TaskType>) -> Statistics {
        let claims = match task_type {
            None => self.claims.all().len(),
            Some(task_type) => self.claims.of_type(task_type),
        };
        self.counters.shown(task_type, claims)
    }

    /// Tasks for a list, by id after its cursor.
    pub fn after<'a>(&'a self, list: &'a List) -> Box<dyn Iterator<Item = &'a Record> + 'a> {
        let cursor = list.cursor.as_ref();
        let get = |task: &'a TaskId| self.get(task);
        match list {
            List { parent: Some(parent), .. } => {
                Box::new(self.links.children_after(parent, cursor).filter_map(get))
            }
            List { group: Some(group), .. } => {
                Box::new(self.links.group(group, cursor).filter_map(get))
            }
            List { status: Some(status), .. } if *status != Status::Pending => {
                let from = cursor.cloned().unwrap_or_else(TaskId::least);
                let from = Bound::Excluded((*status, from));
                let there = self.by_status.range((from, Bound::Unbounded));
                let there = there.take_while(move |(there, _)| there == status);
                Box::new(there.filter_map(move |(_, task)| self.get(task)))
            }
            List { .. } => Box::new(self.by_id.after(cursor).map(Arc::as_ref)),
        }
    }

    /// Tasks with a due timed transition, by time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = (&Record, Due)> {
        self.timers.due(now).filter_map(move |task| {
            let record = self.get(task)?;
            let is_late = record.deadline().is_some_and(|deadline| deadline <= now);
            let due = match self.doom_of(record) {
                Some((task, status)) => Due::Doomed(task.clone(), status),
                None if is_late => Due::Deadline,
                None if record.status == Status::InProgress => Due::LeaseOver,
                None if record.status == Status::HandedOff => Due::Returns,
                None => Due::Ready,
            };
            Some((record, due))
        })
    }

    /// Claims that must end: those for a finished task, and those that have timed out.
    pub fn overdue_claims(&self, now: Timestamp) -> impl Iterator<Item = &Waiting> {
        let in_vain = self.in_vain.iter().flat_map(|task| self.claims.of_task(task));
        let over = self.claims.due(now).filter(|waiting| {
            waiting.task.as_ref().is_none_or(|task| !self.in_vain.contains(task))
        });
        in_vain.chain(over)
    }
}

//! The table of hand-offs.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use super::vocabulary::Event;
use crate::handoff::{Added, Counters, Delivery, Facts, Handoff, List, Statistics, Status};
use crate::limits;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::{Revision, WaitId};
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::storage::Records;
use crate::time::Timestamp;
use crate::waiting::wait::Wait;
use crate::waiting::wait_queue::{self, WaitQueues};

/// A call that waits for a hand-off.
pub type Waiter = wait_queue::Waiter<AgentId>;

/// All hand-offs of a workspace, and the calls that wait for one. Changes only by `Table::evolve`,
/// `Table::undo` and `Table::trim`.
#[derive(Default)]
pub struct Table {
    by_id: Records<HandoffId, Arc<Handoff>>,
    by_task: BTreeSet<(TaskId, HandoffId)>,
    // The hand-offs that have not ended.
    live: BTreeSet<(TaskId, HandoffId)>,
    by_status: BTreeSet<(Status, HandoffId)>,
    // Hand-offs that can be delivered, by the agent or the capability that they are for.
    to_agent: BTreeSet<(AgentId, HandoffId)>,
    to_capability: BTreeSet<(String, HandoffId)>,
    delivered_to: BTreeSet<(AgentId, HandoffId)>,
    // Accepted hand-offs without a task, which end with the session of the receiver.
    accepted_by: BTreeSet<(AgentId, HandoffId)>,
    timers: BTreeSet<(Timestamp, HandoffId)>,
    // The first to be removed comes first.
    finished: BTreeSet<(Timestamp, HandoffId)>,
    finished_bytes: usize,
    unfinished_bytes: usize,
    wait_queues: WaitQueues<AgentId>,
    counters: Counters,
    // How many hand-offs the last creating revision has created: their ids are numbered.
    latest: (Revision, usize),
    // Not logged: since when this server has been up to receive answers.
    awake_since: Timestamp,
}

/// How to undo one change.
pub struct Undo {
    handoff: Option<(HandoffId, Option<Arc<Handoff>>)>,
    added: Option<Added>,
    wait: Option<(WaitId, Option<Waiter>)>,
    latest: (Revision, usize),
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let latest = self.latest;
        let wait = self.evolve_wait(event, moment);
        let mut undo = Undo { handoff: None, added: None, wait, latest };
        let Some(id) = event.handoff() else { return undo };
        let before = self.by_id.get(id).cloned();
        let after = match &before {
            None => {
                let number = if latest.0 == moment.revision { latest.1 + 1 } else { 1 };
                self.latest = (moment.revision, number);
                Arc::clone(created(event))
            }
            Some(before) => Arc::new(changed(before, event, moment)),
        };
        self.replace(id, Some(&after));
        undo.added = self.counters.add(before.as_deref(), &after);
        undo.handoff = Some((id.clone(), before));
        undo
    }

    fn undo(&mut self, undo: Undo) {
        let Undo { handoff, added, wait, latest } = undo;
        if let Some(added) = added {
            self.counters.take_back(added);
        }
        if let Some((id, before)) = handoff {
            self.replace(&id, before.as_ref());
        }
        if let Some((id, before)) = wait {
            self.wait_queues.replace(id, before);
        }
        self.latest = latest;
    }

    fn facts(&self) -> Facts {
        Facts {
            records: self.by_id.values().map(Arc::clone).collect(),
            waits: self.wait_queues.all().cloned().collect(),
            counters: self.counters.clone(),
        }
    }

    fn restore(Facts { records, waits, counters }: Facts) -> Self {
        let mut table = Self { counters, ..Self::default() };
        for handoff in records {
            table.replace(&handoff.id.clone(), Some(&handoff));
        }
        for waiter in waits {
            table.wait_queues.replace(waiter.wait.id, Some(waiter));
        }
        table
    }

    fn check(&self) {
        self.wait_queues.check();
        let mut open: BTreeSet<&TaskId> = BTreeSet::new();
        let (mut timers, mut finished) = (0, 0);
        for handoff in self.by_id.values() {
            assert_eq!(handoff.status.is_finished(), handoff.ended_at.is_some(), "{}", handoff.id);
            if let Some(task) = handoff.task.as_ref().filter(|_| handoff.status.is_open()) {
                assert!(open.insert(task), "a task is offered once");
            }
            let is_delivered = handoff.status == Status::Delivered;
            assert_eq!(handoff.delivery.is_some(), is_delivered, "{}", handoff.id);
            timers += usize::from(handoff.status.is_open());
            finished += usize::from(handoff.status.is_finished());
        }
        assert_eq!([self.timers.len(), self.finished.len()], [timers, finished]);
        assert_eq!(self.by_status.len(), self.by_id.len(), "every hand-off has a status");
        let tasks = self.by_id.values().filter(|handoff| handoff.task.is_some()).count();
        assert_eq!(self.by_task.len(), tasks, "and is found by its task");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        let timer = self.timers.first().map(|(moment, _)| *moment);
        timer.into_iter().chain(self.wait_queues.next_end()).min()
    }

    fn wake(&mut self, moment: Timestamp) {
        self.awake_since = moment;
        let open = self
            .by_id
            .values()
            .filter_map(|handoff| Some((self.moment_of(handoff)?, handoff.id.clone())));
        self.timers = open.collect();
    }

    /// Forgets the hand-offs that ended first, if there are too many, and returns them. It runs
    /// after every batch, so that replay forgets the same ones.
    fn trim(&mut self) -> Vec<Forgotten> {
        let too_many = |table: &Self| {
            table.finished.len() > limits::HANDOFFS_FINISHED_MAX
                || table.finished_bytes > limits::HANDOFFS_FINISHED_BYTES_MAX
        };
        let mut forgotten = Vec::new();
        while too_many(self) {
            let Some((_, id)) = self.finished.first().cloned() else { break };
            self.replace(&id, None);
            forgotten.push(Forgotten::Handoff(id));
        }
        forgotten
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
    fn evolve_wait(
        &mut self,
        event: &Event,
        moment: &Moment<'_>,
    ) -> Option<(WaitId, Option<Waiter>)> {
        match event {
            Event::Queued { wait, receiver, until } => {
                let (agent, since, until) = (receiver.clone(), moment.time, *until);
                let there = Wait { id: *wait, agent, since, until };
                let waiter = Waiter::new(receiver.clone(), there, 0);
                Some((*wait, self.wait_queues.replace(*wait, Some(waiter))))
            }
            Event::Delivered { wait: Some(wait), .. } | Event::GaveUp { wait, .. } => {
                Some((*wait, self.wait_queues.replace(*wait, None)))
            }
            Event::Offered(_)
            | Event::Executed(_)
            | Event::Refused(_)
            | Event::Passed(_)
            | Event::Approved { .. }
            | Event::Delivered { wait: None, .. }
            | Event::Undelivered { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::Expired { .. }
            | Event::Cancelled { .. }
            | Event::Completed { .. }
            | Event::Failed { .. } => None,
        }
    }

    fn replace(&mut self, id: &HandoffId, after: Option<&Arc<Handoff>>) {
        let before = match after {
            Some(after) => self.by_id.insert(id, Arc::clone(after)),
            None => self.by_id.remove(id),
        };
        if let Some(before) = &before {
            self.unlist(before);
        }
        if let Some(after) = after {
            self.list(after);
        }
    }

    fn list(&mut self, handoff: &Handoff) {
        let id = || handoff.id.clone();
        self.by_status.insert((handoff.status, id()));
        if let Some(task) = &handoff.task {
            self.by_task.insert((task.clone(), id()));
            if !handoff.status.is_finished() {
                self.live.insert((task.clone(), id()));
            }
        }
        if let Some(moment) = self.moment_of(handoff) {
            self.timers.insert((moment, id()));
        }
        if let Some(delivery) = &handoff.delivery {
            self.delivered_to.insert((delivery.receiver.clone(), id()));
        } else if is_deliverable(handoff) {
            match (handoff.to.agent(), handoff.to.capability()) {
                (Some(agent), _) => self.to_agent.insert((agent.clone(), id())),
                (None, name) => {
                    self.to_capability.insert((name.unwrap_or_default().to_owned(), id()))
                }
            };
        }
        if let Some(receiver) = loose_receiver(handoff) {
            self.accepted_by.insert((receiver.clone(), id()));
        }
        match handoff.ended_at {
            Some(moment) => {
                self.finished.insert((moment, id()));
                self.finished_bytes += handoff.bytes();
            }
            None => self.unfinished_bytes += handoff.bytes(),
        }
    }

    fn unlist(&mut self, handoff: &Handoff) {
        let id = || handoff.id.clone();
        self.by_status.remove(&(handoff.status, id()));
        if let Some(task) = &handoff.task {
            self.by_task.remove(&(task.clone(), id()));
            self.live.remove(&(task.clone(), id()));
        }
        if let Some(moment) = self.moment_of(handoff) {
            self.timers.remove(&(moment, id()));
        }
        if let Some(delivery) = &handoff.delivery {
            self.delivered_to.remove(&(delivery.receiver.clone(), id()));
        } else if is_deliverable(handoff) {
            match (handoff.to.agent(), handoff.to.capability()) {
                (Some(agent), _) => self.to_agent.remove(&(agent.clone(), id())),
                (None, name) => {
                    self.to_capability.remove(&(name.unwrap_or_default().to_owned(), id()))
                }
            };
        }
        if let Some(receiver) = loose_receiver(handoff) {
            self.accepted_by.remove(&(receiver.clone(), id()));
        }
        match handoff.ended_at {
            Some(moment) => {
                self.finished.remove(&(moment, id()));
                self.finished_bytes -= handoff.bytes();
            }
            None => self.unfinished_bytes -= handoff.bytes(),
        }
    }

    /// The next timed transition of a hand-off.
    fn moment_of(&self, handoff: &Handoff) -> Option<Timestamp> {
        if !handoff.status.is_open() {
            return None;
        }
        let answer = handoff
            .delivery
            .as_ref()
            .map(|delivery| delivery.until.max(self.awake_since.after(handoff.redeliver_ms)));
        answer.into_iter().chain([self.deadline_of(handoff)]).min()
    }

    /// When it expires. Time without a server does not count, because it could not be accepted.
    pub fn deadline_of(&self, handoff: &Handoff) -> Timestamp {
        #[cfg(feature = "planted")]
        if crate::planted::is("handoff.expires_early") {
            return handoff.created_at.after(1);
        }
        let span_ms = handoff.deadline.since(handoff.created_at).min(handoff.redeliver_ms);
        handoff.deadline.max(self.awake_since.after(span_ms))
    }

    /// A hand-off.
    pub fn get(&self, id: &HandoffId) -> Option<&Arc<Handoff>> {
        self.by_id.get(id)
    }

    /// How many are known.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The number of unfinished hand-offs, and their size in bytes.
    pub fn unfinished(&self) -> (usize, usize) {
        (self.by_id.len() - self.finished.len(), self.unfinished_bytes)
    }

    /// An unused id for a hand-off that is created by this revision.
    pub fn fresh_id(&self, revision: Revision) -> HandoffId {
        self.fresh_ids(revision).next().expect("there is always another")
    }

    /// Unused ids for hand-offs that are created by this revision, in order.
    pub fn fresh_ids(&self, revision: Revision) -> impl Iterator<Item = HandoffId> {
        let first = if self.latest.0 == revision { self.latest.1 + 1 } else { 1 };
        let ids = (first..).map(move |number| HandoffId::of_revision(revision, number));
        ids.filter(|id| !self.by_id.contains(id))
    }

    /// All known hand-offs of a task, oldest first.
    pub fn of_task<'a>(
        &'a self,
        task: &'a TaskId,
    ) -> impl DoubleEndedIterator<Item = &'a Arc<Handoff>> {
        let from = Bound::Included((task.clone(), HandoffId::least()));
        let there = self.by_task.range((from, Bound::Unbounded));
        // A bounded range can be iterated from both ends.
        let there: Vec<&HandoffId> =
            there.take_while(|(name, _)| name == task).map(|(_, id)| id).collect();
        there.into_iter().map(|id| &self.by_id[id])
    }

    /// Whether any hand-off of a task has not ended.
    pub fn is_live(&self, task: &TaskId) -> bool {
        !self.live.is_empty() && self.unfinished_of(task).next().is_some()
    }

    /// The hand-offs of a task that have not ended.
    pub fn unfinished_of<'a>(&'a self, task: &'a TaskId) -> impl Iterator<Item = &'a Arc<Handoff>> {
        let there = self.live.range((task.clone(), HandoffId::least())..);
        there.take_while(move |(name, _)| name == task).map(|(_, id)| &self.by_id[id])
    }

    /// The hand-offs by which a task has moved, latest first.
    pub fn moved<'a>(&'a self, task: &'a TaskId) -> impl Iterator<Item = &'a Handoff> {
        // The stages of a pipeline follow each other in its order, and never in a loop.
        let has_moved =
            |handoff: &&Arc<Handoff>| handoff.receiver.is_some() && handoff.passage.is_none();
        self.of_task(task).rev().filter(has_moved).map(Arc::as_ref)
    }

    /// The first hand-offs that can be delivered to an agent with these capabilities, at most
    /// `count` of them, in order.
    pub fn next_for<'a>(
        &'a self,
        agent: &AgentId,
        capabilities: impl IntoIterator<Item = &'a String>,
        now: Timestamp,
        count: usize,
    ) -> Vec<&'a Handoff> {
        let own = self.to_agent.range((agent.clone(), HandoffId::least())..);
        let own = own.take_while(|(there, _)| there == agent).map(|(_, id)| id);
        let is_ready = |id: &&HandoffId| self.by_id[*id].is_approved(now);
        let mut first: BTreeSet<&HandoffId> = own.filter(is_ready).take(count).collect();
        for name in capabilities {
            let there = self.to_capability.range((name.clone(), HandoffId::least())..);
            let there = there.take_while(|(wanted, _)| wanted == name).map(|(_, id)| id);
            // A task that the agent gave away is for others.
            let able = there.filter(|id| is_ready(id) && self.by_id[*id].from != *agent);
            first.extend(able.take(count));
        }
        first.into_iter().take(count).map(|id| self.by_id[id].as_ref()).collect()
    }

    /// The hand-offs that were delivered to an agent and not answered.
    pub fn delivered_to(&self, agent: &AgentId) -> impl Iterator<Item = &Handoff> {
        of(&self.delivered_to, agent).map(|id| self.by_id[id].as_ref())
    }

    /// The hand-offs without a task that an agent has accepted.
    pub fn accepted_by(&self, agent: &AgentId) -> impl Iterator<Item = &Handoff> {
        of(&self.accepted_by, agent).map(|id| self.by_id[id].as_ref())
    }

    /// Hand-offs for a list, by id after its cursor.
    pub fn after<'a>(&'a self, list: &'a List) -> Box<dyn Iterator<Item = &'a Handoff> + 'a> {
        let cursor = list.cursor.as_ref();
        let is_after = move |id: &HandoffId| cursor.is_none_or(|cursor| id > cursor);
        match list {
            List { task: Some(task), .. } => {
                let there = self.of_task(task).filter(move |handoff| is_after(&handoff.id));
                Box::new(there.map(Arc::as_ref))
            }
            List { status: Some(status), .. } => {
                let from = cursor.cloned().unwrap_or_else(HandoffId::least);
                let there =
                    self.by_status.range((Bound::Excluded((*status, from)), Bound::Unbounded));
                let there = there.take_while(move |(there, _)| there == status);
                Box::new(there.map(move |(_, id)| self.by_id[id].as_ref()))
            }
            List { .. } => Box::new(self.by_id.after(cursor).map(Arc::as_ref)),
        }
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

    /// Open hand-offs with a due timed transition, by time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = &Handoff> {
        let over = self.timers.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, id)| self.by_id[id].as_ref())
    }

    /// The counters.
    pub fn statistics(&self) -> Statistics {
        self.counters.shown()
    }
}

fn of<'a>(
    index: &'a BTreeSet<(AgentId, HandoffId)>,
    agent: &AgentId,
) -> impl Iterator<Item = &'a HandoffId> {
    let there = index.range((agent.clone(), HandoffId::least())..);
    let agent = agent.clone();
    there.take_while(move |(there, _)| *there == agent).map(|(_, id)| id)
}

/// Whether it can be delivered, apart from an approval that may have expired.
fn is_deliverable(handoff: &Handoff) -> bool {
    match handoff.status {
        Status::Offered => handoff.approval.is_none(),
        Status::Approved => true,
        Status::Delivered
        | Status::Accepted
        | Status::Rejected
        | Status::Expired
        | Status::Cancelled
        | Status::Completed
        | Status::Failed => false,
    }
}

/// The receiver that accepted it, if it has no task.
fn loose_receiver(handoff: &Handoff) -> Option<&AgentId> {
    let is_loose = handoff.status == Status::Accepted && handoff.task.is_none();
    handoff.receiver.as_ref().filter(|_| is_loose)
}

fn created(event: &Event) -> &Arc<Handoff> {
    match event {
        Event::Offered(handoff)
        | Event::Executed(handoff)
        | Event::Refused(handoff)
        | Event::Passed(handoff) => handoff,
        Event::Approved { .. }
        | Event::Delivered { .. }
        | Event::Undelivered { .. }
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Cancelled { .. }
        | Event::Completed { .. }
        | Event::Failed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. } => panic!("only a known hand-off changes"),
    }
}

/// The record of a hand-off after an event.
fn changed(before: &Handoff, event: &Event, moment: &Moment<'_>) -> Handoff {
    assert!(!before.status.is_finished(), "what has ended never changes again");
    let at = moment.time;
    let mut handoff = Handoff { updated_at: at, ..before.clone() };
    match event {
        Event::Approved { by, digest, until, reason, content, .. } => {
            handoff.digest.clone_from(digest);
            handoff.content = content.clone().unwrap_or(handoff.content);
            let approval = handoff.approval.as_mut().expect("only what needs it is approved");
            approval.approved_by = Some(by.clone());
            approval.expires_at = *until;
            if handoff.status == Status::Offered {
                handoff.status = Status::Approved;
            }
            handoff.step("approved", at, Some(by), reason.as_deref());
        }
        Event::Delivered { receiver, until, .. } => {
            handoff.status = Status::Delivered;
            handoff.deliveries += 1;
            handoff.delivery = Some(Delivery { receiver: receiver.clone(), until: *until });
            handoff.step("delivered", at, Some(receiver), None);
        }
        Event::Undelivered { .. } => {
            handoff.delivery = None;
            let is_approved = handoff.approval.is_some();
            handoff.status = if is_approved { Status::Approved } else { Status::Offered };
        }
        Event::Accepted { receiver, receipt, .. } => {
            handoff.status = Status::Accepted;
            (handoff.delivery, handoff.receiver) = (None, Some(receiver.clone()));
            handoff.receipt = Some(receipt.clone());
            handoff.step("accepted", at, Some(receiver), None);
        }
        Event::Rejected { by, reason, .. } => {
            handoff.end(Status::Rejected, at);
            handoff.step("rejected", at, Some(by), reason.as_deref());
        }
        Event::Expired { reason, .. } => {
            handoff.end(Status::Expired, at);
            handoff.step("expired", at, None, Some(reason));
        }
        Event::Cancelled { reason, .. } => {
            handoff.end(Status::Cancelled, at);
            handoff.step("cancelled", at, None, reason.as_deref());
        }
        Event::Completed { result, changes, .. } => {
            handoff.end(Status::Completed, at);
            (handoff.result, handoff.changes) = (result.clone(), changes.clone());
            handoff.step("completed", at, None, None);
        }
        Event::Failed { error, .. } => {
            handoff.end(Status::Failed, at);
            handoff.error = Some(error.clone());
            handoff.step("failed", at, None, None);
        }
        Event::Offered(_)
        | Event::Executed(_)
        | Event::Refused(_)
        | Event::Passed(_)
        | Event::Queued { .. }
        | Event::GaveUp { .. } => panic!("a hand-off begins once"),
    }
    handoff
}

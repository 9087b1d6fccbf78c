//! Hand-offs according to the log: giver, content, receiver, deliveries, acceptance.
//!
//! Laws:
//!
//! 1. A task has one holder. An open hand-off of a task is named by the task's lease, which is its
//!    giver's; the receiver of an accepted one holds the lease.
//! 2. It is accepted only while it is open and in time, by its receiver or by an agent with the
//!    required capability. The lease, the token and the giver's own keys move in that same batch.
//! 3. An approval is given once, by an agent that may, and is valid for what was proposed, for a
//!    while.
//! 4. It is delivered to the longest waiting call, and no call waits for one that can be delivered.
//! 5. It is not forgotten: it is answered, delivered again, or expires; never before its time, and
//!    times without a server do not count. When its task moves on by other means, it ends in the
//!    same batch.
//! 6. Once it has ended, it never changes again.
//!
//! Deliberately absent: its steps, which are text for people, and its digests, which are only
//! compared with each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_core::handoff::Event;
use baton_core::handoff::{Delivery, Handoff, Receiver, Status};
use baton_core::primitive::Event as _;
use baton_core::task::Status as TaskStatus;
use baton_core::{AgentId, Batch, HandoffId, Json, KeyName, TaskId, Timestamp};

use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;

/// How often it is delivered before it is given up.
const DELIVERIES_MAX: u64 = 10;
/// How often a task may be handed over.
const HOPS_MAX: u64 = 64;
/// How often a giver may hand a task to the same receiver, and within which time.
const SAME_EDGE: (usize, u64) = (3, 600_000);

/// A hand-off at a revision.
#[derive(Clone, Debug)]
pub struct HandoffModel {
    /// The proposal and its outcome, without its steps.
    pub handoff: Handoff,
    /// The versions that an approval would be bound to when the hand-off was proposed.
    pub seen: ApprovedVersions,
    /// The revision that last changed it.
    pub changed_at: u64,
}

/// The versions that an approval is bound to: those of the selected keys, and the progress of the
/// task.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovedVersions {
    /// The versions of the selected keys.
    pub versions: Vec<(KeyName, u64)>,
    /// The result of the task so far.
    pub result: Option<Json>,
}

/// A call that waits for a hand-off.
#[derive(Clone, Debug)]
pub struct ReceiveWaiter {
    /// The waiting call.
    pub wait: u64,
    /// The agent.
    pub agent: AgentId,
}

/// All hand-offs of a workspace.
#[derive(Default)]
pub struct Handoffs {
    all: BTreeMap<HandoffId, Timeline<Arc<HandoffModel>>>,
    queue: Timeline<Vec<ReceiveWaiter>>,
    /// Hand-offs that have not ended.
    live: BTreeSet<HandoffId>,
    /// Hand-offs that moved something in the current batch.
    moved: Vec<HandoffId>,
    /// Hand-offs that their receivers completed in the current batch.
    done: Vec<HandoffId>,
    is_touched: bool,
}

/// Whether it can still be accepted.
pub fn is_open(status: Status) -> bool {
    matches!(status, Status::Offered | Status::Approved | Status::Delivered)
}

/// Whether it never changes again.
pub fn is_over(status: Status) -> bool {
    !is_open(status) && status != Status::Accepted
}

/// Whether an agent may approve it.
pub fn may_approve(handoff: &Handoff, agent: &AgentId) -> bool {
    handoff.approval.as_ref().is_some_and(|approval| {
        let anyone = approval.by.is_empty();
        let is_party = handoff.from == *agent || handoff.to.agent() == Some(agent);
        if anyone { !is_party } else { approval.by.contains(agent) }
    })
}

/// Whether it needs no approval, or has one that is valid at this time.
pub fn is_approved(handoff: &Handoff, now: Timestamp) -> bool {
    handoff.approval.as_ref().is_none_or(|approval| {
        approval.approved_by.is_some() && approval.expires_at.is_none_or(|end| now < end)
    })
}

/// How long a receiver must have been able to answer before it expires.
pub fn patience_ms(handoff: &Handoff) -> u64 {
    handoff.deadline.since(handoff.created_at).min(handoff.redeliver_ms)
}

impl Handoffs {
    /// A hand-off after a revision.
    pub fn at(&self, id: &HandoffId, at: u64) -> Option<&HandoffModel> {
        self.all.get(id)?.at(at).map(AsRef::as_ref)
    }

    /// All hand-offs after a revision, by id.
    pub fn all_at(&self, at: u64) -> impl Iterator<Item = &Handoff> {
        self.all.values().filter_map(move |there| there.at(at)).map(|deal| &deal.handoff)
    }

    /// The hand-offs that a revision made, by id.
    pub fn made_at(&self, revision: u64) -> Vec<&HandoffId> {
        let made = self
            .all
            .iter()
            .filter(|(_, line)| line.at(revision).is_some() && line.at(revision - 1).is_none());
        made.map(|(id, _)| id).collect()
    }

    /// The waiting calls after a revision, in order of arrival.
    pub fn queue_at(&self, at: u64) -> &[ReceiveWaiter] {
        self.queue.at(at).map_or(&[], Vec::as_slice)
    }

    /// Hand-offs that have not ended.
    pub fn live(&self) -> impl Iterator<Item = &HandoffModel> {
        self.live.iter().filter_map(|id| self.at(id, u64::MAX))
    }

    /// Hand-offs that moved a task, latest first.
    pub fn moves_of(&self, task: &TaskId, at: u64) -> Vec<&Handoff> {
        let of_task = |it: &&Handoff| {
            it.task.as_ref() == Some(task) && it.receiver.is_some() && it.passage.is_none()
        };
        let mut moves: Vec<&Handoff> = self.all_at(at).filter(of_task).collect();
        moves.reverse();
        moves
    }

    /// Why a task should not be handed on.
    fn brake(&self, handoff: &Handoff, now: Timestamp) -> Option<&'static str> {
        let moves = self.moves_of(handoff.task.as_ref()?, u64::MAX);
        let (most, within_ms) = SAME_EDGE;
        let same = moves.iter().filter(|before| {
            let goes_there = match &handoff.to {
                Receiver::Agent(agent) => before.receiver.as_ref() == Some(agent),
                Receiver::Capability(_) => before.to == handoff.to,
            };
            let lately = now.since(before.updated_at) < within_ms;
            goes_there && lately && before.from == handoff.from
        });
        if handoff.hops >= HOPS_MAX || same.count() >= most {
            return Some("it is handed around repeatedly");
        }
        let back = moves.iter().find(|before| handoff.to.agent() == Some(&before.from))?;
        (back.content == handoff.content).then_some("it returns unchanged")
    }

    /// Ends the current batch: what it has moved, what its receivers completed, and whether it was
    /// about hand-offs at all.
    pub fn take_touched(&mut self) -> (Vec<HandoffId>, Vec<HandoffId>, bool) {
        let is_touched = std::mem::take(&mut self.is_touched);
        (std::mem::take(&mut self.moved), std::mem::take(&mut self.done), is_touched)
    }

    fn set_queue(&mut self, batch: &Batch, change: impl FnOnce(&mut Vec<ReceiveWaiter>)) {
        let mut queue = self.queue.now().cloned().unwrap_or_default();
        change(&mut queue);
        self.queue.set(batch.revision.0, queue);
    }

    fn set(&mut self, batch: &Batch, handoff: Handoff, seen: ApprovedVersions) {
        let id = handoff.id.clone();
        if is_over(handoff.status) {
            self.live.remove(&id);
        } else {
            self.live.insert(id.clone());
        }
        let changed_at = batch.revision.0;
        let deal =
            HandoffModel { handoff: Handoff { steps: Vec::new(), ..handoff }, seen, changed_at };
        self.all.entry(id).or_default().set(changed_at, Arc::new(deal));
    }
}

impl Ledger {
    /// Whether an agent may accept a hand-off.
    pub(crate) fn is_for(&self, handoff: &Handoff, agent: &AgentId, at: u64) -> bool {
        match &handoff.to {
            Receiver::Agent(to) => to == agent,
            Receiver::Capability(name) => {
                let session = self.session(agent, at).filter(|session| session.active);
                let able = session.is_some_and(|session| session.capabilities.contains(name));
                able && handoff.from != *agent
            }
        }
    }

    pub(crate) fn add_handoff(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        self.handoffs.is_touched = true;
        let added = match event {
            Event::Offered(handoff) | Event::Executed(handoff) | Event::Refused(handoff) => {
                self.proposed(batch, event, handoff, coverage)
            }
            Event::Passed(handoff) => {
                coverage.met("handoff: between stages");
                self.passed(batch, handoff)
            }
            Event::Queued { wait, receiver, until } => {
                self.waits.begin(batch, receiver, *wait, *until)?;
                let waiter = ReceiveWaiter { wait: wait.0, agent: receiver.clone() };
                self.handoffs.set_queue(batch, |queue| queue.push(waiter));
                Ok(())
            }
            Event::GaveUp { wait, receiver, left } => {
                self.waits.left(batch, *wait, receiver, *left, ended)?;
                self.handoffs.set_queue(batch, |queue| queue.retain(|there| there.wait != wait.0));
                coverage.left(*left);
                Ok(())
            }
            event => self.change_handoff(batch, event, ended, coverage),
        };
        let id = event.handoff().map_or("none", |handoff| handoff.as_str());
        added.map_err(|breach| Breach(format!("hand-off `{id}`: {}: {}", event.kind(), breach.0)))
    }

    /// A hand-off between the stages of a pipeline; the pipelines have to explain it.
    fn passed(&mut self, batch: &Batch, handoff: &Handoff) -> Audit {
        demand!(!self.handoffs.all.contains_key(&handoff.id), "it was there already");
        let receiver = handoff.to.agent();
        let is_over = (handoff.status, handoff.ended_at) == (Status::Completed, Some(batch.time));
        let is_other = receiver == handoff.receiver.as_ref() && receiver != Some(&handoff.from);
        demand!(is_over && is_other && handoff.keys.is_empty(), "it is {handoff:?}");
        let seen = self.seen(handoff, u64::MAX);
        self.handoffs.set(batch, handoff.clone(), seen);
        Ok(())
    }

    fn proposed(
        &mut self,
        batch: &Batch,
        event: &Event,
        handoff: &Handoff,
        coverage: &mut Coverage,
    ) -> Audit {
        demand!(!self.handoffs.all.contains_key(&handoff.id), "it was there already");
        let is_own = handoff.from == batch.agent && handoff.created_at == batch.time;
        demand!(is_own, "`{}` gave it at {}", handoff.from, handoff.created_at);
        demand!(handoff.to.agent() != Some(&handoff.from), "it is for its giver");
        let mut hops = 0;
        if let Some(task) = &handoff.task {
            let lease = self.tasks.now(task)?.lease;
            let is_free = lease
                .as_ref()
                .is_some_and(|lease| lease.holder == handoff.from && lease.handoff.is_none());
            demand!(is_free, "`{task}` is not its giver's to give, its lease is {lease:?}");
            hops = self.handoffs.moves_of(task, u64::MAX).first().map_or(0, |last| last.hops + 1);
        }
        demand!(handoff.hops == hops, "it has changed hands {hops} times, not {}", handoff.hops);
        let brake = self.handoffs.brake(handoff, batch.time);
        if let Event::Refused(_) = event {
            let nothing = handoff.receiver.is_none() && handoff.receipt.is_none();
            let failed = handoff.status == Status::Failed && handoff.error.is_some();
            demand!(nothing && failed, "it is refused as {handoff:?}");
            coverage.met("handoff: recorded as refused");
        } else {
            demand!(brake.is_none(), "{brake:?}, but it was not stopped");
            let rule = self.forbidding(handoff);
            demand!(rule.is_none(), "rule {rule:?} forbids it");
            demand!(self.versions_fit(handoff), "a key has another version than it must have");
        }
        match event {
            Event::Offered(_) => {
                let fresh = handoff.status == Status::Offered && handoff.deliveries == 0;
                let unapproved =
                    handoff.approval.as_ref().is_none_or(|approval| approval.approved_by.is_none());
                demand!(fresh && unapproved, "it begins as {handoff:?}");
                coverage.met("handoff: offered");
                if handoff.notes.as_ref().is_some_and(|it| it.as_str().contains("originating_")) {
                    coverage.met("handoff: imported");
                }
            }
            Event::Executed(_) => {
                let (to, ended) = (handoff.to.agent(), handoff.ended_at == Some(batch.time));
                let done = handoff.status == Status::Completed && handoff.receiver.as_ref() == to;
                demand!(done && ended, "it is over as {handoff:?}");
                self.check_receipt(handoff, handoff.receipt.as_ref())?;
                self.handoffs.moved.push(handoff.id.clone());
                let is_all = handoff.task.is_none();
                coverage.met(if is_all {
                    "handoff: everything handed over"
                } else {
                    "handoff: executed"
                });
            }
            _ => {}
        }
        let seen = self.seen(handoff, u64::MAX);
        self.handoffs.set(batch, handoff.clone(), seen);
        Ok(())
    }

    fn change_handoff(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let deal = event.handoff().and_then(|id| self.handoffs.at(id, u64::MAX));
        let Some(HandoffModel { handoff: before, mut seen, .. }) = deal.cloned() else {
            return Err(Breach("the hand-off does not exist".to_owned()));
        };
        demand!(!is_over(before.status), "it is {:?} and changes again", before.status);
        let accepted = before.status == Status::Accepted;
        let mut after = Handoff { updated_at: batch.time, ..before.clone() };
        match event {
            Event::Completed { .. } | Event::Failed { .. } => {
                demand!(accepted, "it was {:?}", before.status);
                self.finished(batch, &mut after, event, ended)?;
            }
            event => {
                demand!(!accepted, "it was accepted already");
                match event {
                    Event::Approved { .. } => {
                        approved(batch, &mut after, event, coverage)?;
                        seen = self.seen(&before, batch.revision.0 - 1);
                    }
                    Event::Delivered { .. } => {
                        self.delivered(batch, &mut after, event, coverage)?;
                    }
                    Event::Undelivered { .. } => {
                        self.undelivered(batch, &mut after, ended, coverage)?;
                    }
                    Event::Accepted { .. } => {
                        self.accepted_handoff(batch, &mut after, event, &seen, coverage)?;
                    }
                    event => self.declined(batch, &mut after, event, coverage)?,
                }
            }
        }
        if is_over(after.status) {
            (after.delivery, after.ended_at) = (None, Some(batch.time));
        }
        self.handoffs.set(batch, after, seen);
        Ok(())
    }

    fn delivered(
        &mut self,
        batch: &Batch,
        handoff: &mut Handoff,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::Delivered { receiver, until, wait, .. } = event else { return Ok(()) };
        demand!(handoff.delivery.is_none(), "{:?} has it", handoff.delivery);
        demand!(self.is_for(handoff, receiver, u64::MAX), "it is not for `{receiver}`");
        demand!(is_approved(handoff, batch.time), "it is not approved");
        let end = batch.time.after(handoff.redeliver_ms);
        demand!(*until == end, "`{receiver}` has it until {until}, not until {end}");
        let mut queue = self.handoffs.queue_at(u64::MAX).iter();
        let first = queue.find(|there| self.is_for(handoff, &there.agent, u64::MAX)).cloned();
        match (wait, first) {
            (Some(wait), Some(first)) => {
                let number = first.wait;
                demand!(number == wait.0, "call {wait} got it, call {number} waited longer");
                self.waits.granted(batch, *wait, receiver)?;
                self.handoffs.set_queue(batch, |queue| queue.retain(|there| there.wait != wait.0));
                coverage.met("handoff: delivered to a waiting call");
            }
            (None, None) => demand!(batch.agent == *receiver, "`{receiver}` did not ask for it"),
            (wait, first) => {
                demand!(false, "`{receiver}` got it by {wait:?} while {first:?} waited");
            }
        }
        handoff.deliveries += 1;
        if handoff.deliveries > 1 {
            coverage.met("handoff: delivered again");
        }
        handoff.status = Status::Delivered;
        handoff.delivery = Some(Delivery { receiver: receiver.clone(), until: *until });
        Ok(())
    }

    fn undelivered(
        &self,
        batch: &Batch,
        handoff: &mut Handoff,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let Some(delivery) = handoff.delivery.take() else {
            return Err(Breach("it was not delivered".to_owned()));
        };
        if ended.contains(&delivery.receiver) {
            coverage.met("handoff: its receiver was lost");
        } else {
            self.check_expired(batch, delivery.until, handoff.redeliver_ms)?;
            demand!(handoff.deliveries < DELIVERIES_MAX, "it was delivered too often");
            coverage.met("handoff: not answered");
        }
        let approved = handoff.approval.is_some();
        handoff.status = if approved { Status::Approved } else { Status::Offered };
        Ok(())
    }

    fn accepted_handoff(
        &mut self,
        batch: &Batch,
        handoff: &mut Handoff,
        event: &Event,
        seen: &ApprovedVersions,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::Accepted { receiver, receipt, .. } = event else { return Ok(()) };
        demand!(*receiver == batch.agent, "by the hand of `{}`", batch.agent);
        demand!(self.is_for(handoff, receiver, u64::MAX), "it is not for `{receiver}`");
        let end = handoff.deadline.max(self.woken_at.after(patience_ms(handoff)));
        demand!(batch.time < end, "it was over at {end}, it is {}", batch.time);
        demand!(self.versions_fit(handoff), "a key has another version than it must have");
        if handoff.approval.is_some() {
            demand!(is_approved(handoff, batch.time), "it is not approved: {:?}", handoff.approval);
            let now = self.seen(handoff, u64::MAX);
            demand!(now == *seen, "{seen:?} was approved, it is {now:?}");
            coverage.met("handoff: accepted with an approval");
        }
        self.check_receipt(handoff, Some(receipt))?;
        if receipt.keys.iter().any(|taken| taken.moved) {
            coverage.met("handoff: state moved");
        }
        if receipt.keys.iter().any(|taken| taken.copied) {
            coverage.met("handoff: state copied");
        }
        if receipt.keys.iter().any(|taken| handoff.keys.iter().all(|it| it.name != taken.key)) {
            coverage.met("handoff: state selected by a pattern");
        }
        coverage.met(match (&handoff.to, &handoff.task) {
            (Receiver::Capability(_), _) => "handoff: accepted by capability",
            (_, Some(_)) => "handoff: accepted with a task",
            (_, None) => "handoff: accepted without a task",
        });
        (handoff.status, handoff.delivery) = (Status::Accepted, None);
        (handoff.receiver, handoff.receipt) = (Some(receiver.clone()), Some(receipt.clone()));
        self.handoffs.moved.push(handoff.id.clone());
        Ok(())
    }

    /// Whether the task of a hand-off is no longer offered by it.
    fn has_moved_on(&self, handoff: &Handoff) -> bool {
        let Some(task) = &handoff.task else { return false };
        let lease = self.tasks.at(task, u64::MAX).and_then(|work| work.lease.as_ref());
        lease.and_then(|lease| lease.handoff.as_ref()) != Some(&handoff.id)
    }

    fn declined(
        &self,
        batch: &Batch,
        handoff: &mut Handoff,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        match event {
            Event::Rejected { by, .. } => {
                let may = self.is_for(handoff, by, u64::MAX) || may_approve(handoff, by);
                demand!(*by == batch.agent && may, "`{by}` may not reject it");
                handoff.status = Status::Rejected;
                coverage.met("handoff: rejected");
            }
            Event::Cancelled { .. } => {
                let moved_on = self.has_moved_on(handoff);
                let by_giver = batch.agent == handoff.from;
                demand!(moved_on || by_giver, "by the hand of `{}`", batch.agent);
                coverage.met(if moved_on {
                    "handoff: cancelled with its task"
                } else {
                    "handoff: cancelled"
                });
                handoff.status = Status::Cancelled;
            }
            Event::Expired { reason, .. } => {
                match (reason.as_str(), &handoff.delivery) {
                    ("deadline", _) => {
                        self.check_expired(batch, handoff.deadline, patience_ms(handoff))?;
                    }
                    ("not_answered", Some(delivery)) => {
                        let often = handoff.deliveries;
                        demand!(often >= DELIVERIES_MAX, "it was delivered {often} times only");
                        self.check_expired(batch, delivery.until, handoff.redeliver_ms)?;
                    }
                    (reason, delivery) => demand!(false, "`{reason}` with {delivery:?}"),
                }
                handoff.status = Status::Expired;
                coverage.met("handoff: expired");
            }
            other => demand!(false, "{other:?} cannot be"),
        }
        Ok(())
    }

    /// An accepted hand-off has ended.
    fn finished(
        &mut self,
        batch: &Batch,
        handoff: &mut Handoff,
        event: &Event,
        ended: &BTreeSet<AgentId>,
    ) -> Audit {
        let work = handoff.task.as_ref().and_then(|task| self.tasks.at(task, u64::MAX)).cloned();
        let status = work.as_ref().map(|work| work.status);
        let lease = work.as_ref().and_then(|work| work.lease.as_ref());
        let fresh = work.as_ref().is_some_and(|work| work.leased_at == batch.revision.0);
        let is_held = lease.is_some_and(|lease| handoff.receiver.as_ref() == Some(&lease.holder));
        match event {
            Event::Completed { result, changes, .. } => {
                if is_held || work.is_none() {
                    let by_receiver = handoff.receiver.as_ref() == Some(&batch.agent);
                    demand!(by_receiver, "by the hand of `{}`", batch.agent);
                    self.handoffs.done.push(handoff.id.clone());
                } else {
                    let went_on = lease.is_some() || status == Some(TaskStatus::HandedOff);
                    let is_submitted = work.as_ref().is_some_and(|it| it.submitter().is_some());
                    let is_done = status == Some(TaskStatus::Completed) || is_submitted || went_on;
                    demand!(is_done, "its task is {status:?}");
                }
                handoff.status = Status::Completed;
                (handoff.result, handoff.changes) = (result.clone(), changes.clone());
            }
            Event::Failed { error, .. } => {
                let gone = handoff.receiver.as_ref().is_some_and(|agent| ended.contains(agent));
                let is_lost = match status {
                    None => gone,
                    // A waiting call may have got it already.
                    Some(status) => (lease.is_none() || fresh) && status != TaskStatus::Completed,
                };
                demand!(is_lost, "its task is {status:?} with {lease:?}");
                handoff.status = Status::Failed;
                handoff.error = Some(error.clone());
            }
            _ => {}
        }
        Ok(())
    }
}

fn approved(batch: &Batch, handoff: &mut Handoff, event: &Event, coverage: &mut Coverage) -> Audit {
    let Event::Approved { by, digest, until, content, .. } = event else { return Ok(()) };
    demand!(*by == batch.agent && may_approve(handoff, by), "`{by}` may not");
    if let Some(content) = content {
        handoff.digest.clone_from(digest);
        handoff.content.clone_from(content);
    } else {
        demand!(!is_approved(handoff, batch.time), "it was approved already");
        demand!(*digest == handoff.digest, "something else was approved");
    }
    let Some(approval) = &mut handoff.approval else { return Ok(()) };
    let end = approval.expires_ms.map(|after| batch.time.after(after));
    demand!(end == *until, "it holds until {until:?}, not until {end:?}");
    coverage.met(match approval.approved_by {
        Some(_) => "handoff: approved again",
        None => "handoff: approved",
    });
    (approval.approved_by, approval.expires_at) = (Some(by.clone()), *until);
    if handoff.status == Status::Offered {
        handoff.status = Status::Approved;
    }
    Ok(())
}

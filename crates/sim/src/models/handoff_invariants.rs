//! Invariants of hand-offs after every batch: they agree with their tasks, what had to move has
//! moved, and nothing is left behind.

use std::collections::BTreeSet;

use baton_core::handoff::{Handoff, Status};
use baton_core::task::Status as TaskStatus;
use baton_core::{AgentId, Batch, HandoffId, Key, NamespaceName, Timestamp};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::models::handoff::{HandoffModel, is_approved, is_open, patience_ms};

impl Ledger {
    /// A batch is complete: hand-offs and tasks agree, what had to move has moved, no call waits
    /// for a hand-off that can be delivered, and no ended session has one to answer.
    pub(crate) fn check_handoffs(&mut self, batch: &Batch, ended: &BTreeSet<AgentId>) -> Audit {
        let (moved, done, is_touched) = self.handoffs.take_touched();
        if !is_touched && !self.tasks.is_touched() && ended.is_empty() {
            return Ok(());
        }
        for id in &moved {
            self.check_moved(batch, id).map_err(|breach| about(id, &breach))?;
        }
        for id in &done {
            let task = self.handoffs.at(id, u64::MAX).and_then(|deal| deal.handoff.task.as_ref());
            let work = task.and_then(|task| self.tasks.at(task, u64::MAX));
            let is_submitted = work.is_some_and(|work| work.submitter().is_some());
            let status = work.map(|work| work.status);
            let is_done =
                is_submitted || status.is_none_or(|status| status == TaskStatus::Completed);
            demand!(is_done, "hand-off `{id}` is done, and its task is {status:?}");
        }
        for deal in self.handoffs.live() {
            self.check_live(batch, deal, ended)
                .map_err(|breach| about(&deal.handoff.id, &breach))?;
        }
        for (task, work) in self.tasks.all_at(u64::MAX) {
            let Some(id) = work.lease.as_ref().and_then(|lease| lease.handoff.as_ref()) else {
                continue;
            };
            let deal = self.handoffs.at(id, u64::MAX).map(|deal| &deal.handoff);
            let offers =
                deal.is_some_and(|it| is_open(it.status) && it.task.as_ref() == Some(task));
            demand!(offers, "task `{task}` is offered by `{id}`, which is {deal:?}");
        }
        let revision = batch.revision.0;
        let mut queue = self.handoffs.queue_at(u64::MAX).iter();
        let waits = queue.find(|there| there.wait < revision && ended.contains(&there.agent));
        demand!(waits.is_none(), "a session ended, and {waits:?} still waits");
        Ok(())
    }

    fn check_live(&self, batch: &Batch, deal: &HandoffModel, ended: &BTreeSet<AgentId>) -> Audit {
        let (handoff, is_open) = (&deal.handoff, is_open(deal.handoff.status));
        if let Some(task) = &handoff.task {
            let lease = self.tasks.at(task, u64::MAX).and_then(|work| work.lease.as_ref());
            let named = lease.and_then(|lease| lease.handoff.as_ref());
            let holder = lease.map(|lease| &lease.holder);
            let agrees = if is_open {
                named == Some(&handoff.id) && holder == Some(&handoff.from)
            } else {
                named != Some(&handoff.id) && holder == handoff.receiver.as_ref()
            };
            demand!(agrees, "it is {:?}, the lease of `{task}` is {lease:?}", handoff.status);
        }
        let from_before = deal.changed_at < batch.revision.0;
        let looks = handoff.delivery.as_ref().map(|delivery| &delivery.receiver);
        let has = handoff.receiver.as_ref().filter(|_| handoff.task.is_none());
        let gone = looks.or(has).filter(|agent| from_before && ended.contains(*agent));
        demand!(gone.is_none(), "{gone:?} is lost, and it is still {:?}", handoff.status);
        if is_open && looks.is_none() && is_approved(handoff, batch.time) {
            let mut queue = self.handoffs.queue_at(u64::MAX).iter();
            let first = queue.find(|there| self.is_for(handoff, &there.agent, u64::MAX));
            demand!(first.is_none(), "it can be delivered, and {first:?} waits");
        }
        Ok(())
    }

    /// Checks that an accepted or executed hand-off has moved its task and its keys.
    fn check_moved(&self, batch: &Batch, id: &HandoffId) -> Audit {
        let deal = self.handoffs.at(id, u64::MAX).map(|deal| &deal.handoff);
        let Some((handoff, receiver)) = deal.and_then(|it| Some((it, it.receiver.as_ref()?)))
        else {
            return Err(Breach("it has no holder".to_owned()));
        };
        let revision = batch.revision.0;
        if let Some(work) = handoff.task.as_ref().and_then(|task| self.tasks.at(task, u64::MAX)) {
            let holder = work.lease.as_ref().map(|lease| &lease.holder);
            let is_held = holder == Some(receiver) && work.leased_at == revision;
            let waits = work.status == TaskStatus::HandedOff
                && work.assigned.as_ref() == Some(receiver)
                && work.handed_by.as_ref() == Some(id);
            let is_executed = handoff.status == Status::Completed;
            demand!(is_held || (is_executed && waits), "`{receiver}` has it, and yet {work:?}");
        }
        let (own, theirs) =
            (NamespaceName::of_agent(&handoff.from), NamespaceName::of_agent(receiver));
        let receipt = handoff.receipt.iter().flat_map(|receipt| &receipt.keys);
        for taken in receipt.filter(|taken| taken.moved || taken.copied) {
            let Ok(key) = Key::parse(taken.key.key()) else {
                return Err(Breach("a key has no name".to_owned()));
            };
            let before = self.entry(&own, &key, revision - 1);
            let (left, there) =
                (self.entry(&own, &key, u64::MAX), self.entry(&theirs, &key, u64::MAX));
            let same = before.zip(there).is_some_and(|(before, there)| {
                there.value == before.value && there.revision == revision
            });
            let is_left = if taken.copied { left == before } else { left.is_none() };
            demand!(is_left && same, "`{key}` was {before:?}: {left:?}, {there:?}");
        }
        Ok(())
    }

    /// A hand-off that should have been expired or redelivered by this time.
    pub(crate) fn overdue_handoff(&self, now: Timestamp) -> Option<&Handoff> {
        let over = |handoff: &&Handoff| {
            let end = handoff.deadline.max(self.woken_at.after(patience_ms(handoff)));
            let answer = handoff
                .delivery
                .as_ref()
                .map(|delivery| delivery.until.max(self.woken_at.after(handoff.redeliver_ms)));
            is_open(handoff.status) && answer.into_iter().chain([end]).any(|end| end <= now)
        };
        self.handoffs.live().map(|deal| &deal.handoff).find(over)
    }

    /// A hand-off that can still be accepted.
    pub(crate) fn open_handoff(&self) -> Option<&Handoff> {
        let mut live = self.handoffs.live().map(|deal| &deal.handoff);
        live.find(|handoff| is_open(handoff.status))
    }
}

fn about(id: &HandoffId, breach: &Breach) -> Breach {
    Breach(format!("hand-off `{id}`: {}", breach.0))
}

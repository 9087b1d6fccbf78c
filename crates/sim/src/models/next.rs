//! Calls that wait for the next work: a hand-off, a message or a task.
//!
//! Laws:
//!
//! 1. Such a call is in three queues under one number. It gets one thing, from one of them, and
//!    leaves the others in the same batch.
//! 2. If several are available, the order is: a hand-off, a message, a task.

use baton_core::wait::{Next, Reply as WaitReply, Work, WorkKind};
use baton_core::waiting::wait::Left;
use baton_core::{
    Answer, Event as AnyEvent, Rejection as AnyRejection, Reply, handoff, message, task,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::wait::WaitEnd;

fn wants(next: &Next, kind: WorkKind) -> bool {
    next.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
}

fn claim(next: &Next, wait_ms: Option<u64>) -> task::Claim {
    let Next { types, capabilities, lease_ms, .. } = next.clone();
    task::Claim { types, capabilities, task: None, lease_ms, wait_ms, limit: None }
}

fn claim_command(next: &Next, wait_ms: Option<u64>) -> task::Command {
    task::Command::Claim(claim(next, wait_ms))
}

fn receive(next: &Next, wait_ms: Option<u64>) -> message::Command {
    let (agent, limit, redeliver_ms) = (None, Some(1), next.redeliver_ms);
    message::Command::Receive(message::Receive { agent, wait_ms, limit, redeliver_ms })
}

/// The reply as that of the operation that would have received the same.
fn plain(work: &Work) -> Reply {
    match work {
        Work::Handoff(found) => Reply::Handoff(handoff::Reply::Received(Some(found.clone()))),
        Work::Message(found) => {
            Reply::Message(message::Reply::Received { messages: vec![(**found).clone()] })
        }
        Work::Task(found) => Reply::Task(task::Reply::Claimed(Some(found.clone()))),
    }
}

impl Ledger {
    /// Checks an answer without effect: there was nothing of any kind.
    pub(crate) fn next_no_effect(&self, asked: &DecidedRequest<'_>, next: &Next) -> Audit {
        let wait_ms = next.wait_ms;
        if wants(next, WorkKind::Handoff) {
            let none = Reply::Handoff(handoff::Reply::Received(None));
            self.handoff_no_effect(asked, &handoff::Command::Receive { wait_ms }, &none)?;
        }
        if wants(next, WorkKind::Message) {
            let none = Reply::Message(message::Reply::Received { messages: Vec::new() });
            self.message_no_effect(asked, &receive(next, wait_ms), &none)?;
        }
        if wants(next, WorkKind::Task) {
            let none = Reply::Task(task::Reply::Claimed(None));
            let claim = claim_command(next, wait_ms);
            self.task_no_effect(asked.agent, &claim, &none, asked.decided_at)?;
        }
        Ok(())
    }

    /// Checks the answer to a call that got something at once.
    pub(crate) fn next_reply(&self, next: &Next, reply: &WaitReply, at: u64) -> Audit {
        let WaitReply::Next(work) = reply else {
            return Err(Breach(format!("{next:?} was answered with {reply:?}")));
        };
        match work.as_ref().map(plain) {
            // Only the request itself was recorded.
            None => Ok(()),
            Some(Reply::Handoff(reply)) => {
                self.handoff_reply(&handoff::Command::Receive { wait_ms: None }, &reply, at)
            }
            Some(Reply::Message(reply)) => self.message_reply(&receive(next, None), &reply, at),
            Some(Reply::Task(reply)) => self.task_reply(&claim_command(next, None), &reply, at),
            Some(reply) => Err(Breach(format!("{next:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a call that waited.
    pub(crate) fn next_ended(
        &self,
        asked: &DecidedRequest<'_>,
        next: &Next,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
        coverage: &mut Coverage,
    ) -> Audit {
        let work = match (how, outcome) {
            (
                WaitEnd::Granted,
                Ok(Answer { reply: Reply::Wait(WaitReply::Next(Some(work))), revision }),
            ) => Ok(Answer { reply: plain(work), revision: *revision }),
            (
                WaitEnd::Left(Left::Timeout),
                Ok(Answer { reply: Reply::Wait(WaitReply::Next(None)), .. }),
            ) => return Ok(()),
            (WaitEnd::Left(Left::SessionEnded), Err(rejection)) => {
                let code = rejection.code();
                demand!(code.ends_with(".session_ended"), "it was refused with {code}");
                return Ok(());
            }
            (_, outcome) => return Err(Breach(format!("the answer is {outcome:?}"))),
        };
        match work.as_ref().map(|answer| &answer.reply) {
            Ok(Reply::Handoff(_)) => {
                coverage.met("next: a hand-off came first");
                self.receive_ended(asked, (revision, how), &work)
            }
            Ok(Reply::Message(_)) => {
                coverage.met("next: a message came first");
                self.message_wait_ended(asked, &receive(next, None), (revision, how), &work)
            }
            _ => {
                coverage.met("next: a task came first");
                self.claim_ended(asked, &claim(next, None), (revision, how), &work)
            }
        }
    }
}

impl BatchReader<'_> {
    /// The effect of the call: it gets the first, or is queued for all.
    pub(crate) fn next_work(&mut self, next: &Next) -> Audit {
        let (before, time) = (self.batch.revision.0 - 1, self.batch.time);
        let agent = self.batch.agent.clone();
        let is_queued = matches!(
            self.peek(),
            Some(
                AnyEvent::Handoff(handoff::Event::Queued { .. })
                    | AnyEvent::Message(message::Event::Queued { .. })
            )
        );
        let wait_ms = next.wait_ms.filter(|_| is_queued);
        if wants(next, WorkKind::Handoff) {
            if is_queued || matches!(self.peek(), Some(AnyEvent::Handoff(_))) {
                self.handoff(&handoff::Command::Receive { wait_ms })?;
                if !is_queued {
                    return Ok(());
                }
            }
            let first = self.ledger.first_for(&agent, time, before);
            demand!(first.is_none(), "the hand-off {first:?} comes first");
        }
        if wants(next, WorkKind::Message) {
            if is_queued || matches!(self.peek(), Some(AnyEvent::Message(_))) {
                self.message(&receive(next, wait_ms))?;
                if !is_queued {
                    return Ok(());
                }
            }
            let first = self.ledger.messages.waiting(&agent, time, before).next();
            demand!(first.is_none(), "the message {first:?} comes first");
        }
        if wants(next, WorkKind::Task) {
            self.task(&claim_command(next, wait_ms))?;
        }
        Ok(())
    }
}

//! What becomes of a task after a try has failed, as the log tells it.

use std::collections::BTreeSet;

use baton_core::handoff::Status as DealStatus;
use baton_core::task::Returns;
use baton_core::task::{Cause, OnExhausted, Outcome, Status};
use baton_core::{AgentId, Batch};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::TaskModel;

impl TaskModel {
    /// What becomes of it after one more try has failed.
    pub(crate) fn check_outcome(&self, batch: &Batch, cause: Cause, outcome: &Outcome) -> Audit {
        if cause == Cause::Deadline {
            let late = self.deadline.is_some_and(|deadline| deadline <= batch.time);
            demand!(late && *outcome == Outcome::Failed, "its deadline is {:?}", self.deadline);
            return Ok(());
        }
        if matches!(cause, Cause::NotTakenUp | Cause::HandoffLoop) {
            demand!(*outcome == Outcome::Review, "a person decides, not {outcome:?}");
            return Ok(());
        }
        let failures = self.retries + 1;
        if let Outcome::Retry { not_before } = outcome {
            let most = self.max_retries;
            demand!(
                failures <= most,
                "it is tried again after {failures} failures, {most} allowed"
            );
            let pause = not_before.map_or(0, |moment| moment.since(batch.time));
            demand!(
                self.pauses(cause, failures).contains(&pause),
                "it pauses for {pause} ms after {failures} failures"
            );
            return Ok(());
        }
        // A worker may say that trying again is no use.
        let hopeless = cause == Cause::Reported;
        demand!(failures > self.max_retries || hopeless, "{failures} failures are not too many");
        let due = match &self.on_exhausted {
            OnExhausted::Review if !self.escalated => Outcome::Review,
            OnExhausted::Agent(to) if !self.escalated => Outcome::Reassigned { to: to.clone() },
            _ => Outcome::Failed,
        };
        demand!(*outcome == due, "it ends as {outcome:?}, not as {due:?}");
        Ok(())
    }

    /// How long it may pause after so many failures.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "pauses are short, and a millisecond does not matter"
    )]
    fn pauses(&self, cause: Cause, failures: u64) -> std::ops::RangeInclusive<u64> {
        if cause != Cause::Reported {
            return 0..=0;
        }
        let mut plain = self.backoff.initial_ms as f64;
        for _ in 1..failures {
            plain *= self.backoff.multiplier;
        }
        let plain = plain.min(self.backoff.max_ms as f64);
        let spread = plain * self.backoff.jitter;
        let (least, most) = (plain - spread, plain + spread);
        (least.max(1.0) as u64 - 1)..=(most as u64 + 1)
    }

    /// It is what the try has made of it.
    pub(crate) fn apply_outcome(&mut self, outcome: &Outcome, coverage: &mut Coverage) {
        self.ready = false;
        match outcome {
            Outcome::Retry { not_before } => {
                self.status = Status::Pending;
                self.not_before = *not_before;
                coverage.met("task: tried again");
            }
            Outcome::Failed => {
                self.status = Status::Failed;
                coverage.met("task: failed for good");
            }
            Outcome::Review => self.status = Status::WaitingReview,
            Outcome::Reassigned { to } => {
                self.status = Status::Pending;
                (self.retries, self.not_before) = (0, None);
                (self.assigned, self.escalated) = (Some(to.clone()), true);
                coverage.met("task: reassigned");
            }
        }
    }
}

impl Ledger {
    /// A try has failed for this reason.
    pub(crate) fn failed(
        &mut self,
        batch: &Batch,
        work: &mut TaskModel,
        cause: Cause,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        match cause {
            Cause::Reported => {
                self.end_lease(batch, work)?;
                work.retries += 1;
            }
            Cause::LeaseExpired => {
                let lease = self.end_lease(batch, work)?;
                self.check_expired(batch, lease.expires_at, lease.lease_ms)?;
                demand!(lease.handoff.is_none(), "it was offered to another");
                coverage.met("task: lease expired");
                work.retries += 1;
            }
            Cause::AgentGone => {
                let lease = self.end_lease(batch, work)?;
                let gone = ended.contains(&lease.holder);
                demand!(gone, "the session of `{}` goes on", lease.holder);
                demand!(lease.handoff.is_none(), "it was offered to another");
                coverage.met("task: agent gone");
                work.retries += 1;
            }
            Cause::NotTakenUp => {
                work.assigned = work.assigned_before.take();
                let returns = work.returns.as_ref().filter(|_| work.status == Status::HandedOff);
                let Some(Returns { to: None, at, within_ms }) = returns else {
                    return Err(Breach(format!("it is {:?}: {returns:?}", work.status)));
                };
                self.check_expired(batch, *at, *within_ms)?;
                coverage.met("task: taken up by nobody");
            }
            Cause::HandoffLoop => {
                let lease = self.end_lease(batch, work)?;
                let brake = self.handoffs.all_at(u64::MAX).any(|handoff| {
                    handoff.created_at == batch.time
                        && handoff.from == lease.holder
                        && handoff.status == DealStatus::Failed
                });
                demand!(brake && lease.handoff.is_none(), "nobody has handed it round");
                coverage.met("task: handed round in circles");
            }
            Cause::Deadline => {
                demand!(batch.agent == AgentId::engine(), "its time was over by an agent's hand");
                self.end_any_lease(batch, work);
                coverage.met("task: deadline passed");
            }
        }
        Ok(())
    }
}

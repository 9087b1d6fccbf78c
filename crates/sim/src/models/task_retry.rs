//! The rules for failed attempts and for retries of a task, according to the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use baton_core::handoff::Status as DealStatus;
use baton_core::task::Returns;
use baton_core::task::{Cause, Event as TaskEvent, OnExhausted, Outcome, Rejection, Retry, Status};
use baton_core::{AgentId, Batch, Event, TaskId, Timestamp};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::pipeline::Pipelines;
use crate::models::task::{TaskModel, Tasks};

impl TaskModel {
    /// The outcome after one more failed attempt.
    pub(crate) fn check_outcome(&self, batch: &Batch, cause: Cause, outcome: &Outcome) -> Audit {
        if cause == Cause::Deadline {
            let late = self.deadline.is_some_and(|deadline| deadline <= batch.time);
            demand!(late && *outcome == Outcome::Failed, "its deadline is {:?}", self.deadline);
            return Ok(());
        }
        if matches!(cause, Cause::NotTakenUp | Cause::HandoffLoop) {
            demand!(*outcome == Outcome::Review, "a review is required, not {outcome:?}");
            return Ok(());
        }
        let failures = self.retries + 1;
        if let Outcome::Retry { not_before } = outcome {
            let most = self.max_retries;
            demand!(failures <= most, "it is retried after {failures} failures, {most} allowed");
            let pause = not_before.map_or(0, |moment| moment.since(batch.time));
            demand!(
                self.pauses(cause, failures).contains(&pause),
                "the delay is {pause} ms after {failures} failures"
            );
            return Ok(());
        }
        // A worker may report that a retry does not help.
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

    /// The delay after this number of failures.
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

    /// Applies the outcome.
    pub(crate) fn apply_outcome(&mut self, outcome: &Outcome, coverage: &mut Coverage) {
        self.ready = false;
        match outcome {
            Outcome::Retry { not_before } => {
                self.status = Status::Pending;
                self.not_before = *not_before;
                coverage.met("task: retried");
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

impl TaskModel {
    /// It is pending again as if it had never failed.
    pub(crate) fn retried(
        &mut self,
        batch: &Batch,
        deadline: Option<Timestamp>,
        coverage: &mut Coverage,
    ) -> Audit {
        let is_ahead = deadline.is_none_or(|deadline| deadline > batch.time);
        demand!(is_ahead, "its deadline {deadline:?} has passed already");
        coverage.met(if self.because { "task: restored" } else { "task: retried by request" });
        if self.returns.take().is_some() {
            self.assigned = self.assigned_before.take();
        }
        (self.status, self.ready, self.because) = (Status::Pending, false, false);
        (self.retries, self.deadline) = (0, deadline);
        Ok(())
    }
}

impl Tasks {
    /// The tasks that must return when a failed one is retried: all that were cancelled because of
    /// another task and that nothing keeps from running any more.
    fn restored(&self, root: &TaskId, at: u64, pipelines: &Pipelines) -> BTreeSet<TaskId> {
        let mut alive = BTreeSet::from([root.clone()]);
        loop {
            let is_dead = |task: &TaskId, final_states: &[Status]| {
                let status = self.at(task, at).map(|work| work.status);
                !alive.contains(task) && status.is_some_and(|it| final_states.contains(&it))
            };
            let returns = |(id, work): &(&TaskId, &Arc<TaskModel>)| {
                let dead = [Status::Failed, Status::Cancelled];
                work.because
                    && !alive.contains(*id)
                    && !pipelines.has_task(id, at)
                    && !work.depends_on.iter().any(|task| is_dead(task, &dead))
                    && !work.parent.iter().any(|task| is_dead(task, &[Status::Cancelled]))
            };
            let more: Vec<TaskId> =
                self.all_at(at).filter(returns).map(|(id, _)| id.clone()).collect();
            if more.is_empty() {
                alive.remove(root);
                return alive;
            }
            alive.extend(more);
        }
    }
}

impl BatchReader<'_> {
    /// The effect of a retry: the failed task is pending again, and exactly those that were
    /// cancelled because of it.
    pub(crate) fn retry(&mut self, retry: &Retry) -> Audit {
        let (before, time) = (self.batch.revision.0 - 1, self.batch.time);
        let Some(work) = self.ledger.tasks.at(&retry.task, before) else {
            return Err(Breach("the task does not exist".to_owned()));
        };
        let mut deadline = work.deadline.filter(|deadline| *deadline > time);
        if let Some(deadline_ms) = retry.deadline_ms {
            deadline = Some(time.after(deadline_ms));
        }
        let of_a_stage = self.ledger.pipelines.has_task(&retry.task, before);
        demand!(!of_a_stage, "the task of a stage is retried with its stage");
        let mut due = self.ledger.tasks.restored(&retry.task, before, &self.ledger.pipelines);
        let root = self.take_task()?;
        let fits = matches!(root, TaskEvent::Retried { task, because: None, deadline: given, .. }
            if *task == retry.task && *given == deadline);
        demand!(fits, "`{}` is to be retried until {deadline:?}, not {root:?}", retry.task);
        while let Some(Event::Task(TaskEvent::Retried { task, because, .. })) = self.peek() {
            let is_due = because.as_ref() == Some(&retry.task) && due.remove(task);
            demand!(is_due, "`{task}` was restored for no reason");
            self.skip();
        }
        demand!(due.is_empty(), "{due:?} was not restored with `{}`", retry.task);
        Ok(())
    }
}

impl Ledger {
    /// Checks a refused retry.
    pub(crate) fn refused_retry(&self, rejection: &Rejection, at: u64) -> Audit {
        let status_of = |task: &TaskId| self.tasks.at(task, at).map(|work| work.status);
        match rejection {
            Rejection::NotFailed { task, status, .. } => {
                let there = status_of(task);
                let other = there == Some(*status) && *status != Status::Failed;
                demand!(other, "`{task}` is {there:?}");
            }
            Rejection::NeedsRetry { task, needs, status } => {
                let there = status_of(needs);
                let dead = matches!(status, Status::Failed | Status::Cancelled);
                demand!(dead && there == Some(*status), "`{needs}` is {there:?}");
                let work = self.tasks.at(task, at);
                let needed = work.is_some_and(|work| {
                    work.depends_on.contains(needs) || work.parent.as_ref() == Some(needs)
                });
                demand!(needed, "`{task}` does not need `{needs}`");
            }
            Rejection::OfAStage { task, .. } => {
                demand!(self.pipelines.has_task(task, at), "`{task}` is of no stage");
            }
            other => return Err(Breach(format!("a retry is not refused as `{}`", other.code()))),
        }
        Ok(())
    }

    /// An attempt failed for this reason.
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
                demand!(gone, "the session of `{}` has not ended", lease.holder);
                demand!(lease.handoff.is_none(), "it was offered to another");
                coverage.met("task: agent lost");
                work.retries += 1;
            }
            Cause::NotTakenUp => {
                work.assigned = work.assigned_before.take();
                let returns = work.returns.take().filter(|_| work.status == Status::HandedOff);
                let Some(Returns { to: None, at, within_ms }) = returns else {
                    return Err(Breach(format!("it is {:?}: {returns:?}", work.status)));
                };
                self.check_expired(batch, at, within_ms)?;
                coverage.met("task: not claimed after a hand-off");
            }
            Cause::HandoffLoop => {
                let lease = self.end_lease(batch, work)?;
                let brake = self.handoffs.all_at(u64::MAX).any(|handoff| {
                    handoff.created_at == batch.time
                        && handoff.from == lease.holder
                        && handoff.status == DealStatus::Failed
                });
                demand!(brake && lease.handoff.is_none(), "it was not handed around");
                coverage.met("task: hand-off loop");
            }
            Cause::Deadline => {
                demand!(batch.agent == AgentId::engine(), "its deadline was recorded by an agent");
                self.end_any_lease(batch, work);
                coverage.met("task: deadline passed");
            }
        }
        Ok(())
    }
}

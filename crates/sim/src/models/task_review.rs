//! The review of results, which the laws of tasks include.

use baton_core::task::{Event, Lease, Rejection, Review, Status, Verdict};
use baton_core::{AgentId, Batch, Event as AnyEvent, Json};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::TaskModel;

/// Whether the result of a task must be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It need not.
    NotNeeded,
    /// It must, before the task is completed.
    Needed,
    /// It was, so that the task is completed next.
    Given,
    /// It need not, and the task was accepted after failed attempts: it is completed next.
    GivenAfterFailures,
}

impl Acceptance {
    /// Whether the task was created with `review`.
    pub(crate) fn is_needed(self) -> bool {
        matches!(self, Self::Needed | Self::Given)
    }
}

impl TaskModel {
    /// The agent whose result waits for review.
    pub(crate) fn submitter(&self) -> Option<&AgentId> {
        self.submitted_by.as_ref().filter(|_| self.status == Status::WaitingReview)
    }

    /// Its result was submitted under this lease.
    pub(crate) fn submitted(
        &mut self,
        lease: &Lease,
        result: Option<&Json>,
        coverage: &mut Coverage,
    ) -> Audit {
        let is_needed = self.review == Acceptance::Needed;
        demand!(is_needed, "its result was submitted, but it needs no review");
        self.result = result.cloned().or(self.result.take());
        self.submitted_by = Some(lease.holder.clone());
        (self.status, self.ready) = (Status::WaitingReview, false);
        coverage.met("task: submitted");
        Ok(())
    }

    /// It is completed, although its result must be accepted.
    pub(crate) fn completed_by_review(&self) -> Audit {
        let is_in_review = self.status == Status::WaitingReview;
        let given = [Acceptance::Given, Acceptance::GivenAfterFailures];
        let is_accepted = is_in_review && given.contains(&self.review);
        demand!(is_accepted, "it was completed, and its result was not accepted");
        Ok(())
    }

    /// It was reviewed.
    pub(crate) fn reviewed(
        &mut self,
        batch: &Batch,
        event: &Event,
        may_accept: bool,
        coverage: &mut Coverage,
    ) -> Audit {
        let Event::Reviewed { verdict, accepts, result, .. } = event else { return Ok(()) };
        demand!(self.status == Status::WaitingReview, "it was {:?}", self.status);
        let submitter = self.submitter();
        let is_accepted = *verdict == Verdict::Complete;
        demand!(*accepts == is_accepted, "it accepts {submitter:?}: {accepts}");
        if is_accepted {
            demand!(submitter != Some(&batch.agent), "{submitter:?} accepted its own result");
            demand!(may_accept, "`{}` accepted it, not one of {:?}", batch.agent, self.reviewers);
            coverage.met(if submitter.is_some() { "task: accepted" } else { "task: reviewed" });
            self.review = match self.review {
                Acceptance::NotNeeded => Acceptance::GivenAfterFailures,
                Acceptance::Needed | Acceptance::Given | Acceptance::GivenAfterFailures => {
                    Acceptance::Given
                }
            };
            return Ok(());
        }
        self.result = result.clone().or(self.result.take());
        self.status = match verdict {
            Verdict::Retry => Status::Pending,
            Verdict::Complete | Verdict::Fail => Status::Failed,
        };
        self.ready = *verdict == Verdict::Retry;
        self.retries = if self.ready { 0 } else { self.retries };
        coverage.met("task: reviewed");
        Ok(())
    }
}

impl Ledger {
    /// Checks a refused review.
    pub(crate) fn refused_review(
        &self,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        match rejection {
            Rejection::OwnWork { task, agent } => {
                let submitter = self.tasks.at(task, at).and_then(|work| work.submitter());
                demand!(submitter == Some(agent), "`{task}` is the work of {submitter:?}");
                coverage.met("task: own work refused");
            }
            Rejection::NotReviewer { task, agent, reviewers } => {
                let due = self.tasks.at(task, at).map(|work| &work.reviewers);
                demand!(due == Some(reviewers), "the reviewers of `{task}` are {due:?}");
                let may = self.is_reviewer(reviewers, agent, at);
                demand!(!may, "`{agent}` is one of {reviewers:?}");
                coverage.met("task: not a reviewer");
            }
            Rejection::NoReviewer { task, agent, reviewers } => {
                let work = self.tasks.at(task, at).filter(|work| work.review.is_needed());
                let due = work.map(|work| &work.reviewers);
                demand!(due == Some(reviewers), "the reviewers of `{task}` are {due:?}");
                let only = reviewers.capability.is_none() && reviewers.agents.iter().eq([agent]);
                demand!(only, "{reviewers:?} could accept it");
            }
            Rejection::OtherAttempt { task, given, attempts } => {
                let there = self.tasks.at(task, at).map(|work| work.attempts);
                let other = there == Some(*attempts) && given != attempts;
                demand!(other, "attempt {there:?} of `{task}` waits");
            }
            Rejection::NotInReview { task, status } => {
                let there = self.tasks.at(task, at).map(|work| work.status);
                let other = there == Some(*status) && *status != Status::WaitingReview;
                demand!(other, "`{task}` is {there:?}");
            }
            other => return Err(Breach(format!("no review can cause `{}`", other.code()))),
        }
        Ok(())
    }
}

impl BatchReader<'_> {
    /// A review, and the completion of a task whose result it accepts.
    pub(crate) fn review(&mut self, review: &Review) -> Audit {
        let before = self.batch.revision.0 - 1;
        let event = self.take_task()?;
        let Event::Reviewed { task, verdict, accepts, .. } = event else {
            return Err(Breach(format!("a review was due, not {event:?}")));
        };
        demand!(*task == review.task && *verdict == review.verdict, "another verdict: {event:?}");
        let accepts = *accepts;
        let work = self.ledger.tasks.at(&review.task, before).cloned();
        let attempts = work.as_ref().map(|work| work.attempts);
        let fits = review.attempt.is_none_or(|attempt| Some(attempt) == attempts);
        demand!(fits, "attempt {:?} was reviewed, {attempts:?} waits", review.attempt);
        if accepts {
            let due = review.result.clone().or(work.and_then(|work| work.result.clone()));
            let Some(AnyEvent::Task(Event::Completed { task, result, .. })) = self.peek() else {
                return Err(Breach(format!("`{}` was accepted, and not completed", review.task)));
            };
            demand!(*task == review.task && *result == due, "another result was accepted");
            self.skip();
        }
        Ok(())
    }
}

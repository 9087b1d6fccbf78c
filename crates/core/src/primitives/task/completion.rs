//! The rules of `task.complete` and `task.review`.

use super::claiming::{able, within_lease};
use super::decide::{decided, doomed, freed, held, known, shown};
use super::{Complete, Review, Reviewers, Status, Verdict};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::refusal::{json_fits, text_fits};
use crate::space::ReplyPlan;
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::task::{Decided, Event, Record, Rejection, Reply, Table, View, budgets, checks};

pub(super) fn complete(
    table: &Table,
    view: &impl View,
    command: Complete,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Complete { task, token, result, artifacts, then_claim } = command;
    let record = held(table, &task, token)?;
    json_fits("result", result.as_ref(), limits::VALUE_BYTES_MAX)?;
    checks::check_artifacts(artifacts.as_ref())?;
    let (ready, mut events) = if is_reviewed(record) {
        if let Some(reviewers) = record.reviewers().filter(|it| it.are_only(&[&stamp.agent])) {
            let (agent, reviewers) = (stamp.agent.clone(), reviewers.clone());
            return Err(Rejection::NoReviewer { task, agent, reviewers });
        }
        (Vec::new(), vec![Event::Submitted { task: task.clone(), result, artifacts }])
    } else {
        let completed = Event::Completed { task: task.clone(), result, artifacts };
        (freed(table, &task, stamp), vec![completed])
    };
    events.extend(ready.iter().map(|record| Event::Ready { task: record.id.clone() }));
    let mut taken = None;
    if let Some(next) = then_claim {
        let lease_ms = within_lease(next.lease_ms)?;
        checks::check_types(next.types.as_ref())?;
        let agent = &stamp.agent;
        let capabilities = able(view, agent, next.capabilities)?;
        // A task that has just become ready is first offered to waiting claims.
        let fresh = ready.into_iter().filter(|record| {
            next.types.as_ref().is_none_or(|types| types.contains(&record.task_type))
                && record.suits(agent, &capabilities)
                && view.used_up_agent(agent).is_none()
                && budgets::held_back(table, view, &record.id).is_none()
                && budgets::waiter_for(table, view, record).is_none()
        });
        let first = budgets::first(table, view, agent, next.types.as_ref(), &capabilities);
        taken = fresh.chain(first).min_by_key(|record| record.queue_position());
        if let Some(record) = taken {
            let (task, holder, token) = (record.id.clone(), agent.clone(), stamp.token());
            events.push(Event::Claimed { task, holder, token, lease_ms, wait: None });
        }
    }
    let next = taken.map(|record| record.id.clone());
    let plan = ReplyPlan::after(move |space| {
        let shown = |task: &TaskId| shown(&space.task, task, Vec::new());
        Reply::Completed { task: shown(&task), next: next.as_ref().map(shown) }
    });
    Ok(Decided::new(events, plan))
}

/// Whether a result must be accepted before the task is completed.
fn is_reviewed(record: &Record) -> bool {
    #[cfg(feature = "planted")]
    if crate::planted::is("task.review_skipped") {
        return false;
    }
    record.needs_review()
}

pub(super) fn review(
    table: &Table,
    view: &impl View,
    command: Review,
    stamp: &Stamp,
) -> Result<Decided, Rejection> {
    let Review { task, verdict, attempt, note, result } = command;
    let record = known(table, &task)?;
    let status = record.status;
    if status.is_finished() {
        return Err(Rejection::Finished { task, status });
    }
    if status != Status::WaitingReview {
        return Err(Rejection::NotInReview { task, status });
    }
    if let Some(given) = attempt.filter(|attempt| *attempt != record.attempts) {
        return Err(Rejection::OtherAttempt { task, given, attempts: record.attempts });
    }
    text_fits("note", note.as_ref(), limits::NOTE_BYTES_MAX)?;
    json_fits("result", result.as_ref(), limits::VALUE_BYTES_MAX)?;
    let submitted_by = record.submitted_by();
    let accepts = verdict == Verdict::Complete;
    let is_own = accepts && submitted_by == Some(&stamp.agent);
    #[cfg(feature = "planted")]
    let is_own = is_own && !crate::planted::is("task.own_work_accepted");
    if is_own {
        return Err(Rejection::OwnWork { task, agent: stamp.agent.clone() });
    }
    let may_accept = |reviewers: &&Reviewers| {
        reviewers.include(&stamp.agent, view.capabilities_of(&stamp.agent))
    };
    let others = record.reviewers().filter(|reviewers| accepts && !may_accept(reviewers));
    #[cfg(feature = "planted")]
    let others = others.filter(|_| !crate::planted::is("task.any_reviewer"));
    if let Some(reviewers) = others {
        let (agent, reviewers) = (stamp.agent.clone(), reviewers.clone());
        return Err(Rejection::NotReviewer { task, agent, reviewers });
    }
    if accepts {
        let execution = record.execution.as_deref().cloned().unwrap_or_default();
        let (result, artifacts) = (result.or(execution.result), execution.artifacts);
        let reviewed = Event::Reviewed { task: task.clone(), verdict, accepts, note, result: None };
        let completed = Event::Completed { task: task.clone(), result, artifacts };
        let ready = freed(table, &task, stamp).into_iter();
        let ready = ready.map(|record| Event::Ready { task: record.id.clone() });
        let events = [reviewed, completed].into_iter().chain(ready).collect();
        return Ok(decided(task, events));
    }
    let mut events = vec![Event::Reviewed { task: task.clone(), verdict, accepts, note, result }];
    if verdict == Verdict::Fail {
        events.extend(doomed(table, [(task.clone(), Status::Failed)].into()));
    }
    Ok(decided(task, events))
}

impl Record {
    /// Whether its result must be accepted before it is completed.
    pub fn needs_review(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.review)
    }

    /// The agents that may accept its result; none if any agent but its author may.
    pub fn reviewers(&self) -> Option<&Reviewers> {
        self.terms.as_ref()?.reviewers.as_ref()
    }

    /// The agent whose result waits for review.
    pub fn submitted_by(&self) -> Option<&AgentId> {
        let execution = self.execution.as_ref().filter(|_| self.status == Status::WaitingReview);
        execution?.worked_by.as_ref()
    }

    /// Its result waits for review.
    pub(super) fn submitted(
        &mut self,
        result: Option<&Json>,
        artifacts: Option<&Json>,
        moment: &Moment<'_>,
    ) {
        let holder = self.lease.as_ref().map(|lease| lease.holder.clone());
        let execution = self.execution_mut();
        execution.result = result.cloned().or(execution.result.take());
        execution.artifacts = artifacts.cloned();
        execution.error = None;
        execution.worked_by = holder;
        self.turn(Status::WaitingReview, false, moment);
    }

    /// The verdict about it.
    pub(super) fn reviewed(&mut self, event: &Event, moment: &Moment<'_>) {
        let Event::Reviewed { verdict, accepts, note, result, .. } = event else { return };
        let execution = self.execution_mut();
        execution.reason.clone_from(note);
        execution.result = result.clone().or(execution.result.take());
        match verdict {
            Verdict::Retry => {
                execution.worked_by = None;
                self.retries = 0;
                self.turn(Status::Pending, true, moment);
            }
            // The next event completes it.
            Verdict::Complete if *accepts => {}
            // Recorded before a verdict after failed attempts had an event for the completion.
            Verdict::Complete => self.turn(Status::Completed, false, moment),
            Verdict::Fail => self.turn(Status::Failed, false, moment),
        }
    }
}

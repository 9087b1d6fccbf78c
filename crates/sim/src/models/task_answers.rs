//! Checks answers about tasks, and that batches about them are what was requested.

use std::collections::BTreeSet;
use std::slice;
use std::sync::Arc;

use baton_core::primitive::Event as _;
use baton_core::task::{
    self, Claim, Command as TaskCommand, Complete, Create, Event as TaskEvent, Lease, Rejection,
    Reply as TaskReply, Status, Task,
};
use baton_core::waiting::wait::Left;
use baton_core::{
    AgentId, Answer, Event, Rejection as AnyRejection, Reply, TaskId, TaskType, Token,
};

use crate::auditor::answers::DecidedRequest;
use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::{TaskModel, is_over};
use crate::models::wait::WaitEnd;

/// The default lease.
const LEASE_MS: u64 = 300_000;

impl Ledger {
    /// Checks that a task is shown as it was.
    pub(crate) fn task_shown(&self, shown: &Task, at: u64) -> Audit {
        let Some(work) = self.tasks.at(&shown.id, at) else {
            return Err(Breach(format!("task `{}` is shown, it was not there", shown.id)));
        };
        let waiting_for = |task: &&TaskId| {
            self.tasks.at(task, at).is_some_and(|work| work.status != Status::Completed)
        };
        let waiting_for: BTreeSet<&TaskId> = work.depends_on.iter().filter(waiting_for).collect();
        let pending = is_over(shown.status) || waiting_for == shown.waiting_for.iter().collect();
        let same = shown.status == work.status
            && shown.task_type == work.task_type
            && shown.requested_by == work.requested_by
            && shown.assigned_agent == work.assigned
            && shown.priority == work.priority
            && shown.depends_on == work.depends_on
            && shown.parent == work.parent
            && shown.not_before == work.not_before
            && shown.deadline == work.deadline
            && shown.attempts == work.attempts
            && shown.retries == work.retries
            && same_lease_shown(work.lease.as_ref(), shown.lease.as_ref())
            && shown.result == work.result
            && shown.review == work.review.is_needed()
            && shown.reviewers.clone().unwrap_or_default() == work.reviewers
            && shown.submitted_by.as_ref() == work.submitter()
            && shown.created_at == work.created_at;
        demand!(same && pending, "{shown:?} is shown, but it is {work:?}");
        Ok(())
    }

    /// Checks an accepted task command without effect.
    pub(crate) fn task_no_effect(
        &self,
        agent: &AgentId,
        command: &TaskCommand,
        reply: &Reply,
        at: u64,
    ) -> Audit {
        match (command, reply) {
            (
                TaskCommand::Claim(claim),
                Reply::Task(reply @ (TaskReply::Claimed(None) | TaskReply::ClaimedTasks { .. })),
            ) => {
                let claimed = claimed(claim, reply)?;
                demand!(claimed.is_empty(), "{claimed:?} were claimed without a trace");
                demand!(claim.wait_ms.unwrap_or(0) == 0, "the request was to wait");
                let first = self.first_ready(agent, claim, &[], at);
                demand!(first.is_none(), "there was {first:?} to claim");
                Ok(())
            }
            (TaskCommand::Heartbeat(beat), Reply::Task(TaskReply::Task(task))) => {
                self.check_lease(&beat.task, beat.token, at)?;
                self.task_shown(task, at)
            }
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// The first ready task for a claim that has taken these.
    fn first_ready(
        &self,
        agent: &AgentId,
        claim: &Claim,
        taken: &[TaskId],
        at: u64,
    ) -> Option<&TaskId> {
        let able = claim.capabilities.clone().unwrap_or_default();
        let ready = self.tasks.all_at(at).filter(|(id, work)| {
            work.ready
                && !taken.contains(id)
                && claim.task.as_ref().is_none_or(|task| task == *id)
                && work.suits(agent, claim.types.as_ref(), &able)
                && !self.spending.stops_agent(agent, at)
                && !self.is_held_back(id, at)
        });
        ready.min_by_key(|(_, work)| work.place()).map(|(id, _)| id)
    }

    /// Checks that a token was that of a task's lease.
    fn check_lease(&self, task: &TaskId, token: Token, at: u64) -> Audit {
        let lease = self.tasks.at(task, at).and_then(|work| work.lease.as_ref());
        demand!(
            lease.is_some_and(|lease| lease.token == token),
            "something was done with `{task}` under token {token}, its lease was {lease:?}"
        );
        Ok(())
    }

    /// Checks the answer to a task command with an effect.
    pub(crate) fn task_reply(&self, command: &TaskCommand, reply: &TaskReply, at: u64) -> Audit {
        match (command, reply) {
            (
                TaskCommand::Claim(claim),
                TaskReply::Claimed(Some(_)) | TaskReply::ClaimedTasks { .. },
            ) => claimed(claim, reply)?.iter().try_for_each(|task| self.task_shown(task, at)),
            (TaskCommand::Complete(complete), TaskReply::Completed { task, next }) => {
                demand!(task.id == complete.task, "another task is shown");
                let due = if task.review { Status::WaitingReview } else { Status::Completed };
                demand!(task.status == due, "it is shown as {:?}", task.status);
                self.task_shown(task, at)?;
                next.as_ref().map_or(Ok(()), |next| self.task_shown(next, at))
            }
            (TaskCommand::Claim(_) | TaskCommand::Complete(_), reply) => {
                Err(Breach(format!("{command:?} was answered with {reply:?}")))
            }
            // A waiting claim may have got it in the same commit; it is returned as of the end of
            // that.
            (_, TaskReply::Task(task)) => self.task_shown(task, at),
            (command, reply) => Err(Breach(format!("{command:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a query about tasks.
    pub(crate) fn tasks_shown(&self, query: &task::Query, reply: &TaskReply, at: u64) -> Audit {
        match (query, reply) {
            (task::Query::Get { task }, TaskReply::Task(shown)) => {
                demand!(shown.id == *task, "another task is shown");
                self.task_shown(shown, at)
            }
            (task::Query::List(list), TaskReply::Tasks { tasks, cursor }) => {
                for task in tasks {
                    self.task_shown(task, at)?;
                    demand!(list.status.is_none_or(|status| status == task.status), "not asked");
                }
                let wanted = self
                    .tasks
                    .all_at(at)
                    .filter(|(_, work)| list.status.is_none_or(|status| status == work.status));
                let there = wanted.count();
                let complete = tasks.len() == there || cursor.is_some();
                demand!(complete, "{} of {there} tasks are listed", tasks.len());
                Ok(())
            }
            (task::Query::Stats { .. }, TaskReply::Stats(shown)) => {
                let counts = &shown.tasks;
                for (status, count) in [
                    (Status::Pending, counts.pending),
                    (Status::InProgress, counts.in_progress),
                    (Status::WaitingReview, counts.waiting_review),
                    (Status::HandedOff, counts.handed_off),
                    (Status::Completed, counts.completed),
                    (Status::Failed, counts.failed),
                    (Status::Cancelled, counts.cancelled),
                ] {
                    let there = self.tasks.all_at(at).filter(|(_, work)| work.status == status);
                    let there = there.count() as u64;
                    demand!(count == there, "{count} tasks are {status:?}, there are {there}");
                }
                let is_ready = |work: &TaskModel| work.ready && work.status == Status::Pending;
                let ready = self.tasks.all_at(at).filter(|(_, work)| is_ready(work));
                let ready = ready.count() as u64;
                demand!(counts.ready == ready, "{} are ready, there are {ready}", counts.ready);
                Ok(())
            }
            (task::Query::Why { task }, TaskReply::Why(why)) => {
                let status = self.tasks.at(task, at).map(|work| work.status);
                demand!(Some(why.status) == status, "it is {status:?}, not {:?}", why.status);
                Ok(())
            }
            (query, reply) => Err(Breach(format!("{query:?} was answered with {reply:?}"))),
        }
    }

    /// Checks the answer to a waiting claim.
    pub(crate) fn claim_ended(
        &self,
        asked: &DecidedRequest<'_>,
        claim: &Claim,
        (revision, how): (u64, WaitEnd),
        outcome: &Result<Answer, AnyRejection>,
    ) -> Audit {
        let reply = outcome.as_ref().map(|answer| &answer.reply);
        match (how, reply) {
            (WaitEnd::Granted, Ok(Reply::Task(reply))) => {
                let [task] = claimed(claim, reply)? else {
                    return Err(Breach(format!("one task was due, not {reply:?}")));
                };
                let holder = task.lease.as_ref().map(|lease| &lease.holder);
                demand!(holder == Some(asked.agent), "the answer says that {holder:?} has it");
                self.granted_task_shown(task, revision)
            }
            (WaitEnd::Left(Left::Timeout), Ok(Reply::Task(reply))) => {
                demand!(claimed(claim, reply)?.is_empty(), "no task was due, not {reply:?}");
                Ok(())
            }
            (
                WaitEnd::Left(Left::SessionEnded),
                Err(AnyRejection::Task(Rejection::SessionEnded { agent })),
            ) => {
                demand!(agent == asked.agent, "the answer names the session of another agent");
                Ok(())
            }
            (_, outcome) => Err(Breach(format!("the answer is {outcome:?}"))),
        }
    }

    /// Checks that a task is shown as it was granted. The same commit may cancel it after that: its
    /// stage fails if the leases of other tasks of the stage end at the same moment.
    fn granted_task_shown(&self, shown: &Task, at: u64) -> Audit {
        let is_cancelled =
            |work: &TaskModel| work.status == Status::Cancelled && work.leased_at == at;
        let Some(work) = self.tasks.at(&shown.id, at).filter(|work| is_cancelled(work)) else {
            return self.task_shown(shown, at);
        };
        let is_granted = shown.status == Status::InProgress && shown.attempts == work.attempts;
        demand!(is_granted, "{shown:?} was granted, but it is {work:?}");
        Ok(())
    }

    /// Checks a refused task command.
    pub(crate) fn refused_task(
        &self,
        rejection: &Rejection,
        at: u64,
        coverage: &mut Coverage,
    ) -> Audit {
        let status_of = |task: &TaskId| self.tasks.at(task, at).map(|work| work.status);
        match rejection {
            Rejection::NotFound { task }
            | Rejection::UnknownDependency { dependency: task }
            | Rejection::UnknownParent { parent: task } => {
                demand!(status_of(task).is_none(), "`{task}` was there");
            }
            Rejection::Exists { task } => self.task_shown(task, at)?,
            Rejection::Finished { task, status }
            | Rejection::ParentFinished { parent: task, status } => {
                demand!(status_of(task) == Some(*status), "`{task}` is {:?}", status_of(task));
                demand!(is_over(*status), "{status:?} is not the end");
            }
            Rejection::TooDeep { parent, max } => {
                let above = |task: &TaskId| self.tasks.at(task, at)?.parent.clone();
                let levels = std::iter::successors(Some(parent.clone()), above).take(*max).count();
                demand!(levels == *max, "`{parent}` is at level {levels}");
            }
            Rejection::DeadDependency { dependency, status } => {
                let there = status_of(dependency);
                demand!(there == Some(*status), "`{dependency}` is {there:?}");
                let dead = matches!(status, Status::Failed | Status::Cancelled);
                demand!(dead, "{status:?} is not dead");
            }
            Rejection::NotFailed { .. }
            | Rejection::NeedsRetry { .. }
            | Rejection::OfAStage { .. } => self.refused_retry(rejection, at)?,
            Rejection::OwnWork { .. }
            | Rejection::NotReviewer { .. }
            | Rejection::NoReviewer { .. }
            | Rejection::OtherAttempt { .. }
            | Rejection::NotInReview { .. } => self.refused_review(rejection, at, coverage)?,
            Rejection::StaleToken { task, given, status, lease } => {
                coverage.met("answer: stale lease refused");
                let Some(work) = self.tasks.at(task, at) else {
                    return Err(Breach(format!("`{task}` is not there")));
                };
                let live = work.lease.as_ref().is_some_and(|lease| lease.permits(*given));
                demand!(!live, "token {given} of `{task}` was refused, but it was live");
                let same =
                    work.status == *status && same_lease(work.lease.as_ref(), lease.as_ref());
                demand!(same, "`{task}` is {work:?}, not {status:?} {lease:?}");
            }
            Rejection::BudgetExhausted(used_up) => self.refused_start(used_up, at, coverage)?,
            Rejection::NotClaimable { task, status, lease, .. } => {
                let Some(work) = self.tasks.at(task, at) else {
                    return Err(Breach(format!("`{task}` is not there")));
                };
                let same =
                    work.status == *status && same_lease(work.lease.as_ref(), lease.as_ref());
                demand!(same, "`{task}` is {work:?}, not {status:?} {lease:?}");
            }
            other => {
                let code = other.code();
                return Err(Breach(format!("no request can cause `{code}`")));
            }
        }
        Ok(())
    }
}

/// The claimed tasks. A claim of several is answered with a list, any other with one task or none.
fn claimed<'a>(claim: &Claim, reply: &'a TaskReply) -> Audit<&'a [Task]> {
    let limit = claim.limit.unwrap_or(1);
    match reply {
        TaskReply::Claimed(task) if limit == 1 => Ok(task.as_deref().map_or(&[], slice::from_ref)),
        TaskReply::ClaimedTasks { tasks } if limit > 1 => {
            demand!(tasks.len() as u64 <= limit, "{} tasks, not {limit}", tasks.len());
            Ok(tasks)
        }
        reply => Err(Breach(format!("{claim:?} was answered with {reply:?}"))),
    }
}

/// Whether a lease is shown as it is, with its token or without.
fn same_lease_shown(there: Option<&Lease>, shown: Option<&Lease>) -> bool {
    match (there, shown) {
        (Some(there), Some(shown)) => {
            let token = if shown.token.is_hidden() { shown.token } else { there.token };
            Lease { token, ..there.clone() } == *shown
        }
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether a refusal shows a lease as it is, without its token.
pub(crate) fn same_lease(there: Option<&Lease>, shown: Option<&Lease>) -> bool {
    there.map(|lease| Lease { token: Token::HIDDEN, ..lease.clone() }).as_ref() == shown
}

impl BatchReader<'_> {
    pub(crate) fn take_task(&mut self) -> Audit<&TaskEvent> {
        match self.take()? {
            Event::Task(event) => Ok(event),
            other => Err(Breach(format!("a change of a task was due, not {}", other.kind()))),
        }
    }

    /// The effects of a task command.
    pub(crate) fn task(&mut self, command: &TaskCommand) -> Audit {
        let before = self.batch.revision.0 - 1;
        if let Some((task, token)) = under(command) {
            self.ledger.check_lease(task, token, before)?;
        }
        match command {
            TaskCommand::Create(create) => self.create(create)?,
            TaskCommand::Claim(claim) => self.claim(claim)?,
            TaskCommand::Heartbeat(beat) => {
                if let Some(Event::Task(TaskEvent::Renewed { task, lease_ms })) = self.peek() {
                    let lasts = beat.lease_ms.is_none_or(|asked| asked == *lease_ms);
                    demand!(*task == beat.task && lasts, "another lease was renewed");
                    self.skip();
                }
            }
            TaskCommand::Complete(complete) => self.complete(complete)?,
            TaskCommand::Retry(retry) => self.retry(retry)?,
            TaskCommand::Review(review) => self.review(review)?,
            command => {
                let (kind, named) = match command {
                    TaskCommand::Progress(report) => ("task.progressed", &report.task),
                    TaskCommand::Update(update) => ("task.updated", &update.task),
                    TaskCommand::Release(release) => ("task.released", &release.task),
                    TaskCommand::Fail(fail) => ("task.failed", &fail.task),
                    TaskCommand::Cancel { task, .. } => ("task.cancelled", task),
                    _ => return Err(Breach("a client cannot request this".to_owned())),
                };
                let event = self.take_task()?;
                let fits = event.kind() == kind && event.task() == Some(named);
                demand!(fits, "{kind} of `{named}` was due, not {event:?}");
            }
        }
        self.follow_stages()
    }

    /// Tasks that become ready, and tasks that can never be completed.
    pub(crate) fn follow_tasks(&mut self) -> Audit {
        while let Some(Event::Task(event)) = self.peek() {
            match event {
                TaskEvent::Ready { .. } => {}
                TaskEvent::Cancelled { task, .. } => {
                    // The task that caused the cancellation may have been retried since.
                    let (tasks, at) = (&self.ledger.tasks, self.batch.revision.0);
                    let is_lost = |work: &Arc<TaskModel>| {
                        tasks.is_doomed(work, at) || tasks.is_below(work, at)
                    };
                    let doomed =
                        self.ledger.pipelines.owns(task) || tasks.at(task, at).is_some_and(is_lost);
                    demand!(doomed, "`{task}` was cancelled for no reason");
                }
                _ => return Ok(()),
            }
            self.skip();
        }
        Ok(())
    }

    fn create(&mut self, create: &Create) -> Audit {
        let time = self.batch.time;
        let event = self.take_task()?;
        let TaskEvent::Created(created) = event else {
            return Err(Breach("a task was to be created".to_owned()));
        };
        let mut depends_on: Vec<TaskId> = Vec::new();
        for task in &create.depends_on {
            if !depends_on.contains(task) {
                depends_on.push(task.clone());
            }
        }
        let fits = create.id.as_ref().is_none_or(|id| *id == created.task)
            && create.task_type == created.task_type
            && create.priority.unwrap_or(0) == created.priority
            && create.assigned_agent == created.assigned_agent
            && create.capabilities == created.capabilities
            && create.parent == created.parent
            && depends_on == created.depends_on
            && create.max_retries == created.max_retries
            && create.on_exhausted == created.on_exhausted
            && (create.review || create.reviewers.is_some()) == created.review
            && create.reviewers.clone().unwrap_or_default()
                == created.reviewers.clone().unwrap_or_default()
            && create.deadline_ms.map(|after| time.after(after)) == created.deadline
            && create.delay_ms.filter(|delay| *delay > 0).map(|delay| time.after(delay))
                == created.not_before;
        demand!(fits, "{created:?} was created");
        Ok(())
    }

    fn claim(&mut self, claim: &Claim) -> Audit {
        let before = self.batch.revision.0 - 1;
        let agent = self.batch.agent.clone();
        let lease = claim.lease_ms.unwrap_or(LEASE_MS);
        let limit = claim.limit.unwrap_or(1);
        let mut taken: Vec<TaskId> = Vec::new();
        while (taken.len() as u64) < limit {
            let first = self.ledger.first_ready(&agent, claim, &taken, before);
            match self.peek() {
                Some(Event::Task(TaskEvent::Claimed { task, lease_ms, wait: None, .. }))
                    if taken.is_empty() || first == Some(task) =>
                {
                    demand!(first == Some(task), "`{task}` was claimed, {first:?} is first");
                    demand!(*lease_ms == lease, "the lease lasts for {lease_ms} ms");
                    taken.push(task.clone());
                }
                _ if taken.is_empty() => break,
                _ => {
                    demand!(first.is_none(), "only {taken:?} were claimed, not {first:?}");
                    return Ok(());
                }
            }
            self.skip();
        }
        if !taken.is_empty() {
            return Ok(());
        }
        match self.peek() {
            Some(Event::Task(TaskEvent::Queued {
                types, task, lease_ms, until, limit, ..
            })) => {
                let same = *types == claim.types && *task == claim.task && *lease_ms == lease;
                let same = same && *limit == claim.limit.filter(|limit| *limit > 1);
                demand!(same, "it waits for something else");
                let longest = claim.wait_ms.map(|wait| self.batch.time.after(wait));
                demand!(longest == Some(*until), "it waits until {until}, not {longest:?}");
                let first = self.ledger.first_ready(&agent, claim, &[], before);
                demand!(first.is_none(), "it waits although {first:?} is ready");
                self.skip();
            }
            _ => demand!(claim.wait_ms.unwrap_or(0) == 0, "it did not even wait"),
        }
        Ok(())
    }

    fn complete(&mut self, complete: &Complete) -> Audit {
        use TaskEvent::{Completed, Submitted};
        let event = self.take_task()?;
        let (Completed { task, result, .. } | Submitted { task, result, .. }) = event else {
            return Err(Breach("a task was to be completed".to_owned()));
        };
        demand!(*task == complete.task && *result == complete.result, "another was completed");
        let mut fresh: Vec<TaskId> = Vec::new();
        while let Some(Event::Task(TaskEvent::Ready { task })) = self.peek() {
            fresh.push(task.clone());
            self.skip();
        }
        let Some(next) = &complete.then_claim else { return Ok(()) };
        let able = next.capabilities.clone().unwrap_or_default();
        let first = self.next_claim(next.types.as_ref(), &able, &fresh).cloned();
        if let Some(Event::Task(TaskEvent::Claimed { task, wait: None, .. })) = self.peek() {
            demand!(first.as_ref() == Some(task), "`{task}` was claimed next, due was {first:?}");
            self.skip();
        } else {
            demand!(first.is_none(), "nothing was claimed next, due was {first:?}");
        }
        Ok(())
    }

    /// The next task for an agent that has just completed one: one that was ready, or has become
    /// ready and matches no waiting claim.
    fn next_claim(
        &self,
        types: Option<&BTreeSet<TaskType>>,
        able: &BTreeSet<String>,
        fresh: &[TaskId],
    ) -> Option<&TaskId> {
        let (before, agent) = (self.batch.revision.0 - 1, &self.batch.agent);
        let claims = self.ledger.tasks.claims_at(before);
        let is_free = |id: &TaskId, work: &TaskModel| {
            let awaited = claims.iter().any(|claim| {
                claim.wants(id, work) && !self.ledger.spending.stops_agent(&claim.agent, before)
            });
            (work.ready || (fresh.contains(id) && !awaited))
                && !self.ledger.spending.stops_agent(agent, before)
                && !self.ledger.is_held_back(id, before)
        };
        let all = self.ledger.tasks.all_at(before);
        let free = all.filter(|(id, work)| is_free(id, work) && work.suits(agent, types, able));
        free.min_by_key(|(_, work)| work.place()).map(|(id, _)| id)
    }
}

/// The lease under which a command is allowed.
fn under(command: &TaskCommand) -> Option<(&TaskId, Token)> {
    Some(match command {
        TaskCommand::Heartbeat(beat) => (&beat.task, beat.token),
        TaskCommand::Progress(report) => (&report.task, report.token),
        TaskCommand::Update(update) => (&update.task, update.token),
        TaskCommand::Release(release) => (&release.task, release.token),
        TaskCommand::Complete(complete) => (&complete.task, complete.token),
        TaskCommand::Fail(fail) => (&fail.task, fail.token),
        TaskCommand::Create(_)
        | TaskCommand::Claim(_)
        | TaskCommand::Cancel { .. }
        | TaskCommand::Review(_)
        | TaskCommand::Retry(_) => return None,
    })
}

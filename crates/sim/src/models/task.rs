//! Tasks according to the log: their leases and tokens, and the waiting claims.
//!
//! Laws:
//!
//! 1. At most one agent has the lease of a task, with its own token; only ready tasks are claimed.
//! 2. A task is ready only if all its dependencies are completed and its start time has passed.
//! 3. The result of a task with `review` is accepted by an agent that did not submit it, or the
//!    task is not completed.
//! 4. A task ends in one final state. It changes after that only by a retry: of a failed task, with
//!    exactly those that were cancelled because of it and that nothing else keeps from running.
//! 5. A lease ends by its holder, with the session of the holder, or when it expires: never earlier
//!    than promised, and times without a server do not count.
//! 6. Attempts are counted: a task that failed too often ends as requested, and not before.
//! 7. After every batch there is no ready task that a waiting claim matches: the longest waiting
//!    claim gets it, and a later one does not overtake.
//! 8. While a task is offered to another agent its lease does not end on its own. If the session of
//!    its holder ends, its token is void, and the task is released when the offer ends. It changes
//!    hands only by a hand-off that did so in the same batch; one that was handed to an agent that
//!    does not claim it returns in time, and is then reviewed.
//! 9. A task is cancelled only by a request, with its parent, or because a dependency will never be
//!    completed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use baton_core::primitive::Event as _;
use baton_core::task::Returns;
use baton_core::task::{Backoff, Cause, Created, Event, Lease, OnExhausted, Reviewers, Status};
use baton_core::{AgentId, Batch, GroupName, HandoffId, Json, TaskId, TaskType, Timestamp, Token};

use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task_review::Acceptance;

/// The age that one point of priority is worth.
const AGEING_MS: i64 = 60_000;
/// The default number of retries.
const RETRIES: u64 = 3;

/// A task as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskModel {
    /// The task type.
    pub task_type: TaskType,
    /// The status.
    pub status: Status,
    /// Whether it can be claimed.
    pub ready: bool,
    /// Order of creation.
    pub number: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// The agent that created it.
    pub requested_by: AgentId,
    /// Higher priorities come first.
    pub priority: i32,
    /// The only agent that may claim it.
    pub assigned: Option<AgentId>,
    /// The same before it was handed to an agent that did not have to accept it.
    pub assigned_before: Option<AgentId>,
    /// The required capabilities.
    pub needs: BTreeSet<String>,
    /// The dependencies.
    pub depends_on: Vec<TaskId>,
    /// The parent task.
    pub parent: Option<TaskId>,
    /// The group.
    pub group: Option<GroupName>,
    /// The start time.
    pub not_before: Option<Timestamp>,
    /// The deadline.
    pub deadline: Option<Timestamp>,
    pub(crate) max_retries: u64,
    pub(crate) backoff: Backoff,
    pub(crate) on_exhausted: OnExhausted,
    pub(crate) escalated: bool,
    /// How often it was claimed.
    pub attempts: u64,
    /// The number of failed attempts.
    pub retries: u64,
    /// The lease.
    pub lease: Option<Lease>,
    /// The revision of the last change.
    pub leased_at: u64,
    /// The result so far.
    pub result: Option<Json>,
    /// Whether its result must be accepted.
    pub review: Acceptance,
    /// The agents that may accept its result.
    pub reviewers: Reviewers,
    /// The agent whose result waits for review.
    pub submitted_by: Option<AgentId>,
    /// Whether it was cancelled because of the end of another task.
    pub because: bool,
    /// The hand-off that handed it to an agent that did not have to accept it.
    pub handed_by: Option<HandoffId>,
    /// The action if that agent does not claim it.
    pub returns: Option<Returns>,
}

/// A waiting claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimWaiter {
    /// The waiting call.
    pub wait: u64,
    /// The agent.
    pub agent: AgentId,
    /// Only these types.
    pub types: Option<BTreeSet<TaskType>>,
    /// The capabilities of the claimant.
    pub able: BTreeSet<String>,
    /// Only this task.
    pub task: Option<TaskId>,
    /// The requested lease.
    pub lease_ms: u64,
}

/// All tasks of a workspace.
#[derive(Default)]
pub struct Tasks {
    all: BTreeMap<TaskId, Timeline<Arc<TaskModel>>>,
    claims: Timeline<Vec<ClaimWaiter>>,
    /// Whether the current batch has changed any.
    is_touched: bool,
    /// The tasks whose lease was lost in the present batch.
    lost: BTreeSet<TaskId>,
}

/// Whether it never changes again.
pub fn is_over(status: Status) -> bool {
    matches!(status, Status::Completed | Status::Failed | Status::Cancelled)
}

impl TaskModel {
    fn new(created: &Created, number: u64, batch: &Batch) -> Self {
        Self {
            task_type: created.task_type.clone(),
            status: Status::Pending,
            ready: created.ready,
            number,
            created_at: batch.time,
            requested_by: batch.agent.clone(),
            priority: created.priority,
            assigned: created.assigned_agent.clone(),
            assigned_before: None,
            needs: created.capabilities.clone(),
            depends_on: created.depends_on.clone(),
            parent: created.parent.clone(),
            group: created.group.clone(),
            not_before: created.not_before,
            deadline: created.deadline,
            max_retries: created.max_retries.unwrap_or(RETRIES),
            backoff: created.backoff.unwrap_or_default(),
            on_exhausted: created.on_exhausted.clone().unwrap_or_default(),
            escalated: false,
            attempts: 0,
            retries: 0,
            lease: None,
            leased_at: 0,
            result: None,
            review: if created.review { Acceptance::Needed } else { Acceptance::NotNeeded },
            reviewers: created.reviewers.clone().unwrap_or_default(),
            submitted_by: None,
            because: false,
            handed_by: None,
            returns: None,
        }
    }

    /// Whether an agent with these capabilities may claim it.
    pub fn suits(
        &self,
        agent: &AgentId,
        types: Option<&BTreeSet<TaskType>>,
        able: &BTreeSet<String>,
    ) -> bool {
        types.is_none_or(|types| types.contains(&self.task_type))
            && self.assigned.as_ref().is_none_or(|assigned| assigned == agent)
            && self.needs.is_subset(able)
    }

    /// Its position among the ready tasks.
    pub fn place(&self) -> (i64, u64) {
        let created = i64::try_from(self.created_at.0).unwrap_or(i64::MAX);
        (created - i64::from(self.priority) * AGEING_MS, self.number)
    }
}

impl ClaimWaiter {
    /// Whether a task matches the claim.
    pub fn wants(&self, id: &TaskId, work: &TaskModel) -> bool {
        self.task.as_ref().is_none_or(|task| task == id)
            && work.suits(&self.agent, self.types.as_ref(), &self.able)
    }
}

impl Tasks {
    /// A task as it was after a revision.
    pub fn at(&self, id: &TaskId, at: u64) -> Option<&Arc<TaskModel>> {
        self.all.get(id)?.at(at)
    }

    /// All tasks as they were after a revision.
    pub fn all_at(&self, at: u64) -> impl Iterator<Item = (&TaskId, &Arc<TaskModel>)> {
        self.all.iter().filter_map(move |(id, timeline)| Some((id, timeline.at(at)?)))
    }

    /// The tasks that an agent held after a revision, by id, with the tokens of its leases.
    pub fn held_by(&self, agent: &AgentId, at: u64) -> Vec<(TaskId, Token)> {
        let held = self.all_at(at).filter_map(|(id, work)| {
            let lease = work.lease.as_ref().filter(|it| it.holder == *agent && !it.abandoned)?;
            Some((id.clone(), lease.token))
        });
        held.collect()
    }

    /// The waiting claims after a revision, in order of arrival.
    pub fn claims_at(&self, at: u64) -> &[ClaimWaiter] {
        self.claims.at(at).map_or(&[], Vec::as_slice)
    }

    /// Whether the current batch has changed any.
    pub fn is_touched(&self) -> bool {
        self.is_touched
    }

    /// A task that may still change.
    pub fn now(&self, id: &TaskId) -> Audit<TaskModel> {
        let work = self.latest(id)?;
        demand!(!is_over(work.status), "it is {:?} and changes again", work.status);
        Ok(work)
    }

    fn latest(&self, id: &TaskId) -> Audit<TaskModel> {
        let work = self.all.get(id).and_then(Timeline::now);
        let work = work.ok_or_else(|| Breach("the task does not exist".to_owned()))?;
        Ok(TaskModel::clone(work))
    }

    /// A task that an event changes: unfinished, unless it is retried.
    fn changing(&self, id: &TaskId, event: &Event) -> Audit<TaskModel> {
        let Event::Retried { because, .. } = event else { return self.now(id) };
        let work = self.latest(id)?;
        let may_return = match because {
            None => work.status == Status::Failed,
            Some(_) => work.status == Status::Cancelled && work.because,
        };
        demand!(may_return, "it is {:?} and is retried", work.status);
        Ok(work)
    }

    pub(crate) fn status(&self, id: &TaskId) -> Option<Status> {
        self.all.get(id)?.now().map(|work| work.status)
    }

    /// Whether everything that a task depends on is completed.
    pub fn is_free(&self, work: &TaskModel) -> bool {
        work.depends_on.iter().all(|task| self.status(task) == Some(Status::Completed))
    }

    /// Whether, after a revision, a task could never be completed.
    pub fn is_doomed(&self, work: &TaskModel, at: u64) -> bool {
        let status = |task: &TaskId| self.at(task, at).map(|there| there.status);
        let failed =
            |task: &TaskId| matches!(status(task), Some(Status::Failed | Status::Cancelled));
        let orphaned = work.parent.as_ref().and_then(status);
        work.depends_on.iter().any(failed) || orphaned == Some(Status::Cancelled)
    }

    /// Whether, after a revision, an ancestor of a task was cancelled.
    pub fn is_below(&self, work: &TaskModel, at: u64) -> bool {
        let above = |id: &TaskId| self.at(id, at);
        let first = work.parent.as_ref().and_then(above);
        let mut chain = std::iter::successors(first, |work| work.parent.as_ref().and_then(above));
        chain.any(|work| work.status == Status::Cancelled)
    }

    /// Whether the lease of a task above this one was lost in the present batch.
    pub fn is_below_lost(&self, work: &TaskModel) -> bool {
        let above = |id: &TaskId| self.all.get(id).and_then(Timeline::now)?.parent.clone();
        let mut chain = std::iter::successors(work.parent.clone(), above);
        chain.any(|task| self.lost.contains(&task))
    }

    /// Something other than a task has changed what may be claimed.
    pub fn touch(&mut self) {
        self.is_touched = true;
    }

    fn set_claims(&mut self, batch: &Batch, change: impl FnOnce(&mut Vec<ClaimWaiter>)) {
        let mut claims = self.claims.now().cloned().unwrap_or_default();
        change(&mut claims);
        self.claims.set(batch.revision.0, claims);
    }

    fn created(&mut self, batch: &Batch, created: &Created) -> Audit {
        let known = self.all.contains_key(&created.task);
        demand!(!known, "it was there already");
        for dependency in &created.depends_on {
            let status = self.status(dependency);
            let dead = matches!(status, None | Some(Status::Failed | Status::Cancelled));
            demand!(!dead, "it depends on `{dependency}`, which is {status:?}");
        }
        let parent = created.parent.as_ref().map(|parent| self.status(parent));
        demand!(
            parent.is_none_or(|status| status.is_some_and(|status| !is_over(status))),
            "it is a part of something that is {parent:?}"
        );
        let number = self.all.len() as u64;
        let work = TaskModel::new(created, number, batch);
        let ready = created.not_before.is_none() && self.is_free(&work);
        demand!(created.ready == ready, "it is ready: {}", created.ready);
        let timeline = self.all.entry(created.task.clone()).or_default();
        timeline.set(batch.revision.0, Arc::new(work));
        Ok(())
    }
}

impl Ledger {
    pub(crate) fn add_task(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        (self.tasks.is_touched, self.joins_touched) = (true, true);
        let added = match event {
            Event::Created(created) => self.tasks.created(batch, created),
            Event::Queued {
                wait, claimant, until, types, capabilities, task, lease_ms, ..
            } => {
                let wanting = ClaimWaiter {
                    wait: wait.0,
                    agent: claimant.clone(),
                    types: types.clone(),
                    able: capabilities.clone(),
                    task: task.clone(),
                    lease_ms: *lease_ms,
                };
                self.waits.begin(batch, claimant, *wait, *until)?;
                self.tasks.set_claims(batch, |claims| claims.push(wanting));
                Ok(())
            }
            Event::GaveUp { wait, claimant, left } => {
                let mut claims = self.tasks.claims_at(u64::MAX).iter();
                let Some(claim) = claims.find(|there| there.wait == wait.0) else {
                    return Err(Breach(format!("claim {wait} does not wait")));
                };
                // No claim need wait for a task that can never be claimed.
                let task = claim.task.as_ref().and_then(|task| self.tasks.status(task));
                if task.is_some_and(is_over) {
                    self.waits.expect_no_grant(wait.0);
                }
                self.waits.left(batch, *wait, claimant, *left, ended)?;
                self.tasks.set_claims(batch, |claims| claims.retain(|there| there.wait != wait.0));
                coverage.left(*left);
                Ok(())
            }
            event => self.change_task(batch, event, ended, coverage),
        };
        if let Event::Retried { task, .. } = event {
            self.pipelines.disown(task);
        }
        let finished = event.task().and_then(|task| Some((task, self.tasks.status(task)?)));
        if let Some((task, status)) = finished.filter(|(_, status)| is_over(*status)) {
            self.joins.record(task, status, &self.tasks, batch.revision.0);
        }
        let id = event.task().map_or("no task", |task| task.as_str());
        added.map_err(|breach| Breach(format!("task `{id}`: {}: {}", event.kind(), breach.0)))
    }

    fn released(&mut self, batch: &Batch, work: &mut TaskModel, coverage: &mut Coverage) -> Audit {
        let is_below = self.tasks.is_below_lost(work);
        let may_be = is_below || work.lease.as_ref().is_some_and(|it| it.abandoned);
        let by_engine = batch.agent == AgentId::engine();
        demand!(may_be || !by_engine, "it was released for no reason");
        if is_below {
            coverage.met("task: released with a lost one above it");
        }
        self.end_lease(batch, work)?;
        (work.status, work.ready) = (Status::Pending, true);
        Ok(())
    }

    fn change_task(
        &mut self,
        batch: &Batch,
        event: &Event,
        ended: &BTreeSet<AgentId>,
        coverage: &mut Coverage,
    ) -> Audit {
        let Some(id) = event.task() else { return Ok(()) };
        let mut work = self.tasks.changing(id, event)?;
        match event {
            Event::Claimed { .. } => self.claimed(batch, id, &mut work, event)?,
            Event::Renewed { .. } | Event::Progressed { .. } | Event::Updated { .. } => {
                goes_on(batch, &mut work, event)?;
            }
            Event::Released { .. } => self.released(batch, &mut work, coverage)?,
            Event::Ready { .. } => {
                self.check_ready(batch, &work)?;
                work.ready = true;
            }
            Event::Completed { result, .. } => {
                if work.review == Acceptance::NotNeeded {
                    self.end_lease(batch, &mut work)?;
                } else {
                    work.completed_by_review()?;
                }
                work.result = result.clone().or(work.result.take());
                (work.status, work.ready) = (Status::Completed, false);
                coverage.met("task: completed");
            }
            Event::Submitted { result, .. } => {
                let lease = self.end_lease(batch, &mut work)?;
                work.submitted(&lease, result.as_ref(), coverage)?;
            }
            Event::Failed { cause, outcome, .. } => {
                work.check_outcome(batch, *cause, outcome)?;
                self.failed(batch, &mut work, *cause, ended, coverage)?;
                if matches!(cause, Cause::AgentGone | Cause::LeaseExpired) {
                    self.tasks.lost.insert(id.clone());
                }
                work.apply_outcome(outcome, coverage);
            }
            Event::Retried { deadline, .. } => work.retried(batch, *deadline, coverage)?,
            Event::Cancelled { task, because, .. } => {
                work.because = because.is_some();
                let doomed =
                    self.tasks.is_doomed(&work, u64::MAX) || self.pipelines.is_unwanted(task);
                let by_engine = batch.agent == AgentId::engine();
                demand!(doomed || !by_engine, "it was cancelled for no reason");
                if doomed {
                    coverage.met("task: cancelled with another");
                }
                self.end_any_lease(batch, &mut work);
                (work.status, work.ready) = (Status::Cancelled, false);
            }
            Event::Reviewed { .. } => {
                let may = self.is_reviewer(&work.reviewers, &batch.agent, batch.revision.0);
                work.reviewed(batch, event, may, coverage)?;
            }
            Event::Offered { handoff, .. } | Event::TakenBack { handoff, .. } => {
                self.offered(batch, id, &mut work, handoff, event)?;
            }
            Event::Abandoned { .. } => self.giver_gone(batch, &mut work, event, coverage)?,
            Event::HandedOver { .. } => self.handed_over(batch, id, &mut work, event)?,
            Event::HandedOff { .. } => self.handed_off(batch, id, &mut work, event, coverage)?,
            Event::Created(_) | Event::Queued { .. } | Event::GaveUp { .. } => {}
        }
        let timeline = self.tasks.all.get_mut(id).expect("it was just there");
        timeline.set(batch.revision.0, Arc::new(work));
        Ok(())
    }

    fn check_ready(&self, batch: &Batch, work: &TaskModel) -> Audit {
        let pending = work.status == Status::Pending && !work.ready;
        demand!(pending, "it is {:?} already", work.status);
        let free = self.tasks.is_free(work);
        demand!(free, "it is ready before {:?}", work.depends_on);
        let early = work.not_before.is_some_and(|moment| moment > batch.time);
        demand!(!early, "it is ready before its time");
        Ok(())
    }

    fn claimed(
        &mut self,
        batch: &Batch,
        id: &TaskId,
        work: &mut TaskModel,
        event: &Event,
    ) -> Audit {
        let Event::Claimed { holder, token, lease_ms, wait, .. } = event else { return Ok(()) };
        demand!(work.lease.is_none(), "it was given away while {:?} had it", work.lease);
        let open = matches!(work.status, Status::Pending | Status::HandedOff);
        demand!(work.ready && open, "it is not ready");
        self.tokens.give(batch, *token, holder)?;
        let first = self.first_claim_for(id, work).cloned();
        match (wait, first) {
            (Some(wait), Some(first)) => {
                let number = first.wait;
                demand!(number == wait.0, "claim {wait} got it, claim {number} waited longer");
                demand!(first.lease_ms == *lease_ms, "its lease is {lease_ms} ms");
                self.waits.granted(batch, *wait, holder)?;
                self.tasks.set_claims(batch, |claims| claims.retain(|there| there.wait != wait.0));
            }
            (None, None) => {
                let suits = work.assigned.as_ref().is_none_or(|assigned| assigned == holder);
                demand!(suits, "it is assigned to {:?}", work.assigned);
                demand!(batch.agent == *holder, "`{holder}` did not ask for it");
            }
            (wait, first) => {
                demand!(false, "`{holder}` got it by {wait:?} while {first:?} wanted it");
            }
        }
        work.attempts += 1;
        work.submitted_by = None;
        if work.returns.is_some() {
            work.assigned = work.assigned_before.take();
        }
        (work.status, work.ready, work.returns) = (Status::InProgress, false, None);
        work.begin_lease(batch, holder, *token, *lease_ms);
        Ok(())
    }

    pub(crate) fn end_any_lease(&mut self, batch: &Batch, work: &mut TaskModel) -> Option<Lease> {
        let lease = work.lease.take();
        if let Some(lease) = &lease {
            self.tokens.end(batch, lease.token.0);
        }
        lease
    }

    pub(crate) fn end_lease(&mut self, batch: &Batch, work: &mut TaskModel) -> Audit<Lease> {
        let lease = self.end_any_lease(batch, work);
        lease.ok_or_else(|| Breach("it had no lease".to_owned()))
    }

    /// The longest waiting claim that matches the task, of an agent that may start one.
    fn first_claim_for(&self, id: &TaskId, work: &TaskModel) -> Option<&ClaimWaiter> {
        let mut claims = self.tasks.claims_at(u64::MAX).iter();
        claims.find(|claim| {
            claim.wants(id, work) && !self.spending.stops_agent(&claim.agent, u64::MAX)
        })
    }

    /// A batch is complete: no claim waits for a ready task, and no ended session has a lease.
    pub(crate) fn check_tasks(&mut self, revision: u64, ended: &BTreeSet<AgentId>) -> Audit {
        if !std::mem::take(&mut self.tasks.is_touched) && ended.is_empty() {
            return Ok(());
        }
        for (id, work) in self.tasks.all_at(u64::MAX).filter(|_| !self.tasks.lost.is_empty()) {
            let lease = work.lease.as_ref().filter(|it| work.leased_at < revision && !it.abandoned);
            let goes_on = lease.is_some() && self.tasks.is_below_lost(work);
            demand!(!goes_on, "a task above `{id}` was lost, and {lease:?} goes on");
        }
        self.tasks.lost.clear();
        let claims = self.tasks.claims_at(u64::MAX);
        for (id, work) in self.tasks.all_at(u64::MAX).filter(|_| !claims.is_empty()) {
            let starves = self.first_claim_for(id, work).filter(|_| work.ready);
            let starves = starves.filter(|_| !self.is_held_back(id, u64::MAX));
            demand!(starves.is_none(), "task `{id}` is ready, and yet {starves:?} waits");
        }
        let waits =
            claims.iter().find(|there| there.wait < revision && ended.contains(&there.agent));
        demand!(waits.is_none(), "a session ended, and {waits:?} still waits");
        for (id, work) in self.tasks.all_at(u64::MAX).filter(|_| !ended.is_empty()) {
            let Some(lease) = &work.lease else { continue };
            let gone =
                work.leased_at < revision && !lease.abandoned && ended.contains(&lease.holder);
            demand!(!gone, "the session of `{}` ended, and it still has `{id}`", lease.holder);
        }
        Ok(())
    }

    /// An overdue timed transition of a task.
    pub(crate) fn overdue_task(&self, now: Timestamp) -> Option<(&TaskId, &Arc<TaskModel>)> {
        self.tasks.all_at(u64::MAX).find(|(_, work)| {
            if is_over(work.status) {
                return false;
            }
            let end = |lease: &Lease| lease.expires_at.max(self.woken_at.after(lease.lease_ms));
            let mut leases = work.lease.iter().filter(|lease| lease.handoff.is_none());
            let over = leases.any(|lease| end(lease) <= now);
            let handed = work.returns.as_ref().filter(|_| work.status == Status::HandedOff);
            let back = |returns: &Returns| returns.at.max(self.woken_at.after(returns.within_ms));
            let over = over || handed.is_some_and(|returns| back(returns) <= now);
            let late = work.deadline.is_some_and(|deadline| deadline <= now);
            let idle = work.status == Status::Pending
                && !work.ready
                && work.not_before.is_none_or(|moment| moment <= now)
                && self.tasks.is_free(work);
            over || late || idle || self.tasks.is_doomed(work, u64::MAX)
        })
    }
}

/// The work continues under the same lease.
fn goes_on(batch: &Batch, work: &mut TaskModel, event: &Event) -> Audit {
    let Some(lease) = &mut work.lease else {
        return Err(Breach("it has no lease".to_owned()));
    };
    match event {
        Event::Renewed { lease_ms, .. } => {
            lease.lease_ms = *lease_ms;
            lease.expires_at = batch.time.after(*lease_ms);
        }
        Event::Progressed { .. } => lease.expires_at = batch.time.after(lease.lease_ms),
        Event::Updated { result, priority, .. } => {
            work.result = result.clone().or(work.result.take());
            work.priority = priority.unwrap_or(work.priority);
        }
        _ => {}
    }
    Ok(())
}

//! A task as the table stores it.
//!
//! There may be a million tasks, so fields that few of them have are boxed. Records are immutable;
//! a change creates another one, and a snapshot of the table shares the records with it.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::terms::{NO_TERMS, Needs, Terms};
use super::{Backoff, Lease, OnExhausted, Progress, Reviewers, Status, Task};
use crate::json::{Json, given};
use crate::limits;
use crate::names::{AgentId, GroupName, HandoffId, TaskId, TaskType};
use crate::numbers::{Revision, Token};
use crate::space::batch::Moment;
use crate::state::Warning;
use crate::task::{Cause, Created, Event, Outcome};
use crate::time::Timestamp;

/// The position of a ready task in its queue: the least is claimed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePosition {
    /// The creation time, shifted by the priority. It never changes while the task waits, so that
    /// old tasks come before all new ones.
    rank_ms: i64,
    /// Order of creation.
    number: u64,
}

/// A task as the table stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The id of the task.
    pub id: TaskId,
    /// The task type.
    pub task_type: TaskType,
    /// The status.
    pub status: Status,
    /// Whether it is pending and can be claimed.
    pub ready: bool,
    /// The priority; higher is claimed first.
    pub priority: i32,
    /// Order of creation.
    pub number: u64,
    /// How often it was claimed.
    pub attempts: u64,
    /// The number of failed attempts.
    pub retries: u64,
    /// The agent that created it.
    pub requested_by: AgentId,
    /// The work as data.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub definition: Option<Json>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it got its status.
    pub since: Timestamp,
    /// The revision of the last change.
    pub revision: Revision,
    /// The token of its last lease; 0 if there was none.
    pub last_token: Token,
    /// The lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Box<Lease>>,
    /// Fields that most tasks do not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Box<Terms>>,
    /// The course of the task so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "course")]
    pub execution: Option<Box<Execution>>,
}

/// Few tasks that wait have one: a copy of an empty one would cost more than the rest of the task.
static NO_EXECUTION: LazyLock<Execution> = LazyLock::new(Execution::default);

/// The action on a task whose receiver does not claim it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Returns {
    /// The agent that gets it back; review if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// When it returns.
    pub at: Timestamp,
    /// How long the next agent has to claim it, in milliseconds.
    pub within_ms: u64,
}

/// The course of a task so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Execution {
    /// When it was first claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The last reported progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The result.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// References to what it produced.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Json>,
    /// The error of the last failed attempt.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// The agent that held it when it was finished or its result was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked_by: Option<AgentId>,
    /// The reason of the last release, cancellation, review or retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The task whose end caused the cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<TaskId>,
}

impl Record {
    /// A new task.
    pub fn new(created: &Created, number: u64, moment: &Moment<'_>) -> Self {
        let terms = Terms::of(created);
        Self {
            id: created.task.clone(),
            task_type: created.task_type.clone(),
            status: Status::Pending,
            ready: created.ready,
            priority: created.priority,
            number,
            attempts: 0,
            retries: 0,
            requested_by: moment.agent.clone(),
            definition: created.definition.clone(),
            created_at: moment.time,
            updated_at: moment.time,
            since: moment.time,
            revision: moment.revision,
            last_token: Token(0),
            lease: None,
            terms: (terms != Terms::default()).then(|| Box::new(terms)),
            execution: None,
        }
    }

    /// The record after an event.
    #[must_use]
    pub fn after(&self, event: &Event, moment: &Moment<'_>) -> Self {
        let is_retry = matches!(event, Event::Retried { .. });
        assert_eq!(is_retry, self.status.is_finished(), "only a retry changes a finished task");
        let mut record =
            Self { updated_at: moment.time, revision: moment.revision, ..self.clone() };
        match event {
            Event::Claimed { holder, token, lease_ms, .. } => {
                record.claimed(holder, *token, *lease_ms, moment);
            }
            Event::Renewed { lease_ms, .. } => record.renew(Some(*lease_ms), moment),
            Event::Progressed { fraction, note, .. } => {
                let (fraction, note, at) = (*fraction, note.clone(), moment.time);
                record.execution_mut().progress = Some(Progress { fraction, note, at });
                record.renew(None, moment);
            }
            Event::Updated { .. } => record.updated(event),
            Event::Released { reason, .. } => {
                record.execution_mut().reason.clone_from(reason);
                record.turn(Status::Pending, true, moment);
            }
            Event::Ready { .. } => record.ready = true,
            Event::Offered { handoff, .. } => {
                record.lease_mut().handoff = Some(handoff.clone());
            }
            Event::Abandoned { .. } => record.lease_mut().abandoned = true,
            Event::TakenBack { .. } => {
                record.lease_mut().handoff = None;
                record.renew(None, moment);
            }
            Event::HandedOver { holder, token, lease_ms, .. } => {
                record.handed_over(holder, *token, *lease_ms, moment);
            }
            Event::HandedOff { to, handoff, returns, .. } => {
                record.handed_off(to, handoff, returns, moment);
            }
            Event::Completed { result, artifacts, .. } => {
                let execution = record.execution_mut();
                execution.result = result.clone().or(execution.result.take());
                execution.artifacts.clone_from(artifacts);
                execution.error = None;
                record.turn(Status::Completed, false, moment);
            }
            Event::Submitted { result, artifacts, .. } => {
                record.submitted(result.as_ref(), artifacts.as_ref(), moment);
            }
            Event::Failed { error, cause, outcome, .. } => {
                record.failed(error, *cause, outcome, moment);
            }
            Event::Retried { deadline, reason, .. } => {
                record.retried(*deadline, reason.as_ref(), moment);
            }
            Event::Cancelled { reason, because, .. } => {
                record.cancelled(reason.as_ref(), because.as_ref(), moment);
            }
            Event::Reviewed { .. } => record.reviewed(event, moment),
            Event::Created(_) | Event::Queued { .. } | Event::GaveUp { .. } => {
                panic!("nothing of this changes a task")
            }
        }
        record
    }

    fn claimed(&mut self, holder: &AgentId, token: Token, lease_ms: u64, moment: &Moment<'_>) {
        assert!(self.ready, "only a ready task is claimed");
        assert!(self.last_token < token, "tokens only grow");
        self.attempts += 1;
        let execution = self.execution_mut();
        execution.started_at = execution.started_at.or(Some(moment.time));
        execution.progress = None;
        self.turn(Status::InProgress, false, moment);
        self.taken_up();
        self.give(holder, token, lease_ms, moment);
    }

    /// It waits for an agent that did not have to accept it.
    fn handed_off(
        &mut self,
        to: &AgentId,
        handoff: &HandoffId,
        returns: &Returns,
        moment: &Moment<'_>,
    ) {
        let is_back = self.status == Status::HandedOff;
        self.turn(Status::HandedOff, true, moment);
        let terms = self.terms_mut();
        let before = terms.assigned_agent.replace(to.clone());
        if !is_back {
            terms.assigned_before = before;
        }
        terms.handed_by = Some(handoff.clone());
        terms.returns = Some(returns.clone());
    }

    /// It was claimed or released: a retry must not be reserved for an agent that may be gone.
    pub(super) fn taken_up(&mut self) {
        if let Some(terms) = self.terms.as_mut().filter(|terms| terms.returns.is_some()) {
            terms.returns = None;
            terms.assigned_agent = terms.assigned_before.take();
        }
    }

    /// Another agent continues the work; this is not a new attempt.
    fn handed_over(&mut self, holder: &AgentId, token: Token, lease_ms: u64, moment: &Moment<'_>) {
        assert!(self.last_token < token, "tokens only grow");
        if self.assigned_agent().is_some() {
            self.terms_mut().assigned_agent = Some(holder.clone());
        }
        self.give(holder, token, lease_ms, moment);
    }

    fn give(&mut self, holder: &AgentId, token: Token, lease_ms: u64, moment: &Moment<'_>) {
        self.last_token = token;
        let (claimed_at, expires_at) = (moment.time, moment.time.after(lease_ms));
        let (holder, handoff, abandoned) = (holder.clone(), None, false);
        let lease = Lease { holder, token, claimed_at, expires_at, lease_ms, handoff, abandoned };
        self.lease = Some(Box::new(lease));
    }

    fn lease_mut(&mut self) -> &mut Lease {
        self.lease.as_mut().expect("only what is held is offered")
    }

    fn renew(&mut self, lease_ms: Option<u64>, moment: &Moment<'_>) {
        let lease = self.lease.as_mut().expect("only a valid lease is renewed");
        lease.lease_ms = lease_ms.unwrap_or(lease.lease_ms);
        lease.expires_at = moment.time.after(lease.lease_ms);
    }

    fn updated(&mut self, event: &Event) {
        let Event::Updated { description, definition, metadata, result, priority, .. } = event
        else {
            return;
        };
        if let Some(description) = description {
            self.terms_mut().description = Some(description.clone());
        }
        if let Some(metadata) = metadata {
            self.terms_mut().metadata = Some(metadata.clone());
        }
        if let Some(result) = result {
            self.execution_mut().result = Some(result.clone());
        }
        self.definition = definition.clone().or(self.definition.take());
        self.priority = priority.unwrap_or(self.priority);
    }

    fn failed(&mut self, error: &Json, cause: Cause, outcome: &Outcome, moment: &Moment<'_>) {
        self.execution_mut().error = Some(error.clone());
        match cause {
            Cause::Reported | Cause::LeaseExpired | Cause::AgentGone => self.retries += 1,
            Cause::NotTakenUp => self.taken_up(),
            Cause::Deadline | Cause::HandoffLoop => {}
        }
        match outcome {
            Outcome::Retry { not_before } => {
                if *not_before != self.not_before() {
                    self.terms_mut().not_before = *not_before;
                }
                self.turn(Status::Pending, false, moment);
            }
            Outcome::Failed => self.turn(Status::Failed, false, moment),
            Outcome::Review => self.turn(Status::WaitingReview, false, moment),
            Outcome::Reassigned { to } => {
                self.retries = 0;
                let terms = self.terms_mut();
                terms.assigned_agent = Some(to.clone());
                terms.escalated = true;
                terms.not_before = None;
                self.turn(Status::Pending, false, moment);
            }
        }
    }

    /// A change of status ends the lease.
    pub(super) fn turn(&mut self, status: Status, ready: bool, moment: &Moment<'_>) {
        let holder = self.lease.take().map(|lease| lease.holder);
        let submitted_by = self.submitted_by().cloned();
        (self.status, self.ready, self.since) = (status, ready, moment.time);
        if status.is_finished() {
            let execution = self.execution_mut();
            execution.finished_at = Some(moment.time);
            execution.worked_by = holder.or(submitted_by);
        }
    }

    pub(super) fn terms_mut(&mut self) -> &mut Terms {
        self.terms.get_or_insert_default()
    }

    pub(super) fn execution_mut(&mut self) -> &mut Execution {
        self.execution.get_or_insert_default()
    }

    /// Whether its holder offers it to another agent.
    pub fn is_offered(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.handoff.is_some())
    }

    /// Its position in the queue.
    pub fn queue_position(&self) -> QueuePosition {
        let ageing = i64::try_from(limits::AGEING_MS).expect("a minute is short");
        #[cfg(feature = "planted")]
        let ageing = if crate::planted::is("task.priority_ignored") { 0 } else { ageing };
        let created = i64::try_from(self.created_at.0).unwrap_or(i64::MAX);
        let rank_ms = created.saturating_sub(i64::from(self.priority) * ageing);
        QueuePosition { rank_ms, number: self.number }
    }

    /// The action if the receiver of a hand-off does not claim the task.
    pub fn returns(&self) -> Option<&Returns> {
        self.terms.as_ref()?.returns.as_ref()
    }

    /// The only agent that may claim it.
    pub fn assigned_agent(&self) -> Option<&AgentId> {
        self.terms.as_ref()?.assigned_agent.as_ref()
    }

    /// Capabilities that an agent needs to claim it.
    pub fn needs(&self) -> Needs {
        self.terms.as_ref()?.needs.clone()
    }

    /// The required capabilities that an agent lacks.
    pub fn missing<'a>(
        &'a self,
        capabilities: &'a BTreeSet<String>,
    ) -> impl Iterator<Item = &'a String> {
        let needs = self.terms.as_ref().and_then(|terms| terms.needs.as_deref());
        needs.into_iter().flatten().filter(|need| !capabilities.contains(*need))
    }

    /// Whether an agent with these capabilities may claim it.
    pub fn suits(&self, agent: &AgentId, capabilities: &BTreeSet<String>) -> bool {
        self.assigned_agent().is_none_or(|assigned| assigned == agent)
            && self.missing(capabilities).next().is_none()
    }

    /// The group.
    pub fn group(&self) -> Option<&GroupName> {
        self.terms.as_ref()?.group.as_ref()
    }

    /// The parent task.
    pub fn parent(&self) -> Option<&TaskId> {
        self.terms.as_ref()?.parent.as_ref()
    }

    /// Tasks that must be completed first.
    pub fn depends_on(&self) -> &[TaskId] {
        self.terms.as_ref().map_or(&[], |terms| &terms.depends_on)
    }

    /// It cannot be claimed before this time.
    pub fn not_before(&self) -> Option<Timestamp> {
        self.terms.as_ref()?.not_before
    }

    /// It fails unless it is finished by then.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.terms.as_ref()?.deadline
    }

    /// When it was finished.
    pub fn finished_at(&self) -> Option<Timestamp> {
        self.execution.as_ref()?.finished_at
    }

    /// How often a failed attempt is retried.
    pub fn max_retries(&self) -> u64 {
        let given = self.terms.as_ref().and_then(|terms| terms.max_retries);
        given.unwrap_or(limits::RETRIES_DEFAULT)
    }

    /// The delay before a retry.
    pub fn backoff(&self) -> Backoff {
        self.terms.as_ref().and_then(|terms| terms.backoff).unwrap_or_default()
    }

    /// The action after the last attempt: as requested, unless it has already been taken.
    pub fn on_exhausted(&self) -> OnExhausted {
        match &self.terms {
            Some(terms) if !terms.escalated => terms.on_exhausted.clone(),
            Some(_) | None => OnExhausted::Fail,
        }
    }

    /// Approximate size as an answer, in bytes.
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 1_024;
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len());
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let terms = self.terms.as_ref().map_or(0, |terms| {
            let needs = terms.needs.iter().flat_map(|needs| needs.iter());
            json(&terms.metadata)
                + text(&terms.description)
                + needs.map(|need| need.len() + 8).sum::<usize>()
                + terms.depends_on.iter().map(|task| task.as_str().len() + 8).sum::<usize>()
                + terms.reviewers.as_ref().map_or(0, Reviewers::bytes)
        });
        let execution = self.execution.as_ref().map_or(0, |execution| {
            json(&execution.result)
                + json(&execution.artifacts)
                + json(&execution.error)
                + text(&execution.reason)
        });
        FRAME + json(&self.definition) + terms + execution
    }

    /// The task as clients see it.
    pub fn shown(&self, waiting_for: Vec<TaskId>, warnings: Vec<Warning>) -> Task {
        // All fields are named, so that a new one cannot be forgotten.
        let Terms {
            description,
            assigned_agent,
            needs,
            group,
            parent,
            depends_on,
            not_before,
            deadline,
            max_retries: _,
            backoff: _,
            on_exhausted,
            review,
            reviewers,
            escalated: _,
            schema_version,
            metadata,
            traceparent,
            assigned_before: _,
            handed_by: _,
            returns: _,
        } = self.terms.as_deref().unwrap_or(&NO_TERMS);
        let execution = self.execution.as_deref().unwrap_or(&NO_EXECUTION);
        Task {
            id: self.id.clone(),
            task_type: self.task_type.clone(),
            status: self.status,
            description: description.clone(),
            definition: self.definition.clone(),
            requested_by: self.requested_by.clone(),
            assigned_agent: assigned_agent.clone(),
            capabilities: needs.as_deref().cloned().unwrap_or_default(),
            priority: self.priority,
            group: group.clone(),
            parent: parent.clone(),
            depends_on: depends_on.clone(),
            waiting_for,
            not_before: *not_before,
            deadline: *deadline,
            max_retries: self.max_retries(),
            backoff: self.backoff(),
            on_exhausted: on_exhausted.clone(),
            review: *review,
            reviewers: reviewers.clone(),
            submitted_by: self.submitted_by().cloned(),
            attempts: self.attempts,
            retries: self.retries,
            lease: self.lease.as_deref().cloned(),
            progress: execution.progress.clone(),
            result: execution.result.clone(),
            artifacts: execution.artifacts.clone(),
            error: execution.error.clone(),
            reason: execution.reason.clone(),
            schema_version: schema_version.clone(),
            metadata: metadata.clone(),
            traceparent: traceparent.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            started_at: execution.started_at,
            finished_at: execution.finished_at,
            revision: self.revision,
            warnings,
        }
    }
}

//! A pipeline as the table stores it.
//!
//! Records are immutable; a change creates another one, which shares all unchanged stages with the
//! first. Undoing a change, trying out its consequences and taking a snapshot of the table are
//! therefore cheap.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Design, Pipeline, Stage, StageStatus, Status, Summary, graph};
use crate::json::{Json, given};
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName, TaskId, Traceparent};
use crate::numbers::Revision;
use crate::pipeline::{Created, Event};
use crate::space::batch::Moment;
use crate::task;
use crate::time::Timestamp;

/// The definition of a pipeline. It never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether a task is created for every stage that becomes ready.
    pub automatic: bool,
    /// The input of the first stages.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Additional context.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Its trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// The stages, in the order they were named.
    pub stages: Vec<Design>,
    /// The predecessors of each stage.
    pub links: Vec<Vec<usize>>,
    /// The stages in topological order.
    pub order: Vec<usize>,
}

/// The state of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageState {
    /// Its status.
    pub status: StageStatus,
    /// The number of starts.
    pub attempts: u64,
    /// The number of retries.
    pub retries: u64,
    /// The current or last worker.
    pub worker: Option<AgentId>,
    /// Its tasks, in order.
    pub members: Vec<Member>,
    /// The input that was given when it was started.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Its output.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The error.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// The agent that submitted the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<AgentId>,
    /// Why it was skipped, or the note of the last review.
    pub reason: Option<String>,
    /// When it became ready.
    pub ready_at: Option<Timestamp>,
    /// When it was last started.
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or skipped.
    pub finished_at: Option<Timestamp>,
    /// The size of all that in bytes.
    pub bytes: usize,
}

/// A task of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The task.
    pub task: TaskId,
    /// The recorded state of the task.
    #[serde(rename = "heard")]
    pub task_state: TaskState,
}

/// The state of a task as pipelines record it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskState {
    /// The current or last worker.
    pub worker: Option<AgentId>,
    /// Its outcome, once it has finished.
    pub outcome: Option<Outcome>,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it finished.
    pub status: task::Status,
    /// Its result.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The error.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Why it was cancelled.
    pub reason: Option<String>,
    /// How many bytes are omitted because they do not fit.
    pub omitted: usize,
}

impl Outcome {
    /// The size of what is stored.
    pub fn bytes(&self) -> usize {
        let parts = [&self.result, &self.error].into_iter().flatten();
        parts.map(|json| json.as_bytes().len()).sum()
    }

    /// The same without the large fields.
    #[must_use]
    pub fn bare(&self) -> Self {
        let (status, reason) = (self.status, self.reason.clone());
        Self { status, result: None, error: None, reason, omitted: self.bytes() }
    }
}

impl StageState {
    fn new() -> Self {
        Self {
            status: StageStatus::Pending,
            attempts: 0,
            retries: 0,
            worker: None,
            members: Vec::new(),
            input: None,
            output: None,
            error: None,
            submitted_by: None,
            reason: None,
            ready_at: None,
            started_at: None,
            finished_at: None,
            bytes: 0,
        }
    }

    /// Whether its tasks are observed: it is ready or running.
    pub fn is_active(&self) -> bool {
        matches!(self.status, StageStatus::Ready | StageStatus::Running)
    }

    /// The tasks that are looked after.
    pub fn looked_after(&self) -> &[Member] {
        if self.is_active() { &self.members } else { &[] }
    }

    /// The agent that works on it.
    pub fn at_work(&self) -> Option<&AgentId> {
        self.worker.as_ref().filter(|_| self.status == StageStatus::Running)
    }

    /// The unfinished tasks.
    pub fn open(&self) -> impl Iterator<Item = &TaskId> {
        let open = self.members.iter().filter(|member| member.task_state.outcome.is_none());
        open.map(|member| &member.task)
    }

    fn can_start_again(&mut self, moment: &Moment<'_>) {
        (self.status, self.ready_at) = (StageStatus::Ready, Some(moment.time));
        (self.input, self.output, self.submitted_by) = (None, None, None);
    }

    fn ended(&mut self, status: StageStatus, moment: &Moment<'_>) {
        (self.status, self.finished_at) = (status, Some(moment.time));
    }

    fn weighed(mut self) -> Self {
        const MEMBER: usize = 48;
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len());
        let task_state =
            |member: &Member| member.task_state.outcome.as_ref().map_or(0, Outcome::bytes);
        let members: usize = self.members.iter().map(|member| MEMBER + task_state(member)).sum();
        self.bytes = json(&self.input)
            + json(&self.output)
            + json(&self.error)
            + self.reason.as_ref().map_or(0, String::len)
            + members;
        self
    }
}

/// The record of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The name.
    pub name: PipelineName,
    /// How many were created before it.
    pub number: u64,
    /// Its definition.
    pub plan: Arc<Plan>,
    /// The states of its stages.
    pub stages: Vec<Arc<StageState>>,
    /// Its status.
    pub status: Status,
    /// Why it was aborted.
    pub reason: Option<String>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its first stage was started.
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or aborted.
    pub finished_at: Option<Timestamp>,
    /// The revision of the last change.
    pub revision: Revision,
    /// The size of its definition in bytes.
    pub plan_bytes: usize,
}

impl Record {
    /// A new pipeline.
    pub fn new(created: &Created, number: u64, moment: &Moment<'_>) -> Self {
        let graph = graph::link(&created.stages).expect("only what makes sense is created");
        let stages = created.stages.iter().map(|_| Arc::new(StageState::new())).collect();
        let plan = Plan {
            automatic: created.automatic,
            input: created.input.clone(),
            metadata: created.metadata.clone(),
            traceparent: created.traceparent.clone(),
            stages: created.stages.clone(),
            links: graph.links,
            order: graph.order,
        };
        Self {
            name: created.pipeline.clone(),
            number,
            plan: Arc::new(plan),
            stages,
            status: Status::Created,
            reason: None,
            created_by: moment.agent.clone(),
            created_at: moment.time,
            updated_at: moment.time,
            started_at: None,
            finished_at: None,
            revision: moment.revision,
            plan_bytes: created.bytes(),
        }
    }

    /// The stage of a name.
    pub fn find(&self, stage: &StageName) -> Option<usize> {
        self.plan.stages.iter().position(|design| design.name == *stage)
    }

    fn known(&self, stage: &StageName) -> usize {
        self.find(stage).expect("only known stages change")
    }

    /// The record after an event.
    #[must_use]
    pub fn after(&self, event: &Event, moment: &Moment<'_>) -> Self {
        let mut record =
            Self { updated_at: moment.time, revision: moment.revision, ..self.clone() };
        let now = Some(moment.time);
        match event {
            Event::StageReady { stage, tasks, .. } => record.turn(stage, |state| {
                let members = tasks.iter().cloned();
                let task_state = TaskState::default;
                state.members =
                    members.map(|task| Member { task, task_state: task_state() }).collect();
                (state.status, state.ready_at) = (StageStatus::Ready, now);
            }),
            Event::StageStarted { stage, worker, input, .. } => {
                record.started_at = record.started_at.or(now);
                record.turn(stage, |state| {
                    (state.status, state.started_at) = (StageStatus::Running, now);
                    state.attempts += 1;
                    state.worker = Some(worker.clone());
                    state.input.clone_from(input);
                    state.submitted_by = None;
                });
            }
            Event::StageAbandoned { stage, .. } => {
                record.turn(stage, |state| state.can_start_again(moment));
            }
            Event::StageSubmitted { stage, output, .. } => record.turn(stage, |state| {
                state.status = StageStatus::WaitingReview;
                state.output = Some(output.clone());
                state.submitted_by = Some(moment.agent.clone());
            }),
            Event::StageReviewed { stage, verdict, note, .. } => record.turn(stage, |state| {
                state.reason.clone_from(note);
                if *verdict == task::Verdict::Retry {
                    state.can_start_again(moment);
                }
            }),
            Event::StageCompleted { stage, output, .. } => {
                let made = output.clone().or_else(|| self.made(self.known(stage)).ok());
                record.turn(stage, |state| {
                    state.output = made;
                    for member in &mut state.members {
                        member.task_state.outcome =
                            member.task_state.outcome.as_ref().map(Outcome::bare);
                    }
                    state.ended(StageStatus::Completed, moment);
                });
            }
            Event::StageFailed { stage, error, .. } => record.turn(stage, |state| {
                state.error = Some(error.clone());
                state.ended(StageStatus::Failed, moment);
            }),
            Event::StageRetried { stage, .. } => record.turn(stage, |state| {
                let (attempts, retries) = (state.attempts, state.retries + 1);
                let worker = state.worker.take();
                *state = StageState { attempts, retries, worker, ..StageState::new() };
            }),
            Event::StageSkipped { stage, reason, .. } => record.turn(stage, |state| {
                state.reason.clone_from(reason);
                state.output = Some(Json::null());
                state.ended(StageStatus::Skipped, moment);
            }),
            Event::Completed { .. } => record.finish(Status::Completed, moment),
            Event::Failed { .. } => record.finish(Status::Failed, moment),
            Event::Aborted { reason, .. } => record.abort(reason.as_ref(), moment),
            Event::Created(_) | Event::Deleted { .. } => {
                unreachable!("what begins or ends a record is no change of it")
            }
        }
        record
    }

    /// Changes one stage. The pipeline is unfinished again, whatever happens to a stage.
    fn turn(&mut self, stage: &StageName, change: impl FnOnce(&mut StageState)) {
        let number = self.known(stage);
        let mut state = (*self.stages[number]).clone();
        change(&mut state);
        self.stages[number] = Arc::new(state.weighed());
        let is_begun = self.started_at.is_some();
        self.status = if is_begun { Status::Running } else { Status::Created };
        self.finished_at = None;
    }

    fn finish(&mut self, status: Status, moment: &Moment<'_>) {
        (self.status, self.finished_at) = (status, Some(moment.time));
    }

    /// Ends all stages: running ones fail, others are skipped.
    fn abort(&mut self, reason: Option<&String>, moment: &Moment<'_>) {
        for stage in &mut self.stages {
            let mut state = (**stage).clone();
            match state.status {
                StageStatus::Running | StageStatus::WaitingReview => {
                    let error = Json::parse(r#"{"reason":"aborted"}"#).expect("a word is JSON");
                    state.error = Some(error);
                    state.ended(StageStatus::Failed, moment);
                }
                StageStatus::Pending | StageStatus::Ready => {
                    state.reason = Some("the pipeline was aborted".to_owned());
                    state.output = Some(Json::null());
                    state.ended(StageStatus::Skipped, moment);
                }
                StageStatus::Completed | StageStatus::Failed | StageStatus::Skipped => continue,
            }
            *stage = Arc::new(state.weighed());
        }
        self.reason = reason.cloned();
        self.finish(Status::Aborted, moment);
    }

    /// The record with a new state of a task; none if nothing changed.
    pub fn with_task_state(
        &self,
        stage: usize,
        member: usize,
        task_state: TaskState,
    ) -> Option<Self> {
        let before = &self.stages[stage].members[member].task_state;
        let worker = task_state.worker.or_else(|| before.worker.clone());
        let task_state = TaskState { worker, outcome: task_state.outcome };
        if *before == task_state {
            return None;
        }
        let mut record = self.clone();
        let mut state = (*self.stages[stage]).clone();
        state.members[member].task_state = task_state;
        record.stages[stage] = Arc::new(state.weighed());
        Some(record)
    }

    /// The number of open tasks.
    pub fn open(&self) -> usize {
        let active = self.stages.iter().filter(|state| state.is_active());
        active.map(|state| state.open().count()).sum()
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        let stages: usize = self.stages.iter().map(|state| state.bytes).sum();
        self.plan_bytes + stages
    }

    /// The stages of this status, in the order they were named.
    pub fn in_status(&self, status: StageStatus) -> Vec<StageName> {
        let stages = self.plan.stages.iter().zip(&self.stages);
        let stages = stages.filter(|(_, state)| state.status == status);
        stages.map(|(design, _)| design.name.clone()).collect()
    }

    /// How many more bytes are allowed.
    pub fn room(&self) -> usize {
        limits::PIPELINE_BYTES_MAX.saturating_sub(self.bytes())
    }

    /// A stage as callers see it, optionally with its input.
    pub fn shown_stage(&self, number: usize, with_input: bool) -> Stage {
        let (design, state) = (&self.plan.stages[number], &self.stages[number]);
        let after = self.plan.links[number].iter();
        let given = || state.input.clone();
        Stage {
            name: design.name.clone(),
            status: state.status,
            after: after.map(|before| self.plan.stages[*before].name.clone()).collect(),
            agent: design.agent.clone(),
            task_type: design.task_type.clone(),
            capabilities: design.capabilities.clone(),
            each: design.each,
            description: design.description.clone(),
            max_retries: design.max_retries,
            review: design.needs_review(),
            reviewers: design.reviewers().cloned(),
            submitted_by: state.waiting_for(),
            reads: design.reads.clone(),
            writes: design.writes.clone(),
            attempts: state.attempts,
            retries: state.retries,
            worker: state.worker.clone(),
            tasks: state.members.iter().map(|member| member.task.clone()).collect(),
            input: if with_input { self.input(number).ok() } else { given() },
            output: state.output.clone(),
            error: state.error.clone(),
            reason: state.reason.clone(),
            ready_at: state.ready_at,
            started_at: state.started_at,
            finished_at: state.finished_at,
        }
    }

    /// The pipeline as callers see it.
    pub fn shown(&self) -> Pipeline {
        let stages = (0..self.stages.len()).map(|number| self.shown_stage(number, false));
        Pipeline {
            name: self.name.clone(),
            status: self.status,
            automatic: self.plan.automatic,
            stages: stages.collect(),
            current: self.in_status(StageStatus::Running),
            ready: self.in_status(StageStatus::Ready),
            input: self.plan.input.clone(),
            metadata: self.plan.metadata.clone(),
            traceparent: self.plan.traceparent.clone(),
            reason: self.reason.clone(),
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            revision: self.revision,
        }
    }

    /// The same in few words.
    pub fn summary(&self) -> Summary {
        let is_done = |state: &&Arc<StageState>| {
            matches!(state.status, StageStatus::Completed | StageStatus::Skipped)
        };
        Summary {
            name: self.name.clone(),
            status: self.status,
            automatic: self.plan.automatic,
            stages: self.stages.len() as u64,
            done: self.stages.iter().filter(is_done).count() as u64,
            current: self.in_status(StageStatus::Running),
            ready: self.in_status(StageStatus::Ready),
            failed: self.in_status(StageStatus::Failed),
            created_by: self.created_by.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            finished_at: self.finished_at,
        }
    }
}

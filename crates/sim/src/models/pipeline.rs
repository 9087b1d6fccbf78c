//! Pipelines according to the log: when each stage may start, and its input.
//!
//! Laws:
//!
//! 1. A stage is ready when all stages before it are finished, in the very batch that finishes the
//!    last of them, and not before; it starts once after that, and ends once.
//! 2. In an automatic pipeline a stage that is ready or running has exactly its tasks: each is
//!    created in the batch that makes the stage ready, with the correct input; the stage follows
//!    them in the same batch.
//! 3. No task of a pipeline is open unless its stage is ready or running.
//! 4. A stage with `review` of a manual pipeline is completed only when its output was accepted by
//!    one of its reviewers that did not work on it.
//! 5. A pipeline is completed when every stage is finished, and failed when one has failed and no
//!    other is active: in that batch, and nothing is active after it.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::handoff;
use baton_core::pipeline::{Created, Design, Event, StageStatus, Status};
use baton_core::task::{Event as TaskEvent, Status as TaskStatus, Verdict};
use baton_core::{
    AgentId, Batch, Event as AnyEvent, Json, PipelineName, StageName, TaskId, TaskType,
};

use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::coverage::Coverage;
use crate::models::task::{Tasks, is_over};

/// A stage as it was.
#[derive(Clone, Debug)]
pub struct StageModel {
    /// Its definition.
    pub design: Design,
    /// The stages before it.
    pub before: Vec<usize>,
    /// The status.
    pub status: StageStatus,
    /// How often it was started.
    pub attempts: u64,
    /// The number of retries.
    pub retries: u64,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// The input that was given at its start.
    pub input: Option<Json>,
    /// The output.
    pub output: Option<Json>,
    /// The agent that started it last.
    pub worker: Option<AgentId>,
    /// The agent whose output waits for review.
    pub submitted_by: Option<AgentId>,
    /// The last verdict about its output.
    pub verdict: Option<Verdict>,
}

/// A pipeline as it was.
#[derive(Clone, Debug)]
pub struct PipelineModel {
    /// Whether its stages have tasks.
    pub automatic: bool,
    input: Option<Json>,
    /// Its stages.
    pub stages: Vec<StageModel>,
    /// The status.
    pub status: Status,
    is_begun: bool,
}

/// All pipelines.
#[derive(Default)]
pub struct Pipelines {
    all: BTreeMap<PipelineName, Timeline<Option<PipelineModel>>>,
    /// The stage that a task was created for.
    owners: BTreeMap<TaskId, (PipelineName, usize)>,
    /// The last holder of each of these tasks.
    holders: BTreeMap<TaskId, AgentId>,
    /// The hand-offs between stages that the current batch has to contain.
    passings: Vec<(PipelineName, StageName, StageName, AgentId, AgentId, Json)>,
}

impl PipelineModel {
    fn new(created: &Created) -> Self {
        let stages = &created.stages;
        let number = |name: &StageName| stages.iter().position(|stage| stage.name == *name);
        let model = |(index, design): (usize, &Design)| StageModel {
            design: design.clone(),
            before: match &design.after {
                Some(names) => names.iter().filter_map(number).collect(),
                None => index.checked_sub(1).into_iter().collect(),
            },
            status: StageStatus::Pending,
            attempts: 0,
            retries: 0,
            tasks: Vec::new(),
            input: None,
            output: None,
            worker: None,
            submitted_by: None,
            verdict: None,
        };
        Self {
            automatic: created.automatic,
            input: created.input.clone(),
            stages: stages.iter().enumerate().map(model).collect(),
            status: Status::Created,
            is_begun: false,
        }
    }

    /// Whether the stages after a stage may start.
    fn is_done(&self, model: &StageModel) -> bool {
        match model.status {
            StageStatus::Completed => true,
            StageStatus::Skipped => self.may_begin(model),
            _ => false,
        }
    }

    /// Whether all stages before a stage are finished.
    fn may_begin(&self, model: &StageModel) -> bool {
        model.before.iter().all(|before| self.is_done(&self.stages[*before]))
    }

    /// The input of a stage.
    pub fn input(&self, model: &StageModel) -> Json {
        let passed = |before: usize| {
            let before = &self.stages[before];
            match before.status {
                StageStatus::Skipped => self.input(before),
                _ => before.output.clone().unwrap_or_else(Json::null),
            }
        };
        match (&model.input, model.before.as_slice()) {
            (Some(input), _) => input.clone(),
            (None, []) => self.input.clone().unwrap_or_else(Json::null),
            (None, [before]) => passed(*before),
            (None, several) => {
                let named = |before: &usize| (self.stages[*before].design.name.as_str(), *before);
                let pairs = several.iter().map(named);
                let map: BTreeMap<&str, Json> =
                    pairs.map(|(name, before)| (name, passed(before))).collect();
                Json::of(&map).unwrap_or_else(|_| Json::null())
            }
        }
    }

    /// The inputs of the tasks of a stage; none if it cannot have any.
    fn inputs(&self, model: &StageModel) -> Option<Vec<Json>> {
        let input = self.input(model);
        if model.design.each { input.to().ok() } else { Some(vec![input]) }
    }

    fn any(&self, status: StageStatus) -> bool {
        self.stages.iter().any(|model| model.status == status)
    }

    fn is_under_way(&self) -> bool {
        self.any(StageStatus::Running)
            || self.any(StageStatus::WaitingReview)
            || self.automatic && self.any(StageStatus::Ready)
    }

    /// The names of the stages with a status.
    pub fn names(&self, status: StageStatus) -> Vec<StageName> {
        let stages = self.stages.iter().filter(|model| model.status == status);
        stages.map(|model| model.design.name.clone()).collect()
    }

    /// The stage of a name.
    pub fn model(&self, stage: &StageName) -> Option<&StageModel> {
        self.stages.iter().find(|model| model.design.name == *stage)
    }

    /// Changes the stage of an event.
    fn change(&mut self, batch: &Batch, event: &Event, index: usize, tasks: &Tasks) -> Audit {
        let model = &self.stages[index];
        let status_of = |task: &TaskId| tasks.at(task, u64::MAX).map(|work| work.status);
        let by_hand = !self.automatic;
        let was = |wanted: &[StageStatus]| {
            let is = wanted.contains(&model.status);
            is.then_some(()).ok_or_else(|| Breach(format!("it was {:?}", model.status)))
        };
        demand!(!matches!(self.status, Status::Completed | Status::Aborted), "it is over");
        let mut after = model.clone();
        match event {
            Event::StageReady { tasks: made, .. } => {
                was(&[StageStatus::Pending])?;
                demand!(self.may_begin(model), "it is ready too early");
                let due = if by_hand { Some(0) } else { self.inputs(model).map(|it| it.len()) };
                demand!(due == Some(made.len()), "it has {} tasks, not {due:?}", made.len());
                let known = made.iter().find(|task| status_of(task).is_some());
                demand!(known.is_none(), "{known:?} was there before");
                (after.status, after.tasks) = (StageStatus::Ready, made.clone());
            }
            Event::StageStarted { worker, input, .. } => {
                was(&[StageStatus::Ready])?;
                self.check_worker(batch, model, worker, tasks)?;
                (after.status, after.input) = (StageStatus::Running, input.clone());
                after.attempts += 1;
                (after.submitted_by, after.verdict) = (None, None);
                self.is_begun = true;
            }
            Event::StageAbandoned { worker, .. } => after.abandoned(worker, by_hand)?,
            Event::StageSubmitted { output, .. } => {
                demand!(by_hand, "it has tasks, whose results are submitted");
                after.submitted(&batch.agent, output)?;
            }
            Event::StageReviewed { verdict, .. } => after.reviewed(*verdict)?,
            Event::StageCompleted { output, .. } => {
                after.output = self.completed(batch, model, output.as_ref(), tasks)?;
                after.status = StageStatus::Completed;
            }
            Event::StageFailed { .. } => {
                let dead = |task: &TaskId| {
                    status_of(task).is_some_and(|it| is_over(it) && it != TaskStatus::Completed)
                };
                let unfit = model.status == StageStatus::Pending && self.inputs(model).is_none();
                let lawful = if by_hand {
                    model.status == StageStatus::Running || model.is_decided(Verdict::Fail)
                } else {
                    unfit || model.tasks.iter().any(dead)
                };
                demand!(lawful, "it fails although it was {:?}", model.status);
                after.status = StageStatus::Failed;
            }
            Event::StageRetried { .. } => {
                was(&[StageStatus::Failed])?;
                let most = model.design.max_retries.filter(|_| by_hand).unwrap_or(u64::MAX);
                demand!(model.retries < most, "it is retried once too often");
                after.retries += 1;
                (after.tasks, after.input, after.output) = (Vec::new(), None, None);
                after.status = StageStatus::Pending;
            }
            Event::StageSkipped { .. } => {
                was(&[StageStatus::Pending, StageStatus::Ready, StageStatus::Failed])?;
                (after.status, after.output) = (StageStatus::Skipped, Some(Json::null()));
            }
            _ => return Err(Breach("it is about no stage".to_owned())),
        }
        self.stages[index] = after;
        self.status = if self.is_begun { Status::Running } else { Status::Created };
        Ok(())
    }

    /// Checks that the agent may start a stage.
    fn check_worker(
        &self,
        batch: &Batch,
        model: &StageModel,
        worker: &AgentId,
        tasks: &Tasks,
    ) -> Audit {
        let agent = model.design.agent.as_ref();
        demand!(agent.is_none_or(|agent| agent == worker), "it is for {agent:?}");
        let holds = |task: &TaskId| {
            let lease = tasks.at(task, u64::MAX).and_then(|work| work.lease.as_ref());
            lease.is_some_and(|lease| lease.holder == *worker)
        };
        let has_it =
            if self.automatic { model.tasks.iter().any(holds) } else { *worker == batch.agent };
        demand!(has_it, "`{worker}` does not work on it");
        Ok(())
    }

    /// Aborts everything that is unfinished.
    fn abort(&mut self) {
        for model in &mut self.stages {
            match model.status {
                StageStatus::Running | StageStatus::WaitingReview => {
                    model.status = StageStatus::Failed;
                }
                StageStatus::Pending | StageStatus::Ready => {
                    (model.status, model.output) = (StageStatus::Skipped, Some(Json::null()));
                }
                _ => {}
            }
        }
        self.status = Status::Aborted;
    }
}

impl StageModel {
    /// The results of its tasks.
    pub(crate) fn made(&self, tasks: &Tasks) -> Option<Json> {
        let result = |task: &TaskId| tasks.at(task, u64::MAX)?.result.clone();
        let results = self.tasks.iter().map(|task| result(task).unwrap_or_else(Json::null));
        let mut results: Vec<Json> = results.collect();
        if self.design.each { Json::of(&results).ok() } else { results.pop() }
    }
}

impl Pipelines {
    /// A pipeline as it was after a revision.
    pub fn at(&self, pipeline: &PipelineName, at: u64) -> Option<&PipelineModel> {
        self.all.get(pipeline)?.at(at)?.as_ref()
    }

    /// All pipelines after a revision.
    pub fn all_at(&self, at: u64) -> impl Iterator<Item = (&PipelineName, &PipelineModel)> {
        let all = self.all.iter();
        all.filter_map(move |(name, timeline)| Some((name, timeline.at(at)?.as_ref()?)))
    }

    /// Whether a task was created for a stage.
    pub fn owns(&self, task: &TaskId) -> bool {
        self.owners.contains_key(task)
    }

    /// Whether a task belonged to a stage of a pipeline, ended or not, after a revision.
    pub fn has_task(&self, task: &TaskId, at: u64) -> bool {
        let Some((pipeline, index)) = self.owners.get(task) else { return false };
        let model = self.at(pipeline, at).and_then(|state| state.stages.get(*index));
        model.is_some_and(|model| model.tasks.contains(task))
    }

    /// A retried task belongs to no stage: that of a stage is retried with its stage, and a deleted
    /// pipeline has none.
    pub fn disown(&mut self, task: &TaskId) {
        self.owners.remove(task);
    }

    /// Whether a task was created for a stage that no longer needs it.
    pub fn is_unwanted(&self, task: &TaskId) -> bool {
        let Some((pipeline, index)) = self.owners.get(task) else { return false };
        // Another pipeline of the same name has its own tasks.
        let model = self.at(pipeline, u64::MAX).and_then(|state| state.stages.get(*index));
        model.is_none_or(|model| {
            let active = matches!(model.status, StageStatus::Ready | StageStatus::Running);
            !active || !model.tasks.contains(task)
        })
    }
}

impl Ledger {
    pub(crate) fn add_pipeline(
        &mut self,
        batch: &Batch,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let name = event.pipeline();
        let words = |breach: Breach| Breach(format!("pipeline `{name}`: {event:?}: {}", breach.0));
        let before = self.pipelines.at(name, u64::MAX).cloned();
        let after = match (event, before) {
            (Event::Created(created), None) => Some(PipelineModel::new(created)),
            (Event::Created(_), Some(_)) | (_, None) => {
                return Err(words(Breach("this cannot be".to_owned())));
            }
            (Event::Deleted { .. }, Some(state)) => {
                let is_finished = !matches!(state.status, Status::Created | Status::Running);
                demand!(is_finished, "pipeline `{name}` is deleted, it is {:?}", state.status);
                None
            }
            (event, Some(state)) => {
                Some(self.change_pipeline(batch, state, event, coverage).map_err(words)?)
            }
        };
        match event {
            Event::StageReady { tasks, .. } if tasks.len() > 1 => {
                coverage.met("pipeline: a task for each");
            }
            Event::StageCompleted { output: None, .. } => {
                coverage.met("pipeline: completed by its tasks");
            }
            Event::StageRetried { .. } => coverage.met("pipeline: retried"),
            Event::StageSkipped { .. } => coverage.met("pipeline: skipped"),
            Event::StageAbandoned { .. } => coverage.met("pipeline: abandoned"),
            Event::Completed { .. } => coverage.met("pipeline: completed"),
            Event::Failed { .. } => coverage.met("pipeline: failed"),
            Event::Aborted { .. } => coverage.met("pipeline: aborted"),
            _ => {}
        }
        self.pipelines.all.entry(name.clone()).or_default().set(batch.revision.0, after);
        Ok(())
    }

    fn change_pipeline(
        &mut self,
        batch: &Batch,
        mut state: PipelineModel,
        event: &Event,
        coverage: &mut Coverage,
    ) -> Audit<PipelineModel> {
        if let Some(stage) = event.stage() {
            let index = state.stages.iter().position(|model| model.design.name == *stage);
            let index = index.ok_or_else(|| Breach("the stage does not exist".to_owned()))?;
            self.check_stage_review(batch, &state.stages[index], event, coverage)?;
            state.change(batch, event, index, &self.tasks)?;
            if let Event::StageStarted { pipeline, worker, .. } = event {
                state.stages[index].worker = Some(worker.clone());
                self.expect_passings(pipeline, &state, index, worker);
            }
            if let Event::StageReady { pipeline, tasks, .. } = event {
                let owned = tasks.iter().map(|task| (task.clone(), (pipeline.clone(), index)));
                self.pipelines.owners.extend(owned);
            }
            return Ok(state);
        }
        match event {
            Event::Completed { .. } => {
                let is_done = state.stages.iter().all(|model| state.is_done(model));
                demand!(is_done && !state.status.is_finished(), "not every stage is done");
                state.status = Status::Completed;
            }
            Event::Failed { .. } => {
                let stopped = state.any(StageStatus::Failed) && !state.is_under_way();
                demand!(stopped && !state.status.is_finished(), "it goes on");
                state.status = Status::Failed;
            }
            _ => {
                demand!(!matches!(state.status, Status::Completed | Status::Aborted), "it is over");
                state.abort();
            }
        }
        Ok(state)
    }

    /// Notes the last holder of a task of a stage.
    pub(crate) fn note_holder(&mut self, task: &TaskId) {
        let lease = self.tasks.at(task, u64::MAX).and_then(|work| work.lease.as_ref());
        if let Some(lease) = lease.filter(|_| self.pipelines.owns(task)) {
            self.pipelines.holders.insert(task.clone(), lease.holder.clone());
        }
    }

    /// Every completed stage whose output reaches a started one was handed over, unless the same
    /// agent works on both.
    fn expect_passings(
        &mut self,
        pipeline: &PipelineName,
        state: &PipelineModel,
        index: usize,
        worker: &AgentId,
    ) {
        let mut due: BTreeSet<usize> = BTreeSet::new();
        let mut rest = state.stages[index].before.clone();
        while let Some(before) = rest.pop() {
            match state.stages[before].status {
                StageStatus::Completed => drop(due.insert(before)),
                _ => rest.extend(&state.stages[before].before),
            }
        }
        for before in due {
            let model = &state.stages[before];
            let last = match model.tasks.as_slice() {
                [task] => self.pipelines.holders.get(task),
                _ => None,
            };
            let Some(from) = last.or(model.worker.as_ref()).filter(|from| *from != worker) else {
                continue;
            };
            let stages = (model.design.name.clone(), state.stages[index].design.name.clone());
            let output = model.output.clone().unwrap_or_else(Json::null);
            let (from, to) = (from.clone(), worker.clone());
            let passing = (pipeline.clone(), stages.0, stages.1, from, to, output);
            self.pipelines.passings.push(passing);
        }
    }

    /// Checks that exactly the expected hand-offs between stages have happened.
    fn check_passings(&mut self, batch: &Batch) -> Audit {
        let mut due = std::mem::take(&mut self.pipelines.passings);
        for event in &batch.events {
            let AnyEvent::Handoff(handoff::Event::Passed(handoff)) = event else { continue };
            let found =
                due.iter().position(|(pipeline, from_stage, to_stage, from, to, output)| {
                    let passage = handoff.passage.as_ref();
                    passage.is_some_and(|it| {
                        it.pipeline == *pipeline
                            && it.from_stage == *from_stage
                            && it.to_stage == *to_stage
                    }) && handoff.from == *from
                        && handoff.receiver.as_ref() == Some(to)
                        && handoff.state.get("output") == Some(output)
                });
            let Some(found) = found else {
                return Err(Breach(format!("{handoff:?} is none of {due:?}")));
            };
            due.remove(found);
        }
        demand!(due.is_empty(), "no hand-offs are recorded: {due:?}");
        Ok(())
    }

    /// A batch is complete: checks that every pipeline is in the state that follows from its tasks.
    pub(crate) fn check_pipelines(&mut self, batch: &Batch) -> Audit {
        self.check_passings(batch)?;
        let is_about =
            |event: &AnyEvent| matches!(event, AnyEvent::Pipeline(_) | AnyEvent::Task(_));
        if self.pipelines.all.is_empty() || !batch.events.iter().any(is_about) {
            return Ok(());
        }
        for (name, state) in self.pipelines.all_at(u64::MAX) {
            let words = |breach: Breach| Breach(format!("pipeline `{name}`: {}", breach.0));
            self.check_piped(state).map_err(words)?;
        }
        for task in self.pipelines.owners.keys().filter(|task| self.pipelines.is_unwanted(task)) {
            let status = self.tasks.at(task, u64::MAX).map(|work| work.status);
            let is_open = status.is_some_and(|status| !is_over(status));
            demand!(!is_open, "`{task}` is open, its stage is over");
        }
        for event in &batch.events {
            if let AnyEvent::Pipeline(Event::StageReady { pipeline, stage, tasks }) = event {
                let made = self.check_made(batch, (pipeline, stage), tasks);
                made.map_err(|breach| Breach(format!("stage `{stage}`: {}", breach.0)))?;
            }
        }
        Ok(())
    }

    fn check_piped(&self, state: &PipelineModel) -> Audit {
        if matches!(state.status, Status::Completed | Status::Aborted) {
            demand!(!state.is_under_way(), "it is over, and something is under way");
            return Ok(());
        }
        let is_done = state.stages.iter().all(|model| state.is_done(model));
        demand!(!is_done, "every stage is done, and it is {:?}", state.status);
        let stopped = state.any(StageStatus::Failed) && !state.is_under_way();
        let says = state.status == Status::Failed;
        demand!(stopped == says, "it is {:?} with {:?}", state.status, state.stages);
        for model in &state.stages {
            let name = &model.design.name;
            let may_begin = model.status == StageStatus::Pending && state.may_begin(model);
            demand!(!may_begin, "`{name}` may begin, and is not ready");
            let active = matches!(model.status, StageStatus::Ready | StageStatus::Running);
            if !active || !state.automatic {
                continue;
            }
            let works = model.tasks.iter().map(|task| self.tasks.at(task, u64::MAX));
            let works: Vec<_> = works.collect();
            demand!(works.iter().all(Option::is_some), "`{name}` lacks a task");
            let dead = works
                .iter()
                .flatten()
                .find(|work| is_over(work.status) && work.status != TaskStatus::Completed);
            demand!(dead.is_none(), "`{name}` continues although {dead:?}");
            let open = works.iter().flatten().any(|work| !is_over(work.status));
            demand!(open, "all tasks of `{name}` are completed, and it is not");
            let begun = works.iter().flatten().any(|work| work.attempts > 0);
            let runs = model.status == StageStatus::Running;
            demand!(begun == runs, "`{name}` is {:?}, and begun is {begun}", model.status);
        }
        Ok(())
    }

    /// The tasks of a stage that this batch has made ready were created in it, as they should be.
    fn check_made(
        &self,
        batch: &Batch,
        (pipeline, stage): (&PipelineName, &StageName),
        tasks: &[TaskId],
    ) -> Audit {
        let Some(state) = self.pipelines.at(pipeline, batch.revision.0) else { return Ok(()) };
        let Some(model) = state.model(stage).filter(|_| !tasks.is_empty()) else { return Ok(()) };
        let inputs = state.inputs(model).unwrap_or_default();
        let task_type = model.design.task_type.as_ref().map(TaskType::as_str);
        for (task, input) in tasks.iter().zip(inputs) {
            let created = batch.events.iter().find_map(|event| match event {
                AnyEvent::Task(TaskEvent::Created(created)) if created.task == *task => {
                    Some(created)
                }
                _ => None,
            });
            let Some(created) = created else {
                return Err(Breach(format!("`{task}` was not created with it")));
            };
            let given = created.definition.as_ref().and_then(|json| json.to().ok());
            let given = given.unwrap_or_else(BTreeMap::<String, Json>::new).remove("input");
            let same = given.as_ref().is_some_and(|given| given.same_value(&input));
            demand!(same, "`{task}` is given {given:?}, due is {input:?}");
            let fits = created.assigned_agent == model.design.agent
                && created.task_type.as_str() == task_type.unwrap_or(stage.as_str());
            demand!(fits, "{created:?} is another task");
        }
        Ok(())
    }
}

/// Whether the engine may do this on its own: consequences of a task or a session that ended on its
/// own.
pub(crate) fn is_by_engine(event: &Event) -> bool {
    matches!(event, Event::StageAbandoned { .. } | Event::StageFailed { .. } | Event::Failed { .. })
}

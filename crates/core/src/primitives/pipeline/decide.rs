//! The rules of pipelines, one function per command.

use std::collections::BTreeSet;

use super::table::Table;
use super::{
    Command, Create, Created, Design, Event, List, Moved, Output, Query, Record, Rejection, Reply,
    Signal, StageStatus, Status, TaskState,
};
use crate::json::Json;
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName, TaskId};
use crate::page;
use crate::pipeline::{Following, Misfit, StepBudget, graph};
use crate::primitive::{self, Rules};
use crate::refusal::{TooLarge, TooMany, fits, has_room, json_fits, text_fits};
use crate::space::batch::Moment;
use crate::space::stamp::Stamp;
use crate::space::{Happening, ReplyPlan, Space, TablesView, TasksView};
use crate::task;

/// The table of tasks, as far as pipelines read it.
pub trait View {
    /// The state of a task as pipelines record it; none if it is unknown.
    fn task_state(&self, task: &TaskId) -> Option<TaskState>;
    /// How many more tasks are allowed.
    fn room(&self) -> usize;
    /// Why no task can be created for such a stage.
    fn objection(&self, design: &Design) -> Option<String>;
}

/// The outcome of a command.
pub(super) type Decided = primitive::Decided<Event>;

/// The pipeline, as it is after the events.
fn pipeline(name: PipelineName) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let record = space.pipeline.get(&name).expect("only known pipelines are answered with");
        Reply::Pipeline(Box::new(record.shown()))
    })
}

/// A completed stage, and the stages that are ready after the events.
pub(super) fn moved(pipeline: PipelineName, stage: StageName) -> ReplyPlan {
    ReplyPlan::after(move |space| {
        let (record, stage) = known_stage(&space.pipeline, &pipeline, &stage);
        let ready = record.in_status(StageStatus::Ready);
        let next = ready.first().and_then(|stage| record.find(stage));
        let next = next.map(|stage| record.shown_stage(stage, true));
        let (stage, status) = (record.shown_stage(stage, false), record.status);
        Reply::Moved(Box::new(Moved { stage, next, ready, status }))
    })
}

fn known_stage<'a>(
    table: &'a Table,
    pipeline: &PipelineName,
    stage: &StageName,
) -> (&'a Record, usize) {
    table.stage(pipeline, stage).expect("only known stages are answered with")
}

impl Rules for Table {
    type Command = Command;
    type Signal = Signal;
    type Query = Query;
    type Reply = Reply;
    type Rejection = Rejection;

    fn decide(
        space: &Space,
        command: Command,
        stamp: &Stamp,
        happening: &mut Happening<'_>,
    ) -> Result<ReplyPlan, Rejection> {
        let view = TasksView(&space.task);
        let tables = TablesView::of(space);
        let capabilities = task::View::capabilities_of(&tables, &stamp.agent);
        let decider = Decider { table: &space.pipeline, view: &view, capabilities, stamp };
        Ok(happening.take(decider.decide(command)?))
    }

    fn expire(space: &Space, stamp: &Stamp) -> Vec<Event> {
        let view = &TasksView(&space.task);
        Decider { table: &space.pipeline, view, capabilities: None, stamp }.expire()
    }

    fn let_go(space: &Space, agent: &AgentId, _stamp: &Stamp) -> Vec<Event> {
        abandoned(&space.pipeline, agent)
    }

    fn handle(space: &Space, signal: Signal, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
        let Signal::Follow = signal;
        let view = &TasksView(&space.task);
        Ok(Decider { table: &space.pipeline, view, capabilities: None, stamp }.follow())
    }

    fn query(space: &Space, query: &Query) -> Option<Result<Reply, Rejection>> {
        Some(self::query(&space.pipeline, query))
    }
}

fn check_reason(reason: Option<&String>) -> Result<(), Rejection> {
    Ok(text_fits("reason", reason, limits::NOTE_BYTES_MAX)?)
}

fn bad(stage: Option<&StageName>, reason: impl Into<String>) -> Rejection {
    Rejection::BadStages { stage: stage.cloned(), reason: reason.into() }
}

/// The inputs of a decision.
pub(super) struct Decider<'a, S> {
    pub(super) table: &'a Table,
    pub(super) view: &'a S,
    /// The capabilities of the calling agent, if it has a session.
    pub(super) capabilities: Option<&'a BTreeSet<String>>,
    pub(super) stamp: &'a Stamp,
}

impl<'a, S: View> Decider<'a, S> {
    /// Decides a command against the current table.
    fn decide(&self, command: Command) -> Result<Decided, Rejection> {
        match command {
            Command::Create(command) => self.create(*command),
            Command::StartStage { pipeline, stage, input } => self.start(pipeline, stage, input),
            Command::CompleteStage { pipeline, stage, output } => {
                self.complete(pipeline, stage, output)
            }
            Command::ReviewStage(command) => self.review(command),
            Command::FailStage { pipeline, stage, error } => self.fail(pipeline, stage, error),
            Command::RetryStage { pipeline, stage } => self.retry(pipeline, stage),
            Command::SkipStage { pipeline, stage, reason } => self.skip(pipeline, stage, reason),
            Command::Abort { pipeline, reason } => self.abort(pipeline, reason),
            Command::Delete { pipeline } => self.delete(pipeline),
        }
    }

    fn create(&self, command: Create) -> Result<Decided, Rejection> {
        let Create { pipeline, stages, automatic, input, metadata, traceparent } = command;
        if let Some(record) = self.table.get(&pipeline) {
            return Err(Rejection::Exists { pipeline: Box::new(record.shown()) });
        }
        json_fits("input", input.as_ref(), limits::VALUE_BYTES_MAX)?;
        json_fits("metadata", metadata.as_ref(), limits::METADATA_BYTES_MAX)?;
        if metadata.as_ref().is_some_and(|metadata| !metadata.as_str().starts_with('{')) {
            return Err(bad(None, "`metadata` must be an object"));
        }
        graph::link(&stages).map_err(|fault| bad(fault.stage.as_ref(), fault.reason))?;
        for stage in &stages {
            self.check_design(stage, automatic)?;
        }
        let bytes = stages.iter().map(Design::bytes).sum();
        fits("stages", bytes, limits::VALUE_BYTES_MAX)?;
        let name = pipeline.clone();
        let created = Created { pipeline: name, stages, automatic, input, metadata, traceparent };
        has_room([("unfinished pipelines", self.table.unfinished(), limits::PIPELINES_MAX)])?;
        self.check_room(created.bytes())?;
        let record = Record::new(&created, 0, &self.moment());
        let events = self.with_what_follows(Event::Created(Box::new(created)), record);
        Ok(Decided::new(events, self::pipeline(pipeline)))
    }

    fn check_design(&self, stage: &Design, automatic: bool) -> Result<(), Rejection> {
        let max = limits::STAGE_PATTERNS_MAX;
        for (field, count) in [("reads", stage.reads.len()), ("writes", stage.writes.len())] {
            if count > max {
                let reason = format!("`{field}` has {count} patterns, at most {max} are allowed");
                return Err(bad(Some(&stage.name), reason));
            }
        }
        if stage.each && !automatic {
            let reason = "`each` makes tasks, so the pipeline must be automatic";
            return Err(bad(Some(&stage.name), reason));
        }
        let objection = self.view.objection(stage);
        objection.map_or(Ok(()), |reason| Err(bad(Some(&stage.name), reason)))
    }

    /// Whether this many more bytes are allowed for all unfinished pipelines.
    fn check_room(&self, bytes: usize) -> Result<(), Rejection> {
        if self.table.bytes() + bytes > limits::PIPELINES_BYTES_MAX {
            let (what, max) = ("bytes of unfinished pipelines", limits::PIPELINES_BYTES_MAX);
            return Err(TooMany { what, max }.into());
        }
        Ok(())
    }

    fn start(
        &self,
        pipeline: PipelineName,
        stage: StageName,
        input: Option<Json>,
    ) -> Result<Decided, Rejection> {
        let (record, number) = self.by_hand(&pipeline, &stage)?;
        self.check_agent(record, number)?;
        check_status(record, number, "started", &[StageStatus::Ready])?;
        let own = self.table.worked_on(&self.stamp.agent).count();
        has_room([("stages that one agent works on", own, limits::STAGES_PER_AGENT_MAX)])?;
        match &input {
            Some(input) => self.check_kept(record, "input", Some(input))?,
            // The reply contains the input, so that it must be valid.
            None => drop(record.input(number).map_err(|misfit| unfit(&misfit))?),
        }
        let worker = self.stamp.agent.clone();
        let event = Event::StageStarted { pipeline, stage, worker, input };
        Ok(self.about_stage(record, event))
    }

    fn complete(
        &self,
        pipeline: PipelineName,
        stage: StageName,
        output: Option<Json>,
    ) -> Result<Decided, Rejection> {
        let (record, number) = self.by_hand(&pipeline, &stage)?;
        self.check_agent(record, number)?;
        check_status(record, number, "completed", &[StageStatus::Running])?;
        self.check_kept(record, "output", output.as_ref())?;
        let output = output.unwrap_or_else(Json::null);
        if record.plan.stages[number].needs_review() {
            return self.submit(record, number, output);
        }
        let output = Some(output);
        let plan = moved(pipeline.clone(), stage.clone());
        let event = Event::StageCompleted { pipeline, stage, output };
        Ok(Decided::new(self.following(record, event), plan))
    }

    fn fail(
        &self,
        pipeline: PipelineName,
        stage: StageName,
        error: Json,
    ) -> Result<Decided, Rejection> {
        let (record, number) = self.by_hand(&pipeline, &stage)?;
        check_status(record, number, "failed", &[StageStatus::Running])?;
        json_fits("error", Some(&error), limits::ERROR_BYTES_MAX)?;
        self.check_kept(record, "error", Some(&error))?;
        Ok(self.about_stage(record, Event::StageFailed { pipeline, stage, error }))
    }

    fn retry(&self, pipeline: PipelineName, stage: StageName) -> Result<Decided, Rejection> {
        let (record, number) = self.stage(&pipeline, &stage)?;
        check_status(record, number, "retried", &[StageStatus::Failed])?;
        let retries = record.stages[number].retries;
        let max = record.plan.stages[number].max_retries;
        // The tasks of an automatic stage have been retried this often already.
        if let Some(max) = max.filter(|max| !record.plan.automatic && retries >= *max) {
            return Err(Rejection::RetriesExhausted { pipeline, stage, retries, max });
        }
        Ok(self.about_stage(record, Event::StageRetried { pipeline, stage }))
    }

    fn skip(
        &self,
        pipeline: PipelineName,
        stage: StageName,
        reason: Option<String>,
    ) -> Result<Decided, Rejection> {
        let (record, number) = self.stage(&pipeline, &stage)?;
        let allowed = [StageStatus::Pending, StageStatus::Ready, StageStatus::Failed];
        check_status(record, number, "skipped", &allowed)?;
        check_reason(reason.as_ref())?;
        let plan = moved(pipeline.clone(), stage.clone());
        let event = Event::StageSkipped { pipeline, stage, reason };
        Ok(Decided::new(self.following(record, event), plan))
    }

    fn abort(&self, pipeline: PipelineName, reason: Option<String>) -> Result<Decided, Rejection> {
        let pipeline_status = self.known(&pipeline)?.status;
        if pipeline_status.is_over() {
            return Err(Rejection::Finished { pipeline, pipeline_status });
        }
        check_reason(reason.as_ref())?;
        let events = vec![Event::Aborted { pipeline: pipeline.clone(), reason }];
        Ok(Decided::new(events, self::pipeline(pipeline)))
    }

    fn delete(&self, pipeline: PipelineName) -> Result<Decided, Rejection> {
        let record = self.known(&pipeline)?;
        let pipeline_status = record.status;
        if !pipeline_status.is_finished() {
            return Err(Rejection::Unfinished { pipeline, pipeline_status });
        }
        let gone = Reply::Pipeline(Box::new(record.shown()));
        Ok(Decided::reply(vec![Event::Deleted { pipeline }], gone))
    }

    /// All due steps, or none: several policies may ask in one commit, and together they must not
    /// exceed its budget.
    fn follow(&self) -> Vec<Event> {
        let (mut events, mut following) = (Vec::new(), self.after_this(StepBudget::beside()));
        for record in self.table.due() {
            if !following.carry_on(record.clone(), &mut events) {
                events.clear();
                break;
            }
        }
        events
    }

    fn expire(&self) -> Vec<Event> {
        let (mut events, mut following) = (Vec::new(), self.after_this(StepBudget::alone()));
        for record in self.table.due() {
            if !following.carry_on(record.clone(), &mut events) {
                break;
            }
        }
        events
    }

    pub(super) fn moment(&self) -> Moment<'a> {
        let Stamp { revision, now, agent, .. } = self.stamp;
        Moment { revision: *revision, time: *now, agent }
    }

    fn after_this(&self, budget: StepBudget) -> Following<'a, impl Iterator<Item = TaskId>> {
        let view = self.view;
        let is_taken = move |task: &TaskId| view.task_state(task).is_some();
        Following {
            moment: self.moment(),
            tasks_max: view.room(),
            ids: self.table.fresh_ids(self.stamp.revision, is_taken),
            budget,
        }
    }

    fn about_stage(&self, record: &Record, event: Event) -> Decided {
        let stage = event.stage().expect("it is about a stage").clone();
        let pipeline = event.pipeline().clone();
        let plan = ReplyPlan::after(move |space| {
            let (record, stage) = known_stage(&space.pipeline, &pipeline, &stage);
            Reply::Stage(Box::new(record.shown_stage(stage, true)))
        });
        Decided::new(self.following(record, event), plan)
    }

    /// An event of a pipeline, and the steps that follow from it.
    pub(super) fn following(&self, record: &Record, event: Event) -> Vec<Event> {
        let after = record.after(&event, &self.moment());
        self.with_what_follows(event, after)
    }

    fn with_what_follows(&self, event: Event, after: Record) -> Vec<Event> {
        let mut events = vec![event];
        self.after_this(StepBudget::of_command()).carry_on(after, &mut events);
        events
    }

    fn known(&self, pipeline: &PipelineName) -> Result<&'a Record, Rejection> {
        let unknown = || Rejection::NotFound { pipeline: pipeline.clone() };
        self.table.get(pipeline).ok_or_else(unknown)
    }

    fn stage(
        &self,
        pipeline: &PipelineName,
        stage: &StageName,
    ) -> Result<(&'a Record, usize), Rejection> {
        let record = self.known(pipeline)?;
        found(record, stage).map(|number| (record, number))
    }

    /// A stage of a manual pipeline.
    pub(super) fn by_hand(
        &self,
        pipeline: &PipelineName,
        stage: &StageName,
    ) -> Result<(&'a Record, usize), Rejection> {
        let (record, number) = self.stage(pipeline, stage)?;
        if record.plan.automatic {
            let tasks = record.stages[number].members.iter();
            let tasks = tasks.map(|member| member.task.clone()).collect();
            let (pipeline, stage) = (pipeline.clone(), stage.clone());
            return Err(Rejection::Automatic { pipeline, stage, tasks });
        }
        Ok((record, number))
    }

    fn check_agent(&self, record: &Record, number: usize) -> Result<(), Rejection> {
        let design = &record.plan.stages[number];
        let given = &self.stamp.agent;
        match design.agent.as_ref().filter(|agent| *agent != given) {
            Some(agent) => Err(Rejection::WrongAgent {
                pipeline: record.name.clone(),
                stage: design.name.clone(),
                agent: agent.clone(),
                given: given.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Whether a value fits into its own limit and into those of the pipeline and the workspace.
    pub(super) fn check_kept(
        &self,
        record: &Record,
        field: &'static str,
        json: Option<&Json>,
    ) -> Result<(), Rejection> {
        let bytes = json.map_or(0, |json| json.as_bytes().len());
        fits(field, bytes, limits::VALUE_BYTES_MAX.min(record.room()))?;
        self.check_room(bytes)
    }
}

/// The stages that an agent worked on can be started again. The effects on their pipelines are due
/// then.
fn abandoned(table: &Table, agent: &AgentId) -> Vec<Event> {
    #[cfg(feature = "planted")]
    if crate::planted::is("pipeline.stage_stays_with_the_lost") {
        return Vec::new();
    }
    let abandoned = table.worked_on(agent).map(|(record, number)| Event::StageAbandoned {
        pipeline: record.name.clone(),
        stage: record.plan.stages[number].name.clone(),
        worker: agent.clone(),
    });
    abandoned.collect()
}

/// Whether the status of a stage allows the action.
pub(super) fn check_status(
    record: &Record,
    number: usize,
    wish: &'static str,
    allowed: &[StageStatus],
) -> Result<(), Rejection> {
    let stage_status = record.stages[number].status;
    let pipeline_status = record.status;
    #[cfg(feature = "planted")]
    if crate::planted::is("pipeline.completes_twice") && wish == "completed" {
        return Ok(());
    }
    if allowed.contains(&stage_status) && !pipeline_status.is_over() {
        return Ok(());
    }
    let can = |status: StageStatus, is_by_hand: bool| {
        let is_out = pipeline_status.is_over() || is_by_hand && record.plan.automatic;
        if is_out { Vec::new() } else { record.in_status(status) }
    };
    Err(Rejection::WrongOrder {
        pipeline: record.name.clone(),
        stage: record.plan.stages[number].name.clone(),
        wish,
        stage_status,
        pipeline_status,
        can_start: can(StageStatus::Ready, true),
        can_complete: can(StageStatus::Running, true),
        can_review: can(StageStatus::WaitingReview, true),
        can_retry: can(StageStatus::Failed, false),
    })
}

fn found(record: &Record, stage: &StageName) -> Result<usize, Rejection> {
    record.find(stage).ok_or_else(|| Rejection::UnknownStage {
        pipeline: record.name.clone(),
        stage: stage.clone(),
        stages: record.plan.stages.iter().map(|design| design.name.clone()).collect(),
    })
}

/// Why a stage cannot be started without an explicit input.
fn unfit(misfit: &Misfit) -> Rejection {
    match misfit {
        Misfit::TooLarge { bytes, bytes_max } => {
            TooLarge { field: "input", bytes: *bytes, bytes_max: *bytes_max }.into()
        }
        Misfit::TooDeep | Misfit::NoList | Misfit::TooMany { .. } => {
            bad(None, "the outputs of the stages before nest too deep to be put together")
        }
    }
}

/// Answers a query.
pub fn query(table: &Table, query: &Query) -> Result<Reply, Rejection> {
    let known = |pipeline: &PipelineName| {
        let unknown = || Rejection::NotFound { pipeline: pipeline.clone() };
        table.get(pipeline).ok_or_else(unknown)
    };
    match query {
        Query::Get { pipeline } => Ok(Reply::Pipeline(Box::new(known(pipeline)?.shown()))),
        Query::Output { pipeline, stage } => {
            let record = known(pipeline)?;
            let state = &record.stages[found(record, stage)?];
            let (status, output) = (state.status, state.output.clone());
            let (pipeline, stage) = (pipeline.clone(), stage.clone());
            Ok(Reply::Output(Output { pipeline, stage, status, output }))
        }
        Query::List(query) => list(table, query),
    }
}

fn list(table: &Table, query: &List) -> Result<Reply, Rejection> {
    let limit = page::limit(query.limit)?;
    let wanted =
        |record: &&Record| query.status.is_none_or(|status: Status| status == record.status);
    let found = table.after(query.cursor.as_ref()).filter(wanted).map(Record::summary);
    let (pipelines, cursor) = page::first(found, limit, |last| last.name.clone());
    Ok(Reply::Pipelines { pipelines, cursor })
}

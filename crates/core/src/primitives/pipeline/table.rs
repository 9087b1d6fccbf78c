//! The table of pipelines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::decide::View;
use super::{Event, Record, StageState, StageStatus, Status, TaskState};
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName, TaskId};
use crate::numbers::Revision;
use crate::primitive::{self, Forgotten};
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// The contents of a snapshot: how many were ever created, and the records.
pub type Facts = (u64, Vec<Arc<Record>>);

/// All pipelines of a workspace. Changes only by `Table::evolve`, [`Table::observe_task`],
/// `Table::undo` and `Table::trim`.
#[derive(Default)]
pub struct Table {
    records: BTreeMap<PipelineName, Arc<Record>>,
    // Tasks of stages that are ready or running: the stage, and the index of the task.
    by_task: BTreeMap<TaskId, (PipelineName, usize, usize)>,
    // Stages of manual pipelines that an agent works on.
    by_worker: BTreeMap<AgentId, BTreeSet<(PipelineName, usize)>>,
    // Pipelines with a due step.
    due: BTreeSet<PipelineName>,
    // The first to be removed comes first.
    finished: BTreeSet<(Timestamp, u64, PipelineName)>,
    // Size of finished pipelines in bytes, and of the others.
    finished_bytes: usize,
    bytes: usize,
    // How many were ever created.
    created: u64,
}

/// How to undo one change.
pub struct Undo {
    pipeline: PipelineName,
    before: Option<Arc<Record>>,
    created: u64,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let pipeline = event.pipeline().clone();
        let created = self.created;
        let known = || self.records.get(&pipeline).expect("only a known pipeline changes");
        let after = match event {
            Event::Created(new) => {
                self.created += 1;
                Some(Record::new(new, created, moment))
            }
            Event::StageReady { .. }
            | Event::StageStarted { .. }
            | Event::StageAbandoned { .. }
            | Event::StageSubmitted { .. }
            | Event::StageReviewed { .. }
            | Event::StageCompleted { .. }
            | Event::StageFailed { .. }
            | Event::StageRetried { .. }
            | Event::StageSkipped { .. }
            | Event::Completed { .. }
            | Event::Failed { .. }
            | Event::Aborted { .. } => Some(known().after(event, moment)),
            Event::Deleted { .. } => None,
        };
        let before = self.replace(&pipeline, after.map(Arc::new).as_ref());
        Undo { pipeline, before, created }
    }

    fn undo(&mut self, undo: Undo) {
        let Undo { pipeline, before, created } = undo;
        self.replace(&pipeline, before.as_ref());
        self.created = created;
    }

    fn facts(&self) -> Facts {
        (self.created, self.records.values().cloned().collect())
    }

    fn restore((created, records): Facts) -> Self {
        let mut table = Self { created, ..Self::default() };
        for record in records {
            table.replace(&record.name, Some(&record));
        }
        table
    }

    fn check(&self) {
        let mut again = Self::restore(self.facts());
        assert_eq!(again.by_task, self.by_task, "tasks are found by their stages");
        assert_eq!(again.by_worker, self.by_worker, "stages are found by their workers");
        assert_eq!(again.due, self.due, "what must happen is known to be due");
        assert_eq!(again.finished, self.finished, "what is finished can be forgotten");
        let bytes = (self.bytes, self.finished_bytes);
        assert_eq!((again.bytes, again.finished_bytes), bytes, "what is kept is counted");
        for record in again.records.values() {
            check_record(record);
        }
        again.trim();
        assert_eq!(again.records.len(), self.records.len(), "what is finished has a limit");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        (!self.due.is_empty()).then_some(Timestamp(0))
    }

    /// Forgets the pipelines that finished first, if there are too many. It runs after every batch,
    /// so that replay forgets the same ones.
    fn trim(&mut self) -> Vec<Forgotten> {
        self.trim_to(limits::PIPELINES_FINISHED_MAX);
        Vec::new()
    }
}

impl Table {
    /// Records the state of a task; none if it belongs to no active stage, or nothing changed.
    pub fn observe_task(&mut self, task: &TaskId, view: &impl View) -> Option<Undo> {
        let (pipeline, stage, member) = self.by_task.get(task)?.clone();
        let record = self.records.get(&pipeline).expect("its tasks are found as long as it is");
        let task_state = self.fitting(record, view.task_state(task)?);
        let after = record.with_task_state(stage, member, task_state)?;
        let before = self.replace(&pipeline, Some(&Arc::new(after)));
        Some(Undo { pipeline, before, created: self.created })
    }

    /// The state of a task, without its result if that exceeds the limits of the pipeline or of
    /// all.
    fn fitting(&self, record: &Record, task_state: TaskState) -> TaskState {
        let TaskState { worker, outcome } = task_state;
        let outcome = outcome.map(|outcome| {
            let all = limits::PIPELINES_BYTES_MAX.saturating_sub(self.bytes);
            if outcome.bytes() <= record.room().min(all) { outcome } else { outcome.bare() }
        });
        TaskState { worker, outcome }
    }

    fn replace(&mut self, name: &PipelineName, after: Option<&Arc<Record>>) -> Option<Arc<Record>> {
        let before = match after {
            Some(record) => self.records.insert(name.clone(), record.clone()),
            None => self.records.remove(name),
        };
        if let Some(record) = &before {
            self.unlist(record, after.map(|record| &**record));
        }
        if let Some(record) = after {
            self.list(record, before.as_deref());
        }
        before
    }

    fn list(&mut self, record: &Record, before: Option<&Record>) {
        match record.finished_at {
            Some(finished_at) => {
                self.finished.insert((finished_at, record.number, record.name.clone()));
                self.finished_bytes += record.bytes();
            }
            None => self.bytes += record.bytes(),
        }
        if record.next().is_some() {
            self.due.insert(record.name.clone());
        }
        for (worker, place) in at_work(record) {
            self.by_worker.entry(worker.clone()).or_default().insert(place);
        }
        for (stage, state) in record.stages.iter().enumerate() {
            if has_the_same_tasks(state, before, stage) {
                continue;
            }
            for (member, it) in state.looked_after().iter().enumerate() {
                self.by_task.insert(it.task.clone(), (record.name.clone(), stage, member));
            }
        }
    }

    fn unlist(&mut self, record: &Record, after: Option<&Record>) {
        match record.finished_at {
            Some(finished_at) => {
                self.finished.remove(&(finished_at, record.number, record.name.clone()));
                self.finished_bytes -= record.bytes();
            }
            None => self.bytes -= record.bytes(),
        }
        self.due.remove(&record.name);
        for (worker, place) in at_work(record) {
            let own = self.by_worker.get_mut(worker).expect("stages are found by their workers");
            own.remove(&place);
            if own.is_empty() {
                self.by_worker.remove(worker);
            }
        }
        for (stage, state) in record.stages.iter().enumerate() {
            if has_the_same_tasks(state, after, stage) {
                continue;
            }
            for member in state.looked_after() {
                self.by_task.remove(&member.task);
            }
        }
    }

    pub(super) fn trim_to(&mut self, finished_max: usize) {
        while self.finished.len() > finished_max
            || self.finished_bytes > limits::PIPELINES_BYTES_MAX
        {
            let Some((_, _, pipeline)) = self.finished.first().cloned() else { return };
            self.replace(&pipeline, None);
        }
    }

    /// The record of a pipeline.
    pub fn get(&self, pipeline: &PipelineName) -> Option<&Record> {
        self.records.get(pipeline).map(|record| &**record)
    }

    /// The state of a stage.
    pub fn stage(&self, pipeline: &PipelineName, stage: &StageName) -> Option<(&Record, usize)> {
        let record = self.get(pipeline)?;
        Some((record, record.find(stage)?))
    }

    /// Every pipeline after this one, by name.
    pub fn after(&self, cursor: Option<&PipelineName>) -> impl Iterator<Item = &Record> {
        let start = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.records
            .range::<PipelineName, _>((start, Bound::Unbounded))
            .map(|(_, record)| &**record)
    }

    /// The stage that a task belongs to, as long as it is ready or running.
    pub fn of_task(&self, task: &TaskId) -> Option<(&Record, usize)> {
        let (pipeline, stage, _) = self.by_task.get(task)?;
        Some((self.get(pipeline)?, *stage))
    }

    /// The stages of manual pipelines that an agent works on, by pipeline.
    pub fn worked_on(&self, agent: &AgentId) -> impl Iterator<Item = (&Record, usize)> {
        let stages = self.by_worker.get(agent).into_iter().flatten();
        stages.map(|(pipeline, stage)| (&*self.records[pipeline], *stage))
    }

    /// The stage that a task was created for, whether or not that has ended.
    pub fn stage_with(&self, pipeline: &PipelineName, task: &TaskId) -> Option<&StageName> {
        let record = self.get(pipeline)?;
        let stage = record
            .stages
            .iter()
            .position(|state| state.members.iter().any(|member| member.task == *task))?;
        Some(&record.plan.stages[stage].name)
    }

    /// All tasks of active stages, with their recorded states.
    pub fn tasks(&self) -> impl Iterator<Item = (&TaskId, &TaskState)> {
        self.by_task.iter().filter_map(|(task, (pipeline, stage, member))| {
            Some((task, &self.get(pipeline)?.stages[*stage].members[*member].task_state))
        })
    }

    /// Whether no stage depends on any task.
    pub fn is_idle(&self) -> bool {
        self.by_task.is_empty()
    }

    /// The number of unfinished pipelines.
    pub fn unfinished(&self) -> usize {
        self.records.len() - self.finished.len()
    }

    /// The size of unfinished pipelines in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Pipelines with a due step.
    pub fn due(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.due.iter().map(|pipeline| &*self.records[pipeline])
    }

    /// Unused ids for the tasks of stages that become ready with this revision.
    pub fn fresh_ids(
        &self,
        revision: Revision,
        is_taken: impl Fn(&TaskId) -> bool,
    ) -> impl Iterator<Item = TaskId> {
        let ids = (1..).map(move |number| TaskId::of_stage(revision, number));
        ids.filter(move |id| !self.by_task.contains_key(id) && !is_taken(id))
    }
}

/// The stages of a manual pipeline that agents work on. Stages of automatic pipelines have tasks.
fn at_work(record: &Record) -> impl Iterator<Item = (&AgentId, (PipelineName, usize))> {
    let stages = record.stages.iter().enumerate().filter(|_| !record.plan.automatic);
    stages.filter_map(|(stage, state)| Some((state.at_work()?, (record.name.clone(), stage))))
}

/// Whether a stage has the same observed tasks in another record of the pipeline.
fn has_the_same_tasks(state: &Arc<StageState>, other: Option<&Record>, stage: usize) -> bool {
    let Some(other) = other.map(|record| &record.stages[stage]) else { return false };
    let first = |state: &StageState| state.looked_after().first().map(|it| it.task.clone());
    Arc::ptr_eq(other, state)
        || other.looked_after().len() == state.looked_after().len() && first(other) == first(state)
}

fn check_record(record: &Record) {
    let done = record.done();
    let is_in = |status| record.stages.iter().any(|state| state.status == status);
    for (stage, state) in record.stages.iter().enumerate() {
        let has_begun = match state.status {
            StageStatus::Ready
            | StageStatus::Running
            | StageStatus::WaitingReview
            | StageStatus::Completed => true,
            StageStatus::Pending | StageStatus::Failed | StageStatus::Skipped => false,
        };
        assert!(!has_begun || record.is_due(stage, &done), "nothing overtakes");
    }
    let is_finished = record.status.is_finished();
    assert_eq!(is_finished, record.finished_at.is_some(), "what is finished has an end");
    let is_running = is_in(StageStatus::Running) || is_in(StageStatus::WaitingReview);
    assert!(!is_finished || !is_running, "nothing runs in what is finished");
    let has_tasks = record.plan.automatic && is_in(StageStatus::Ready);
    assert!(!is_finished || !has_tasks, "no task waits in what is finished");
    match record.status {
        Status::Completed => assert!(done.iter().all(|done| *done), "all is done"),
        Status::Failed => assert!(is_in(StageStatus::Failed), "something has failed"),
        Status::Created | Status::Running | Status::Aborted => {}
    }
    assert!(record.open() <= limits::PIPELINE_TASKS_MAX, "tasks under way have a limit");
}

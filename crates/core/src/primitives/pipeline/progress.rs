//! Executes the steps that follow from the state of a pipeline, as many as fit into a commit.

use super::{Misfit, Record, Step};
use crate::json::Json;
use crate::limits;
use crate::names::TaskId;
use crate::pipeline::Event;
use crate::space::batch::Moment;

/// How many of the following steps one commit includes.
pub struct StepBudget {
    events: usize,
    bytes: usize,
    /// Whether the first step is allowed whatever its cost.
    is_patient: bool,
}

impl StepBudget {
    /// In the commit of a command about the pipeline.
    pub fn of_command() -> Self {
        let (events, bytes) = (limits::FOLLOWING_EVENTS_MAX, limits::READY_BYTES_MAX);
        Self { events, bytes, is_patient: false }
    }

    /// In the commit of an event about tasks.
    pub fn beside() -> Self {
        let (events, bytes) =
            (limits::FOLLOWING_EVENTS_BESIDE_MAX, limits::FOLLOWING_BYTES_BESIDE_MAX);
        Self { events, bytes, is_patient: false }
    }

    /// In a separate commit.
    pub fn alone() -> Self {
        Self { is_patient: true, ..Self::of_command() }
    }

    /// Whether another step with this cost is allowed.
    fn takes(&mut self, (events, bytes): (usize, usize)) -> bool {
        let fits = self.is_patient || (events <= self.events && bytes <= self.bytes);
        if fits {
            self.events = self.events.saturating_sub(events);
            self.bytes = self.bytes.saturating_sub(bytes);
            self.is_patient = false;
        }
        fits
    }
}

/// The context in which the steps are executed: time, ids and limits.
pub struct Following<'a, I> {
    /// The time and the author.
    pub moment: Moment<'a>,
    /// How many more tasks are allowed.
    pub tasks_max: usize,
    /// Ids for new tasks.
    pub ids: I,
    /// The budget.
    pub budget: StepBudget,
}

/// The events that a step causes with all its consequences, and their size in bytes.
type Cost = (usize, usize);

impl<I: Iterator<Item = TaskId>> Following<'_, I> {
    /// Executes the steps of one pipeline; returns whether all of them fitted.
    pub fn carry_on(&mut self, mut record: Record, events: &mut Vec<Event>) -> bool {
        while let Some(step) = record.next() {
            let (event, cost) = self.event_of(&record, step);
            if !self.budget.takes(cost) {
                return false;
            }
            record = record.after(&event, &self.moment);
            events.push(event);
        }
        true
    }

    fn event_of(&mut self, record: &Record, step: Step) -> (Event, Cost) {
        let pipeline = record.name.clone();
        let named = |number: usize| record.plan.stages[number].name.clone();
        let event = match step {
            Step::Ready(number) if record.plan.automatic => return self.make_ready(record, number),
            Step::Ready(number) => {
                Event::StageReady { pipeline, stage: named(number), tasks: Vec::new() }
            }
            Step::Start(number) => {
                let mut members = record.stages[number].members.iter();
                let worker = members.find_map(|member| member.task_state.worker.clone());
                let worker = worker.expect("it has a worker");
                let (handoffs, bytes) = record.passed_bytes(number);
                let stage = named(number);
                let event = Event::StageStarted { pipeline, stage, worker, input: None };
                return (event, (1 + handoffs, bytes));
            }
            Step::Complete(number) => match record.made(number) {
                Ok(_) => Event::StageCompleted { pipeline, stage: named(number), output: None },
                Err(misfit) => return failed(record, number, misfit.error("output")),
            },
            Step::Fail(number) => {
                let error = record.mishap(number).expect("a task has ended otherwise");
                return failed(record, number, error);
            }
            Step::End => Event::Completed { pipeline },
            Step::Stop => Event::Failed { pipeline },
        };
        (event, (1, 0))
    }

    /// Makes a stage ready with its tasks, or fails it if its tasks cannot be created.
    fn make_ready(&mut self, record: &Record, number: usize) -> (Event, Cost) {
        // Created, perhaps claimed by a waiting call, whose answer may have to be stored.
        const EVENTS_PER_TASK: usize = 4;
        let definitions = match record.definitions(number) {
            Ok(definitions) => definitions,
            Err(misfit) => return failed(record, number, misfit.error("input")),
        };
        let (elements, max) = (definitions.len(), self.tasks_max);
        if elements > max {
            return failed(record, number, Misfit::TooMany { elements, max }.error("tasks"));
        }
        let said: usize = definitions.iter().map(|json| json.as_bytes().len()).sum();
        let bytes = said + record.tasks_bytes(number, elements);
        let bytes_max = limits::STAGE_TASKS_BYTES_MAX;
        if bytes > bytes_max {
            return failed(record, number, Misfit::TooLarge { bytes, bytes_max }.error("tasks"));
        }
        self.tasks_max -= elements;
        let (pipeline, stage) = (record.name.clone(), record.plan.stages[number].name.clone());
        let tasks = self.ids.by_ref().take(elements).collect();
        (Event::StageReady { pipeline, stage, tasks }, (1 + EVENTS_PER_TASK * elements, bytes))
    }
}

/// Fails a stage and cancels its open tasks.
fn failed(record: &Record, number: usize, error: Json) -> (Event, Cost) {
    let cost = (1 + record.stages[number].open().count(), error.as_bytes().len());
    let (pipeline, stage) = (record.name.clone(), record.plan.stages[number].name.clone());
    (Event::StageFailed { pipeline, stage, error }, cost)
}

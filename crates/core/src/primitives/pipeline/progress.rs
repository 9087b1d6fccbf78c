//! Doing what follows, as much of it as fits.

use super::{Misfit, Record, Step};
use crate::json::Json;
use crate::limits;
use crate::names::TaskId;
use crate::pipeline::Event;
use crate::space::batch::Moment;

/// How much of what follows one commit does.
pub struct Budget {
    events: usize,
    bytes: usize,
    /// Whether the first thing is done however much it is.
    is_patient: bool,
}

impl Budget {
    /// Beside a command about the pipeline.
    pub fn of_command() -> Self {
        let (events, bytes) = (limits::FOLLOWING_EVENTS_MAX, limits::READY_BYTES_MAX);
        Self { events, bytes, is_patient: false }
    }

    /// Beside whatever has happened to tasks.
    pub fn beside() -> Self {
        let (events, bytes) =
            (limits::FOLLOWING_EVENTS_BESIDE_MAX, limits::FOLLOWING_BYTES_BESIDE_MAX);
        Self { events, bytes, is_patient: false }
    }

    /// In a commit of its own.
    pub fn alone() -> Self {
        Self { is_patient: true, ..Self::of_command() }
    }

    /// Whether so much more is done.
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

/// What is done with: when, and with which ids and limits.
pub struct Following<'a, I> {
    /// When and by whom it happens.
    pub moment: Moment<'a>,
    /// How many more tasks there may be.
    pub tasks_max: usize,
    /// Ids for them.
    pub ids: I,
    /// How much is done.
    pub budget: Budget,
}

/// How many events a step makes with all that follows from it, and of how many bytes.
type Cost = (usize, usize);

impl<I: Iterator<Item = TaskId>> Following<'_, I> {
    /// Does what follows in one pipeline, and answers whether that was all.
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
                let worker = worker.expect("somebody works on it");
                Event::StageStarted { pipeline, stage: named(number), worker, input: None }
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

    /// A stage becomes ready with its tasks; or fails, if no tasks can be made for it.
    fn make_ready(&mut self, record: &Record, number: usize) -> (Event, Cost) {
        // A task is created, perhaps claimed by whoever waits, whose answer may have to be kept.
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

/// A stage fails, and whatever is open of its tasks is cancelled.
fn failed(record: &Record, number: usize, error: Json) -> (Event, Cost) {
    let cost = (1 + record.stages[number].open().count(), error.as_bytes().len());
    let (pipeline, stage) = (record.name.clone(), record.plan.stages[number].name.clone());
    (Event::StageFailed { pipeline, stage, error }, cost)
}

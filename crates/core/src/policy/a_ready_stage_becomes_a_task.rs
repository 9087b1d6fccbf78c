//! A ready stage of an automatic pipeline creates a task in the same commit, or one for each
//! element of its input.

use crate::names::{GroupName, TaskType};
use crate::pipeline::{Design, Event};
use crate::signal::Consequence;
use crate::space::Space;
use crate::task::{self, Create};

/// The event has the ids of the tasks; their definitions follow from the pipeline.
pub(super) fn a_ready_stage_becomes_a_task(space: &Space, event: &Event) -> Vec<Consequence> {
    let Event::StageReady { pipeline, stage, tasks } = event else { return Vec::new() };
    let Some((record, number)) =
        space.pipeline.stage(pipeline, stage).filter(|_| !tasks.is_empty())
    else {
        return Vec::new();
    };
    let definitions = record.definitions(number).expect("it was made ready because it has them");
    let work = work_of(&record.plan.stages[number]);
    let made = tasks.iter().zip(definitions).map(|(task, definition)| Create {
        id: Some(task.clone()),
        definition: Some(definition),
        group: Some(GroupName::of_pipeline(pipeline)),
        traceparent: record.plan.traceparent.clone(),
        ..work.clone()
    });
    made.map(|create| task::Command::Create(Box::new(create)).into()).collect()
}

/// The task of a stage, without its definition.
pub(crate) fn work_of(design: &Design) -> Create {
    let task_type = design.task_type.clone();
    Create {
        description: design.description.clone(),
        assigned_agent: design.agent.clone(),
        capabilities: design.capabilities.clone(),
        priority: design.priority,
        deadline_ms: design.deadline_ms,
        max_retries: design.max_retries,
        backoff: design.backoff,
        on_exhausted: design.on_exhausted.clone(),
        review: design.review,
        reviewers: design.reviewers.clone(),
        ..Create::new(task_type.unwrap_or_else(|| TaskType::from(&design.name)))
    }
}

//! A stage that failed or was skipped, or whose pipeline was aborted, cancels its open tasks.

use crate::names::TaskId;
use crate::pipeline::Event;
use crate::signal::Consequence;
use crate::space::Space;
use crate::task;

/// In the same commit, so that no agent continues with useless work. The subtasks and dependents of
/// those tasks are cancelled by the rules of tasks.
pub(super) fn a_stage_that_is_over_needs_no_task(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.stage_keeps_its_tasks") {
        return Vec::new();
    }
    let (tasks, reason): (Vec<TaskId>, String) = match event {
        Event::StageFailed { pipeline, stage, .. }
        | Event::StageSkipped { pipeline, stage, .. } => {
            let Some((record, number)) = space.pipeline.stage(pipeline, stage) else {
                return Vec::new();
            };
            let status = record.stages[number].status.clause();
            let reason = format!("stage `{stage}` of pipeline `{pipeline}` {status}");
            (record.stages[number].open().cloned().collect(), reason)
        }
        Event::Aborted { pipeline, .. } => {
            let Some(record) = space.pipeline.get(pipeline) else { return Vec::new() };
            let open = record.stages.iter().flat_map(|state| state.open());
            (open.cloned().collect(), format!("pipeline `{pipeline}` is aborted"))
        }
        Event::Created(_)
        | Event::StageReady { .. }
        | Event::StageStarted { .. }
        | Event::StageAbandoned { .. }
        | Event::StageSubmitted { .. }
        | Event::StageReviewed { .. }
        | Event::StageCompleted { .. }
        | Event::StageRetried { .. }
        | Event::Completed { .. }
        | Event::Failed { .. }
        | Event::Deleted { .. } => return Vec::new(),
    };
    if tasks.is_empty() {
        return Vec::new();
    }
    vec![task::Signal::CancelAll { tasks, reason }.into()]
}

/// Whether tasks may have to be created or cancelled, or the pipeline may fail.
pub(super) fn may_concern_tasks(event: &Event) -> bool {
    match event {
        Event::StageReady { tasks, .. } => !tasks.is_empty(),
        Event::StageFailed { .. }
        | Event::StageSkipped { .. }
        | Event::StageAbandoned { .. }
        | Event::Aborted { .. } => true,
        Event::Created(_)
        | Event::StageStarted { .. }
        | Event::StageSubmitted { .. }
        | Event::StageReviewed { .. }
        | Event::StageCompleted { .. }
        | Event::StageRetried { .. }
        | Event::Completed { .. }
        | Event::Failed { .. }
        | Event::Deleted { .. } => false,
    }
}

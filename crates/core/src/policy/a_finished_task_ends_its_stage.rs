//! What happens to the tasks of a stage happens to the stage, in the same commit: it runs when one
//! is claimed, is completed when all are, and fails when one cannot be.

use crate::command::Command;
use crate::pipeline;
use crate::space::Space;
use crate::task;

/// What follows in the pipeline, such as the next stage with its tasks, comes along if it fits
/// beside the rest of the commit; else it is due at once, and follows by itself.
pub(super) fn a_finished_task_ends_its_stage(space: &Space, event: &task::Event) -> Vec<Command> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.finished_task_is_ignored") {
        return Vec::new();
    }
    let stage = event.task().and_then(|task| space.pipeline.of_task(task));
    if stage.and_then(|(record, stage)| record.verdict(stage)).is_none() {
        return Vec::new();
    }
    vec![pipeline::Command::Follow.into()]
}

/// Whether a stage is concerned by this.
pub(super) fn is_of_a_stage(space: &Space, event: &task::Event) -> bool {
    event.task().is_some_and(|task| space.pipeline.of_task(task).is_some())
}

//! A stage follows its tasks in the same commit: it runs when one is claimed, is completed when all
//! are, and fails when one ends in any other way.

use crate::pipeline;
use crate::signal::Consequence;
use crate::space::Space;
use crate::task;

/// Further steps of the pipeline, such as the next stage with its tasks, are included if they fit
/// into the commit; otherwise they are due immediately and follow in later commits.
pub(super) fn a_finished_task_ends_its_stage(
    space: &Space,
    event: &task::Event,
) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.finished_task_is_ignored") {
        return Vec::new();
    }
    let stage = event.task().and_then(|task| space.pipeline.of_task(task));
    if stage.and_then(|(record, stage)| record.verdict(stage)).is_none() {
        return Vec::new();
    }
    vec![pipeline::Signal::Follow.into()]
}

/// Whether a stage may be affected.
pub(super) fn is_of_a_stage(space: &Space, event: &task::Event) -> bool {
    event.task().is_some_and(|task| space.pipeline.of_task(task).is_some())
}

//! The start of a stage by another agent than the one of the stage before it is a hand-off, in the
//! same commit.

use crate::handoff::{self, Passage, Passing};
use crate::limits;
use crate::pipeline::Event;
use crate::signal::Consequence;
use crate::space::Space;

/// One hand-off for each completed stage that the output came from.
pub(super) fn a_started_stage_is_handed_over(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.stage_is_not_handed_over") {
        return Vec::new();
    }
    let Event::StageStarted { pipeline, stage, worker, .. } = event else { return Vec::new() };
    let Some((record, number)) = space.pipeline.stage(pipeline, stage) else { return Vec::new() };
    let task = match record.stages[number].members.as_slice() {
        [member] => Some(member.task.clone()),
        [] | [_, _, ..] => None,
    };
    let passing = record.givers(number).into_iter().filter_map(|before| {
        let from = record.last_worker(before).filter(|from| *from != worker)?;
        let output = record.stages[before].output.as_ref();
        let bytes = output.map_or(0, |output| output.as_bytes().len());
        let fits = bytes <= limits::PASSED_OUTPUT_BYTES_MAX;
        let passage = Passage {
            pipeline: pipeline.clone(),
            from_stage: record.plan.stages[before].name.clone(),
            to_stage: stage.clone(),
            omitted_bytes: (!fits).then_some(bytes as u64),
        };
        Some(Passing {
            from: from.clone(),
            to: worker.clone(),
            task: task.clone(),
            passage,
            output: output.filter(|_| fits).cloned(),
            traceparent: record.plan.traceparent.clone(),
        })
    });
    passing.map(|passing| handoff::Signal::Pass(Box::new(passing)).into()).collect()
}

/// Whether a hand-off may have to be recorded.
pub(super) fn may_be_handed_over(event: &Event) -> bool {
    matches!(event, Event::StageStarted { .. })
}

//! A pipeline in which a stage has failed fails when the last running stage is abandoned, in the
//! same commit.

use crate::pipeline::{Event, Signal};
use crate::signal::Consequence;
use crate::space::Space;

pub(super) fn an_abandoned_stage_may_fail_its_pipeline(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    let Event::StageAbandoned { pipeline, .. } = event else { return Vec::new() };
    let is_due = space.pipeline.get(pipeline).is_some_and(|record| record.next().is_some());
    if is_due { vec![Signal::Follow.into()] } else { Vec::new() }
}

//! Stages that are abandoned or reviewed.

#[path = "notices.rs"]
mod notices;

use baton_core::{PipelineName, StageName, pipeline, task};

use super::{ada, json};

pub(super) fn stage_reviews() -> Vec<(&'static str, pipeline::Event)> {
    let name = || PipelineName::parse("release").unwrap();
    let stage = || StageName::parse("write").unwrap();
    let agents = [ada()].into();
    let reviewers = Some(task::Reviewers { agents, capability: Some("law".to_owned()) });
    let created = pipeline::Created {
        pipeline: name(),
        stages: vec![pipeline::Design { reviewers, ..pipeline::Design::new(stage()) }],
        automatic: false,
        input: None,
        metadata: None,
        traceparent: None,
    };
    let (pipeline, worker) = (name(), ada());
    let abandoned = pipeline::Event::StageAbandoned { pipeline, stage: stage(), worker };
    let (pipeline, output) = (name(), json("7"));
    let submitted = pipeline::Event::StageSubmitted { pipeline, stage: stage(), output };
    let (pipeline, verdict) = (name(), task::Verdict::Retry);
    let note = Some("because".to_owned());
    let reviewed = pipeline::Event::StageReviewed { pipeline, stage: stage(), verdict, note };
    vec![
        ("pipeline.created with reviewers", pipeline::Event::Created(Box::new(created))),
        ("pipeline.stage_abandoned", abandoned),
        ("pipeline.stage_submitted", submitted),
        ("pipeline.stage_reviewed", reviewed),
    ]
}

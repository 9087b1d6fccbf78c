//! The lifecycle of a pipeline: one span for all of it, and one for each time that a stage was
//! ready.

use std::collections::BTreeMap;

use baton_core::pipeline::Event;
use baton_core::{PipelineName, Revision, StageName, Timestamp, Traceparent, WorkspaceName};

use super::Seen;
use crate::otel::ids::{self, SpanContext, SpanId};
use crate::otel::span::{Span, kind_of};

/// The state of a pipeline.
pub(in crate::otel) struct Pipeline {
    /// Since when it has been running: its creation, or its last retry.
    at: Timestamp,
    context: SpanContext,
    created_by: String,
    /// How often it has failed and was continued.
    rounds: u64,
    has_ended: bool,
    /// Stages that are ready or running.
    open: BTreeMap<StageName, Open>,
}

struct Open {
    since: Timestamp,
    /// The commit in which it became ready, which distinguishes one run from another.
    revision: Revision,
    worker: Option<String>,
}

/// The parent of a pipeline.
pub(super) fn trace_of(
    traceparent: Option<&Traceparent>,
    workspace: &WorkspaceName,
    pipeline: &PipelineName,
) -> SpanContext {
    SpanContext::of(traceparent, workspace, &["pipeline", pipeline.as_str()])
}

/// The span of a stage that became ready with a commit.
pub(super) fn stage_span(
    workspace: &WorkspaceName,
    pipeline: &PipelineName,
    stage: &StageName,
    ready: Revision,
) -> SpanId {
    let revision = ready.0.to_string();
    ids::span(workspace, &["stage", pipeline.as_str(), stage.as_str(), &revision])
}

impl Pipeline {
    fn new(seen: &Seen<'_>, context: SpanContext) -> Self {
        Self {
            at: seen.time(),
            context,
            created_by: seen.author().to_string(),
            rounds: 0,
            has_ended: false,
            open: BTreeMap::new(),
        }
    }

    fn span(&self, workspace: &WorkspaceName, pipeline: &PipelineName) -> SpanId {
        ids::span(workspace, &["pipeline", pipeline.as_str(), &self.rounds.to_string()])
    }

    fn opened(&mut self, seen: &Seen<'_>, stage: &StageName) -> &mut Open {
        let (since, revision) = (seen.time(), seen.revision());
        let fresh = || Open { since, revision, worker: None };
        self.open.entry(stage.clone()).or_insert_with(fresh)
    }

    pub(super) fn observe(
        lifecycle: &mut Option<Box<Self>>,
        seen: &Seen<'_>,
        event: &Event,
        spans: &mut Vec<Span>,
    ) {
        if let Event::Created(created) = event {
            let given = created.traceparent.as_ref();
            let context = trace_of(given, seen.workspace, &created.pipeline);
            *lifecycle = Some(Box::new(Self::new(seen, context)));
        }
        let Some(lifecycle) = lifecycle else { return };
        match event {
            Event::Created(_)
            | Event::StageSubmitted { .. }
            | Event::StageReviewed { .. }
            | Event::Deleted { .. } => {}
            Event::StageReady { stage, .. } => {
                lifecycle.opened(seen, stage);
            }
            Event::StageStarted { stage, worker, .. } => {
                lifecycle.opened(seen, stage).worker = Some(worker.to_string());
            }
            Event::StageAbandoned { stage, .. } => lifecycle.opened(seen, stage).worker = None,
            Event::StageCompleted { pipeline, stage, .. } => {
                lifecycle.close(seen, (pipeline, stage), "completed", None, spans);
            }
            Event::StageFailed { pipeline, stage, error } => {
                let error = Some(kind_of(error, "_OTHER"));
                lifecycle.close(seen, (pipeline, stage), "failed", error, spans);
            }
            Event::StageSkipped { pipeline, stage, .. } => {
                lifecycle.close(seen, (pipeline, stage), "skipped", None, spans);
            }
            Event::StageRetried { .. } => lifecycle.go_on(seen),
            Event::Completed { pipeline } => {
                lifecycle.end(seen, pipeline, "completed", None, spans);
            }
            Event::Failed { pipeline } => {
                lifecycle.end(seen, pipeline, "failed", Some("stage_failed".to_owned()), spans);
            }
            Event::Aborted { pipeline, .. } => {
                let stages: Vec<StageName> = lifecycle.open.keys().cloned().collect();
                for stage in &stages {
                    lifecycle.close(seen, (pipeline, stage), "aborted", None, spans);
                }
                lifecycle.end(seen, pipeline, "aborted", None, spans);
            }
        }
    }

    /// A stage runs again. If the pipeline had ended with that stage, it continues as another
    /// round.
    fn go_on(&mut self, seen: &Seen<'_>) {
        if std::mem::take(&mut self.has_ended) {
            self.rounds += 1;
            self.at = seen.time();
        }
    }

    fn close(
        &mut self,
        seen: &Seen<'_>,
        (pipeline, stage): (&PipelineName, &StageName),
        outcome: &str,
        error: Option<String>,
        spans: &mut Vec<Span>,
    ) {
        let Some(open) = self.open.remove(stage) else { return };
        let id = stage_span(seen.workspace, pipeline, stage, open.revision);
        let context = self.context.below(self.span(seen.workspace, pipeline));
        let span = Span::new((id, context), format!("stage {stage}"), (open.since, seen.time()))
            .maybe("gen_ai.agent.id", open.worker.as_deref())
            .maybe("gen_ai.agent.name", open.worker.as_deref())
            .with("gen_ai.workflow.name", pipeline.as_str())
            .with("baton.pipeline.name", pipeline.as_str())
            .with("baton.pipeline.stage", stage.as_str())
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        spans.push(span);
    }

    fn end(
        &mut self,
        seen: &Seen<'_>,
        pipeline: &PipelineName,
        outcome: &str,
        error: Option<String>,
        spans: &mut Vec<Span>,
    ) {
        self.has_ended = true;
        let id = self.span(seen.workspace, pipeline);
        let name = format!("invoke_workflow {pipeline}");
        let span = Span::new((id, self.context), name, (self.at, seen.time()))
            .with("gen_ai.operation.name", "invoke_workflow")
            .with("gen_ai.workflow.name", pipeline.as_str())
            .with("baton.pipeline.name", pipeline.as_str())
            .with("baton.pipeline.created_by", self.created_by.as_str())
            .ending(outcome, seen.workspace, seen.revision())
            .failing(error);
        spans.push(span);
    }
}

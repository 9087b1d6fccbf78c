//! Commands, queries, replies and events of pipelines.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, PipelineName, StageName, TaskId, Traceparent};
use crate::primitive;

use super::{Create, Design, List, Moved, Output, Pipeline, ReviewStage, Stage, Summary};
use crate::task::Verdict;

/// Commands that change pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `pipeline.create`
    Create(Box<Create>),
    /// `pipeline.start_stage`: an agent works on it.
    StartStage {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The input of the stage. If omitted, the outputs of the stages before it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// `pipeline.complete_stage`: it is completed, or its output is submitted for review.
    CompleteStage {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The output of the stage. If omitted, `null`.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// `pipeline.review_stage`: its output is accepted, or not.
    ReviewStage(ReviewStage),
    /// `pipeline.fail_stage`: it failed.
    FailStage {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The error.
        error: Json,
    },
    /// `pipeline.retry_stage`: a failed stage runs again.
    RetryStage {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
    },
    /// `pipeline.skip_stage`: it is skipped.
    SkipStage {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `pipeline.abort`: ends it.
    Abort {
        /// The pipeline.
        pipeline: PipelineName,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `pipeline.delete`: deletes a finished pipeline.
    Delete {
        /// The pipeline.
        pipeline: PipelineName,
    },
}

/// Signals to pipelines.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when something happened to the tasks of stages, or to their workers.
    Follow,
}

/// Queries about pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `pipeline.get`
    Get {
        /// The pipeline.
        pipeline: PipelineName,
    },
    /// `pipeline.output`
    Output {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
    },
    /// `pipeline.list`
    List(List),
}

/// Replies about pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One pipeline.
    Pipeline(Box<Pipeline>),
    /// One stage.
    Stage(Box<Stage>),
    /// A finished stage, and what can start next.
    Moved(Box<Moved>),
    /// The output of a stage.
    Output(Output),
    /// A page of pipelines, by name.
    Pipelines {
        /// The results on this page.
        pipelines: Vec<Summary>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<PipelineName>,
    },
}

/// A pipeline was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// Its stages.
    pub stages: Vec<Design>,
    /// Whether a task is created for every stage that becomes ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// The input of the first stages.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Free-form metadata.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

impl Created {
    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len() + 24);
        let stages: usize = self.stages.iter().map(Design::bytes).sum();
        let trace = self.traceparent.as_ref().map_or(0, Traceparent::bytes);
        stages + json(&self.input) + json(&self.metadata) + trace
    }
}

/// Events of pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A pipeline was created.
    Created(Box<Created>),
    /// Every stage before it is finished.
    StageReady {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The tasks that are created for it in the same commit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
    },
    /// An agent started a stage.
    StageStarted {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The agent that works on it.
        worker: AgentId,
        /// Its input, if that is not the output of the stages before it.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// The session of the agent that worked on a stage has ended: it can be started again.
    StageAbandoned {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The agent that worked on it.
        worker: AgentId,
    },
    /// The output of a stage waits for review.
    StageSubmitted {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The output.
        output: Json,
    },
    /// An agent decided on the output of a stage.
    StageReviewed {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The verdict.
        verdict: Verdict,
        /// The note of the reviewer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A stage was completed.
    StageCompleted {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// Its output. Absent if that is made of the results of its tasks.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// A stage failed.
    StageFailed {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The error.
        error: Json,
    },
    /// A failed stage runs again.
    StageRetried {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
    },
    /// A stage was skipped.
    StageSkipped {
        /// The pipeline.
        pipeline: PipelineName,
        /// The stage.
        stage: StageName,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Every stage is completed or skipped.
    Completed {
        /// The pipeline.
        pipeline: PipelineName,
    },
    /// A stage failed, and no other stage is running.
    Failed {
        /// The pipeline.
        pipeline: PipelineName,
    },
    /// It was aborted: running stages failed, pending ones are skipped.
    Aborted {
        /// The pipeline.
        pipeline: PipelineName,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was deleted.
    Deleted {
        /// The pipeline.
        pipeline: PipelineName,
    },
}

impl primitive::Command for Command {
    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        if let Self::Create(create) = self { Some(&mut create.traceparent) } else { None }
    }
}

impl Event {
    /// The pipeline that it is about.
    pub fn pipeline(&self) -> &PipelineName {
        match self {
            Self::Created(created) => &created.pipeline,
            Self::StageReady { pipeline, .. }
            | Self::StageStarted { pipeline, .. }
            | Self::StageAbandoned { pipeline, .. }
            | Self::StageSubmitted { pipeline, .. }
            | Self::StageReviewed { pipeline, .. }
            | Self::StageCompleted { pipeline, .. }
            | Self::StageFailed { pipeline, .. }
            | Self::StageRetried { pipeline, .. }
            | Self::StageSkipped { pipeline, .. }
            | Self::Completed { pipeline }
            | Self::Failed { pipeline }
            | Self::Aborted { pipeline, .. }
            | Self::Deleted { pipeline } => pipeline,
        }
    }

    /// The stage that it is about, if it is about one.
    pub fn stage(&self) -> Option<&StageName> {
        match self {
            Self::StageReady { stage, .. }
            | Self::StageStarted { stage, .. }
            | Self::StageAbandoned { stage, .. }
            | Self::StageSubmitted { stage, .. }
            | Self::StageReviewed { stage, .. }
            | Self::StageCompleted { stage, .. }
            | Self::StageFailed { stage, .. }
            | Self::StageRetried { stage, .. }
            | Self::StageSkipped { stage, .. } => Some(stage),
            Self::Created(_)
            | Self::Completed { .. }
            | Self::Failed { .. }
            | Self::Aborted { .. }
            | Self::Deleted { .. } => None,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created(_) => "pipeline.created",
            Self::StageReady { .. } => "pipeline.stage_ready",
            Self::StageStarted { .. } => "pipeline.stage_started",
            Self::StageAbandoned { .. } => "pipeline.stage_abandoned",
            Self::StageSubmitted { .. } => "pipeline.stage_submitted",
            Self::StageReviewed { .. } => "pipeline.stage_reviewed",
            Self::StageCompleted { .. } => "pipeline.stage_completed",
            Self::StageFailed { .. } => "pipeline.stage_failed",
            Self::StageRetried { .. } => "pipeline.stage_retried",
            Self::StageSkipped { .. } => "pipeline.stage_skipped",
            Self::Completed { .. } => "pipeline.completed",
            Self::Failed { .. } => "pipeline.failed",
            Self::Aborted { .. } => "pipeline.aborted",
            Self::Deleted { .. } => "pipeline.deleted",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["pipelines/", self.pipeline().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len());
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let stage = self.stage().map_or(0, |stage| stage.as_str().len());
        stage
            + match self {
                Self::Created(created) => created.bytes(),
                Self::StageReady { tasks, .. } => {
                    tasks.iter().map(|task| task.as_str().len() + 5).sum()
                }
                Self::StageStarted { worker, input, .. } => worker.as_str().len() + json(input),
                Self::StageAbandoned { worker, .. } => worker.as_str().len(),
                Self::StageSubmitted { output, .. } => output.as_bytes().len(),
                Self::StageReviewed { note, .. } => text(note),
                Self::StageCompleted { output, .. } => json(output),
                Self::StageFailed { error, .. } => error.as_bytes().len(),
                Self::StageSkipped { reason, .. } | Self::Aborted { reason, .. } => text(reason),
                Self::StageRetried { .. }
                | Self::Completed { .. }
                | Self::Failed { .. }
                | Self::Deleted { .. } => 0,
            }
    }
}

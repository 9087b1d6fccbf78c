//! The words of pipelines.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, PipelineName, StageName, TaskId, Traceparent};

use super::{Create, Design, List, Moved, Output, Pipeline, Stage, Summary};

/// What one may ask of pipelines so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `pipeline.create`
    Create(Box<Create>),
    /// `pipeline.start_stage`: somebody works on it.
    StartStage {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// What it is given; the output of the stages before if not given.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// `pipeline.complete_stage`: it is done.
    CompleteStage {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// What came of it; `null` if not given.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// `pipeline.fail_stage`: it could not be done.
    FailStage {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// What went wrong.
        error: Json,
    },
    /// `pipeline.retry_stage`: it has failed, and shall be done again.
    RetryStage {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
    },
    /// `pipeline.skip_stage`: it is left out.
    SkipStage {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `pipeline.abort`: it is not wanted any more.
    Abort {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `pipeline.delete`: forgets one that is finished.
    Delete {
        /// Which pipeline.
        pipeline: PipelineName,
    },
    /// Sent by the policies when something has happened to the tasks of stages.
    Follow,
    /// Sent by the engine when something is due.
    Expire,
}

/// What one may ask of pipelines without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `pipeline.get`
    Get {
        /// Which pipeline.
        pipeline: PipelineName,
    },
    /// `pipeline.output`
    Output {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
    },
    /// `pipeline.list`
    List(List),
}

/// Answers of pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One pipeline.
    Pipeline(Box<Pipeline>),
    /// One stage.
    Stage(Box<Stage>),
    /// A stage that is done, and what comes next.
    Moved(Box<Moved>),
    /// What came of a stage.
    Output(Output),
    /// A page of pipelines, by name.
    Pipelines {
        /// The page.
        pipelines: Vec<Summary>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<PipelineName>,
    },
    /// Nothing had to be done.
    Done,
}

/// Somebody wants stages to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// Which pipeline.
    pub pipeline: PipelineName,
    /// Its stages.
    pub stages: Vec<Design>,
    /// Whether a task is made for every stage that becomes ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// What the first stages are given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Whatever else is worth knowing.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The trace that it is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

impl Created {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_bytes().len() + 24);
        let stages: usize = self.stages.iter().map(Design::bytes).sum();
        let trace = self.traceparent.as_ref().map_or(0, Traceparent::bytes);
        stages + json(&self.input) + json(&self.metadata) + trace
    }
}

/// Facts about pipelines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody wants stages to be done.
    Created(Box<Created>),
    /// All that a stage comes after is done.
    StageReady {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// The tasks that are made for it in the same commit.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tasks: Vec<TaskId>,
    },
    /// Somebody works on a stage.
    StageStarted {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// Who.
        worker: AgentId,
        /// What it is given, if that is not the output of the stages before.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// A stage is done.
    StageCompleted {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// What came of it; what came of its tasks if not given.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        output: Option<Json>,
    },
    /// A stage could not be done.
    StageFailed {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// What went wrong.
        error: Json,
    },
    /// A stage that has failed shall be done again.
    StageRetried {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
    },
    /// A stage is left out.
    StageSkipped {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Which stage.
        stage: StageName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Every stage is done.
    Completed {
        /// Which pipeline.
        pipeline: PipelineName,
    },
    /// A stage has failed, and nothing is under way beside it.
    Failed {
        /// Which pipeline.
        pipeline: PipelineName,
    },
    /// It is not wanted any more: what runs has failed, what is to come is left out.
    Aborted {
        /// Which pipeline.
        pipeline: PipelineName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It is forgotten.
    Deleted {
        /// Which pipeline.
        pipeline: PipelineName,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created(_) => "pipeline.created",
            Self::StageReady { .. } => "pipeline.stage_ready",
            Self::StageStarted { .. } => "pipeline.stage_started",
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

    /// The pipeline it is about.
    pub fn pipeline(&self) -> &PipelineName {
        match self {
            Self::Created(created) => &created.pipeline,
            Self::StageReady { pipeline, .. }
            | Self::StageStarted { pipeline, .. }
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

    /// The stage it is about, if it is one.
    pub fn stage(&self) -> Option<&StageName> {
        match self {
            Self::StageReady { stage, .. }
            | Self::StageStarted { stage, .. }
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

    /// Bytes of what is in it beyond the name of the pipeline.
    pub(crate) fn load(&self) -> usize {
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

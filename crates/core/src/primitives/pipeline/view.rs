//! Pipelines and stages as callers see them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, PipelineName, StageName, TaskId, TaskType, Traceparent};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::time::Timestamp;

/// Where a pipeline is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PipelineStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No stage was begun.
    Created,
    /// Some were, and there is more to do.
    Running,
    /// Every stage is completed or skipped.
    Completed,
    /// A stage has failed, and nothing is under way beside it.
    Failed,
    /// It is not wanted any more.
    Aborted,
}

impl Status {
    /// Whether nothing is under way. What has failed may still be retried.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Created | Self::Running => false,
            Self::Completed | Self::Failed | Self::Aborted => true,
        }
    }

    /// Whether nothing changes any more.
    pub fn is_over(self) -> bool {
        match self {
            Self::Created | Self::Running | Self::Failed => false,
            Self::Completed | Self::Aborted => true,
        }
    }

    /// The status as it stands on the wire and in a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }
}

/// Where a stage is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    /// What it comes after is not done.
    Pending,
    /// It can be started.
    Ready,
    /// Somebody works on it.
    Running,
    /// It was done.
    Completed,
    /// It could not be done.
    Failed,
    /// It is left out.
    Skipped,
}

impl StageStatus {
    /// The status as it stands on the wire and in a sentence.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// A stage as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Which.
    pub name: StageName,
    /// Where it is in its life.
    pub status: StageStatus,
    /// The stages it comes after.
    pub after: Vec<StageName>,
    /// The only agent that may work on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The type of its task.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// What an agent must be able to do to claim its task.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Whether each element of its input is one task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// What is to be done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How often its task is tried again by itself, or it may be retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// Keys that it means to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Pattern>,
    /// Keys that it means to write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Pattern>,
    /// How often it was started.
    pub attempts: u64,
    /// How often it was retried after it had failed.
    pub retries: u64,
    /// Who works on it, or did last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<AgentId>,
    /// Its tasks, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// What it is given. In a whole pipeline only what was given when it was started: the rest is
    /// the output of the stages before.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Why it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it could be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Timestamp>,
    /// When it was last started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// A pipeline as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pipeline {
    /// Which.
    pub name: PipelineName,
    /// Where it is in its life.
    pub status: Status,
    /// Whether a task is made for every stage that becomes ready.
    pub automatic: bool,
    /// Its stages, in the order they were named.
    pub stages: Vec<Stage>,
    /// The stages that somebody works on.
    pub current: Vec<StageName>,
    /// The stages that can be started.
    pub ready: Vec<StageName>,
    /// What the first stages are given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Whatever else is worth knowing: an object.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The trace that it and the tasks of its stages are a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Why it was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who created it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its first stage was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The revision that made it what it is.
    pub revision: Revision,
}

/// A pipeline in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PipelineSummary"))]
pub struct Summary {
    /// Which.
    pub name: PipelineName,
    /// Where it is in its life.
    pub status: Status,
    /// Whether a task is made for every stage that becomes ready.
    pub automatic: bool,
    /// How many stages it has.
    pub stages: u64,
    /// How many of them are completed or skipped.
    pub done: u64,
    /// The stages that somebody works on.
    pub current: Vec<StageName>,
    /// The stages that can be started.
    pub ready: Vec<StageName>,
    /// The stages that have failed.
    pub failed: Vec<StageName>,
    /// Who created it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was completed, failed or aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// A stage that is done, and what comes next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageMoved"))]
pub struct Moved {
    /// The stage.
    pub stage: Stage,
    /// The first stage that can be started now; nothing if none can.
    pub next: Option<Stage>,
    /// Every stage that can be started now.
    pub ready: Vec<StageName>,
    /// Where the pipeline is in its life.
    pub status: Status,
}

/// What came of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageOutput"))]
pub struct Output {
    /// Which pipeline.
    pub pipeline: PipelineName,
    /// Which stage.
    pub stage: StageName,
    /// Where the stage is in its life.
    pub status: StageStatus,
    /// What came of it; not here if nothing did yet.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

//! Pipelines and stages as callers see them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, PipelineName, StageName, TaskId, TaskType, Traceparent};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::task::Reviewers;
use crate::time::Timestamp;

/// The status of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PipelineStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// No stage has started.
    Created,
    /// A stage has started, and not all are finished.
    Running,
    /// Every stage is completed or skipped.
    Completed,
    /// A stage failed, and no other stage is running.
    Failed,
    /// It was aborted.
    Aborted,
}

impl Status {
    /// Whether nothing is running. A failed stage may still be retried.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Created | Self::Running => false,
            Self::Completed | Self::Failed | Self::Aborted => true,
        }
    }

    /// Whether it never changes again.
    pub fn is_over(self) -> bool {
        match self {
            Self::Created | Self::Running | Self::Failed => false,
            Self::Completed | Self::Aborted => true,
        }
    }

    /// The status as on the wire and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// The status as the predicate of a sentence about a pipeline.
    pub fn clause(self) -> &'static str {
        match self {
            Self::Created => "has not started",
            Self::Running => "is running",
            Self::Completed => "is completed",
            Self::Failed => "has failed",
            Self::Aborted => "is aborted",
        }
    }
}

/// The status of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    /// A stage before it is not finished.
    Pending,
    /// It can be started.
    Ready,
    /// An agent works on it.
    Running,
    /// Its output was submitted and waits for review.
    WaitingReview,
    /// It was completed.
    Completed,
    /// It failed.
    Failed,
    /// It was skipped.
    Skipped,
}

impl StageStatus {
    /// The status as on the wire and in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::WaitingReview => "waiting_review",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// The status as the predicate of a sentence about a stage.
    pub fn clause(self) -> &'static str {
        match self {
            Self::Pending => "is pending",
            Self::Ready => "is ready",
            Self::Running => "is running",
            Self::WaitingReview => "is waiting for review",
            Self::Completed => "is completed",
            Self::Failed => "has failed",
            Self::Skipped => "is skipped",
        }
    }
}

/// A stage of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// The name of the stage.
    pub name: StageName,
    /// The status.
    pub status: StageStatus,
    /// The stages that it follows.
    pub after: Vec<StageName>,
    /// The only agent that may work on it. Absent if any agent may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The type of its task. Absent if not given.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Capabilities that an agent needs to claim its task. Absent if there are none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// Whether one task per element of its input is created. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// Human-readable description. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How often its task is retried automatically, or how often it may be retried. Absent if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// Whether its output must be accepted by another agent. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its output. Absent if any agent except the one that did the work
    /// may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// The agent whose output waits for review. Absent if none waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_by: Option<AgentId>,
    /// Keys that it reads. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Pattern>,
    /// Keys that it writes. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Pattern>,
    /// How often it was started.
    pub attempts: u64,
    /// How often it was retried after a failure.
    pub retries: u64,
    /// The agent that works or last worked on it. Absent before the first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<AgentId>,
    /// Its tasks, in order. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskId>,
    /// Its input. In a whole pipeline only an input given at its start; otherwise it is the output
    /// of the stages before it. Absent if there is none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Its output. Absent before it is submitted or completed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The error. Absent unless it failed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Why it was skipped, or the note of the last review. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it became ready. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Timestamp>,
    /// When it was last started. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or skipped. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// A pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pipeline {
    /// The name of the pipeline.
    pub name: PipelineName,
    /// The status.
    pub status: Status,
    /// Whether a task is created for every stage that becomes ready.
    pub automatic: bool,
    /// Its stages, in the order they were defined.
    pub stages: Vec<Stage>,
    /// The stages that are running.
    pub current: Vec<StageName>,
    /// The stages that can be started.
    pub ready: Vec<StageName>,
    /// The input of the first stages. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// An object with free-form metadata. Absent if not given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`) of the pipeline and its tasks. Absent if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Why it was aborted. Absent if no reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When its first stage was started. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed, failed or aborted. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// The revision of the last change.
    pub revision: Revision,
}

/// A pipeline in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PipelineSummary"))]
pub struct Summary {
    /// The name of the pipeline.
    pub name: PipelineName,
    /// The status.
    pub status: Status,
    /// Whether a task is created for every stage that becomes ready.
    pub automatic: bool,
    /// The number of stages.
    pub stages: u64,
    /// The number of stages that are completed or skipped.
    pub done: u64,
    /// The stages that are running.
    pub current: Vec<StageName>,
    /// The stages that can be started.
    pub ready: Vec<StageName>,
    /// The stages that have failed.
    pub failed: Vec<StageName>,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it was completed, failed or aborted. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// A finished stage, and what can start next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageMoved"))]
pub struct Moved {
    /// The stage.
    pub stage: Stage,
    /// The first stage that can be started now. `null` if none can.
    pub next: Option<Stage>,
    /// Every stage that can be started now.
    pub ready: Vec<StageName>,
    /// The status of the pipeline.
    pub status: Status,
}

/// The output of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageOutput"))]
pub struct Output {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// The stage.
    pub stage: StageName,
    /// The status of the stage.
    pub status: StageStatus,
    /// The output. Absent before it is submitted, or the stage is completed.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

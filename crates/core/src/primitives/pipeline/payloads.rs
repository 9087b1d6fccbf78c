//! Commands of pipelines with many fields.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Status;
use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, PipelineName, StageName, TaskType, Traceparent};
use crate::pattern::Pattern;
use crate::task::{Backoff, OnExhausted, Reviewers, Verdict};

/// Creates a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreatePipeline"))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The name of the pipeline.
    pub pipeline: PipelineName,
    /// The stages. Each follows the one before it in this list, unless it has `after`.
    pub stages: Vec<Design>,
    /// Create a task for every stage that becomes ready; the result of the task is the output of
    /// the stage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// The input of the first stages. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// An object with free-form metadata. Default: none.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// W3C trace context (`traceparent`) of the pipeline and its tasks. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// The definition of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageDesign"))]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// The name, unique within the pipeline.
    pub name: StageName,
    /// The only agent that may work on it. If omitted, any agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The type of its task. If omitted, the name of the stage.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Capabilities that an agent needs to claim its task.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// The stages that it follows; an empty list makes it a first stage. If omitted, the stage
    /// before it in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<StageName>>,
    /// Create one task per element of its input, which must be a list; the output is the list of
    /// results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// Human-readable description. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How often its task is retried automatically; if omitted, the default of `task.create`.
    /// Without a task, how often the stage may be retried; if omitted, without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// The priority of its task.
    #[cfg_attr(feature = "schema", schemars(extend("default" = 0)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Deadline of its task in milliseconds from when the stage is ready. If omitted, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Backoff between attempts at its task. If omitted, the default of `Backoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// The action on its task after the last attempt.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "fail")))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
    /// Whether its output must be accepted by another agent before the stage is completed: with
    /// `task.review` if it has a task, else with `pipeline.review_stage`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    /// The agents that may accept its output. If given, it has `review`. If omitted, any agent
    /// except the one that did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewers: Option<Reviewers>,
    /// Keys that it reads, for documentation and contracts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Pattern>,
    /// Keys that it writes, for documentation and contracts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Pattern>,
}

impl Design {
    /// A stage with only a name.
    pub fn new(name: StageName) -> Self {
        Self {
            name,
            agent: None,
            task_type: None,
            capabilities: BTreeSet::new(),
            after: None,
            each: false,
            description: None,
            max_retries: None,
            priority: None,
            deadline_ms: None,
            backoff: None,
            on_exhausted: None,
            review: false,
            reviewers: None,
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// Upper bound of its size in the log, in bytes.
    pub fn bytes(&self) -> usize {
        // The names of all fields, the numbers, and the lengths of texts.
        const FRAME: usize = 336;
        let agent = |agent: Option<&AgentId>| agent.map_or(0, |agent| agent.as_str().len());
        let patterns = self.reads.iter().chain(&self.writes);
        let exhausted = match &self.on_exhausted {
            Some(OnExhausted::Agent(to)) => Some(to),
            Some(OnExhausted::Fail | OnExhausted::Review) | None => None,
        };
        FRAME
            + self.name.as_str().len()
            + agent(self.agent.as_ref())
            + agent(exhausted)
            + self.task_type.as_ref().map_or(0, |name| name.as_str().len())
            + self.description.as_ref().map_or(0, String::len)
            + self.capabilities.iter().map(|name| name.len() + 5).sum::<usize>()
            + self.after.iter().flatten().map(|name| name.as_str().len() + 5).sum::<usize>()
            + self.reviewers.as_ref().map_or(0, Reviewers::bytes)
            + patterns.map(|pattern| pattern.as_str().len() + 5).sum::<usize>()
    }
}

/// Decides on the output of a stage that waits for review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReviewStage {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// The stage.
    pub stage: StageName,
    /// The verdict: `complete` accepts the output, `retry` makes the stage ready to be started
    /// again, and `fail` fails it.
    pub verdict: Verdict,
    /// The number of the attempt that was reviewed: `attempts` of the stage. The verdict is refused
    /// if another attempt waits for review. If omitted, the verdict is about the attempt that
    /// waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    /// A note, which is recorded. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The output, if it is accepted. If omitted, the submitted one.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

/// A page of pipelines, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListPipelines"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only pipelines with this status. If omitted, any status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<PipelineName>,
}

//! What one asks of pipelines, where that has many fields.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Status;
use crate::json::{Json, given};
use crate::names::{AgentId, PipelineName, StageName, TaskType, Traceparent};
use crate::pattern::Pattern;
use crate::task::{Backoff, OnExhausted};

/// Stages, one after the other or side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreatePipeline"))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The name it shall have.
    pub pipeline: PipelineName,
    /// Its stages, each after the one before it in this list unless it says otherwise.
    pub stages: Vec<Design>,
    /// Whether a task is made for every stage that becomes ready, and its result is the output.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
    /// What the first stages are given.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Whatever else is worth knowing: an object.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The trace that it and the tasks of its stages are a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// A stage as it shall be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StageDesign"))]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Its name, within the pipeline.
    pub name: StageName,
    /// The only agent that may work on it; anyone if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The type of the task that is made for it; the stage's name if not given.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// What an agent must be able to do to claim its task.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<String>,
    /// The stages it comes after; the one before it in the list if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<StageName>>,
    /// Whether its input is a list, and each element one task; its output is the list of results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// What is to be done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How often its task is tried again by itself; of a stage without a task, how often it may be
    /// retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u64>,
    /// The priority of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// How long its task may take from when the stage is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// How long to wait before its task is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// What becomes of its task when it was tried too often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<OnExhausted>,
    /// Keys that it means to read. Only said, for whoever looks at the pipeline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Pattern>,
    /// Keys that it means to write, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Pattern>,
}

impl Design {
    /// A stage of a name, and nothing else said about it.
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
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// About how many bytes it takes, in memory and in the log, and never fewer in the log.
    pub fn bytes(&self) -> usize {
        // The names of all fields, the numbers, and the heads of texts.
        const FRAME: usize = 320;
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
            + patterns.map(|pattern| pattern.as_str().len() + 5).sum::<usize>()
    }
}

/// A page of pipelines, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListPipelines"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only those in this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<PipelineName>,
}

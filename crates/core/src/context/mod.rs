//! Context for a model: what an agent needs to know for a task, in one text of bounded length.
//!
//! ```text
//!   current state ──gather──▶ items, by rank ──fit──▶ sections ──▶ text, and what was omitted
//! ```
//!
//! | rank | section | what |
//! |---|---|---|
//! | 1 | `task` | the definition, the progress, the error of the last attempt |
//! | 2 | `handoffs` | the latest hand-off: completed work, remaining work, context |
//! | 3 | `checkpoint` | the latest checkpoint |
//! | 4 | `entries` | keys that a hand-off handed over or a stage of a pipeline reads |
//! | 5 | `entries` | keys that the description or definition mentions, as `namespace/key` |
//! | 6 | `mail` | messages that the agent has not acknowledged, oldest first |
//! | 7 | `handoffs` | earlier hand-offs of the task, latest first |
//! | 8 | `entries` | the last writes of agents that held the task, latest first |
//! | 9 | `others` | the other agents, and their tasks |
//! | 10 | `entries` | the last changes in `shared`, latest first |
//!
//! Items are taken by rank, each completely or not at all; one that does not fit is listed as
//! omitted, and smaller ones after it may still fit. Sections appear in the order of the table,
//! with mail before the other agents.
//!
//! **Counting tokens:** the size of the text in bytes divided by four, rounded up. Models differ;
//! this rule is the same for all of them, and errs on the safe side for most languages and for
//! JSON.
//!
//! Invariants:
//!
//! 1. The same space gives the same text, to the byte.
//! 2. The text is never longer than the budget.
//! 3. Text written by agents is between fences that it cannot close, and is announced as data.
//!    Names are in backticks, and contain none.
//! 4. The search for items is bounded, whatever the size of the workspace.
//! 5. A secret appears as its reference, as everywhere else: its value is not in the space.
//!
//! Deliberately absent: summaries, which a model can write; and semantic similarity. Relevance
//! follows from recorded facts.

mod layout;
pub(crate) mod operations;
mod selection;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use selection::build;

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, TaskId, Traceparent};
use crate::refusal::OutOfRange;

/// Queries about context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `context.build`
    Build(Build),
}

/// Builds the context of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "BuildContext"))]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The agent.
    pub agent: AgentId,
    /// The task that the context is for. If omitted, the context describes the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The maximum number of tokens.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::CONTEXT_TOKENS_DEFAULT),
        range(min = limits::CONTEXT_TOKENS_MIN, max = limits::CONTEXT_TOKENS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_budget: Option<u64>,
}

/// Replies about context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A context.
    Context(Context),
}

/// The context of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Context {
    /// The whole text, ready to be put into a prompt.
    pub text: String,
    /// The number of tokens of the text.
    pub tokens: u64,
    /// The maximum number of tokens.
    pub token_budget: u64,
    /// The parts of the text.
    pub sections: Vec<Section>,
    /// The items that were left out.
    #[serde(default)]
    pub left_out: Vec<ContextLeftOut>,
    /// W3C trace context (`traceparent`) of the task, to be continued; it is not part of the text.
    /// Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// A part of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContextSection"))]
pub struct Section {
    /// The name of the part.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The number of tokens of the text.
    pub tokens: u64,
    /// The names of what it contains.
    pub items: Vec<String>,
}

/// The items that were left out of a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextLeftOut {
    /// The name of what was left out.
    pub what: String,
    /// The reason.
    pub why: ContextWhy,
    /// The number of tokens that it would have had; 0 if unknown.
    pub tokens: u64,
}

/// Why something was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextWhy {
    /// It exceeds the token budget.
    Budget,
    /// It is referenced and does not exist.
    Missing,
    /// It was not examined, because there was too much.
    NotExamined,
}

crate::refusals! {
    /// Why a context cannot be built.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The task to build a context for does not exist.
        #[error("there is no task `{task}`")]
        NotFound {
            /// The task.
            task: TaskId,
        } => {
            code: "context.not_found",
            kind: NotFound,
            hint: "list the tasks with task.list",
            cause: "It was never created, or it finished and was removed.",
        }
        /// The token budget is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "context.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`token_budget` is less than 100 or more than 1,000,000.",
        }
    }
}

//! A span and its attributes.

use baton_core::{Json, Revision, Timestamp, WorkspaceName};
use serde_json::Value as Tree;

use super::ids::{SpanContext, SpanId};

/// The maximum length of an error `code` that is used as an error type.
const CODE_CHARS_MAX: usize = 64;

/// Whether the work is done here or requested from another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Done here.
    Internal,
    /// Requested from another agent.
    Client,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

/// A span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) id: SpanId,
    pub(super) context: SpanContext,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) begun: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// Events during the span.
    pub(super) moments: Vec<(Timestamp, &'static str)>,
    /// Links to other traces and spans.
    pub(super) links: Vec<SpanContext>,
    /// The type of the error that it ended with.
    pub(super) error: Option<String>,
}

impl Span {
    /// A span that has just ended.
    pub(super) fn new(
        (id, context): (SpanId, SpanContext),
        name: String,
        (begun, ended): (Timestamp, Timestamp),
    ) -> Self {
        Self {
            id,
            context,
            name,
            kind: Kind::Internal,
            begun,
            ended,
            attributes: Vec::new(),
            moments: Vec::new(),
            links: Vec::new(),
            error: None,
        }
    }

    /// Adds an attribute.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Adds an attribute, if it has a value.
    pub(super) fn maybe(self, name: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds how it ended, its revision and its workspace.
    pub(super) fn ending(
        self,
        outcome: &str,
        workspace: &WorkspaceName,
        revision: Revision,
    ) -> Self {
        self.with("baton.outcome", outcome)
            .with("baton.workspace", workspace.as_str())
            .with("baton.revision", revision.0)
    }

    /// Adds the agent.
    pub(super) fn by(self, agent: &str) -> Self {
        self.with("gen_ai.operation.name", "invoke_agent")
            .with("gen_ai.agent.id", agent)
            .with("gen_ai.agent.name", agent)
    }

    /// Sets the error type, if it failed.
    pub(super) fn failing(mut self, error: Option<String>) -> Self {
        self.error = error;
        self
    }
}

/// The type of an error: its `code` if it has a short one, else this. Nothing else of it is
/// exported.
pub(super) fn kind_of(error: &Json, otherwise: &str) -> String {
    let tree = error.to_value();
    let code = tree.get("code").and_then(Tree::as_str).filter(|code| {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._-:/".contains(sign);
        (1..=CODE_CHARS_MAX).contains(&code.len()) && code.chars().all(is_plain)
    });
    code.unwrap_or(otherwise).to_owned()
}

/// The token usage of a model, as far as a result contains it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    model: Option<String>,
}

impl Usage {
    /// The usage in the field names of model providers.
    pub(super) fn of(result: &Json) -> Self {
        // Most results are not of a model, and some are large.
        if !result.as_str().contains("\"usage\"") {
            return Self::default();
        }
        let tree = result.to_value();
        let Some(usage) = tree.get("usage") else { return Self::default() };
        let count = |names: [&str; 2]| names.iter().find_map(|name| usage.get(*name)?.as_u64());
        let model = tree.get("model").and_then(Tree::as_str).filter(|name| name.len() <= 128);
        Self {
            input_tokens: count(["input_tokens", "prompt_tokens"]),
            output_tokens: count(["output_tokens", "completion_tokens"]),
            model: model.map(str::to_owned),
        }
    }

    /// Adds the attributes.
    pub(super) fn apply_to(&self, span: Span) -> Span {
        span.maybe("gen_ai.usage.input_tokens", self.input_tokens)
            .maybe("gen_ai.usage.output_tokens", self.output_tokens)
            .maybe("gen_ai.response.model", self.model.as_deref())
    }
}

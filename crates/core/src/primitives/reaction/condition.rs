//! The trigger of a reaction.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::event::Event;
use crate::expression::{Expression, ExpressionError, Operand, Variable, Variables};
use crate::pattern::Pattern;

/// The events that a reaction runs on: everything that is given must match. `type` or `subject` is
/// required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReactionOn"))]
#[serde(deny_unknown_fields, default)]
pub struct On {
    /// The event type, such as `task.completed` or `deploy.*`. If omitted, any type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Pattern>,
    /// The subject, such as `state/shared/**`. If omitted, any subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Pattern>,
    /// A CEL expression about `event` that must be true. If omitted, none.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
}

impl On {
    /// Whether type and subject match. This is cheap and excludes almost everything.
    pub fn fits(&self, event: &Event, subject: &str) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind.matches(event.kind()))
            && self.subject.as_ref().is_none_or(|pattern| pattern.matches(subject))
    }

    /// Whether the condition is true, or why it cannot be evaluated.
    pub fn holds(&self, event: &Value) -> Result<bool, ExpressionError> {
        self.condition.as_ref().map_or(Ok(true), |condition| condition.0.holds(&Seen(event)))
    }

    /// Whether nothing is given: it would run on every event.
    pub fn is_any(&self) -> bool {
        self.kind.is_none() && self.subject.is_none() && self.condition.is_none()
    }

    /// Its size in bytes.
    pub(crate) fn weight(&self) -> usize {
        let patterns = [&self.kind, &self.subject];
        let patterns = patterns.into_iter().flatten().map(|it| it.as_str().len() + 16);
        let condition = self.condition.as_ref().map_or(0, |it| it.0.source().len() + 16);
        patterns.sum::<usize>() + condition
    }
}

/// A CEL expression about an event.
#[derive(Clone, PartialEq, Eq)]
pub struct Condition(Expression);

impl Condition {
    /// Compiles a condition, once for many events.
    pub fn compile(source: &str) -> Result<Self, ExpressionError> {
        Expression::compile_with(source, &[("event", Variable::Event)]).map(Self)
    }
}

impl fmt::Debug for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Self::compile(&source).map_err(D::Error::custom)
    }
}

/// The variables of a condition.
struct Seen<'a>(&'a Value);

impl Variables for Seen<'_> {
    fn value(&self, variable: Variable) -> Operand<'_> {
        match variable {
            Variable::Event => self.0.into(),
            Variable::Task
            | Variable::TaskType
            | Variable::From
            | Variable::To
            | Variable::Capability
            | Variable::State
            | Variable::Hops
            | Variable::Reason
            | Variable::Receiver => Operand::Null,
        }
    }
}

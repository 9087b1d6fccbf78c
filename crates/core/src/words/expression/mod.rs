//! Expressions: boolean conditions about a hand-off or an event, in the syntax of CEL.
//!
//! ```text
//!   text ──compile──▶ Expression ──holds(variables)──▶ true, false, or why it cannot be evaluated
//!          once                     for every proposal
//! ```
//!
//! | feature | examples |
//! |---|---|
//! | variables | `task` `task_type` `from` `to` `capability` `state` `hops` `reason` `receiver` |
//! | in the condition of a reaction | `event` |
//! | literals | `null` `true` `12` `0x1f` `1.5e3` `"text"` `'text'` `r"raw"` `["a", "b"]` |
//! | fields and elements | `state.plan.steps[0]` `state["shared/plan"]` |
//! | presence | `has(state.plan.owner)` `"shared/plan" in state` |
//! | comparison | `==` `!=` `<` `<=` `>` `>=` `in` |
//! | arithmetic | `+` `-` `*` `/` `%`, also `+` for texts and lists |
//! | logic | `&&` `||` `!` `condition ? one : other` |
//! | functions | `size(x)` or `x.size()`, `x.startsWith(y)` `x.endsWith(y)` `x.contains(y)` |
//!
//! Everything here has the meaning of CEL, with three exceptions where CEL has an error: integers
//! and fractions can be mixed, since JSON does not distinguish them; `has` is false wherever the
//! path ends, also in the middle; and `has` can be applied to fields of `null`. As in CEL,
//! `false && x` is false and `true || x` is true even if `x` cannot be evaluated, on either side.
//!
//! An expression is sent by an agent and runs in the one thread that decides all requests.
//! Invariants:
//!
//! 1. It always ends, with a result or an error, after at most
//!    [`EXPRESSION_STEPS_MAX`](crate::limits::EXPRESSION_STEPS_MAX) steps. A node is a step, and so
//!    are every element and every [`BYTES_PER_STEP`] bytes that are read or copied.
//! 2. It reads its variables and nothing else, and changes nothing.
//! 3. Neither compiling nor running nests deeper than
//!    [`EXPRESSION_DEPTH_MAX`](crate::limits::EXPRESSION_DEPTH_MAX), and neither can panic.
//! 4. An error has its position in the text.
//! 5. An [`Expression`] is its text: equality, encoding and printing are those of the text.
//!
//! Deliberately absent: comprehensions (`all`, `exists`, `map`, `filter`), since their work
//! multiplies; regular expressions, which a schema can contain; time, since the same proposal must
//! have the same result tomorrow; maps, conversions and types of protocol buffers, which were not
//! needed. ADR 13 explains why this is not a library.

mod parse;
mod run;
#[cfg(test)]
mod tests;
mod token;
mod value;

use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

pub(crate) use value::Operand;

use crate::limits;

/// How many bytes of text are read or copied in one step.
pub const BYTES_PER_STEP: usize = 64;

/// A compiled expression. Cloning it is cheap.
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    source: Box<str>,
    root: Node,
}

/// Why a text is not an [`Expression`], or cannot be evaluated. Serializes as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("at byte {offset}: {reason}")]
pub struct ExpressionError {
    /// The position in the text, in bytes from 0.
    pub offset: usize,
    /// The reason.
    pub reason: String,
}

/// The variables of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Task,
    TaskType,
    From,
    To,
    Capability,
    State,
    Hops,
    Reason,
    Receiver,
    /// For reactions only.
    Event,
}

/// The variables of an expression about a hand-off.
const VARIABLES: [(&str, Variable); 9] = [
    ("task", Variable::Task),
    ("task_type", Variable::TaskType),
    ("from", Variable::From),
    ("to", Variable::To),
    ("capability", Variable::Capability),
    ("state", Variable::State),
    ("hops", Variable::Hops),
    ("reason", Variable::Reason),
    ("receiver", Variable::Receiver),
];

/// The values of the variables.
pub(crate) trait Variables {
    fn value(&self, variable: Variable) -> Operand<'_>;
}

/// A part of an expression, and its position.
struct Node {
    offset: usize,
    /// Its depth, including itself.
    depth: usize,
    kind: Kind,
}

enum Kind {
    Null,
    Bool(bool),
    Integer(i128),
    Double(f64),
    Text(String),
    List(Vec<Node>),
    Variable(Variable),
    Field(Box<Node>, String),
    Element(Box<Node>, Box<Node>),
    Has(Box<Node>),
    Size(Box<Node>),
    Not(Box<Node>),
    Negative(Box<Node>),
    /// `&&`, with all operands on one level.
    All(Vec<Node>),
    /// `||`, with all operands on one level.
    Any(Vec<Node>),
    Choice(Box<[Node; 3]>),
    Binary(Operator, Box<[Node; 2]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Plus,
    Minus,
    Times,
    Divided,
    Modulo,
    StartsWith,
    EndsWith,
    Contains,
}

impl Expression {
    /// Compiles an expression, once for many proposals.
    pub fn compile(source: &str) -> Result<Self, ExpressionError> {
        Self::compile_with(source, &VARIABLES)
    }

    /// Compiles an expression with these variables.
    pub(crate) fn compile_with(
        source: &str,
        variables: &[(&str, Variable)],
    ) -> Result<Self, ExpressionError> {
        let (bytes, bytes_max) = (source.len(), limits::EXPRESSION_BYTES_MAX);
        if bytes > bytes_max {
            let reason = format!("an expression has at most {bytes_max} bytes, got {bytes}");
            return Err(ExpressionError { offset: bytes_max, reason });
        }
        let root = parse::parse(source, variables)?;
        Ok(Self(Arc::new(Compiled { source: source.into(), root })))
    }

    /// Whether it holds; if it cannot be evaluated, why.
    pub(crate) fn holds(&self, variables: &impl Variables) -> Result<bool, ExpressionError> {
        self.holds_within(variables, limits::EXPRESSION_STEPS_MAX).0
    }

    /// The same with this many steps at most, and how many it took.
    pub(crate) fn holds_within(
        &self,
        variables: &impl Variables,
        steps_max: usize,
    ) -> (Result<bool, ExpressionError>, usize) {
        run::holds(&self.0.root, variables, steps_max)
    }

    /// The source of the expression.
    pub fn source(&self) -> &str {
        &self.0.source
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

impl Eq for Expression {}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.source(), formatter)
    }
}

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.source())
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let source = String::deserialize(deserializer)?;
        Self::compile(&source).map_err(D::Error::custom)
    }
}

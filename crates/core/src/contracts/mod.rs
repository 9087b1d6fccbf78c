//! Contracts: keys that one writes and another reads are an interface.
//!
//! Nobody has to declare one. Who depends on what is known from facts that are there:
//!
//! | fact | says |
//! |---|---|
//! | an entry | who wrote it last |
//! | the receipt of a hand-off | who got which key, at which version, and of what kind |
//! | `required_keys` of a rule | whoever the rule is about depends on them |
//! | `reads` and `writes` of a stage | what it means to read and to write |
//! | `output_keys` of a hand-off | what its giver has written |
//!
//! Keys are named `namespace/key`. A key that moved with a hand-off is looked for where it went: in
//! the receiver's own namespace.
//!
//! Invariants:
//!
//! 1. Questions only: nothing is kept, nothing changes, and the answer is about one revision.
//! 2. What would take too long is refused with the limit, never answered in part.
//!
//! Deliberately absent: guesses about who reads what without leaving a fact. A `state.get` leaves
//! none.

mod checking;
mod gathering;
pub(crate) mod operations;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use checking::check;
pub use gathering::show;

use crate::json::Shape;
use crate::kind::Kind;
use crate::names::NamespaceName;
use crate::numbers::Version;
use crate::pattern::Pattern;
use crate::schema::Schema;

/// What one may ask about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `contract.show`: a page, by key.
    Show {
        /// Only keys that match, as `namespace/key`.
        #[serde(default)]
        pattern: Option<Pattern>,
        /// How many at most.
        #[serde(default)]
        limit: Option<usize>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<String>,
    },
    /// `contract.check`: what somebody depends on and is not as it was, or would not be.
    Check {
        /// Only keys of this namespace.
        #[serde(default)]
        namespace: Option<NamespaceName>,
        /// A schema that the namespace shall have: what would break?
        #[serde(default)]
        schema: Option<Schema>,
    },
}

/// How it is known that somebody reads a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// It got the key with a hand-off.
    Handoff,
    /// A rule demands the key.
    Rule,
    /// A stage of a pipeline says so.
    Stage,
}

/// Somebody who depends on a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KeyReader"))]
pub struct Reader {
    /// An agent or a pattern of agents, `rule:NAME`, or `stage:PIPELINE/STAGE`.
    pub who: String,
    /// How that is known.
    pub by: By,
    /// The version it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// What kind of value it got, as JSON names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Shape>,
}

/// A key as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PresentKey"))]
pub struct Present {
    /// Its version.
    pub version: Version,
    /// What kind of value it has, as JSON names it.
    pub kind: Shape,
}

/// A key, who writes it and who reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contract {
    /// `namespace/key`.
    pub key: String,
    /// Agents, and `stage:PIPELINE/STAGE`.
    pub writers: Vec<String>,
    /// Who depends on it.
    pub readers: Vec<Reader>,
    /// The key as it is; none if it is not there.
    pub present: Option<Present>,
}

/// What can be wrong with a key that somebody depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// It is not there.
    Vanished,
    /// It has a value of another kind.
    Retyped,
    /// It is not there, and another may be in its place.
    Renamed,
    /// The schema would refuse it, or no longer promise what it does.
    Schema,
}

/// A broken promise, or one that would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContractProblem"))]
pub struct Problem {
    /// `namespace/key`.
    pub key: String,
    /// What is wrong.
    pub problem: Trouble,
    /// In words.
    pub detail: String,
    /// Who depends on it.
    pub depended_on_by: Vec<String>,
}

/// Answers about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A page, by key.
    Contracts {
        /// The page.
        contracts: Vec<Contract>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// What is wrong, by key; nothing if all is well.
    Problems {
        /// All of them.
        problems: Vec<Problem>,
    },
}

/// Why a question about contracts was refused.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub enum Rejection {
    /// Whose schema?
    #[error("a schema is checked for a namespace, and none was given")]
    SchemaWithoutNamespace {},
    /// There is none of that name.
    #[error("there is no namespace `{namespace}`")]
    UnknownNamespace {
        /// Which.
        namespace: NamespaceName,
    },
    /// There is too much to look at.
    #[error("there are more than {max} {what} to look at")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much may be looked at.
        max: usize,
    },
    /// The page size makes no sense.
    #[error("limit is {given}, it must be between 1 and {max}")]
    LimitOutOfRange {
        /// What was given.
        given: usize,
        /// The most.
        max: usize,
    },
}

impl Rejection {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SchemaWithoutNamespace {} => "contract.schema_without_namespace",
            Self::UnknownNamespace { .. } => "contract.unknown_namespace",
            Self::TooMuch { .. } => "contract.too_much",
            Self::LimitOutOfRange { .. } => "contract.limit_out_of_range",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::SchemaWithoutNamespace {} | Self::LimitOutOfRange { .. } => Kind::Invalid,
            Self::UnknownNamespace { .. } => Kind::NotFound,
            Self::TooMuch { .. } => Kind::Exhausted,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::SchemaWithoutNamespace {} => "say which namespace shall have the schema",
            Self::UnknownNamespace { .. } => "create it with namespace.create",
            Self::TooMuch { .. } => {
                "ask about one namespace, or by a pattern with a longer beginning"
            }
            Self::LimitOutOfRange { .. } => "ask for a page within the range",
        }
    }
}

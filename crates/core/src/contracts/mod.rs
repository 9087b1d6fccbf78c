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

pub(crate) mod operations;
mod problems;
#[cfg(test)]
mod tests;
mod usage;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use problems::check;
pub use usage::show;

use crate::json::Shape;
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

crate::refusals! {
    /// Why a question about contracts was refused.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// A schema to check was given without a namespace.
        #[error("a schema can only be checked for a namespace, and none was given")]
        SchemaWithoutNamespace {} => {
            code: "contract.schema_without_namespace",
            kind: Invalid,
            hint: "name the namespace of the schema",
            cause: "A schema belongs to a namespace.",
            remedy: "Name the namespace that the schema is for.",
        }
        /// No namespace has this name.
        #[error("there is no namespace `{namespace}`")]
        UnknownNamespace {
            /// Which.
            namespace: NamespaceName,
        } => {
            code: "contract.unknown_namespace",
            kind: NotFound,
            hint: "create it with namespace.create",
            cause: "It was never created, or has been deleted.",
            remedy: "Create it, or name another.",
        }
        /// The query would have to examine too much data.
        #[error("more than {max} {what} would have to be examined")]
        TooMuch {
            /// Of what.
            what: &'static str,
            /// How much may be looked at.
            max: usize,
        } => {
            code: "contract.too_much",
            kind: Exhausted,
            hint: "name one namespace, or use a pattern with a longer literal prefix",
            cause: "There are more than 200000 hand-offs, stages and keys, or the namespace has \
                more than 10000 entries.",
            remedy: "Name another namespace; delete finished pipelines and let ended hand-offs be \
                removed.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// What was given.
            given: usize,
            /// The most.
            max: usize,
        } => {
            code: "contract.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
    }
}

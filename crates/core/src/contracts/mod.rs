//! Contracts: keys that one agent writes and another reads are an interface.
//!
//! Contracts are not declared. They are derived from recorded facts:
//!
//! | fact | shows |
//! |---|---|
//! | an entry | its last writer |
//! | the receipt of a hand-off | who received which key, in which version and of which type |
//! | `required_keys` of a rule | the agents that the rule applies to depend on them |
//! | `reads` and `writes` of a stage | the keys it is meant to read and write |
//! | `output_keys` of a hand-off | the keys that its giver has written |
//!
//! Keys are named `namespace/key`. A key that moved with a hand-off is looked up in the namespace
//! of the receiver.
//!
//! Invariants:
//!
//! 1. Only queries: nothing is stored or changed, and the answer is about one revision.
//! 2. A query that would take too long is refused with the limit, never answered partially.
//!
//! Deliberately absent: guesses about reads that are not recorded. A `state.get` is not recorded.

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
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::NamespaceName;
use crate::numbers::Version;
use crate::pattern::Pattern;
use crate::schema::Schema;

/// Queries about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `contract.show`: a page, by key.
    Show {
        /// Only keys that match, as `namespace/key`. If omitted, all keys.
        #[serde(default)]
        pattern: Option<Pattern>,
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<usize>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<String>,
    },
    /// `contract.check`: keys that agents depend on and that are broken, or would be.
    Check {
        /// Only keys of this namespace. If omitted, all namespaces.
        #[serde(default)]
        namespace: Option<NamespaceName>,
        /// A JSON Schema to check as the future schema of the namespace; requires `namespace`. If
        /// omitted, the present state is checked.
        #[serde(default)]
        schema: Option<Schema>,
    },
}

/// How the dependency is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The agent received the key by a hand-off.
    Handoff,
    /// A rule requires the key.
    Rule,
    /// A stage of a pipeline declares it.
    Stage,
}

/// A dependency on a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "KeyReader"))]
pub struct Reader {
    /// An agent or a pattern of agents, `rule:NAME`, or `stage:PIPELINE/STAGE`.
    pub who: String,
    /// How the dependency is known.
    pub by: By,
    /// The version that was received. Absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The JSON type that was received. Absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Shape>,
}

/// The current state of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PresentKey"))]
pub struct Present {
    /// The version.
    pub version: Version,
    /// The JSON type of the value.
    pub kind: Shape,
}

/// A key with its writers and readers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contract {
    /// `namespace/key`.
    pub key: String,
    /// Agents, and `stage:PIPELINE/STAGE`.
    pub writers: Vec<String>,
    /// The dependencies on it.
    pub readers: Vec<Reader>,
    /// The current state of the key. Absent if it does not exist.
    pub present: Option<Present>,
}

/// What is wrong with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// It does not exist.
    Vanished,
    /// Its value has another JSON type.
    Retyped,
    /// It does not exist, and another key may have replaced it.
    Renamed,
    /// The schema would reject its value, or no longer guarantee what it does.
    Schema,
}

/// A broken dependency, or one that would be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContractProblem"))]
pub struct Problem {
    /// `namespace/key`.
    pub key: String,
    /// What is wrong.
    pub problem: Trouble,
    /// A description in words.
    pub detail: String,
    /// The dependents.
    pub depended_on_by: Vec<String>,
}

/// Replies about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A page of contracts, by key.
    Contracts {
        /// The results on this page.
        contracts: Vec<Contract>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// Problems by key; empty if there are none.
    Problems {
        /// The problems.
        problems: Vec<Problem>,
    },
}

crate::refusals! {
    /// Why a query about contracts was refused.
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
            /// The namespace.
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
            /// What is counted.
            what: &'static str,
            /// The limit.
            max: usize,
        } => {
            code: "contract.too_much",
            kind: Exhausted,
            hint: "name one namespace, or use a pattern with a longer literal prefix",
            cause: "There are more than 200000 hand-offs, stages and keys, the namespace has more \
                than 10000 entries or 16 MiB of values, or the schema takes too long on them.",
            remedy: "Name another namespace; delete finished pipelines and let ended hand-offs be \
                removed.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
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

//! Contracts: keys that one agent writes and another reads are an interface.
//!
//! Besides those that receivers declare, contracts are derived from recorded facts:
//!
//! | fact | shows |
//! |---|---|
//! | a [declared contract](crate::contract) | its owner depends on the keys, and what it expects |
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

mod problems;
#[cfg(test)]
mod tests;
mod usage;

use serde::{Deserialize, Serialize};

pub use problems::check;
pub use usage::show;

use crate::json::Shape;
use crate::numbers::Version;

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
    /// The agent declared a contract about the key.
    Contract,
}

/// A dependency on a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyReader {
    /// An agent or a pattern of agents, `rule:NAME`, or `stage:PIPELINE/STAGE`.
    pub who: String,
    /// How the dependency is known.
    pub by: By,
    /// The version that was received. Absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The JSON type that was received or declared. Absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Shape>,
}

/// The current state of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PresentKey {
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
    pub readers: Vec<KeyReader>,
    /// The current state of the key. Absent if it does not exist.
    pub present: Option<PresentKey>,
}

/// The kinds of problems of a key.
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
    /// Its value does not satisfy a declared contract.
    Broken,
}

/// A broken dependency, or one that would break.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContractProblem {
    /// `namespace/key`.
    pub key: String,
    /// The kind of problem.
    pub problem: Trouble,
    /// A description in words.
    pub detail: String,
    /// The dependents.
    pub depended_on_by: Vec<String>,
}

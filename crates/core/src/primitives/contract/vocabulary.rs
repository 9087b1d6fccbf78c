//! Commands, queries, replies and events of contracts.

use serde::{Deserialize, Serialize};

use super::terms::{Breach, Terms};
use crate::contracts::{Contract, ContractProblem};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, ContractName, NamespaceName};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::primitive;
use crate::schema::Schema;
use crate::time::Timestamp;

/// Commands that change contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `contract.declare`: replaces a contract of the same name and owner.
    Declare(Box<Declare>),
    /// `contract.delete`
    Delete {
        /// The name of the contract.
        name: ContractName,
        /// Delete it even if another agent owns it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        force: bool,
    },
}

/// No signal is only for contracts.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

impl Command {
    /// The contract that it is about.
    pub fn name(&self) -> &ContractName {
        match self {
            Self::Declare(declare) => &declare.name,
            Self::Delete { name, .. } => name,
        }
    }
}

/// Declares a contract, or replaces it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DeclareContract"))]
#[serde(deny_unknown_fields)]
pub struct Declare {
    /// The name of the contract.
    pub name: ContractName,
    /// The keys that you depend on, at least one.
    pub keys: Vec<Terms>,
    /// The effect on a command that would break the contract.
    #[cfg_attr(feature = "schema", schemars(extend("default" = "warn")))]
    #[serde(default, skip_serializing_if = "OnBreak::is_warn")]
    pub on_break: OnBreak,
}

/// The effect on a command that would break a contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnBreak {
    /// It is executed; its reply carries a warning, and `contract.broken` is recorded.
    #[default]
    Warn,
    /// It is refused.
    Refuse,
}

impl OnBreak {
    /// The value as text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Refuse => "refuse",
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    fn is_warn(&self) -> bool {
        *self == Self::Warn
    }
}

/// Queries about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `contract.list`: a page of what is declared, by name.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<usize>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<ContractName>,
    },
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

/// A declared contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "DeclaredContract"))]
pub struct Declaration {
    /// The name of the contract.
    pub name: ContractName,
    /// The agent that declared it and depends on the keys.
    pub owner: AgentId,
    /// The keys, with what is expected of them.
    pub keys: Vec<Terms>,
    /// The effect on a command that would break the contract.
    pub on_break: OnBreak,
    /// When it was declared.
    pub declared_at: Timestamp,
    /// The revision of the last change.
    pub revision: Revision,
}

/// Replies about contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One declared contract.
    Declaration(Declaration),
    /// A page of declared contracts, by name.
    Declarations {
        /// The results on this page.
        declarations: Vec<Declaration>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<ContractName>,
    },
    /// A page of keys with their writers and readers, by key.
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
        problems: Vec<ContractProblem>,
    },
}

/// Events of contracts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A contract was declared or replaced.
    Declared {
        /// The name of the contract.
        name: ContractName,
        /// The keys, with what is expected of them.
        keys: Vec<Terms>,
        /// The effect on a command that would break the contract.
        #[serde(default, skip_serializing_if = "OnBreak::is_warn")]
        on_break: OnBreak,
        /// Whether it replaced a contract of the same name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaced: bool,
    },
    /// A contract was deleted.
    Deleted {
        /// The name of the contract.
        name: ContractName,
    },
    /// A command broke a contract, and was not refused.
    Broken {
        /// The name of the contract.
        name: ContractName,
        /// The agent that depends on the key.
        owner: AgentId,
        /// The first key that broke it.
        breach: Breach,
        /// How many other keys of the same command broke it.
        #[serde(default, skip_serializing_if = "is_zero")]
        others: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl primitive::Command for Command {}

impl Event {
    /// The contract that it is about.
    pub fn name(&self) -> &ContractName {
        match self {
            Self::Declared { name, .. } | Self::Deleted { name } | Self::Broken { name, .. } => {
                name
            }
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Declared { .. } => "contract.declared",
            Self::Deleted { .. } => "contract.deleted",
            Self::Broken { .. } => "contract.broken",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["contracts/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Declared { keys, .. } => keys.iter().map(Terms::weight).sum(),
            Self::Deleted { .. } => 0,
            Self::Broken { owner, breach, .. } => owner.as_str().len() + breach.weight(),
        }
    }
}

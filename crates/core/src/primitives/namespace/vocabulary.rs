//! Commands, queries, replies and events of namespaces.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, NamespaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::primitive;
use crate::time::Timestamp;

/// Commands that change namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `namespace.create`
    Create {
        /// The name of the namespace.
        name: NamespaceName,
        /// The rules for writes. If omitted, there are none.
        #[serde(default)]
        rules: Rules,
    },
    /// `namespace.configure`: replaces all rules.
    Configure {
        /// The name of the namespace.
        name: NamespaceName,
        /// The new rules.
        rules: Rules,
    },
    /// `namespace.delete`: with all its entries.
    Delete {
        /// The name of the namespace.
        name: NamespaceName,
    },
}

/// Signals to namespaces.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy: creates the namespace if it does not exist.
    Ensure {
        /// The name of the namespace.
        name: NamespaceName,
    },
}

impl Command {
    /// The namespace that it is about.
    pub fn name(&self) -> &NamespaceName {
        match self {
            Self::Create { name, .. } | Self::Configure { name, .. } | Self::Delete { name } => {
                name
            }
        }
    }
}

/// Queries about namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `namespace.list`: a page, by name.
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
        cursor: Option<NamespaceName>,
    },
    /// `namespace.get`
    Get {
        /// The name of the namespace.
        name: NamespaceName,
    },
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Namespace {
    /// The name.
    pub name: NamespaceName,
    /// The rules for writes.
    pub rules: Rules,
    /// When it was created.
    pub created_at: Timestamp,
    /// The agent that created it.
    pub created_by: AgentId,
    /// The revision that created it or last changed its rules.
    pub revision: Revision,
}

/// Replies about namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One namespace.
    Namespace(Namespace),
    /// A page of results, by name.
    Namespaces {
        /// The results on this page.
        namespaces: Vec<Namespace>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<NamespaceName>,
    },
}

/// Events of namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A namespace was created.
    Created {
        /// The name of the namespace.
        name: NamespaceName,
        /// The rules.
        #[serde(default)]
        rules: Rules,
    },
    /// The rules were replaced.
    Configured {
        /// The name of the namespace.
        name: NamespaceName,
        /// The new rules.
        rules: Rules,
    },
    /// It was deleted with all its entries.
    Deleted {
        /// The name of the namespace.
        name: NamespaceName,
    },
}

impl primitive::Command for Command {}

impl Event {
    /// The namespace that it is about.
    pub fn name(&self) -> &NamespaceName {
        match self {
            Self::Created { name, .. }
            | Self::Configured { name, .. }
            | Self::Deleted { name, .. } => name,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created { .. } => "namespace.created",
            Self::Configured { .. } => "namespace.configured",
            Self::Deleted { .. } => "namespace.deleted",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["namespaces/", self.name().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Created { rules, .. } | Self::Configured { rules, .. } => rules.weight(),
            Self::Deleted { .. } => 0,
        }
    }
}

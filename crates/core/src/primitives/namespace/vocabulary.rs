//! The words of namespaces.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, NamespaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::time::Timestamp;

/// What one may ask of namespaces so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `namespace.create`
    Create {
        /// Its name.
        name: NamespaceName,
        /// Its rules.
        #[serde(default)]
        rules: Rules,
    },
    /// `namespace.configure`: the rules as a whole are replaced.
    Configure {
        /// Which.
        name: NamespaceName,
        /// Its rules from now on.
        rules: Rules,
    },
    /// `namespace.delete`: with all its entries.
    Delete {
        /// Which.
        name: NamespaceName,
    },
    /// Sent by a policy: there shall be one, whether or not there was.
    Ensure {
        /// Its name.
        name: NamespaceName,
    },
}

impl Command {
    /// The namespace it is about.
    pub fn name(&self) -> &NamespaceName {
        match self {
            Self::Create { name, .. }
            | Self::Configure { name, .. }
            | Self::Delete { name }
            | Self::Ensure { name } => name,
        }
    }
}

/// What one may ask of namespaces without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `namespace.list`: a page, by name.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<usize>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<NamespaceName>,
    },
    /// `namespace.get`
    Get {
        /// Which.
        name: NamespaceName,
    },
}

/// A namespace as callers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Namespace {
    /// Its name.
    pub name: NamespaceName,
    /// Its rules.
    pub rules: Rules,
    /// When it was created.
    pub created_at: Timestamp,
    /// Who created it.
    pub created_by: AgentId,
    /// The revision that made it or its rules what they are.
    pub revision: Revision,
}

/// Answers of namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One namespace.
    Namespace(Namespace),
    /// A page of them, by name.
    Namespaces {
        /// The page.
        namespaces: Vec<Namespace>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<NamespaceName>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about namespaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a new one.
    Created {
        /// Its name.
        name: NamespaceName,
        /// Its rules.
        #[serde(default)]
        rules: Rules,
    },
    /// It has other rules now.
    Configured {
        /// Which.
        name: NamespaceName,
        /// Its rules from now on.
        rules: Rules,
    },
    /// It is gone, with all its entries.
    Deleted {
        /// Which.
        name: NamespaceName,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Created { .. } => "namespace.created",
            Self::Configured { .. } => "namespace.configured",
            Self::Deleted { .. } => "namespace.deleted",
        }
    }

    /// The namespace it is about.
    pub fn name(&self) -> &NamespaceName {
        match self {
            Self::Created { name, .. }
            | Self::Configured { name, .. }
            | Self::Deleted { name, .. } => name,
        }
    }
}

//! Preconditions: what must hold for a transaction to happen at all.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::names::{AgentId, Key, NamespaceName};
use crate::numbers::{Revision, Token, Version};

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Precondition {
    /// About an entry. What is not given does not matter.
    Entry {
        /// Where the key lives.
        namespace: NamespaceName,
        /// Which key.
        key: Key,
        /// It has this version; 0 means that it is absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<Version>,
        /// It is there, or it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exists: Option<bool>,
        /// It has this value.
        #[serde(
            default,
            deserialize_with = "crate::json::given",
            skip_serializing_if = "Option::is_none"
        )]
        value: Option<Json>,
    },
    /// A namespace is there, or it is not.
    Namespace {
        /// Which.
        name: NamespaceName,
        /// Whether it is there.
        exists: bool,
    },
    /// An agent has a session, or has none.
    Agent {
        /// Which.
        agent: AgentId,
        /// Whether it has one.
        active: bool,
    },
    /// A lease, a hold, a permit or a session under this token is not over.
    Token(Token),
    /// The workspace has not changed since this revision.
    Revision(Revision),
}

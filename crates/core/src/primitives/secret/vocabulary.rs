//! Commands, queries, replies and events of secrets.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, ContentName, SecretId};
use crate::primitive;
use crate::time::Timestamp;

/// Commands that change secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sent by the engine when a stored value is durable.
    Put(Put),
    /// Sent by the engine before it returns a value.
    Reveal {
        /// The secret.
        secret: SecretId,
    },
    /// `secret.delete`: permanently.
    Delete {
        /// The secret.
        secret: SecretId,
    },
}

/// No signal is only for secrets.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PutSecret"))]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The reference, which is also its storage place.
    pub secret: SecretId,
    /// The size of the value in bytes.
    pub bytes: u64,
    /// Name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// Time to live in milliseconds. If omitted, until it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Queries about secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `secret.get`: the metadata, without the value.
    Get {
        /// The secret.
        secret: SecretId,
    },
    /// `secret.list`: by reference, without values.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default)]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default)]
        cursor: Option<SecretId>,
    },
}

/// The metadata of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SecretRecord"))]
pub struct Secret {
    /// The reference.
    pub secret: SecretId,
    /// Name for display. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// The size of the value in bytes.
    pub bytes: u64,
    /// The agent that stored it.
    pub put_by: AgentId,
    /// When it was stored.
    pub put_at: Timestamp,
    /// When it expires. Absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// How often the value was read.
    pub reveals: u64,
    /// The agent that last read the value. Absent if it was never read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_to: Option<AgentId>,
    /// When the value was last read. Absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_at: Option<Timestamp>,
}

/// Replies about secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The metadata of one secret.
    Secret(Box<Secret>),
    /// A page of secrets.
    Secrets {
        /// The results on this page, by reference.
        secrets: Vec<Secret>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<SecretId>,
    },
}

/// Events of secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A secret was stored.
    Put {
        /// The reference.
        secret: SecretId,
        /// The size of the value in bytes.
        bytes: u64,
        /// Name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ContentName>,
        /// When it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// The value was read by the author of the commit.
    Revealed {
        /// The secret.
        secret: SecretId,
    },
    /// It was deleted by a call.
    Deleted {
        /// The secret.
        secret: SecretId,
    },
    /// It expired.
    Expired {
        /// The secret.
        secret: SecretId,
    },
}

impl primitive::Command for Command {}

impl Event {
    /// The secret that it is about.
    pub fn secret(&self) -> &SecretId {
        match self {
            Self::Put { secret, .. }
            | Self::Revealed { secret }
            | Self::Deleted { secret }
            | Self::Expired { secret } => secret,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Put { .. } => "secret.put",
            Self::Revealed { .. } => "secret.revealed",
            Self::Deleted { .. } => "secret.deleted",
            Self::Expired { .. } => "secret.expired",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["secrets/", self.secret().as_str(), "", ""]
    }

    fn load(&self) -> usize {
        match self {
            Self::Put { name, .. } => name.as_ref().map_or(0, |name| name.as_str().len()),
            Self::Revealed { .. } | Self::Deleted { .. } | Self::Expired { .. } => 0,
        }
    }
}

//! The words of secrets.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, ContentName, SecretId};
use crate::time::Timestamp;

/// What one may ask of secrets so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sent by the engine when the value that somebody has handed in is durable.
    Put(Put),
    /// Sent by the engine before it hands out a value.
    Reveal {
        /// Which.
        secret: SecretId,
    },
    /// `secret.delete`: it is gone for good.
    Delete {
        /// Which.
        secret: SecretId,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// A value that is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PutSecret"))]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// Its reference, which is also where it is.
    pub secret: SecretId,
    /// How many bytes it has.
    pub bytes: u64,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// How long it is kept; until it is deleted if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// What one may ask of secrets without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `secret.get`: what is known of it, without its value.
    Get {
        /// Which.
        secret: SecretId,
    },
    /// `secret.list`: by reference, without their values.
    List {
        /// How many at most.
        #[serde(default)]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default)]
        cursor: Option<SecretId>,
    },
}

/// What is known of a secret. Its value is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SecretRecord"))]
pub struct Secret {
    /// Its reference.
    pub secret: SecretId,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// How many bytes it has.
    pub bytes: u64,
    /// Who handed it in.
    pub put_by: AgentId,
    /// When.
    pub put_at: Timestamp,
    /// When it goes by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// How often it was handed out.
    pub reveals: u64,
    /// To whom, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_to: Option<AgentId>,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revealed_at: Option<Timestamp>,
}

/// Answers of secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What is known of one.
    Secret(Box<Secret>),
    /// A page of them.
    Secrets {
        /// The page, by reference.
        secrets: Vec<Secret>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<SecretId>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody handed one in.
    Put {
        /// Its reference.
        secret: SecretId,
        /// How many bytes it has.
        bytes: u64,
        /// What people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ContentName>,
        /// When it goes by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    /// Its value was handed out, to whoever caused this.
    Revealed {
        /// Which.
        secret: SecretId,
    },
    /// Somebody has removed it.
    Deleted {
        /// Which.
        secret: SecretId,
    },
    /// Its time was over.
    Expired {
        /// Which.
        secret: SecretId,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Put { .. } => "secret.put",
            Self::Revealed { .. } => "secret.revealed",
            Self::Deleted { .. } => "secret.deleted",
            Self::Expired { .. } => "secret.expired",
        }
    }

    /// The secret it is about.
    pub fn secret(&self) -> &SecretId {
        match self {
            Self::Put { secret, .. }
            | Self::Revealed { secret }
            | Self::Deleted { secret }
            | Self::Expired { secret } => secret,
        }
    }

    /// Bytes of what is in it beyond the reference.
    pub(crate) fn load(&self) -> usize {
        match self {
            Self::Put { name, .. } => name.as_ref().map_or(0, |name| name.as_str().len()),
            Self::Revealed { .. } | Self::Deleted { .. } | Self::Expired { .. } => 0,
        }
    }
}

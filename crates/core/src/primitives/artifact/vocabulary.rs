//! The words of artifacts.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, ArtifactId, BlobPlace, ContentName, MediaType};
use crate::time::Timestamp;

/// What one may ask of artifacts so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sent by the engine when the bytes that somebody has uploaded are durable.
    Put(Box<Put>),
    /// `artifact.delete`: before its time, if nobody names it.
    Delete {
        /// Which.
        artifact: ArtifactId,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// Bytes that are there, and what they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PutArtifact"))]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The digest of the bytes.
    pub artifact: ArtifactId,
    /// Where they are.
    pub place: BlobPlace,
    /// How many they are.
    pub bytes: u64,
    /// What whoever sent them says that they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ArtifactId>,
    /// What kind of content it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<MediaType>,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// How long it is kept while nobody names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_ms: Option<u64>,
}

/// What one may ask of artifacts without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `artifact.get`: what is known of it, without its bytes.
    Get {
        /// Which.
        artifact: ArtifactId,
    },
    /// `artifact.list`: by id.
    List(List),
}

/// Which artifacts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListArtifacts"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only those that nobody names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Only those that are called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<ArtifactId>,
}

/// An artifact as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Artifact {
    /// Which: the digest of its bytes.
    pub artifact: ArtifactId,
    /// How many bytes it has.
    pub bytes: u64,
    /// What kind of content it is.
    pub media_type: MediaType,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// Who put it there last.
    pub put_by: AgentId,
    /// When.
    pub put_at: Timestamp,
    /// How long it is kept while nobody names it.
    pub keep_ms: u64,
    /// How many records name it.
    pub references: u64,
    /// The first of them, as subjects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
    /// When it goes unless something names it by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Answers of artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Bytes were put.
    Put {
        /// The artifact that they are.
        artifact: Box<Artifact>,
        /// Whether it was there before, so that the bytes need not be kept twice.
        known: bool,
    },
    /// One artifact.
    Artifact(Box<Artifact>),
    /// A page of them.
    Artifacts {
        /// The page, by id.
        artifacts: Vec<Artifact>,
        /// How many bytes all artifacts of the workspace have.
        bytes: u64,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<ArtifactId>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Somebody put it there, perhaps again.
    Put {
        /// Which.
        artifact: ArtifactId,
        /// Where its bytes are; where they were if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<BlobPlace>,
        /// How many they are.
        bytes: u64,
        /// What kind of content it is.
        media_type: MediaType,
        /// What people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ContentName>,
        /// How long it is kept while nobody names it.
        keep_ms: u64,
    },
    /// Somebody has removed it.
    Deleted {
        /// Which.
        artifact: ArtifactId,
    },
    /// Nobody has named it for as long as it was to be kept.
    Expired {
        /// Which.
        artifact: ArtifactId,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Put { .. } => "artifact.put",
            Self::Deleted { .. } => "artifact.deleted",
            Self::Expired { .. } => "artifact.expired",
        }
    }

    /// The artifact it is about.
    pub fn artifact(&self) -> &ArtifactId {
        match self {
            Self::Put { artifact, .. }
            | Self::Deleted { artifact }
            | Self::Expired { artifact } => artifact,
        }
    }

    /// Bytes of what is in it beyond the id.
    pub(crate) fn load(&self) -> usize {
        // The names of the fields, and the place.
        const FRAME: usize = 96;
        match self {
            Self::Put { media_type, name, .. } => {
                let name = name.as_ref().map_or(0, |name| name.as_str().len());
                FRAME + media_type.as_str().len() + name
            }
            Self::Deleted { .. } | Self::Expired { .. } => 0,
        }
    }
}

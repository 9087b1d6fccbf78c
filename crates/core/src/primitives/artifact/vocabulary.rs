//! Commands, queries, replies and events of artifacts.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, ArtifactId, BlobPlace, ContentName, MediaType};
use crate::primitive;
use crate::time::Timestamp;

/// Commands that change artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Sent by the engine when uploaded bytes are durable.
    Put(Box<Put>),
    /// `artifact.delete`: before it expires, if nothing references it.
    Delete {
        /// The artifact.
        artifact: ArtifactId,
    },
}

/// No signal is only for artifacts.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {}

/// An uploaded blob and its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PutArtifact"))]
#[serde(deny_unknown_fields)]
pub struct Put {
    /// The digest of the bytes.
    pub artifact: ArtifactId,
    /// The blob that contains the bytes.
    pub place: BlobPlace,
    /// The size in bytes.
    pub bytes: u64,
    /// The id that the uploader expects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ArtifactId>,
    /// The media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<MediaType>,
    /// File name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// How long the artifact is kept while nothing references it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_ms: Option<u64>,
}

/// Queries about artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `artifact.get`: the metadata, without the bytes.
    Get {
        /// The artifact.
        artifact: ArtifactId,
    },
    /// `artifact.list`: by id.
    List(List),
}

/// Which artifacts to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListArtifacts"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Only artifacts that nothing references.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    /// Only artifacts with this name. If omitted, any name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<ArtifactId>,
}

/// The metadata of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Artifact {
    /// The id: the SHA-256 of the bytes.
    pub artifact: ArtifactId,
    /// The size in bytes.
    pub bytes: u64,
    /// The media type.
    pub media_type: MediaType,
    /// File name for display. Absent if none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// The agent that last uploaded it.
    pub put_by: AgentId,
    /// When it was last uploaded.
    pub put_at: Timestamp,
    /// How long it is kept while nothing references it, in milliseconds.
    pub keep_ms: u64,
    /// The number of records that reference it.
    pub references: u64,
    /// The first of these records, as subjects. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<String>,
    /// When it is deleted unless something references it by then. Absent while it is referenced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Replies about artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Bytes were uploaded.
    Put {
        /// The artifact.
        artifact: Box<Artifact>,
        /// Whether the artifact existed, so that the new blob is not needed.
        known: bool,
    },
    /// One artifact.
    Artifact(Box<Artifact>),
    /// A page of artifacts.
    Artifacts {
        /// The results on this page, by id.
        artifacts: Vec<Artifact>,
        /// The total size of all artifacts of the workspace in bytes.
        bytes: u64,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<ArtifactId>,
    },
}

/// Events of artifacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// An artifact was uploaded, possibly again.
    Put {
        /// The artifact.
        artifact: ArtifactId,
        /// The blob that contains the bytes. Absent if that did not change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<BlobPlace>,
        /// The size in bytes.
        bytes: u64,
        /// The media type.
        media_type: MediaType,
        /// File name for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<ContentName>,
        /// How long it is kept while nothing references it, in milliseconds.
        keep_ms: u64,
    },
    /// The artifact was deleted by a call.
    Deleted {
        /// The artifact.
        artifact: ArtifactId,
    },
    /// Nothing referenced the artifact for its retention time.
    Expired {
        /// The artifact.
        artifact: ArtifactId,
    },
}

impl primitive::Command for Command {}

impl Event {
    /// The artifact that it is about.
    pub fn artifact(&self) -> &ArtifactId {
        match self {
            Self::Put { artifact, .. }
            | Self::Deleted { artifact }
            | Self::Expired { artifact } => artifact,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Put { .. } => "artifact.put",
            Self::Deleted { .. } => "artifact.deleted",
            Self::Expired { .. } => "artifact.expired",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["artifacts/", self.artifact().as_str(), "", ""]
    }

    fn load(&self) -> usize {
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

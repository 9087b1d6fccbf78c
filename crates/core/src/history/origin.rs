//! The origin of a workspace.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, CopyId, WorkspaceName};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// How a workspace came from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// It was forked.
    Fork,
    /// It was imported from a file.
    Import,
}

/// The origin of a workspace that did not start empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// How it was created.
    pub manner: Manner,
    /// The workspace whose content it started with.
    pub workspace: WorkspaceName,
    /// The revision of that workspace.
    pub revision: Revision,
    /// The time of that revision.
    pub time: Timestamp,
    /// The agent that requested it.
    pub by: AgentId,
    /// The copy that it came from, for `workspace.sync`. Absent if an older version recorded the
    /// origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyId>,
}

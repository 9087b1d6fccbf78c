//! Where a workspace came from.

use serde::{Deserialize, Serialize};

use crate::names::{AgentId, WorkspaceName};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// How a workspace came from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Manner {
    /// It was forked.
    Fork,
    /// It was read from a file.
    Import,
}

/// Where a workspace came from, if it was not empty when it began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Origin {
    /// How it came to be.
    pub manner: Manner,
    /// The workspace whose content it began with.
    pub workspace: WorkspaceName,
    /// As it was there after this revision.
    pub revision: Revision,
    /// When that was.
    pub time: Timestamp,
    /// Who wanted it.
    pub by: AgentId,
}

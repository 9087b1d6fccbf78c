//! Commands, queries, replies and events of the workspace itself.

use serde::{Deserialize, Serialize};

use crate::history::{At, Difference, Explanation, Origin};
use crate::limits;
use crate::names::{CopyId, WorkspaceName};
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::primitive;
use crate::search::{Results, Search};
use crate::sync::{ChangesQuery, CopyChanges, Seen, Sync, SyncReport, TakenChange};
use crate::time::Timestamp;

/// Commands that change the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `workspace.configure`: omitted fields stay as they are.
    Configure {
        /// The number of revisions of history to keep. If omitted, unchanged.
        #[serde(default)]
        history_count: Option<u64>,
        /// How long to keep history, in milliseconds. If omitted, unchanged.
        #[serde(default)]
        history_age_ms: Option<u64>,
    },
    /// `workspace.sync`
    Sync(Box<Sync>),
}

/// Signals to the workspace.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by the engine when the workspace starts with the content of another.
    Found {
        /// Its origin.
        origin: Origin,
    },
}

/// Queries about the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `workspace.get`
    Get,
    /// `workspace.list`: all workspaces.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<WorkspaceName>,
    },
    /// `workspace.fork`: creates a workspace from the state of this one.
    Fork {
        /// The name of the new workspace.
        to: WorkspaceName,
        /// The revision or time to fork from. If omitted, the present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<At>,
    },
    /// `workspace.delete`: deletes the workspace that has had this revision.
    Delete {
        /// A revision of the workspace, such as its current one. It identifies the workspace: one
        /// that was created under the same name since is not deleted.
        revision: Revision,
    },
    /// `workspace.diff`
    Diff(Diff),
    /// `workspace.changes`
    Changes(ChangesQuery),
    /// `workspace.search`
    Search(Search),
    /// `workspace.why`: what led to the current state of an entry, a task or a hand-off.
    Why {
        /// The subject: `state/shared/plan`, `tasks/t-7` or `handoffs/h-7`.
        subject: String,
        /// The revision or time to explain. If omitted, the present.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<At>,
    },
}

/// The changes between two revisions or times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceDiff"))]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// The revision or time to start after.
    pub from: At,
    /// The last revision or time to include. If omitted, the present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// Only subjects that match. If omitted, all subjects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// The maximum number of subjects.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How much history is kept. History beyond either bound is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retention {
    /// The number of revisions.
    pub history_count: u64,
    /// The maximum age in milliseconds.
    pub history_age_ms: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            history_count: limits::HISTORY_COUNT_DEFAULT,
            history_age_ms: limits::HISTORY_AGE_MS_DEFAULT,
        }
    }
}

/// Replies about the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The configuration and size of a workspace.
    Workspace {
        /// How much history it keeps.
        retention: Retention,
        /// The number of entries of shared state.
        entries: u64,
        /// The number of namespaces.
        namespaces: u64,
        /// The number of known agents.
        agents: u64,
        /// Its origin. Absent if it started empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// A page of workspaces, by name.
    Workspaces {
        /// The results on this page.
        workspaces: Vec<Listed>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<WorkspaceName>,
    },
    /// The new workspace.
    Forked(Forked),
    /// The workspace that was deleted, and its last revision.
    Deleted(Listed),
    /// The changes between two revisions or times.
    Differences(Differences),
    /// The changes of a copy that another copy does not include yet.
    Changes(Box<CopyChanges>),
    /// The report of a synchronization.
    Synced(SyncReport),
    /// Search results.
    Found(Results),
    /// An explanation.
    Why(Explanation),
}

/// A new workspace that was created from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forked {
    /// The name of the workspace.
    pub id: WorkspaceName,
    /// The revision with which it starts.
    pub revision: Revision,
    /// Its origin.
    pub origin: Origin,
}

/// A page of the changes between two revisions or times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differences {
    /// The revision after which they start.
    pub from: Revision,
    /// The last revision.
    pub to: Revision,
    /// The changes, by subject.
    pub differences: Vec<Difference>,
    /// The cursor of the next page. Absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A workspace in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListedWorkspace"))]
pub struct Listed {
    /// The name of the workspace.
    pub id: WorkspaceName,
    /// The revision of its last change.
    pub revision: Revision,
}

/// Events of the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Its configuration changed.
    Configured {
        /// How much history it keeps.
        retention: Retention,
    },
    /// It started with the content of another.
    Founded {
        /// Its origin.
        origin: Origin,
    },
    /// It took in the changes of another copy.
    Synced(Synced),
}

/// The changes of another copy were taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Synced {
    /// The name of the other workspace.
    pub with: WorkspaceName,
    /// The other copy.
    pub copy: CopyId,
    /// Its revision up to which its changes are included.
    pub up_to: Revision,
    /// The revision of every other copy that is included.
    pub seen: Vec<Seen>,
    /// The values that were taken from the other copy, and the writes that had made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken: Vec<TakenChange>,
}

/// The start of a workspace with the content of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Founding {
    /// The revision with which it started.
    pub revision: Revision,
    /// The time.
    pub time: Timestamp,
}

impl primitive::Command for Command {}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Configured { .. } => "workspace.configured",
            Self::Founded { .. } => "workspace.founded",
            Self::Synced(_) => "workspace.synced",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        ["workspace", "", "", ""]
    }

    fn load(&self) -> usize {
        const SEEN: usize = 160;
        match self {
            Self::Configured { .. } | Self::Founded { .. } => 0,
            Self::Synced(synced) => {
                let taken = synced.taken.iter().map(TakenChange::weight);
                SEEN * (1 + synced.seen.len()) + taken.sum::<usize>()
            }
        }
    }
}

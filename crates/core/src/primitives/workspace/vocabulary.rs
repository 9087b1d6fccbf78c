//! The words of the workspace about itself.

use serde::{Deserialize, Serialize};

use crate::history::{At, Difference, Explanation, Origin};
use crate::limits;
use crate::names::WorkspaceName;
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::search::{Results, Search};

/// What one may ask of the workspace so that it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `workspace.configure`: what is not given stays as it is.
    Configure {
        /// How many revisions of history to keep.
        #[serde(default)]
        history_count: Option<u64>,
        /// For how long to keep history.
        #[serde(default)]
        history_age_ms: Option<u64>,
    },
    /// Sent by the engine when the workspace begins with the content of another.
    Found {
        /// Where it comes from.
        origin: Origin,
    },
}

/// What one may ask of the workspace without changing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `workspace.get`
    Get,
    /// `workspace.list`: those that there are beside this one, and it.
    List {
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<WorkspaceName>,
    },
    /// `workspace.fork`: another workspace that begins as this one was.
    Fork {
        /// The name of the new one.
        to: WorkspaceName,
        /// As it was at this revision or time; as it is if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<At>,
    },
    /// `workspace.diff`
    Diff(Diff),
    /// `workspace.search`
    Search(Search),
    /// `workspace.why`: what led to an entry, a task or a hand-off as it is.
    Why {
        /// What: `state/shared/plan`, `tasks/t-7`, `handoffs/h-7`.
        subject: String,
        /// As it was at this revision or time; as it is if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<At>,
    },
}

/// What happened to everything between two moments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "WorkspaceDiff"))]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// After this revision or time.
    pub from: At,
    /// Up to this one; the present if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<At>,
    /// Only subjects that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// How many subjects at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How much of the past is kept. What is beyond either bound goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retention {
    /// How many revisions.
    pub history_count: u64,
    /// For how long.
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

/// Answers of the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// How it is set up.
    Workspace {
        /// How much of the past it keeps.
        retention: Retention,
        /// How many entries of shared state it has.
        entries: u64,
        /// How many namespaces it has.
        namespaces: u64,
        /// How many agents it knows.
        agents: u64,
        /// Where it came from, if it was not empty when it began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// A page of workspaces, by name.
    Workspaces {
        /// The page.
        workspaces: Vec<Listed>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<WorkspaceName>,
    },
    /// The workspace that begins as this one was.
    Forked(Forked),
    /// What happened to everything between two moments.
    Differences(Differences),
    /// What was found.
    Found(Results),
    /// Why something is as it is.
    Why(Explanation),
}

/// A workspace that begins as another was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forked {
    /// Its name.
    pub id: WorkspaceName,
    /// The revision with which it begins.
    pub revision: Revision,
    /// Where it came from.
    pub origin: Origin,
}

/// What happened to everything between two moments: a page of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Differences {
    /// After this revision.
    pub from: Revision,
    /// Up to this one.
    pub to: Revision,
    /// What happened, by subject.
    pub differences: Vec<Difference>,
    /// Where to go on, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A workspace in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListedWorkspace"))]
pub struct Listed {
    /// Its name.
    pub id: WorkspaceName,
    /// The revision of its last change.
    pub revision: Revision,
}

/// Facts about the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It is set up otherwise now.
    Configured {
        /// How much of the past it keeps from now on.
        retention: Retention,
    },
    /// It begins with the content of another.
    Founded {
        /// Where that came from.
        origin: Origin,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configured { .. } => "workspace.configured",
            Self::Founded { .. } => "workspace.founded",
        }
    }
}

//! The words of the workspace about itself.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::history::{At, Difference, Explanation, Origin};
use crate::kind::Kind;
use crate::limits;
use crate::names::WorkspaceName;
use crate::numbers::Revision;
use crate::pattern::Pattern;
use crate::refusal::{BadField, OutOfRange, TooLarge};
use crate::search::{BadFilter, Refused, Results, Search};

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

/// Why a workspace command was refused. Nothing was written.
#[derive(Clone, Debug, PartialEq, Error, Serialize)]
#[serde(untagged)]
pub enum Rejection {
    /// Keeping nothing at all is not possible: watchers could never resume.
    #[error("{field} is {given}, it must be at least 1")]
    NothingKept {
        /// Which bound.
        field: &'static str,
        /// What was given.
        given: u64,
    },
    /// There is one of this name, and nothing is written over it.
    #[error("there is a workspace `{id}` already")]
    Exists {
        /// Which.
        id: WorkspaceName,
        /// Where it came from, if it was not empty when it began.
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<Box<Origin>>,
    },
    /// What shall be explained is not there, and was not.
    #[error("nothing is known about `{subject}`")]
    UnknownSubject {
        /// What was given.
        subject: String,
    },
    /// The filter of a search is not understood.
    #[error(transparent)]
    BadFilter(#[from] BadFilter),
    /// There is more than an index holds.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// A field makes no sense.
    #[error(transparent)]
    BadField(#[from] BadField),
    /// A number that makes no sense.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl Rejection {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NothingKept { .. } => "workspace.nothing_kept",
            Self::Exists { .. } => "workspace.exists",
            Self::UnknownSubject { .. } => "workspace.unknown_subject",
            Self::BadFilter(_) => "workspace.bad_filter",
            Self::TooLarge(_) => "workspace.too_large",
            Self::BadField(_) => "workspace.bad_field",
            Self::OutOfRange(_) => "workspace.out_of_range",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NothingKept { .. }
            | Self::BadFilter(_)
            | Self::BadField(_)
            | Self::OutOfRange(_) => Kind::Invalid,
            Self::TooLarge(_) => Kind::Exhausted,
            Self::Exists { .. } => Kind::Conflict,
            Self::UnknownSubject { .. } => Kind::NotFound,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NothingKept { .. } => "give a positive number",
            Self::Exists { .. } => "choose another name",
            Self::UnknownSubject { .. } => "look for it in the history, or list what there is",
            Self::BadFilter(_) => "write it as docs/search.md says",
            Self::TooLarge(_) => "look into lists and the history instead",
            Self::BadField(_) => "give it as docs/time-travel.md says",
            Self::OutOfRange(_) => "give a number within the range",
        }
    }
}

impl From<Refused> for Rejection {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Filter(wrong) => wrong.into(),
            Refused::Field(wrong) => wrong.into(),
            Refused::TooLarge(wrong) => wrong.into(),
        }
    }
}

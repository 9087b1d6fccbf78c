//! The words of the workspace about itself.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kind::Kind;
use crate::limits;

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
}

/// What one may ask of the workspace without changing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Query {
    /// `workspace.get`
    Get,
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
    },
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
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Configured { .. } => "workspace.configured",
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
}

impl Rejection {
    /// Stable across releases; documented in `docs/errors.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NothingKept { .. } => "workspace.nothing_kept",
        }
    }

    /// What the caller should do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::NothingKept { .. } => Kind::Invalid,
        }
    }

    /// What to do next, as a sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NothingKept { .. } => "give a positive number",
        }
    }
}

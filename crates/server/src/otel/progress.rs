//! The delivered positions, stored in the workspace that no interface can reach.
//!
//! ```text
//!   otel/since              when spans were first exported
//!   otel/at/WORKSPACE       {"delivered": 40, "seen": 57}
//! ```
//!
//! It is written periodically and at shutdown. Spans that were delivered since the last write are
//! delivered again after a crash, with the same ids.

use std::collections::BTreeMap;

use baton::{Baton, Error, Workspace};
use baton_core::access::CLOSED;
use baton_core::state::{Command, List, Set};
use baton_core::{Json, Key, NamespaceName, Rejection, Revision, Timestamp, WorkspaceName};
use serde::{Deserialize, Serialize};

/// The common prefix of its keys.
const KEYS: &str = "otel/";
const SINCE: &str = "otel/since";
const AT: &str = "otel/at/";
/// The author of its entries.
const AGENT: &str = "otel";
/// The maximum number of entries in one commit.
const TOGETHER_MAX: usize = 500;

/// The position of one workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Everything up to this revision is delivered.
    pub(super) delivered: Revision,
    /// The newest revision that was seen.
    pub(super) seen: Revision,
}

/// The stored positions.
#[derive(Default)]
pub(super) struct Kept {
    /// Nothing that ended before is sent; none if nothing was ever exported.
    pub(super) since: Option<Timestamp>,
    pub(super) progress: BTreeMap<WorkspaceName, Progress>,
}

/// The store of positions.
pub(super) struct ProgressStore {
    workspace: Workspace,
}

impl ProgressStore {
    pub(super) fn of(baton: &Baton) -> Result<Self, Error> {
        Ok(Self { workspace: baton.workspace(CLOSED)?.as_agent(AGENT)? })
    }

    /// Reads all positions. An invalid one counts as missing: its spans are sent again.
    pub(super) async fn read(&self) -> Result<Kept, Error> {
        let mut kept = Kept::default();
        let mut cursor = None;
        loop {
            let prefix = Some(KEYS.to_owned());
            let list = List { prefix, cursor, ..List::all(NamespaceName::shared()) };
            let page = self.workspace.state("shared").list(list).await?;
            for entry in &page.entries {
                let (key, value) = (entry.key(), entry.json());
                if key == SINCE {
                    kept.since = serde_json::from_str(value.as_str()).ok();
                }
                let name = key.strip_prefix(AT).and_then(|name| WorkspaceName::parse(name).ok());
                let progress = serde_json::from_str(value.as_str()).ok();
                kept.progress.extend(name.zip(progress));
            }
            cursor = page.cursor;
            if cursor.is_none() {
                return Ok(kept);
            }
        }
    }

    /// Stores when spans were first exported.
    pub(super) async fn begin(&self, since: Timestamp) -> Result<(), Error> {
        self.workspace.state("shared").set(SINCE, since).await?;
        Ok(())
    }

    /// Stores the positions of some workspaces.
    pub(super) async fn write(&self, all: &[(WorkspaceName, Progress)]) -> Result<(), Error> {
        for some in all.chunks(TOGETHER_MAX) {
            let mut together = self.workspace.transaction();
            for (workspace, progress) in some {
                let value = Json::of(progress).map_err(Rejection::from)?;
                let key = Key::parse(&format!("{AT}{workspace}"))?;
                let set = Set::new(NamespaceName::shared(), key, value);
                together = together.command(Command::Set(set));
            }
            together.commit().await?;
        }
        Ok(())
    }
}

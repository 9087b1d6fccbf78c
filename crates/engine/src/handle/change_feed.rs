//! A change feed for programs that follow all workspaces at their own pace, with the log as buffer.
//!
//! ```text
//!   advanced ──▶ which, and how far ──▶ happened ──▶ commits in order ──▶ story: earlier commits
//! ```
//!
//! A watch keeps its workspace in memory and is dropped when it falls behind. A follower keeps
//! nothing in memory: it passes its position, and reads on from there.

use std::collections::BTreeMap;

use baton_core::history::At;
use baton_core::{Batch, Revision, Timestamp, WorkspaceName};

use super::Baton;
use crate::error::Error;

/// The commits of a workspace after a revision.
pub struct ChangeFeedPage {
    /// Some of the commits, in order; none if there are no more.
    pub batches: Vec<Batch>,
    /// History up to this revision has been dropped.
    pub floor: Revision,
}

impl Baton {
    /// Workspaces with commits after the given revisions, in no order, and how far each is durable.
    /// One that was neither used nor changed since the start is not included.
    pub fn advanced(
        &self,
        seen: &BTreeMap<WorkspaceName, Revision>,
    ) -> Vec<(WorkspaceName, Revision)> {
        self.driver.shard.machine().advanced(seen)
    }

    /// The commits of a workspace after a revision and up to a durable one: about this many bytes,
    /// and at least one commit if there is any. It reads files: call it where blocking is allowed.
    pub async fn happened(
        &self,
        workspace: &WorkspaceName,
        after: Revision,
        last: Revision,
        bytes_max: usize,
    ) -> Result<ChangeFeedPage, Error> {
        self.driver.ensure_loaded(workspace).await?;
        let shard = &self.driver.shard;
        let floor = shard.past(workspace, last)?.floor();
        let from = after.max(floor).next();
        Ok(ChangeFeedPage { batches: shard.batches(workspace, from, last, bytes_max)?, floor })
    }

    /// The commits before a revision that touched a subject, such as `tasks/t-7`, oldest first; if
    /// there are more than the limit, the newest ones. It reads files, too.
    pub async fn story(
        &self,
        workspace: &WorkspaceName,
        subject: &str,
        before: Revision,
        batches_max: usize,
    ) -> Result<Vec<Batch>, Error> {
        self.driver.ensure_loaded(workspace).await?;
        let present = Revision(before.0.saturating_sub(1));
        self.driver.shard.past(workspace, present)?.story(subject, before, batches_max)
    }

    /// The last revision of a workspace up to a time, at most a durable one; history that was
    /// dropped counts as before every time. It reads files, too.
    pub async fn revision_at(
        &self,
        workspace: &WorkspaceName,
        time: Timestamp,
        last: Revision,
    ) -> Result<Revision, Error> {
        self.driver.ensure_loaded(workspace).await?;
        let past = self.driver.shard.past(workspace, last)?;
        match past.revision_of(At::Time(time)) {
            Err(Error::TimeGone { .. }) => Ok(past.floor()),
            found => found,
        }
    }
}

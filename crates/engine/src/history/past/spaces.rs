//! A complete workspace at a past revision, and the revision of a point in time.
//!
//! Every query about the present also works for the past, because a space is the result of its
//! batches: it is rebuilt from the nearest snapshot before the revision, and given the same query.
//! A rebuilt space is cached for a moment, since queries about the past rarely come alone, and a
//! later revision of the same workspace is built from it.
//!
//! ```text
//!   base ─────── snapshot ─────── cached ──────▶ at ─ ─ ─ ─ ─ ─▶ present
//!                               start with the nearest, replay the rest
//! ```
//!
//! 1. A query is only given to a space at exactly the requested revision.
//! 2. At most [`Options::past_batches_max`](crate::Options::past_batches_max) batches are replayed
//!    for one query.
//! 3. At most [`REMEMBERED_MAX`] spaces are cached, each for [`REMEMBERED_MS`].

use std::sync::{Mutex, PoisonError};

use baton_core::history::At;
use baton_core::{Revision, Space, Timestamp, WorkspaceName};
use baton_log::Log;

use super::Past;
use crate::codec;
use crate::error::Error;
use crate::files::File;
use crate::give_way::GiveWay;
use crate::shard::Shard;
use crate::snapshot::Snapshot;

/// How many past spaces are cached: each is as large as a workspace.
pub const REMEMBERED_MAX: usize = 2;
/// How long they are kept without a query.
pub const REMEMBERED_MS: u64 = 10_000;

/// Past states that were read recently.
#[derive(Default)]
pub struct PastSpaceCache(Mutex<Vec<(WorkspaceName, Space, Timestamp)>>);

impl PastSpaceCache {
    /// Drops the spaces of a workspace that is deleted.
    pub(crate) fn remove(&self, workspace: &WorkspaceName) {
        let mut spaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.retain(|(name, ..)| name != workspace);
    }

    /// Takes out the newest space of a workspace between two revisions.
    fn take(&self, workspace: &WorkspaceName, from: Revision, to: Revision) -> Option<Space> {
        let mut spaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(name, space, _): &(WorkspaceName, Space, Timestamp)| {
            name == workspace && (from..=to).contains(&space.revision())
        };
        let fitting = spaces.iter().enumerate().filter(|(_, there)| fits(there));
        let (place, _) = fitting.max_by_key(|(_, (_, space, _))| space.revision())?;
        Some(spaces.swap_remove(place).1)
    }

    /// Caches a space, in place of the one that was queried longest ago.
    pub fn keep(&self, workspace: &WorkspaceName, space: Space, now: Timestamp) {
        let mut spaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spaces.len() >= REMEMBERED_MAX {
            let oldest = spaces.iter().enumerate().min_by_key(|(_, (_, _, used_at))| *used_at);
            let oldest = oldest.map(|(place, _)| place);
            oldest.map(|place| spaces.swap_remove(place));
        }
        spaces.push((workspace.clone(), space, now));
    }

    /// Drops those that were not queried for a while.
    pub fn forget(&self, now: Timestamp) {
        let mut spaces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.retain(|(_, _, used_at)| now.since(*used_at) < REMEMBERED_MS);
    }
}

impl<L: Log> Past<'_, L> {
    /// The revision at a point in time.
    pub fn revision_of(&self, at: At) -> Result<Revision, Error> {
        let revision = match at {
            At::Revision(revision) => revision,
            At::Time(time) => self.revision_at(time)?,
        };
        self.check(revision)?;
        Ok(revision)
    }

    /// The last revision up to a time.
    fn revision_at(&self, time: Timestamp) -> Result<Revision, Error> {
        let (mut least, mut beyond) = (self.floor.0, self.present.0 + 1);
        if let Some(oldest) = self.floor_time()?.filter(|oldest| time < *oldest) {
            let (workspace, origin) = (self.workspace.clone(), self.origin.clone());
            return Err(Error::TimeGone { workspace, asked: time, oldest, origin });
        }
        // Times never decrease in a workspace.
        while beyond - least > 1 {
            let middle = least + (beyond - least) / 2;
            if self.batch(Revision(middle))?.time <= time {
                least = middle;
            } else {
                beyond = middle;
            }
        }
        Ok(Revision(least))
    }

    /// The time of the oldest retained revision; none if it is the empty beginning.
    fn floor_time(&self) -> Result<Option<Timestamp>, Error> {
        if self.floor == Revision(0) {
            return Ok(None);
        }
        match &self.base {
            Some(base) if base.revision() == self.floor => Ok(Some(base.head().time)),
            Some(_) | None => Ok(Some(self.batch(self.floor)?.time)),
        }
    }

    /// Queries the workspace at a revision.
    pub fn ask<T>(&self, at: Revision, ask: impl FnOnce(&Space) -> T) -> Result<T, Error> {
        let space = self.space(at)?;
        let answer = ask(&space);
        self.shard.past_spaces.keep(self.workspace, space, self.shard.clock.now());
        Ok(answer)
    }

    /// The workspace at a revision, for a caller that takes ownership.
    pub fn space(&self, at: Revision) -> Result<Space, Error> {
        self.check(at)?;
        #[cfg(feature = "planted")]
        let at = if baton_core::planted::is("past.space_too_far") {
            at.next().min(self.present)
        } else {
            at
        };
        let mut space = self.nearest(at)?;
        let max = self.shard.options.past_batches_max;
        if at.0 - space.revision().0 > max {
            let (workspace, replayed) = (self.workspace.clone(), at.0 - space.revision().0);
            return Err(Error::TooFar { workspace, asked: at, replayed, max });
        }
        self.replay(&mut space, at)?;
        Ok(space)
    }

    /// The nearest state of the workspace that is not after a revision.
    fn nearest(&self, at: Revision) -> Result<Space, Error> {
        let base = self.base.as_ref().map_or(Revision(0), |base| base.revision());
        let stored = self.stored(base, at)?;
        let newest = stored.as_ref().map_or(base, Snapshot::revision);
        if let Some(space) = self.shard.past_spaces.take(self.workspace, newest, at) {
            return Ok(space);
        }
        Ok(match (&stored, &self.base) {
            (Some(snapshot), _) => snapshot.load()?,
            (None, Some(base)) => base.load()?,
            (None, None) => Space::default(),
        })
    }

    /// The newest snapshot on disk between two revisions.
    fn stored(&self, from: Revision, to: Revision) -> Result<Option<Snapshot>, Error> {
        let files = self.shard.files_of(self.workspace)?;
        let fitting = files.into_iter().filter(|file| match file {
            File::Snapshot { revision, .. } => (from.next().0..=to.0).contains(revision),
            File::Base { .. } | File::Deleted { .. } | File::Run { .. } => false,
        });
        let Some(file) = fitting.max() else { return Ok(None) };
        // A newer one may have replaced it in the meantime.
        let blob = self.shard.log.open_blob(&file.name(self.workspace))?;
        Ok(blob.map(Snapshot::open).transpose()?)
    }

    fn replay(&self, space: &mut Space, at: Revision) -> Result<(), Error> {
        let runs = self.runs().clone();
        let ahead =
            runs.iter().filter(|run| run.last() > space.revision().0 && run.first() <= at.0);
        let mut give_way = GiveWay::default();
        for run in ahead.collect::<Vec<_>>() {
            for item in run.batches(space.revision().next().0) {
                let (revision, frame) = item?;
                if revision > at.0 {
                    break;
                }
                let batch = codec::decode(&frame)?;
                space.replay(&batch);
                give_way.after(batch.events.len());
            }
        }
        while space.revision() < at {
            let batch = self.batch(space.revision().next())?;
            space.replay(&batch);
            give_way.after(batch.events.len());
        }
        Ok(())
    }
}

impl<L: Log> Shard<L> {
    /// Drops past spaces and indexes that were not queried for a while.
    pub(crate) fn evict_past_spaces(&self) {
        let now = self.clock.now();
        self.past_spaces.forget(now);
        self.indexes.forget(now);
    }
}

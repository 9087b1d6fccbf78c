//! Search: indexes beside the spaces, built at the first search.
//!
//! ```text
//!   first search   the durable space + the last events ──▶ index
//!   later          batches since then ──▶ index ──▶ results
//! ```
//!
//! An index contains durable batches only, and is updated before each search, without the machine's
//! lock: neither writes nor workspaces without searches pay for it, and no search finds data that
//! could still be lost.
//!
//! 1. At most [`INDEXES_MAX`] workspaces have an index, with a total size of about
//!    [`INDEXES_BYTES_MAX`], each until it was not searched for [`INDEX_IDLE_MS`].
//! 2. A search is answered as of a durable revision, which the answer contains.
//! 3. Objects that a space has pruned without an event are not found.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::refusal::within;
use baton_core::search::{Filter, Results, Search, SearchIndex, SearchKind};
use baton_core::{Batch, MessageId, Revision, TaskId, Timestamp, WorkspaceName, limits, workspace};
use baton_log::Log;

use crate::error::Error;
use crate::history::past::{Past, left};

/// Workspaces with an index.
const INDEXES_MAX: usize = 8;
/// Approximate maximum total size of the indexes of a shard in bytes, unless one alone is larger.
const INDEXES_BYTES_MAX: usize = 2 << 30;
/// How long an index is kept without a search.
const INDEX_IDLE_MS: u64 = 600_000;
/// How much history is read at a time while an index catches up.
const CATCH_UP_BYTES: usize = 1 << 20;

/// The index of one workspace, once there is one.
type Shared = Arc<Mutex<Option<SearchIndex>>>;

/// An index and its workspace.
struct CachedIndex {
    workspace: WorkspaceName,
    index: Shared,
    bytes: usize,
    used_at: Timestamp,
}

/// Indexes of workspaces, and when each was last searched.
#[derive(Default)]
pub(crate) struct Indexes(Mutex<Vec<CachedIndex>>);

impl Indexes {
    fn all(&self) -> MutexGuard<'_, Vec<CachedIndex>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index of a workspace; empty before the first search.
    fn of(&self, workspace: &WorkspaceName, now: Timestamp) -> Shared {
        let mut indexes = self.all();
        if let Some(cached) = indexes.iter_mut().find(|cached| cached.workspace == *workspace) {
            cached.used_at = now;
            return Arc::clone(&cached.index);
        }
        if indexes.len() >= INDEXES_MAX {
            drop_oldest(&mut indexes, workspace);
        }
        let (workspace, index) = (workspace.clone(), Shared::default());
        let cached = CachedIndex { workspace, index: Arc::clone(&index), bytes: 0, used_at: now };
        indexes.push(cached);
        index
    }

    /// Drops the index of a workspace that is deleted.
    pub(crate) fn remove(&self, workspace: &WorkspaceName) {
        self.all().retain(|cached| cached.workspace != *workspace);
    }

    /// Records the size of an index, and drops others if all together are too large.
    fn set_bytes(&self, workspace: &WorkspaceName, bytes: usize) {
        let mut indexes = self.all();
        if let Some(cached) = indexes.iter_mut().find(|cached| cached.workspace == *workspace) {
            cached.bytes = bytes;
        }
        let total =
            |indexes: &[CachedIndex]| indexes.iter().map(|cached| cached.bytes).sum::<usize>();
        while indexes.len() > 1 && total(&indexes) > INDEXES_BYTES_MAX {
            drop_oldest(&mut indexes, workspace);
        }
    }

    /// Drops those that were not searched for a while.
    pub(crate) fn forget(&self, now: Timestamp) {
        self.all().retain(|cached| now.since(cached.used_at) < INDEX_IDLE_MS);
    }
}

/// Drops the index that was searched longest ago, unless it is the only one.
fn drop_oldest(indexes: &mut Vec<CachedIndex>, but: &WorkspaceName) {
    let others = indexes.iter().enumerate().filter(|(_, cached)| cached.workspace != *but);
    let oldest = others.min_by_key(|(_, cached)| cached.used_at).map(|(index, _)| index);
    oldest.map(|index| indexes.swap_remove(index));
}

impl<L: Log> Past<'_, L> {
    /// `workspace.search`: matching documents, newest first, and the revision of the index.
    pub fn search(&self, search: &Search) -> Result<(Revision, Results), Error> {
        let refused = |rejection: workspace::Rejection| Error::Rejected(rejection.into());
        let range = (1, limits::PAGE_MAX as u64);
        let limit = within("limit", search.limit, limits::PAGE_DEFAULT as u64, range);
        let limit = limit.map_err(|wrong| refused(wrong.into()))?;
        let limit = usize::try_from(limit).expect("pages are small");
        let (shard, now) = (self.shard(), self.shard().clock.now());
        // An invalid query is refused before an index is built for it.
        Filter::parse(&search.query, now).map_err(|wrong| refused(wrong.into()))?;
        let shared = shard.indexes.of(self.workspace(), now);
        let mut slot = shared.lock().unwrap_or_else(|poisoned| {
            // An assertion failed on it: it is rebuilt.
            let mut slot = poisoned.into_inner();
            *slot = None;
            slot
        });
        // An index cannot be updated incrementally for objects that were pruned before the index
        // saw them.
        let mut index = match slot.take() {
            Some(index) if index.revision() >= self.floor() && !index.is_outworn() => index,
            Some(_) | None => self.index()?,
        };
        self.catch_up(&mut index)?;
        let has_left = Cell::new(false);
        let still_has = |kind, identity: &str| self.still_has(kind, identity, &has_left);
        let results = index.search(search, limit, now, still_has);
        let (revision, bytes) = (index.revision(), index.bytes());
        *slot = Some(index);
        drop(slot);
        shard.indexes.set_bytes(self.workspace(), bytes);
        if has_left.get() {
            return Err(left(self.workspace()));
        }
        Ok((revision, results.map_err(|wrong| refused(wrong.into()))?))
    }

    /// Whether the space still contains an object that has ended.
    fn still_has(&self, kind: SearchKind, identity: &str, has_left: &Cell<bool>) -> bool {
        let mut machine = self.shard().settled(self.workspace());
        let Some(resident) = machine.resident(self.workspace()) else {
            has_left.set(true);
            return false;
        };
        let space = &resident.space;
        match kind {
            SearchKind::Task => {
                TaskId::parse(identity).is_ok_and(|it| space.task.get(&it).is_some())
            }
            SearchKind::Message => {
                MessageId::parse(identity).is_ok_and(|it| space.message.get(&it).is_some())
            }
            SearchKind::Key | SearchKind::Event => true,
        }
    }

    /// An index of the current state and of recent events.
    fn index(&self) -> Result<SearchIndex, Error> {
        let present = self.present();
        let space = self.space(present)?;
        let lately = present.0.saturating_sub(limits::SEARCH_EVENTS_MAX as u64);
        let after = Revision(lately).max(self.floor());
        let mut next = after.next();
        let mut waiting = Vec::new().into_iter();
        let batches = std::iter::from_fn(|| {
            if let Some(batch) = waiting.next() {
                return Some(Ok(batch));
            }
            if next > present {
                return None;
            }
            match self.some_batches(next) {
                Ok(batches) => {
                    next = batches.last()?.revision.next();
                    waiting = batches.into_iter();
                    waiting.next().map(Ok)
                }
                Err(error) => {
                    next = present.next();
                    Some(Err(error))
                }
            }
        });
        SearchIndex::of(&space, after, batches)
    }

    fn catch_up(&self, index: &mut SearchIndex) -> Result<(), Error> {
        while index.revision() < self.present() {
            for batch in self.some_batches(index.revision().next())? {
                index.apply(&batch);
            }
        }
        Ok(())
    }

    fn some_batches(&self, from: Revision) -> Result<Vec<Batch>, Error> {
        self.shard().batches(self.workspace(), from, self.present(), CATCH_UP_BYTES)
    }
}

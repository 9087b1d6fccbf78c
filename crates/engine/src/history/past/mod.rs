//! Queries about the past, answered from base, runs and tail.
//!
//! The newest batch up to a revision that changed an entry or deleted its namespace determines
//! whether the entry existed then, and with which value; if there is none, the base does. So a
//! lookup costs one search per run, whatever the length of the log.

mod causes;
mod change_log;
mod changes;
mod copies;
mod differences;
mod events;
mod pages;
mod scan;
pub mod spaces;
mod stories;
mod transitions;

pub(crate) use copies::copy_id;

use std::cell::{Cell, Ref, RefCell};
use std::ops::Range;
use std::sync::Arc;

use baton_core::history::Origin;
use baton_core::storage::{Entry as Packed, WriteHead};
use baton_core::{
    Batch, Entry, Event, Key, NamespaceName, Rejection, Revision, WorkspaceName, namespace, state,
};
use baton_log::Log;

use super::run::Run;
use super::tail::hashes;
use super::{BatchLocation, subject_hash};
use crate::codec;
use crate::error::Error;
use crate::shard::Shard;
use crate::snapshot::Snapshot as Base;

/// The history of a workspace, as of one durable revision.
pub struct Past<'a, L> {
    shard: &'a Shard<L>,
    workspace: &'a WorkspaceName,
    base: Option<Arc<Base>>,
    // Archiving may run concurrently: if the tail starts later, the runs are looked up again.
    runs: RefCell<Vec<Arc<Run>>>,
    tail_first: Cell<Revision>,
    floor: Revision,
    present: Revision,
    /// The origin of the workspace, if it was forked or imported.
    origin: Option<Box<Origin>>,
    _reading: Arc<()>,
}

impl<L: Log> Shard<L> {
    /// The history of a workspace as of a durable revision. The workspace must be in memory.
    pub fn past<'a>(
        &'a self,
        workspace: &'a WorkspaceName,
        present: Revision,
    ) -> Result<Past<'a, L>, Error> {
        self.index_unseen_batches(workspace)?;
        let mut machine = self.settled(workspace);
        let resident = machine.resident(workspace).ok_or_else(|| left(workspace))?;
        let count = resident.space.workspace.retention().history_count;
        let history = &resident.history;
        Ok(Past {
            shard: self,
            workspace,
            base: history.base.clone(),
            runs: RefCell::new(history.runs.clone()),
            tail_first: Cell::new(history.tail.first()),
            floor: history.floor.max(Revision(present.0.saturating_sub(count))),
            present,
            origin: resident.space.workspace.origin().cloned().map(Box::new),
            _reading: Arc::clone(&resident.reading),
        })
    }

    /// Reads batches that were found when the log was opened.
    fn index_unseen_batches(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let unseen = |shard: &Self| {
            shard.machine().resident(workspace).and_then(|resident| resident.history.tail.unseen())
        };
        while let Some(range) = unseen(self) {
            let looked = self.touched_by(workspace, range.clone());
            let mut machine = self.machine();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let tail = &mut resident.history.tail;
            // If they were archived in the meantime, or read by another thread, this may be a part
            // of them, or none at all.
            if tail.unseen().is_some_and(|now| now == range) {
                tail.seen(range.end, &looked?);
            }
        }
        Ok(())
    }

    /// The subjects that some batches of the tail touched, by hash, in order.
    fn touched_by(
        &self,
        workspace: &WorkspaceName,
        revisions: Range<u64>,
    ) -> Result<Vec<(u32, u64)>, Error> {
        let mut touched = Vec::new();
        let mut decoded = Ok(());
        self.visit_tail(workspace, Revision(revisions.start), |frame| {
            match codec::decode(frame) {
                Ok(batch) if batch.revision.0 < revisions.end => {
                    touched.extend(hashes(&batch).map(|hash| (hash, batch.revision.0)));
                    true
                }
                Ok(_) => false,
                Err(error) => {
                    decoded = Err(error);
                    false
                }
            }
        })?;
        decoded?;
        Ok(touched)
    }
}

impl<L: Log> Past<'_, L> {
    /// History up to this revision has been dropped.
    pub fn floor(&self) -> Revision {
        self.floor
    }

    /// The durable revision of the query.
    pub fn present(&self) -> Revision {
        self.present
    }

    /// Its workspace.
    pub fn workspace(&self) -> &WorkspaceName {
        self.workspace
    }

    /// The locations of its batches.
    pub(crate) fn shard(&self) -> &Shard<L> {
        self.shard
    }

    /// The newest revision that is in a run or the base.
    fn archived(&self) -> Revision {
        let base = self.base.as_ref().map_or(0, |base| base.revision().0);
        Revision(self.runs().last().map_or(base, |run| run.last()))
    }

    /// Refuses revisions that were dropped or do not exist yet.
    pub fn check(&self, asked: Revision) -> Result<(), Error> {
        let workspace = || self.workspace.clone();
        if asked < self.floor {
            let (oldest, origin) = (self.floor, self.origin.clone());
            return Err(Error::Gone { workspace: workspace(), asked, oldest, origin });
        }
        if asked > self.present {
            return Err(Error::NotYet { workspace: workspace(), asked, newest: self.present });
        }
        Ok(())
    }

    /// Refuses revisions whose events were dropped: the oldest from which events can be read is the
    /// one after the oldest whose state can be.
    pub fn check_events_from(&self, from: Revision) -> Result<(), Error> {
        match self.check(Revision(from.0.saturating_sub(1)).min(self.present)) {
            Err(Error::Gone { workspace, oldest, origin, .. }) => {
                Err(Error::Gone { workspace, asked: from, oldest: oldest.next(), origin })
            }
            checked => checked,
        }
    }

    fn batch(&self, revision: Revision) -> Result<Batch, Error> {
        Ok(codec::decode(&self.frame(revision)?)?)
    }

    fn frame(&self, revision: Revision) -> Result<Vec<u8>, Error> {
        // A run that existed when the query arrived is read even if it is folded in the meantime.
        let holds = |run: &&Arc<Run>| (run.first()..=run.last()).contains(&revision.0);
        let run = self.runs().iter().find(holds).map(Arc::clone);
        match run {
            Some(run) => Ok(run.batch(revision.0)?),
            None => self.shard.frame(self.workspace, revision),
        }
    }

    /// The newest batch, at most this one, that touched a subject.
    fn last_change(&self, subject: &str, at_most: Revision) -> Result<Option<Revision>, Error> {
        let hash = subject_hash(&[subject]);
        let mut below = at_most;
        while let Some(found) = self.touch_in_tail(hash, below)? {
            // Another subject may have the same hash.
            if self.batch(found)?.events.iter().any(|event| event.subject() == subject) {
                return Ok(Some(found));
            }
            below = Revision(found.0 - 1);
        }
        for run in self.runs().iter().rev().filter(|run| run.first() <= at_most.0) {
            if let Some(found) = run.last_change(subject, at_most.0)? {
                return Ok(Some(Revision(found)));
            }
        }
        Ok(None)
    }

    fn touch_in_tail(&self, hash: u32, at_most: Revision) -> Result<Option<Revision>, Error> {
        let mut machine = self.shard.machine();
        let resident = machine.resident(self.workspace).ok_or_else(|| left(self.workspace))?;
        let history = &resident.history;
        let first = history.tail.first();
        if first != self.tail_first.replace(first) {
            let mut runs = self.runs.borrow_mut();
            let first_run = history.runs.first().map_or(first.0, |run| run.first());
            // The base is the one from the start of the query, so runs that were folded since are
            // still needed.
            runs.retain(|run| run.last() < first_run);
            runs.extend(history.runs.iter().map(Arc::clone));
        }
        Ok(history.tail.last_touch(hash, at_most.min(self.present)))
    }

    fn runs(&self) -> Ref<'_, Vec<Arc<Run>>> {
        self.runs.borrow()
    }

    /// The newest batch, at most this one, that deleted a namespace.
    fn last_deletion(
        &self,
        namespace: &NamespaceName,
        at_most: Revision,
    ) -> Result<Option<Revision>, Error> {
        let subject = format!("namespaces/{namespace}");
        let mut below = at_most;
        while let Some(found) = self.last_change(&subject, below)? {
            if self.batch(found)?.events.iter().any(|event| deletes(event, namespace)) {
                return Ok(Some(found));
            }
            below = Revision(found.0 - 1);
        }
        Ok(None)
    }

    /// The newest batch, at most this one, that created or removed an entry.
    fn last_touch(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at_most: Revision,
    ) -> Result<Option<Revision>, Error> {
        let changed = self.last_change(&format!("state/{namespace}/{key}"), at_most)?;
        let deleted = self.last_deletion(namespace, at_most)?;
        Ok(changed.max(deleted))
    }

    /// An entry as it was after a revision.
    pub fn entry(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at: Revision,
    ) -> Result<Option<Entry>, Error> {
        match self.last_touch(namespace, key, shown(at))? {
            Some(revision) => {
                let batch = self.batch(revision)?;
                Ok(steps(&batch, namespace, key).last().and_then(|(_, after)| after))
            }
            None => match &self.base {
                Some(base) => Ok(base.entry(namespace, key)?),
                None => Ok(None),
            },
        }
    }

    fn namespace_exists(&self, namespace: &NamespaceName, at: Revision) -> Result<bool, Error> {
        if *namespace == NamespaceName::shared() {
            return Ok(true);
        }
        match self.last_change(&format!("namespaces/{namespace}"), at)? {
            Some(revision) => {
                let batch = self.batch(revision)?;
                let about = batch.events.iter().rev().find_map(|event| match event {
                    Event::Namespace(event) if event.name() == namespace => Some(event),
                    _ => None,
                });
                Ok(!matches!(about, Some(namespace::Event::Deleted { .. })))
            }
            None => Ok(self.base.as_ref().is_some_and(|base| {
                base.head().namespaces.iter().any(|there| there.name == *namespace)
            })),
        }
    }

    fn require_namespace(&self, namespace: &NamespaceName, at: Revision) -> Result<(), Error> {
        if self.namespace_exists(namespace, at)? {
            return Ok(());
        }
        Err(refused(state::Rejection::UnknownNamespace { namespace: namespace.clone() }))
    }
}

impl<L: Log> Shard<L> {
    /// Some batches from a revision on, for a watcher that catches up: at most this many bytes, and
    /// durable ones only. Empty when there are no more up to `last`.
    pub fn batches(
        &self,
        workspace: &WorkspaceName,
        from: Revision,
        last: Revision,
        bytes_max: usize,
    ) -> Result<Vec<Batch>, Error> {
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut next = from;
        while next <= last && bytes < bytes_max {
            let whereabouts = {
                let mut machine = self.machine();
                machine.resident(workspace).map(|resident| resident.history.find(next))
            };
            if let Some(BatchLocation::Run(run)) = whereabouts {
                for item in run.batches(next.0) {
                    let (revision, frame) = item?;
                    if Revision(revision) > last || bytes >= bytes_max {
                        break;
                    }
                    bytes += frame.len();
                    batches.push(codec::decode(&frame)?);
                    next = Revision(revision + 1);
                }
            } else {
                let frame = self.frame(workspace, next)?;
                bytes += frame.len();
                batches.push(codec::decode(&frame)?);
                next = next.next();
            }
        }
        Ok(batches)
    }
}

/// A failed write has emptied the memory during a read. A retry succeeds.
pub(crate) fn left(workspace: &WorkspaceName) -> Error {
    Error::Storage { what: format!("`{workspace}` left memory meanwhile") }
}

fn refused(rejection: state::Rejection) -> Error {
    Error::Rejected(Rejection::State(rejection))
}

/// The revision that is shown to who asked about this one.
fn shown(at: Revision) -> Revision {
    #[cfg(feature = "planted")]
    let at = if baton_core::planted::is("past.one_too_far") { at.next() } else { at };
    at
}

fn deletes(event: &Event, namespace: &NamespaceName) -> bool {
    matches!(event, Event::Namespace(namespace::Event::Deleted { name }) if name == namespace)
}

/// The entry after each event of a batch that touched it.
fn steps<'a>(
    batch: &'a Batch,
    namespace: &'a NamespaceName,
    key: &'a Key,
) -> impl Iterator<Item = (&'a Event, Option<Entry>)> {
    batch.events.iter().enumerate().filter_map(move |(index, event)| match event {
        Event::State(changed) if changed.entry_key() == (namespace, key) => {
            Some((event, made(batch, index, changed)))
        }
        event if deletes(event, namespace) => Some((event, None)),
        _ => None,
    })
}

/// The entry that an event made.
fn made(batch: &Batch, index: usize, event: &state::Event) -> Option<Entry> {
    match event {
        state::Event::Set { namespace, key, value, version, expires_at, bound_to, .. } => {
            let head = WriteHead {
                revision: batch.revision.0,
                time_ms: batch.time.0,
                version: u32::try_from(version.0).unwrap_or(u32::MAX),
                author: 0,
            };
            let packed = Packed::new(head, key.as_str(), value.as_bytes());
            let entry = Entry::new(packed, namespace.clone(), batch.author(index).clone());
            Some(entry.ending(*expires_at, bound_to.is_some()))
        }
        state::Event::Deleted { .. } => None,
    }
}

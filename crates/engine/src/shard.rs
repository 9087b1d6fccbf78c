//! A shard: one log, the machine in front of it, and the transfers between the two.
//!
//! Every method is synchronous and does its own I/O outside the machine's lock, so the embedded
//! engine calls them from its threads and the simulator calls them one by one.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::access::Viewer;
use baton_core::{
    AgentId, Entry, Pattern, Query, Request, Revision, Space, Timestamp, WorkspaceName,
};
use baton_log::{AppendError, Log, RECORD_BYTES_MAX, ReadError};

use crate::admission::{Admission, Deferred, HeldAnswer};
use crate::backup::Backups;
use crate::blobs::PendingBlobs;
use crate::clock::{Clock, Stopwatch};
use crate::codec;
use crate::disk_space::DiskSpace;
use crate::durability::DurableWatermark;
use crate::error::Error;
use crate::history::past::spaces::PastSpaceCache;
use crate::history::{BatchLocation, LogLocation};
use crate::machine::{Held, Lent, Machine, Queued};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::search::Indexes;
use crate::watch::{Filter, Queue, Wakers};

mod opening;
#[cfg(test)]
mod tests;

/// How often a batch is looked up again when it moves from the log into a run in the meantime.
const LOOKS: usize = 8;
/// How many rounds of due commands that make more commands due are executed in a row, before other
/// work continues.
const EXPIRY_ROUNDS: usize = 8;

/// One log and its single writer; a shard has many workspaces.
pub struct Shard<L> {
    pub(crate) log: L,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    machine: Mutex<Machine>,
    watermark: DurableWatermark,
    file_locks: FileLocks,
    pub(crate) pending: PendingBlobs,
    /// Past states that were read recently.
    pub(crate) past_spaces: PastSpaceCache,
    /// The search indexes.
    pub(crate) indexes: Indexes,
    /// Backups that are being taken.
    pub(crate) backups: Backups,
    /// Whether the disk is nearly full.
    pub(crate) disk_space: DiskSpace,
    /// Measurements.
    pub(crate) metrics: Metrics,
    /// A worker has returned the tables of a workspace.
    pub(crate) returned: Condvar,
}

/// Workspaces whose files are in use, and a condition variable to wait for them.
#[derive(Default)]
struct FileLocks {
    names: Mutex<BTreeSet<WorkspaceName>>,
    done: Condvar,
}

/// The outcome of a flush.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// There was nothing to write, or a group is in flight already.
    Nothing,
    /// A group is durable.
    Durable {
        /// It took this long.
        took: Duration,
        /// Whether it answers waiting calls.
        ends_waits: bool,
    },
    /// The group was not written, and everything that is not durable was discarded.
    Lost,
}

/// Exclusive use of the files of a workspace, until it is dropped.
struct FileGuard<'a> {
    file_locks: &'a FileLocks,
    workspace: &'a WorkspaceName,
}

impl Drop for FileGuard<'_> {
    fn drop(&mut self) {
        let names = self.file_locks.names.lock();
        names.unwrap_or_else(PoisonError::into_inner).remove(self.workspace);
        self.file_locks.done.notify_all();
    }
}

impl<L: Log> Shard<L> {
    /// Scans the log. Workspaces are loaded when they are first used.
    pub fn open(log: L, clock: Arc<dyn Clock>, options: Options) -> Result<Self, Error> {
        let machine = opening::machine(&log, clock.now())?;
        let (machine, watermark) = (Mutex::new(machine), DurableWatermark::default());
        let (file_locks, pending) = (FileLocks::default(), PendingBlobs::default());
        let (past_spaces, indexes) = (PastSpaceCache::default(), Indexes::default());
        let (backups, disk_space) = (Backups::default(), DiskSpace::default());
        Ok(Self {
            log,
            clock,
            options,
            machine,
            watermark,
            file_locks,
            pending,
            past_spaces,
            indexes,
            backups,
            disk_space,
            metrics: Metrics::default(),
            returned: Condvar::new(),
        })
    }

    /// The machine, locked, with the tables of a workspace there: waits until a worker has returned
    /// them. Not for threads that serve callers.
    pub(crate) fn settled(&self, workspace: &WorkspaceName) -> MutexGuard<'_, Machine> {
        let mut machine = self.machine();
        if !machine.is_away(workspace) {
            return machine;
        }
        while machine.is_away(workspace) {
            machine.reserve(workspace);
            machine = self.returned.wait(machine).unwrap_or_else(PoisonError::into_inner);
        }
        machine.release(workspace);
        machine
    }

    /// The machine, locked. For the driver, and for inspection by the simulator.
    pub fn machine(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(|poisoned| {
            // An assertion failed while deciding. The state in memory cannot be trusted any more;
            // the log can.
            self.watermark.stop("an assertion failed; the log is intact");
            poisoned.into_inner()
        })
    }

    /// Which groups are durable or lost.
    pub fn watermark(&self) -> &DurableWatermark {
        &self.watermark
    }

    /// Why nothing can be answered, if so: the engine has stopped, or another server may own the
    /// log. Checked between the arrival of a request and its answer, so an answer from memory was
    /// true at that moment.
    pub fn check_serving(&self) -> Result<(), Error> {
        match self.watermark.stopped() {
            Some(stopped) => Err(stopped),
            #[cfg(feature = "planted")]
            None if baton_core::planted::is("shared.reads_without_licence") => Ok(()),
            None if self.log.is_current() => Ok(()),
            None => Err(Error::Away),
        }
    }

    /// Runs a function while no other thread loads the same workspace or writes its files.
    pub(crate) fn with_files_locked<T>(
        &self,
        workspace: &WorkspaceName,
        work: impl FnOnce() -> T,
    ) -> T {
        let FileLocks { names, done } = &self.file_locks;
        let mut file_locks = names.lock().unwrap_or_else(PoisonError::into_inner);
        while !file_locks.insert(workspace.clone()) {
            file_locks = done.wait(file_locks).unwrap_or_else(PoisonError::into_inner);
        }
        drop(file_locks);
        let _guard = FileGuard { file_locks: &self.file_locks, workspace };
        work()
    }

    /// Decides a request; the answer opens when its group is durable.
    pub fn submit(
        &self,
        workspace: &WorkspaceName,
        request: Request,
        agent: &AgentId,
    ) -> Admission<Queued, Request> {
        let now = self.clock.now();
        let mut machine = self.machine();
        let admission = machine.submit(workspace, request, agent, now);
        let live_wakers = machine.take_live_wakers();
        drop(machine);
        live_wakers.wake();
        admission
    }

    /// Answers a query, unless it is about the past or takes long.
    pub fn ask(
        &self,
        workspace: &WorkspaceName,
        query: &Query,
        viewer: Option<Viewer<'_>>,
    ) -> Admission<Deferred, ()> {
        let now = self.clock.now();
        self.machine().ask(workspace, query, viewer, now)
    }

    /// Reads a workspace for long, while others are served. It must be in memory.
    pub(crate) fn read_apart<T>(
        &self,
        workspace: &WorkspaceName,
        read: impl FnOnce(&Space) -> T,
    ) -> Result<Held<(T, Revision)>, Error> {
        let absent = || Error::Storage { what: format!("`{workspace}` left memory meanwhile") };
        let lent = self.settled(workspace).lend_settled(workspace).ok_or_else(absent)?;
        match self.read_lent(lent, read) {
            Ok(held) => held.ok_or_else(absent),
            Err(panicked) => resume_unwind(panicked),
        }
    }

    /// Reads the tables of a workspace and returns them; none if the workspace was abandoned
    /// meanwhile. If reading fails, nothing has changed.
    pub(crate) fn read_lent<T>(
        &self,
        lent: Lent,
        read: impl FnOnce(&Space) -> T,
    ) -> std::thread::Result<Option<Held<(T, Revision)>>> {
        let (answer, panicked) = match catch_unwind(AssertUnwindSafe(|| read(&lent.space))) {
            Ok(answer) => (Some(answer), None),
            Err(panicked) => (None, Some(panicked)),
        };
        let now = self.clock.now();
        let mut machine = self.machine();
        let held = machine.take_back_lent(lent, answer, now);
        let live_wakers = machine.take_live_wakers();
        drop(machine);
        live_wakers.wake();
        self.returned.notify_all();
        match panicked {
            Some(panicked) => Err(panicked),
            None => Ok(held.map(|held| held.map(|(it, at)| (it.expect("it was read"), at)))),
        }
    }

    /// Reads an entry on the fast path.
    pub fn fast_get(
        &self,
        workspace: &WorkspaceName,
        entry: (&str, &str),
        agent: &AgentId,
    ) -> Option<HeldAnswer> {
        let now = self.clock.now();
        self.machine().fast_get(workspace, entry, agent, now)
    }

    /// Writes the open group and makes it durable.
    pub fn flush(&self) -> Flushed {
        let Some((position, bytes)) = self.machine().take_group() else { return Flushed::Nothing };
        let watch = Stopwatch::start();
        let failed = match self.log.append(position, &bytes) {
            Ok(tail) => {
                let mut machine = self.machine();
                let wakers = machine.confirm(tail, bytes);
                let durable = machine.durable();
                drop(machine);
                let ends_waits = !wakers.waiters.is_empty();
                // The next holder of a lock is answered before the one that released it.
                let others = wakers.answer();
                self.watermark.advance(durable);
                self.watermark.wake(others);
                return Flushed::Durable { took: watch.elapsed(), ends_waits };
            }
            Err(AppendError::Full) => Error::Full,
            Err(error @ AppendError::TooLarge { .. }) => Error::Storage { what: error.to_string() },
            // It is certain that nothing was written.
            Err(AppendError::Fenced { .. }) => Error::Fenced,
            Err(error @ AppendError::WentBack { .. }) => {
                Error::WentBack { reason: error.to_string() }
            }
            Err(error @ AppendError::Failed(_)) => Error::Unknown { reason: error.to_string() },
        };
        let (lost, wakers) = self.machine().abandon(self.clock.now(), &failed);
        self.watermark.mark_lost(lost, failed);
        wakers.wake();
        Flushed::Lost
    }

    /// Executes what is due, and what becomes due by that, so that no caller sees an expired lease
    /// whose task is not available yet. Returns the workspaces that must be loaded for it.
    pub fn expire(&self) -> Vec<WorkspaceName> {
        self.expire_by(self.clock.now())
    }

    /// The same as of a moment that was read before.
    pub(crate) fn expire_by(&self, now: Timestamp) -> Vec<WorkspaceName> {
        let mut machine = self.machine();
        let mut absent = Vec::new();
        for _ in 0..EXPIRY_ROUNDS {
            let due = machine.due(now);
            if due.is_empty() {
                break;
            }
            absent.extend(due.into_iter().filter(|name| !machine.expire(name, now)));
        }
        let live_wakers = machine.take_live_wakers();
        drop(machine);
        live_wakers.wake();
        absent
    }

    /// No agent could be heard for a while: see [`Machine::resume`].
    pub fn resume(&self) {
        let now = self.clock.now();
        self.machine().resume(now);
    }

    /// Whether a workspace is in memory.
    pub fn is_resident(&self, workspace: &WorkspaceName) -> bool {
        self.machine().resident(workspace).is_some()
    }

    /// Starts a watch; none if the workspace cannot serve requests at the moment. Commits from now
    /// on are added to the queue; the revision and the content of the queue may be shown once they
    /// are durable.
    pub fn watch(
        &self,
        workspace: &WorkspaceName,
        filter: &Filter,
    ) -> Option<Held<(Arc<Queue>, Revision)>> {
        let now = self.clock.now();
        let mut machine = self.machine();
        let durable = machine.durable();
        let resident = machine.resident(workspace).filter(|there| !there.is_away())?;
        resident.used_at = now;
        resident.watchers.sweep();
        let queue = Queue::new(filter.clone(), self.options.watch_queue_max);
        resident.watchers.add(Arc::clone(&queue));
        let revision = resident.space.revision();
        let group = resident.undurable(revision, durable);
        Some(Held::new((queue, revision), group))
    }

    /// Ends all waiting calls because the engine is closed.
    pub fn close_waiters(&self) {
        let waiters = self.machine().take_waiters();
        for waiter in waiters {
            waiter.complete(Err(Error::Closed));
        }
    }

    /// Ends all watches with the revision to resume from.
    pub fn close_watches(&self) {
        let mut machine = self.machine();
        let mut wakers = Wakers::default();
        for workspace in machine.residents() {
            if let Some(resident) = machine.resident(&workspace) {
                let resume_from = resident.history.tail.next();
                resident.watchers.close(resume_from, &mut wakers);
            }
        }
        drop(machine);
        wakers.wake();
    }

    /// The current entries that match a pattern of subjects. There may be many of them, so others
    /// are served meanwhile.
    pub fn matching(
        &self,
        workspace: &WorkspaceName,
        pattern: &Pattern,
    ) -> Result<Held<(Vec<Entry>, Revision)>, Error> {
        let max = self.options.watch_snapshot_max;
        let held = self.read_apart(workspace, |space| matching(space, pattern, max))?;
        let group = held.group();
        let (entries, revision) = held.open(u64::MAX);
        Ok(Held::new((entries.ok_or(Error::SnapshotTooLarge { max })?, revision), group))
    }

    /// The frame of one durable batch.
    pub(crate) fn frame(
        &self,
        workspace: &WorkspaceName,
        revision: Revision,
    ) -> Result<Vec<u8>, Error> {
        for _ in 0..LOOKS {
            let (location, floor) = {
                let mut machine = self.machine();
                let Some(resident) = machine.resident(workspace) else { continue };
                (resident.history.find(revision), resident.history.floor)
            };
            match location {
                BatchLocation::Run(run) => return Ok(run.batch(revision.0)?),
                BatchLocation::Log(location) => match self.read_location(location)? {
                    Some(frame) if is_about(&frame, workspace, revision) => return Ok(frame),
                    // It was archived and the log was truncated since the lookup.
                    Some(_) | None => {}
                },
                BatchLocation::Missing => {
                    let mut machine = self.settled(workspace);
                    let resident = machine.resident(workspace);
                    let origin = resident.and_then(|there| there.space.workspace.origin().cloned());
                    let (workspace, asked, oldest) = (workspace.clone(), revision, floor);
                    let origin = origin.map(Box::new);
                    return Err(Error::Gone { workspace, asked, oldest, origin });
                }
            }
        }
        Err(Error::Storage { what: format!("batch {revision} of `{workspace}` cannot be found") })
    }

    /// The frame at a location in the log; none if the log was truncated there.
    pub(crate) fn read_location(&self, location: LogLocation) -> Result<Option<Vec<u8>>, Error> {
        let mut prefix = [0; 8];
        let read = |offset: u32, buffer: &mut [u8]| match self.log.read_part(
            location.record,
            offset,
            buffer,
        ) {
            Ok(()) => Ok(true),
            Err(ReadError::Truncated { .. } | ReadError::BeyondTail { .. }) => Ok(false),
            Err(error @ (ReadError::Corrupt { .. } | ReadError::Failed(_))) => {
                Err(Error::from(error))
            }
        };
        if !read(location.offset, &mut prefix)? {
            return Ok(None);
        }
        let length = codec::frame_bytes(prefix);
        if length > RECORD_BYTES_MAX {
            return Ok(None);
        }
        let mut frame = vec![0; length];
        frame[..8].copy_from_slice(&prefix);
        Ok(read(location.offset + 8, &mut frame[8..])?.then_some(frame))
    }
}

/// The entries that match a pattern; none if there are more than this.
fn matching(space: &Space, pattern: &Pattern, max: usize) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    for (namespace, table) in space.state.namespaces() {
        let prefix = format!("state/{namespace}/");
        if !pattern.reaches(&prefix) {
            continue;
        }
        for packed in table {
            if pattern.matches(&format!("{prefix}{}", packed.key())) {
                if entries.len() == max {
                    return None;
                }
                entries.push(space.state.shown(namespace, packed));
            }
        }
    }
    Some(entries)
}

fn is_about(frame: &[u8], workspace: &WorkspaceName, revision: Revision) -> bool {
    codec::outline(frame).is_ok_and(|outline| {
        outline.workspace == workspace.as_str() && outline.revision == revision
    })
}

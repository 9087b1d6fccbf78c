//! Compaction: background work that keeps the log short and loading fast, and applies the retention
//! of the history.
//!
//! ```text
//!   archive   tail ──▶ run          then the log may be truncated
//!   snapshot  space ──▶ blob        then loading replays less
//!   sweep     blobs ──▶ nothing     those without a record
//!   fold      base + run ──▶ base   then the older history is gone
//!   evict     space ──▶ nothing     everything is on disk
//! ```
//!
//! Each is one step for one workspace. Everything that is written is complete before anything
//! refers to it, and only then is the data that it replaces removed, so a crash between any two of
//! them leaves at worst an unused blob.

use std::sync::Arc;

use baton_core::{NamespaceName, Revision, Space, Timestamp, WorkspaceName};
use baton_log::{BlobError, BlobWriter, Log};

use crate::blobs;
use crate::codec;
use crate::error::Error;
use crate::files::File;
use crate::give_way::GiveWay;
use crate::history::run::{Run, RunWriter};
use crate::machine::Resident;
use crate::shard::{Flushed, Shard};
use crate::snapshot::{Snapshot, SnapshotWriter};

/// Runs up to this many times as large as the new one are merged into it, so that there are few.
const MERGE_FACTOR: u64 = 2;
/// The maximum number of batches in one run.
const RUN_BATCHES_MAX: usize = 100_000;
/// While many batches arrive, the tail may grow to this multiple of its limit: archiving takes
/// processor and disk time that writers need more.
const BUSY_FACTOR: usize = 4;
/// Many means this fraction of a tail that is long enough to be archived, between two checks.
const BUSY_PART: u64 = 16;
/// If the size of the history is limited, it is kept in about this many runs, of which the oldest
/// is dropped when there is more.
const HISTORY_PARTS: u64 = 4;
/// A snapshot is written when the log since the last one reaches a third of the size of the
/// workspace.
const SNAPSHOT_PART: u64 = 3;

/// The next job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionJob {
    /// Move the tail into a run.
    Archive(WorkspaceName),
    /// Write a snapshot.
    Snapshot(WorkspaceName),
    /// Remove what retention no longer covers.
    Fold(WorkspaceName),
    /// Remove blobs without a record.
    Sweep(WorkspaceName),
    /// Drop it from memory.
    Evict(WorkspaceName),
}

impl<L: Log> Shard<L> {
    /// Runs the most useful job; false if there is none.
    pub fn compact_next(&self) -> Result<bool, Error> {
        match self.next_compaction_job() {
            Some(job) => self.run_job(job),
            None => Ok(false),
        }
    }

    /// Does all compaction jobs that are due, one workspace after another, until it is stopped. A
    /// failure in one workspace does not affect the others.
    pub fn compact_all(&self, stop: impl Fn() -> bool) {
        self.evict_past_spaces();
        let mut names = self.machine().residents();
        names.sort();
        for workspace in names {
            self.note_write_rate(&workspace);
            while let Some(job) = self.job_of(&workspace) {
                if stop() || !matches!(self.run_job(job), Ok(true)) {
                    break;
                }
            }
        }
        while let Some(job) = self.log_relief_job() {
            if stop() || !matches!(self.run_job(job), Ok(true)) {
                break;
            }
        }
    }

    /// Records whether a workspace has many writes.
    fn note_write_rate(&self, workspace: &WorkspaceName) {
        if let Some(resident) = self.machine().resident(workspace) {
            let next = resident.history.tail.next();
            let many = (self.options.tail_batches_max as u64).div_ceil(BUSY_PART);
            resident.is_busy = next.0 - resident.looked_at.0.min(next.0) > many;
            resident.looked_at = next;
        }
    }

    fn run_job(&self, job: CompactionJob) -> Result<bool, Error> {
        match job {
            CompactionJob::Archive(workspace) => {
                self.load(&workspace)?;
                self.archive(&workspace)?;
            }
            CompactionJob::Snapshot(workspace) => self.snapshot(&workspace)?,
            CompactionJob::Fold(workspace) => self.fold(&workspace)?,
            CompactionJob::Sweep(workspace) => self.sweep_blobs(&workspace)?,
            CompactionJob::Evict(workspace) => {
                let is_gone = self.machine().evict(&workspace);
                self.drop_evicted();
                return Ok(is_gone);
            }
        }
        Ok(true)
    }

    /// Frees the tables of workspaces that have left memory, while others are served.
    pub(crate) fn drop_evicted(&self) {
        let evicted = self.machine().take_evicted();
        drop(evicted);
    }

    /// The most useful job.
    pub fn next_compaction_job(&self) -> Option<CompactionJob> {
        let mut names = self.machine().residents();
        names.sort();
        self.log_relief_job().or_else(|| names.iter().find_map(|workspace| self.job_of(workspace)))
    }

    /// Shortens a log that has become too long.
    fn log_relief_job(&self) -> Option<CompactionJob> {
        if self.backups.are_taken() {
            return None;
        }
        let log_bytes = self.log.tail().0 - self.log.start().0;
        if log_bytes <= self.options.log_bytes_max {
            return None;
        }
        self.machine().oldest_need().map(|(_, workspace)| CompactionJob::Archive(workspace))
    }

    /// The next job for a workspace in memory.
    fn job_of(&self, workspace: &WorkspaceName) -> Option<CompactionJob> {
        let now = self.clock.now();
        let mut machine = self.settled(workspace);
        let resident = machine.resident(workspace)?;
        self.job_for(workspace, resident, now)
    }

    fn job_for(
        &self,
        workspace: &WorkspaceName,
        resident: &mut Resident,
        now: Timestamp,
    ) -> Option<CompactionJob> {
        let idle_ms = u64::try_from(self.options.idle.as_millis()).unwrap_or(u64::MAX);
        if std::mem::take(&mut resident.is_read) {
            resident.used_at = now;
        }
        let is_idle = now.since(resident.used_at) >= idle_ms;
        let space = &resident.space;
        let state_bytes = (space.state.bytes() + space.checkpoint.bytes()) as u64;
        let worth = self.options.snapshot_bytes_min.max(state_bytes / SNAPSHOT_PART);
        let is_behind = resident.snapshot < resident.space.revision();
        if resident.bytes_since_snapshot >= worth || (is_idle && is_behind) {
            // Before archiving, which takes longer: what the snapshot lacks is what loading
            // replays.
            return Some(CompactionJob::Snapshot(workspace.clone()));
        }
        let tail = &resident.history.tail;
        let factor = if resident.is_busy { BUSY_FACTOR } else { 1 };
        let history_max = self.options.extents.history_of(workspace);
        let is_long = tail.len() >= factor * self.options.tail_batches_max
            || history_max.is_some_and(|max| tail.bytes() > max / HISTORY_PARTS);
        if is_long || (is_idle && !tail.is_empty()) {
            return Some(CompactionJob::Archive(workspace.clone()));
        }
        raise_floor(resident, now, history_max);
        let first_run = resident.history.runs.first();
        if first_run.is_some_and(|run| run.last() <= resident.history.floor.0) {
            return Some(CompactionJob::Fold(workspace.clone()));
        }
        if resident.swept != Some(blobs::deleted_count(resident)) && !self.backups.are_taken() {
            return Some(CompactionJob::Sweep(workspace.clone()));
        }
        resident.watchers.sweep();
        (is_idle && !resident.is_awaited()).then(|| CompactionJob::Evict(workspace.clone()))
    }

    /// Moves the tail of a workspace, or the oldest part of it, into a run.
    pub fn archive(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || self.archive_locked(workspace))
    }

    fn archive_locked(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let (first, count, replaced) = {
            let mut machine = self.machine();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let history = &resident.history;
            let count = history.tail.len().min(RUN_BATCHES_MAX);
            if count == 0 {
                return Ok(());
            }
            let bytes = history.tail.bytes();
            // A run of full length need not be longer, and need not be written twice.
            let is_full = count == RUN_BATCHES_MAX;
            let part = self.options.extents.history_of(workspace).map(|max| max / HISTORY_PARTS);
            let bytes_max = self.options.run_bytes_max.min(part.unwrap_or(u64::MAX));
            let replaced =
                if is_full { Vec::new() } else { to_merge(&history.runs, bytes, bytes_max) };
            (history.tail.first(), count, replaced)
        };
        let begin = replaced.first().map_or(first.0, |run| run.first());
        let last = first.0 + count as u64 - 1;
        let file = File::Run { first: begin, last };
        let mut writer = RunWriter::new(self.new_blob(workspace, file)?, begin);
        for run in &replaced {
            for batch in run.batches(run.first()) {
                push(&mut writer, &batch?.1)?;
            }
        }
        let mut written = Ok(());
        let mut left = count;
        self.visit_tail(workspace, first, |frame| {
            written = push(&mut writer, frame);
            left -= 1;
            written.is_ok() && left > 0
        })?;
        written?;
        writer.finish()?;
        let run = Arc::new(Run::open(self.blob(workspace, file)?)?);
        {
            let mut machine = self.machine();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let runs = &resident.history.runs;
            let kept = runs.len().checked_sub(replaced.len());
            let same = |(one, other): (&Arc<Run>, &Arc<Run>)| Arc::ptr_eq(one, other);
            let unchanged = kept.is_some_and(|kept| runs[kept..].iter().zip(&replaced).all(same));
            if !unchanged || resident.history.tail.first() != first {
                // It was loaded again in the meantime, and found the run on disk.
                return Ok(());
            }
            resident.history.archive(replaced.len(), run);
        }
        for run in replaced {
            let file = File::Run { first: run.first(), last: run.last() };
            self.log.delete_blob(&file.name(workspace))?;
        }
        self.truncate()
    }

    /// Creates a file. If one of this name exists, a failed attempt left it behind, and nothing
    /// refers to it.
    fn new_blob(
        &self,
        workspace: &WorkspaceName,
        file: File,
    ) -> Result<Box<dyn BlobWriter>, Error> {
        let name = file.name(workspace);
        match self.log.create_blob(&name) {
            Err(BlobError::Exists { .. }) => {
                self.log.delete_blob(&name)?;
                Ok(self.log.create_blob(&name)?)
            }
            created => Ok(created?),
        }
    }

    /// Truncates the part of the log that is no longer needed.
    fn truncate(&self) -> Result<(), Error> {
        if self.backups.are_taken() {
            return Ok(());
        }
        let before = {
            let machine = self.machine();
            // A group in flight has a position but no tail yet; it is at the machine's tail.
            machine.oldest_need().map_or(machine.tail(), |(position, _)| position)
        };
        #[cfg(feature = "planted")]
        let before = if baton_core::planted::is("keeping.truncate_too_far") {
            self.log.tail()
        } else {
            before
        };
        self.log.truncate(before).map_err(|error| Error::Storage { what: error.to_string() })
    }

    /// Writes a snapshot of a workspace while the workspace changes.
    pub fn snapshot(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || {
            let Some(mut capture) = self.begin_snapshot(workspace)? else { return Ok(()) };
            while !self.continue_snapshot(&mut capture)? {}
            Ok(())
        })
    }

    /// Begins a consistent capture of a workspace; none if it is not in memory.
    pub fn begin_snapshot(&self, workspace: &WorkspaceName) -> Result<Option<Capture>, Error> {
        let mut machine = self.settled(workspace);
        let durable = machine.durable();
        let Some(resident) = machine.resident(workspace) else { return Ok(None) };
        let revision = resident.space.revision();
        if revision == resident.snapshot {
            resident.bytes_since_snapshot = 0;
            return Ok(None);
        }
        let group = resident.undurable(revision, durable);
        let deadline = codec::deadline_number(resident.space.next_deadline());
        let head = resident.space.head();
        let (bytes, stay) = (resident.bytes_since_snapshot, resident.stay);
        let mut namespaces = resident.space.state.begin_capture();
        namespaces.reverse();
        drop(machine);
        let file = File::Snapshot { revision: revision.0, deadline };
        let begin = move || {
            let output = self.new_blob(workspace, file)?;
            Ok::<_, Error>(SnapshotWriter::begin(output, head)?)
        };
        match begin() {
            Ok(writer) => {
                let (workspace, writer) = (workspace.clone(), Some(writer));
                Ok(Some(Capture { workspace, revision, stay, group, bytes, namespaces, writer }))
            }
            Err(error) => {
                self.abort_snapshot(workspace);
                Err(error)
            }
        }
    }

    fn abort_snapshot(&self, workspace: &WorkspaceName) {
        if let Some(resident) = self.settled(workspace).resident(workspace) {
            resident.space.state.abort_capture();
        }
    }

    /// Continues a snapshot; true when it is complete or was cancelled because the workspace was
    /// dropped from memory.
    pub fn continue_snapshot(&self, capture: &mut Capture) -> Result<bool, Error> {
        let step = self.capture_some(capture);
        if step.is_err() {
            self.abort_snapshot(&capture.workspace);
        }
        step
    }

    fn capture_some(&self, capture: &mut Capture) -> Result<bool, Error> {
        let Some(namespace) = capture.namespaces.last().cloned() else {
            return self.finish_snapshot(capture);
        };
        let entries = {
            let mut machine = self.settled(&capture.workspace);
            let Some(resident) = machine.resident(&capture.workspace) else { return Ok(true) };
            if resident.stay != capture.stay {
                // It was abandoned and loaded again; the captured changes may have been lost.
                return Ok(true);
            }
            resident.space.state.next_captured(&namespace, self.options.snapshot_chunk)
        };
        if entries.is_empty() {
            capture.namespaces.pop();
        }
        let writer = capture.writer.as_mut().expect("a capture is finished once");
        let mut give_way = GiveWay::default();
        for entry in &entries {
            writer.entry(&namespace, entry)?;
            give_way.after(1);
        }
        Ok(false)
    }

    /// Waits until the outcome of a group is known.
    pub(crate) fn block_until_durable(&self, group: u64) -> bool {
        #[cfg(feature = "planted")]
        if baton_core::planted::is("keeping.does_not_wait") {
            return true;
        }
        loop {
            match self.watermark().group_status(group) {
                Some(status) => {
                    // No other thread sends the deferred wake-ups of callers in this group.
                    self.watermark().wake_deferred();
                    return status.is_ok();
                }
                None if self.flush() == Flushed::Nothing => std::thread::yield_now(),
                None => {}
            }
        }
    }

    fn finish_snapshot(&self, capture: &mut Capture) -> Result<bool, Error> {
        // Everything in a snapshot on disk must be in the log too.
        if !self.block_until_durable(capture.group) {
            return Ok(true);
        }
        capture.writer.take().expect("a capture is finished once").finish()?;
        self.metrics.record_snapshot(self.clock.now().0);
        {
            let mut machine = self.machine();
            let resident = machine.resident(&capture.workspace);
            if let Some(resident) = resident.filter(|resident| resident.stay == capture.stay) {
                resident.snapshot = capture.revision;
                resident.bytes_since_snapshot -= capture.bytes.min(resident.bytes_since_snapshot);
            }
        }
        for old in self.files_of(&capture.workspace)? {
            match old {
                File::Snapshot { revision, .. } if revision < capture.revision.0 => {
                    self.log.delete_blob(&old.name(&capture.workspace))?;
                }
                File::Snapshot { .. }
                | File::Base { .. }
                | File::Deleted { .. }
                | File::Run { .. } => {}
            }
        }
        Ok(true)
    }

    /// Folds the oldest run into the base: the history before its end is dropped.
    pub fn fold(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || self.fold_locked(workspace))
    }

    fn fold_locked(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let (base, run, group) = {
            let mut machine = self.settled(workspace);
            let durable = machine.durable();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let group = resident.undurable(resident.space.revision(), durable);
            let history = &resident.history;
            let Some(run) = history.runs.first() else { return Ok(()) };
            if run.last() > history.floor.0 {
                return Ok(());
            }
            (history.base.clone(), Arc::clone(run), group)
        };
        // The floor may depend on a change that is not durable yet; removing history cannot be
        // undone.
        if !self.block_until_durable(group) {
            return Ok(());
        }
        let mut space = match &base {
            Some(base) => base.load()?,
            None => Space::default(),
        };
        for batch in run.batches(run.first()) {
            space.replay(&codec::decode(&batch?.1)?);
        }
        let file = File::Base { revision: run.last() };
        self.write_space(workspace, file, &space)?;
        let folded = Arc::new(Snapshot::open(self.blob(workspace, file)?)?);
        {
            let mut machine = self.machine();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let first = resident.history.runs.first();
            if !first.is_some_and(|first| Arc::ptr_eq(first, &run)) {
                return Ok(());
            }
            resident.history.base = Some(folded);
            resident.history.runs.remove(0);
            resident.history.check();
        }
        self.log
            .delete_blob(&File::Run { first: run.first(), last: run.last() }.name(workspace))?;
        if let Some(base) = base {
            let revision = base.revision().0;
            for file in [File::Base { revision }, File::Deleted { revision }] {
                self.log.delete_blob(&file.name(workspace))?;
            }
        }
        Ok(())
    }
}

impl<L: Log> Shard<L> {
    /// Writes a space that does not change in the meantime.
    pub(crate) fn write_space(
        &self,
        workspace: &WorkspaceName,
        file: File,
        space: &Space,
    ) -> Result<(), Error> {
        let output = self.new_blob(workspace, file)?;
        write_space_to(SnapshotWriter::begin(output, space.head())?, space)
    }
}

/// Writes the entries of a space, and the end of the snapshot.
pub(crate) fn write_space_to(mut writer: SnapshotWriter, space: &Space) -> Result<(), Error> {
    let mut give_way = GiveWay::default();
    for (namespace, entries) in space.state.namespaces() {
        for entry in entries {
            writer.entry(namespace, entry)?;
            give_way.after(1);
        }
    }
    Ok(writer.finish()?)
}

/// A snapshot that is being written.
pub struct Capture {
    workspace: WorkspaceName,
    revision: Revision,
    stay: u64,
    group: u64,
    bytes: u64,
    /// Namespaces that are still to be captured, the next one last.
    namespaces: Vec<NamespaceName>,
    writer: Option<SnapshotWriter>,
}

/// The newest runs that are small enough to be written again, into a run of at most this size.
fn to_merge(runs: &[Arc<Run>], bytes: u64, bytes_max: u64) -> Vec<Arc<Run>> {
    let mut total = bytes;
    let small = runs.iter().rev().take_while(|run| {
        let merges = run.bytes() <= MERGE_FACTOR * total && run.bytes() + total <= bytes_max;
        total += run.bytes();
        merges
    });
    let mut replaced: Vec<_> = small.cloned().collect();
    replaced.reverse();
    replaced
}

/// The history before this revision is no longer kept.
fn raise_floor(resident: &mut Resident, now: Timestamp, bytes_max: Option<u64>) {
    let retention = resident.space.workspace.retention();
    let by_count = resident.space.revision().0.saturating_sub(retention.history_count);
    let oldest = Timestamp(now.0.saturating_sub(retention.history_age_ms));
    let aged = resident.history.runs.iter().take_while(|run| run.last_time_ms() < oldest.0);
    let by_age = aged.last().map_or(0, |run| run.last());
    let mut bytes = resident.history.tail.bytes();
    let beyond = resident.history.runs.iter().rev().find(|run| {
        bytes += run.bytes();
        bytes_max.is_some_and(|max| bytes > max)
    });
    let by_bytes = beyond.map_or(0, |run| run.last());
    let floor = &mut resident.history.floor;
    *floor = (*floor).max(Revision(by_count.max(by_age).max(by_bytes)));
}

fn push(writer: &mut RunWriter, frame: &[u8]) -> Result<(), Error> {
    let outline = codec::subjects(frame, |subject| writer.touch(subject))?;
    let frame = &frame[..outline.bytes];
    writer.push(outline.revision.0, outline.time.0, frame, &[])?;
    Ok(())
}

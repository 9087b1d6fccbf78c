//! Loading a workspace from snapshot, runs and log.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use baton_core::{Batch, Revision, Space, WorkspaceName};
use baton_log::{Blob, Log};

use crate::codec;
use crate::error::Error;
use crate::files::{self, Chain, File};
use crate::history::run::Run;
use crate::history::{History, LogLocation, Tail};
use crate::machine::Loaded;
use crate::shard::Shard;
use crate::snapshot::Snapshot;

/// How many batches are looked up under one lock.
const BATCHES_AT_ONCE: u64 = 16_384;
/// How much of the log is read at once where most of it is needed.
const READ_BYTES: usize = 4 << 20;
/// Below this many batches a second thread costs more than it saves.
const BATCHES_WORTH_A_THREAD: u64 = 8_192;
/// The number of batches that the decoding thread passes to the applying thread at a time, and how
/// many such portions may be queued.
const BATCHES_HANDED_OVER: usize = 512;
const HANDED_OVER_MAX: usize = 8;

/// The files of a workspace on disk.
struct StoredHistory {
    history: History,
    snapshot: Option<Snapshot>,
    /// The revision of the snapshot; 0 for a base, since it has no deadline.
    snapshot_revision: Revision,
    /// What a crash has left behind.
    leftovers: Vec<File>,
}

impl<L: Log> Shard<L> {
    /// Loads a workspace. One without commits starts empty.
    pub fn load(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || self.load_locked(workspace))
    }

    /// Puts a workspace into memory if it exists; otherwise notes that it does not.
    pub fn find(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || {
            let mut machine = self.machine();
            let is_known =
                machine.resident(workspace).is_some() || machine.tail_of(workspace).is_some();
            drop(machine);
            let files = self.files_of(workspace)?;
            let exists = files.iter().any(|file| file.newest() > files::deleted(&files));
            if is_known || exists {
                return self.load_locked(workspace);
            }
            self.machine().remember_absent(workspace);
            Ok(())
        })
    }

    pub(crate) fn load_locked(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        if self.machine().resident(workspace).is_some() {
            return Ok(());
        }
        let (loaded, leftovers) = self.read_workspace(workspace)?;
        for file in leftovers {
            self.log.delete_blob(&file.name(workspace))?;
        }
        let now = self.clock.now();
        let mut machine = self.machine();
        machine.evict_beyond(self.options.residents_max);
        machine.install(workspace, loaded, now);
        drop(machine);
        self.drop_evicted();
        Ok(())
    }

    /// Reads a workspace from its files and the log. Also returns the files that a crash has left
    /// behind. Nothing is removed.
    pub(crate) fn read_workspace(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<(Loaded, Vec<File>), Error> {
        let StoredHistory { history, snapshot, snapshot_revision, leftovers } =
            self.find_history(workspace)?;
        let archived = history.archived();
        if let Some(tail) = self.machine().tail_of(workspace) {
            if tail.first() > archived.next() {
                let what = format!(
                    "workspace `{workspace}` is archived up to revision {archived}, but the log \
                     begins with {}",
                    tail.first()
                );
                return Err(Error::Corrupt { what });
            }
            tail.forget(archived);
        }
        let mut space = match &snapshot {
            Some(snapshot) => snapshot.load()?,
            None => Space::default(),
        };
        let next = self.machine().tail_of(workspace).map_or(archived.next(), |tail| tail.next());
        let bytes = self.replay(workspace, &mut space, &history, next)?;
        if space.revision().next() != next {
            // It was durable when the snapshot was taken, so the log has lost it since.
            let what = format!(
                "a snapshot of workspace `{workspace}` shows revision {}, but the log continues at \
                 {next}",
                space.revision()
            );
            return Err(Error::Corrupt { what });
        }
        space.set_quota(self.options.extents.of(workspace));
        let snapshot = snapshot_revision;
        Ok((Loaded { space, history, snapshot, bytes_since_snapshot: bytes }, leftovers))
    }

    /// Opens the files on disk.
    fn find_history(&self, workspace: &WorkspaceName) -> Result<StoredHistory, Error> {
        let mut files = self.files_of(workspace)?;
        files.sort();
        let Chain { base, runs } = files::chain(&files).ok_or_else(|| Error::Corrupt {
            what: format!("the runs of workspace `{workspace}` do not follow each other"),
        })?;
        let mut history = History::empty();
        if let Some(base) = base {
            let snapshot = Snapshot::open(self.blob(workspace, base)?)?;
            history.base = Some(Arc::new(snapshot));
            history.floor = Revision(base.newest());
            history.tail = Tail::from(base.newest() + 1);
        }
        for (first, last) in &runs {
            let file = File::Run { first: *first, last: *last };
            history.runs.push(Arc::new(Run::open(self.blob(workspace, file)?)?));
            history.tail = Tail::from(last + 1);
        }
        // Batches after a snapshot that is older than the base were folded into the base.
        let began = files::deleted(&files);
        let newest = files.iter().rev().copied().find(|file| match file {
            #[cfg(feature = "planted")]
            File::Snapshot { .. } if baton_core::planted::is("loading.older_than_base") => true,
            File::Snapshot { revision, .. } => {
                base.is_none_or(|base| *revision >= base.newest()) && file.is_after(began)
            }
            File::Base { .. } | File::Deleted { .. } | File::Run { .. } => false,
        });
        let is_useful = |file: &File| match file {
            File::Base { .. } | File::Deleted { .. } => Some(*file) == base,
            File::Run { first, last } => runs.contains(&(*first, *last)),
            File::Snapshot { .. } => Some(*file) == newest,
        };
        let leftovers = files.iter().filter(|file| !is_useful(file)).copied().collect();
        let snapshot = match newest {
            Some(file) => Some(Snapshot::open(self.blob(workspace, file)?)?),
            // Without a snapshot, the base is the starting point.
            None => match base {
                Some(base) => Some(Snapshot::open(self.blob(workspace, base)?)?),
                None => None,
            },
        };
        // An empty workspace has no deadlines, so it needs no snapshot for them.
        let is_empty = base == Some(File::Deleted { revision: began });
        let without = if is_empty { began } else { 0 };
        let snapshot_revision = Revision(newest.map_or(without, File::newest));
        Ok(StoredHistory { history, snapshot, snapshot_revision, leftovers })
    }

    /// The blobs of a workspace.
    pub(crate) fn files_of(&self, workspace: &WorkspaceName) -> Result<Vec<File>, Error> {
        let names = self.log.list_blobs(&files::folder(workspace))?;
        Ok(names.iter().filter_map(|name| File::parse(name)).map(|(_, file)| file).collect())
    }

    pub(crate) fn blob(
        &self,
        workspace: &WorkspaceName,
        file: File,
    ) -> Result<Arc<dyn Blob>, Error> {
        let name = file.name(workspace);
        let missing = || Error::Corrupt { what: format!("`{name}` has disappeared") };
        self.log.open_blob(&name)?.ok_or_else(missing)
    }

    /// Applies the batches after the snapshot and before `next`, and returns their size in bytes.
    fn replay(
        &self,
        workspace: &WorkspaceName,
        space: &mut Space,
        history: &History,
        next: Revision,
    ) -> Result<u64, Error> {
        let from = space.revision().next();
        if next.0.saturating_sub(from.0) < BATCHES_WORTH_A_THREAD {
            return self
                .decode_from(workspace, history, from, |batch| apply(workspace, space, &batch));
        }
        let (sender, receiver) = sync_channel::<Vec<Batch>>(HANDED_OVER_MAX);
        std::thread::scope(|scope| {
            let decoding = scope.spawn(move || {
                let mut batches = Vec::with_capacity(BATCHES_HANDED_OVER);
                // If the receiver is gone, it has found an error and reports it.
                let gone = |_| Error::Closed;
                let bytes = self.decode_from(workspace, history, from, |batch| {
                    batches.push(batch);
                    if batches.len() < BATCHES_HANDED_OVER {
                        return Ok(());
                    }
                    let fresh = Vec::with_capacity(BATCHES_HANDED_OVER);
                    sender.send(std::mem::replace(&mut batches, fresh)).map_err(gone)
                })?;
                sender.send(batches).map_err(gone)?;
                Ok(bytes)
            });
            let mut batches = receiver.into_iter().flatten();
            batches.try_for_each(|batch| apply(workspace, space, &batch))?;
            decoding.join().expect("decoding does not panic")
        })
    }

    /// Decodes batches from a revision on, first from the runs and then from the log.
    fn decode_from(
        &self,
        workspace: &WorkspaceName,
        history: &History,
        from: Revision,
        mut take: impl FnMut(Batch) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut bytes = 0;
        let mut decode = |frame: &[u8]| {
            bytes += frame.len() as u64;
            take(codec::decode(frame)?)
        };
        for run in history.runs.iter().filter(|run| run.last() >= from.0) {
            for batch in run.batches(from.0) {
                decode(&batch?.1)?;
            }
        }
        let mut decoded = Ok(());
        self.visit_tail(workspace, from.max(history.archived().next()), |frame| {
            decoded = decode(frame);
            decoded.is_ok()
        })?;
        decoded.map(|()| bytes)
    }

    /// Reads the frames of a workspace's tail in order, until the visitor stops.
    pub(crate) fn visit_tail(
        &self,
        workspace: &WorkspaceName,
        from: Revision,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let mut next = from;
        loop {
            let locations = self.log_locations(workspace, next, BATCHES_AT_ONCE);
            next = Revision(next.0 + locations.len() as u64);
            if locations.is_empty() || !self.visit(&locations, &mut visit)? {
                return Ok(());
            }
        }
    }

    /// Reads the frames at these locations, in order, until the visitor stops.
    pub(crate) fn visit(
        &self,
        locations: &[LogLocation],
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        let Some((first, last)) = locations.first().zip(locations.last()) else { return Ok(true) };
        // If a workspace has most of the log, large reads are faster.
        let span = last.record.0 - first.record.0;
        let dense = span <= 2_048 * locations.len() as u64;
        if dense {
            self.visit_records(locations, visit)
        } else {
            self.visit_locations(locations, visit)
        }
    }

    /// The locations of the batches of a workspace that are only in the log, from a revision on.
    pub(crate) fn log_locations(
        &self,
        workspace: &WorkspaceName,
        from: Revision,
        count_max: u64,
    ) -> Vec<LogLocation> {
        let mut machine = self.machine();
        let tail = if machine.resident(workspace).is_some() {
            machine.resident(workspace).map(|resident| &mut resident.history.tail)
        } else {
            machine.tail_of(workspace)
        };
        let Some(tail) = tail else { return Vec::new() };
        let revisions = from.0..from.0.saturating_add(count_max);
        revisions.map_while(|revision| tail.find(Revision(revision))).collect()
    }

    fn visit_locations(
        &self,
        locations: &[LogLocation],
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        for location in locations {
            let lost = || Error::Storage { what: "a batch left the log while it was read".into() };
            let frame = self.read_location(*location)?.ok_or_else(lost)?;
            if !visit(&frame) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn visit_records(
        &self,
        locations: &[LogLocation],
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        let Some(last) = locations.last() else { return Ok(true) };
        let mut locations = locations.iter().peekable();
        while let Some(first) = locations.peek() {
            // No further than requested: the next call would read the rest again.
            let span = usize::try_from(last.record.0 - first.record.0).unwrap_or(usize::MAX);
            let records = self.log.read(first.record, span.min(READ_BYTES))?;
            for record in &records {
                while let Some(location) =
                    locations.next_if(|location| location.record == record.position)
                {
                    let frame = record.body.get(location.offset as usize..).unwrap_or_default();
                    if !visit(frame) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

fn apply(workspace: &WorkspaceName, space: &mut Space, batch: &Batch) -> Result<(), Error> {
    if batch.revision != space.revision().next() {
        let what = format!(
            "workspace `{workspace}` continues at revision {} instead of {}",
            batch.revision,
            space.revision().next()
        );
        return Err(Error::Corrupt { what });
    }
    space.replay(batch);
    Ok(())
}

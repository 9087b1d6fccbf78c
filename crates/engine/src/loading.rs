//! Loading: from snapshot, runs and log to a workspace in memory.

use std::sync::Arc;

use baton_core::{Revision, Space, WorkspaceName};
use baton_log::{Blob, Log};

use crate::codec;
use crate::error::Error;
use crate::files::{self, File};
use crate::history::run::Run;
use crate::history::{History, Place, Tail};
use crate::machine::Loaded;
use crate::shard::Shard;
use crate::snapshot::Snapshot;

/// How many batches are looked up under one lock.
const BATCHES_AT_ONCE: usize = 4_096;
/// How much of the log is read at once where most of it is needed.
const READ_BYTES: usize = 4 << 20;

impl<L: Log> Shard<L> {
    /// Puts a workspace into memory. One that never was begins empty.
    pub fn load(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.alone(workspace, || self.load_alone(workspace))
    }

    fn load_alone(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        if self.machine().resident(workspace).is_some() {
            return Ok(());
        }
        let (history, snapshot) = self.find_history(workspace)?;
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
        let loaded_from = space.revision();
        let mut bytes = replay_runs(workspace, &mut space, &history)?;
        bytes += self.replay_tail(workspace, &mut space)?;
        let now = self.clock.now();
        let loaded = Loaded { space, history, snapshot: loaded_from, bytes_since_snapshot: bytes };
        self.machine().install(workspace, loaded, now);
        Ok(())
    }

    /// Opens what is on disk, and removes what a crash has left behind.
    fn find_history(
        &self,
        workspace: &WorkspaceName,
    ) -> Result<(History, Option<Snapshot>), Error> {
        let mut files = self.files_of(workspace)?;
        files.sort();
        let newest = |file: &File| match file {
            File::Base { revision } => Some(*revision),
            File::Run { .. } | File::Snapshot { .. } => None,
        };
        let base = files.iter().filter_map(newest).max();
        let mut history = History::empty();
        if let Some(revision) = base {
            let snapshot = Snapshot::open(self.blob(workspace, File::Base { revision })?)?;
            history.base = Some(Arc::new(snapshot));
            history.floor = Revision(revision);
            history.tail = Tail::from(revision + 1);
        }
        let mut useless: Vec<File> = Vec::new();
        let mut snapshots: Vec<File> = Vec::new();
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for file in files {
            match file {
                File::Base { revision } if Some(revision) == base => {}
                File::Base { .. } => useless.push(file),
                File::Run { first, last } => runs.push((first, last)),
                File::Snapshot { .. } => snapshots.push(file),
            }
        }
        // The longest of those that begin at the same place holds all the others.
        runs.sort_by_key(|(first, last)| (*first, u64::MAX - *last));
        for (first, last) in runs {
            let file = File::Run { first, last };
            let archived = history.archived().0;
            if last <= archived {
                useless.push(file);
                continue;
            }
            if first != archived + 1 {
                let what = format!("workspace `{workspace}` lacks revision {}", archived + 1);
                return Err(Error::Corrupt { what });
            }
            history.runs.push(Arc::new(Run::open(self.blob(workspace, file)?)?));
            history.tail = Tail::from(last + 1);
        }
        let newest = snapshots.pop();
        useless.append(&mut snapshots);
        for file in useless {
            self.log.delete_blob(&file.name(workspace))?;
        }
        let snapshot = match newest {
            Some(file) => Some(Snapshot::open(self.blob(workspace, file)?)?),
            // Without a snapshot the base is the beginning.
            None => match base {
                Some(revision) => {
                    Some(Snapshot::open(self.blob(workspace, File::Base { revision })?)?)
                }
                None => None,
            },
        };
        Ok((history, snapshot))
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

    fn replay_tail(&self, workspace: &WorkspaceName, space: &mut Space) -> Result<u64, Error> {
        let mut bytes = 0;
        let mut replayed = Ok(());
        self.visit_tail(workspace, space.revision().next(), |frame| {
            bytes += frame.len() as u64;
            replayed = replay(workspace, space, frame);
            replayed.is_ok()
        })?;
        replayed.map(|()| bytes)
    }

    /// Reads the frames of a workspace's tail in order, until the visitor has enough.
    pub(crate) fn visit_tail(
        &self,
        workspace: &WorkspaceName,
        from: Revision,
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        let mut next = from;
        loop {
            let places = self.places(workspace, next);
            let Some((first, last)) = places.first().zip(places.last()) else { return Ok(()) };
            next = Revision(next.0 + places.len() as u64);
            // Where a workspace has most of the log to itself, large reads are quicker.
            let span = last.record.0 - first.record.0;
            let dense = span <= 2_048 * places.len() as u64;
            let more = if dense {
                self.visit_records(&places, &mut visit)?
            } else {
                self.visit_places(&places, &mut visit)?
            };
            if !more {
                return Ok(());
            }
        }
    }

    fn places(&self, workspace: &WorkspaceName, from: Revision) -> Vec<Place> {
        let mut machine = self.machine();
        let tail = if machine.resident(workspace).is_some() {
            machine.resident(workspace).map(|resident| &mut resident.history.tail)
        } else {
            machine.tail_of(workspace)
        };
        let Some(tail) = tail else { return Vec::new() };
        let revisions = from.0..from.0 + BATCHES_AT_ONCE as u64;
        revisions.map_while(|revision| tail.find(Revision(revision))).collect()
    }

    fn visit_places(
        &self,
        places: &[Place],
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        for place in places {
            let lost = || Error::Storage { what: "a batch left the log while it was read".into() };
            let frame = self.read_place(*place)?.ok_or_else(lost)?;
            if !visit(&frame) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn visit_records(
        &self,
        places: &[Place],
        visit: &mut impl FnMut(&[u8]) -> bool,
    ) -> Result<bool, Error> {
        let mut places = places.iter().peekable();
        while let Some(first) = places.peek() {
            let records = self.log.read(first.record, READ_BYTES)?;
            for record in &records {
                while let Some(place) = places.next_if(|place| place.record == record.position) {
                    let frame = record.body.get(place.offset as usize..).unwrap_or_default();
                    if !visit(frame) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

fn replay_runs(
    workspace: &WorkspaceName,
    space: &mut Space,
    history: &History,
) -> Result<u64, Error> {
    let mut bytes = 0;
    for run in &history.runs {
        let from = space.revision().next().0;
        if run.last() < from {
            continue;
        }
        for batch in run.batches(from) {
            let (_, frame) = batch?;
            bytes += frame.len() as u64;
            replay(workspace, space, &frame)?;
        }
    }
    Ok(bytes)
}

fn replay(workspace: &WorkspaceName, space: &mut Space, frame: &[u8]) -> Result<(), Error> {
    let batch = codec::decode(frame)?;
    if batch.revision != space.revision().next() {
        let what = format!(
            "workspace `{workspace}` goes on with revision {}, not with {}",
            batch.revision,
            space.revision().next()
        );
        return Err(Error::Corrupt { what });
    }
    space.replay(&batch);
    Ok(())
}

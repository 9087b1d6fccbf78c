//! Reading everything that a folder holds, to know whether it could be read when it is needed.
//!
//! Nothing is loaded to stay and nothing is removed, not even what a crash has left behind: whoever
//! looks for damage must not be the one who does some.

use std::path::Path;
use std::sync::Arc;

use baton_core::{BlobPlace, Revision, Timestamp, WorkspaceName};
use baton_log::Log;
use baton_log::file::{FileLog, Options as FileOptions};

use crate::clock::SystemClock;
use crate::codec;
use crate::contents::Shelf;
use crate::error::Error;
use crate::files::{self, File};
use crate::history::run::Run;
use crate::options::Options;
use crate::shard::Shard;
use crate::snapshot::Snapshot;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspected {
    /// How many workspaces there are.
    pub workspaces: usize,
    /// How many files were read to their end, contents of artifacts and secrets included.
    pub files: usize,
    /// When the newest change was made.
    pub newest: Timestamp,
    /// What cannot be read, and why.
    pub damaged: Vec<(String, String)>,
}

/// Reads everything in a folder that no engine has open, but for the records of the log: opening
/// the folder has read those.
pub fn inspect(folder: &Path) -> Result<Inspected, Error> {
    let log = FileLog::open(FileOptions::new(folder))?;
    let clock = Arc::new(SystemClock::default());
    Shard::open(log, clock, Options::default())?.inspect()
}

impl<L: Log> Shard<L> {
    /// Reads every file of every workspace.
    pub fn inspect(&self) -> Result<Inspected, Error> {
        let mut inspected = Inspected::default();
        for (workspace, _) in self.newest_revisions()? {
            inspected.workspaces += 1;
            self.inspect_workspace(&workspace, &mut inspected)?;
        }
        Ok(inspected)
    }

    fn inspect_workspace(
        &self,
        workspace: &WorkspaceName,
        inspected: &mut Inspected,
    ) -> Result<(), Error> {
        let files = self.files_of(workspace)?;
        for file in &files {
            let read = self.inspect_file(workspace, *file);
            inspected.note(file.name(workspace), read);
        }
        for shelf in [Shelf::Artifacts, Shelf::Secrets] {
            for name in self.log.list_blobs(&shelf.folder(workspace))? {
                let read = self.inspect_content(workspace, shelf, &name);
                inspected.note(name, read.map(|()| Timestamp(0)));
            }
        }
        let archived = files::chain(&files).map_or(0, |chain| chain.archived());
        let places = self.places(workspace, Revision(archived).next(), u64::MAX);
        if let Some(place) = places.last()
            && let Some(frame) = self.read_place(*place)?
        {
            inspected.newest = inspected.newest.max(codec::outline(&frame)?.time);
        }
        Ok(())
    }

    /// Reads a file to its end; answers with the time of the newest change in it.
    fn inspect_file(&self, workspace: &WorkspaceName, file: File) -> Result<Timestamp, Error> {
        let blob = self.blob(workspace, file)?;
        match file {
            File::Base { .. } | File::Snapshot { .. } => Ok(Snapshot::open(blob)?.load()?.time()),
            File::Run { .. } => {
                let run = Run::open(blob)?;
                for batch in run.batches(run.first()) {
                    codec::outline(&batch?.1)?;
                }
                Ok(Timestamp(run.last_time_ms()))
            }
        }
    }

    fn inspect_content(
        &self,
        workspace: &WorkspaceName,
        shelf: Shelf,
        name: &str,
    ) -> Result<(), Error> {
        let place = name.rsplit('/').next().and_then(|place| BlobPlace::parse(place).ok());
        let odd = || Error::Corrupt { what: "its name is no place".to_owned() };
        let content = self.content(workspace, shelf, &place.ok_or_else(odd)?)?;
        let mut offset = 0;
        while offset < content.len() {
            offset += content.block(offset)?.len() as u64;
        }
        Ok(())
    }
}

impl Inspected {
    fn note(&mut self, name: String, read: Result<Timestamp, Error>) {
        self.files += 1;
        match read {
            Ok(time) => self.newest = self.newest.max(time),
            Err(error) => self.damaged.push((name, error.to_string())),
        }
    }
}

//! Reads everything in a folder, to verify that it is readable.
//!
//! Nothing stays in memory and nothing is removed, not even what a crash left behind: a search for
//! damage must not change anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use baton_core::{BlobPlace, Revision, Timestamp, WorkspaceName};
use baton_log::Log;
use baton_log::file::{FileLog, Options as FileOptions};

use crate::blobs::{BlobKind, blob_references};
use crate::clock::SystemClock;
use crate::codec;
use crate::error::Error;
use crate::files::{self, File};
use crate::history::run::Run;
use crate::options::Options;
use crate::shard::Shard;
use crate::snapshot::Snapshot;

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// How many workspaces there are.
    pub workspaces: usize,
    /// How many files were read to their end, including contents of artifacts and secrets.
    pub files: usize,
    /// The time of the newest change.
    pub newest: Timestamp,
    /// The files that cannot be read, and why.
    pub damaged: Vec<(String, String)>,
}

/// Reads everything in a folder that no engine has open, except the records of the log: opening the
/// folder has read those.
pub fn verify_folder(folder: &Path) -> Result<VerifyReport, Error> {
    let log = FileLog::open(FileOptions::new(folder))?;
    let clock = Arc::new(SystemClock::default());
    Shard::open(log, clock, Options::default())?.verify()
}

impl<L: Log> Shard<L> {
    /// Reads every file of every workspace.
    pub fn verify(&self) -> Result<VerifyReport, Error> {
        let mut report = VerifyReport::default();
        for (workspace, _) in self.newest_revisions()? {
            report.workspaces += 1;
            self.verify_workspace(&workspace, &mut report)?;
        }
        Ok(report)
    }

    fn verify_workspace(
        &self,
        workspace: &WorkspaceName,
        report: &mut VerifyReport,
    ) -> Result<(), Error> {
        let damaged_before = report.damaged.len();
        let files = self.files_of(workspace)?;
        for file in &files {
            let read = self.verify_file(workspace, *file);
            report.note(file.name(workspace), read);
        }
        let mut contents = BTreeSet::new();
        for kind in [BlobKind::Artifacts, BlobKind::Secrets] {
            for name in self.log.list_blobs(&kind.folder(workspace))? {
                let read = self.verify_blob(workspace, kind, &name);
                report.note(name.clone(), read.map(|()| Timestamp(0)));
                contents.insert(name);
            }
        }
        match self.read_workspace(workspace) {
            Ok((loaded, _)) => {
                let names = blob_references(&loaded.space)
                    .map(|(kind, place)| kind.name(workspace, &place));
                for name in names.filter(|name| !contents.contains(name)) {
                    let what = "its content has disappeared".to_owned();
                    report.note(name, Err(Error::Corrupt { what }));
                }
            }
            // One of the files that were noted is the reason.
            Err(_) if report.damaged.len() > damaged_before => {}
            Err(error) => report.note(format!("workspace {workspace}"), Err(error)),
        }
        let archived = files::chain(&files).map_or(0, |chain| chain.archived());
        let locations = self.log_locations(workspace, Revision(archived).next(), u64::MAX);
        if let Some(location) = locations.last()
            && let Some(frame) = self.read_location(*location)?
        {
            report.newest = report.newest.max(codec::outline(&frame)?.time);
        }
        Ok(())
    }

    /// Reads a file to its end; returns the time of its newest change.
    fn verify_file(&self, workspace: &WorkspaceName, file: File) -> Result<Timestamp, Error> {
        let blob = self.blob(workspace, file)?;
        match file {
            File::Base { .. } | File::Deleted { .. } | File::Snapshot { .. } => {
                Ok(Snapshot::open(blob)?.load()?.time())
            }
            File::Run { .. } => {
                let run = Run::open(blob)?;
                for batch in run.batches(run.first()) {
                    codec::outline(&batch?.1)?;
                }
                Ok(Timestamp(run.last_time_ms()))
            }
        }
    }

    fn verify_blob(
        &self,
        workspace: &WorkspaceName,
        kind: BlobKind,
        name: &str,
    ) -> Result<(), Error> {
        let place = name.rsplit('/').next().and_then(|place| BlobPlace::parse(place).ok());
        let odd = || Error::Corrupt { what: "its name is not a valid location".to_owned() };
        let content = self.content(workspace, kind, &place.ok_or_else(odd)?)?;
        let mut offset = 0;
        while offset < content.len() {
            offset += content.block(offset)?.len() as u64;
        }
        Ok(())
    }
}

impl VerifyReport {
    fn note(&mut self, name: String, read: Result<Timestamp, Error>) {
        self.files += 1;
        match read {
            Ok(time) => self.newest = self.newest.max(time),
            Err(error) => self.damaged.push((name, error.to_string())),
        }
    }
}

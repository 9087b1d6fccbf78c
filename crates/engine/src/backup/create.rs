//! Taking a backup.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use baton_core::{Revision, WorkspaceName};
use baton_log::file::{FileLog, Options as FileOptions, open_shards};
use baton_log::{Blob, Log, OpenError};

use super::{
    BATCHES, BLOB, BYTES, BackupEntry, BackupHeader, BatchesHeader, BlobHeader, END, FORMAT,
    HEADER, MAGIC, Summary, WORKSPACE, merge,
};
use crate::blobs::BlobKind;
use crate::clock::SystemClock;
use crate::codec;
use crate::error::Error;
use crate::export::chunks::ChunkWriter;
use crate::export::{CHUNK_BYTES_MAX, write_blob};
use crate::files;
use crate::history::LogLocation;
use crate::options::Options;
use crate::shard::Shard;

/// A workspace with a durable revision, and its files.
struct BackupSource {
    entry: BackupEntry,
    /// Already open, so that it does not matter when they are replaced.
    files: Vec<(String, Arc<dyn Blob>)>,
    /// The revision of the first batch that is only in the log.
    first: Revision,
    locations: Vec<LogLocation>,
}

/// Backs up a folder that no engine has open. Nothing in it changes, except that a torn record is
/// repaired.
pub fn of_folder(folder: &Path, output: Box<dyn Write + Send>) -> Result<Summary, Error> {
    if !folder.is_dir() {
        let (path, reason) = (folder.to_owned(), "there is no such folder".to_owned());
        return Err(OpenError::Failed { path, reason }.into());
    }
    of_log(FileLog::open(FileOptions::new(folder))?, output)
}

/// The same for a folder that is divided into shards. `home` is the shard of the access tokens, of
/// so many.
pub fn of_shards(
    folder: &Path,
    home: impl FnOnce(u32) -> u32,
    output: Box<dyn Write + Send>,
) -> Result<Summary, Error> {
    let (logs, _lock) = open_shards(&FileOptions::new(folder), None)?;
    let shards = u32::try_from(logs.len()).unwrap_or(u32::MAX);
    thread::scope(|scope| {
        let mut parts = Vec::new();
        let pipes = logs.into_iter().map(|log| {
            let failed = |error: io::Error| Error::Storage { what: error.to_string() };
            let (reader, writer) = io::pipe().map_err(failed)?;
            // Each writes as far as the pipe takes it, until its turn to be read.
            parts.push(scope.spawn(|| of_log(log, Box::new(writer))));
            Ok(reader)
        });
        let merged = merge(shards, home(shards), pipes, output);
        let parts: Vec<_> = parts.into_iter().map(ScopedJoinHandle::join).collect();
        // Files that look damaged were truncated by the failure of their shard.
        if matches!(merged, Err(Error::BackupDamaged { .. })) {
            for part in parts {
                part.map_err(|_| Error::Closed)??;
            }
        }
        merged
    })
}

fn of_log(log: FileLog, output: Box<dyn Write + Send>) -> Result<Summary, Error> {
    let clock = Arc::new(SystemClock::default());
    Shard::open(log, clock, Options::default())?.backup(output)
}

impl<L: Log> Shard<L> {
    /// Writes all workspaces, each at its revision when it is reached.
    pub fn backup(&self, output: Box<dyn Write + Send>) -> Result<Summary, Error> {
        let _guard = self.backups.begin();
        let (time, program) = (self.clock.now(), env!("CARGO_PKG_VERSION").to_owned());
        let mut chunks = ChunkWriter::begin(output, MAGIC, FORMAT)?;
        let header = BackupHeader { time, program };
        chunks.json(HEADER, &header)?;
        let mut workspaces = Vec::new();
        for (workspace, newest) in self.newest_revisions()? {
            let source = self.with_files_locked(&workspace, || self.source(&workspace))?;
            if source.entry.revision < newest {
                let (found, workspace) = (source.entry.revision, &workspace);
                let what = format!("workspace `{workspace}` is at {newest}, found is {found}");
                return Err(Error::Corrupt { what });
            }
            self.write_source(&mut chunks, &source)?;
            workspaces.push(source.entry);
        }
        chunks.finish(END)?;
        let BackupHeader { time, program } = header;
        Ok(Summary { time, program, workspaces })
    }

    fn source(&self, workspace: &WorkspaceName) -> Result<BackupSource, Error> {
        let files = self.files_of(workspace)?;
        let chain = files::chain(&files).ok_or_else(|| Error::Corrupt {
            what: format!("the runs of workspace `{workspace}` do not follow each other"),
        })?;
        let archived = Revision(chain.archived());
        // All of them, in one lookup: later commits are not in the backup.
        let locations = self.log_locations(workspace, archived.next(), u64::MAX);
        let revision = Revision(archived.0 + locations.len() as u64);
        let open = |file: &files::File| {
            let name = file.name(workspace);
            self.blob(workspace, *file).map(|blob| (name, blob))
        };
        let entry = BackupEntry { workspace: workspace.clone(), revision };
        let files = files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(BackupSource { entry, files, first: archived.next(), locations })
    }

    fn write_source(&self, chunks: &mut ChunkWriter, source: &BackupSource) -> Result<(), Error> {
        let BackupSource { entry, files, first, locations } = source;
        chunks.json(WORKSPACE, entry)?;
        for (name, blob) in files {
            put_blob(chunks, name, &**blob)?;
        }
        for kind in [BlobKind::Artifacts, BlobKind::Secrets] {
            for name in self.log.list_blobs(&kind.folder(&entry.workspace))? {
                // Only blobs without a record are removed during the backup.
                if let Some(blob) = self.log.open_blob(&name)? {
                    put_blob(chunks, &name, &*blob)?;
                }
            }
        }
        if locations.is_empty() {
            return Ok(());
        }
        chunks.json(BATCHES, &BatchesHeader { first: *first, last: entry.revision })?;
        let mut waiting = Vec::new();
        let mut written = Ok(());
        self.visit(locations, &mut |frame| {
            written = codec::outline(frame).map_err(Error::from).and_then(|outline| {
                waiting.extend_from_slice(&frame[..outline.bytes]);
                put_full(chunks, &mut waiting)
            });
            written.is_ok()
        })?;
        written?;
        chunks.chunk(BYTES, &waiting)
    }
}

/// Writes as many complete chunks as are buffered.
fn put_full(chunks: &mut ChunkWriter, waiting: &mut Vec<u8>) -> Result<(), Error> {
    while waiting.len() > CHUNK_BYTES_MAX {
        chunks.chunk(BYTES, &waiting[..CHUNK_BYTES_MAX])?;
        waiting.drain(..CHUNK_BYTES_MAX);
    }
    Ok(())
}

fn put_blob(chunks: &mut ChunkWriter, name: &str, blob: &dyn Blob) -> Result<(), Error> {
    chunks.json(BLOB, &BlobHeader { name: name.to_owned(), bytes: blob.len() })?;
    write_blob(chunks, BYTES, blob)
}

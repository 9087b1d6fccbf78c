//! Taking a backup.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use baton_core::{Revision, WorkspaceName};
use baton_log::file::{FileLog, Options as FileOptions};
use baton_log::{Blob, Log, OpenError};

use super::{
    BATCHES, BLOB, BYTES, BackupEntry, BackupHeader, BatchesHeader, BlobHeader, END, FORMAT,
    HEADER, MAGIC, Summary, WORKSPACE,
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
    let log = FileLog::open(FileOptions::new(folder))?;
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

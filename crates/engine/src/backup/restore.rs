//! Restores a backup into a folder.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use baton_core::{Revision, WorkspaceName};
use baton_log::file::{FileLog, Options as FileOptions, open_shards};
use baton_log::{AppendError, BlobError, BlobWriter, Log, OpenError, RECORD_BYTES_MAX};

use super::{BackupChunk, BackupEntry, BackupReader, BatchesHeader, BlobHeader, Summary, damaged};
use crate::blobs::{BlobKind, check_secrets, no_key};
use crate::clock::SystemClock;
use crate::codec;
use crate::error::Error;
use crate::files;
use crate::options::Options;
use crate::shard::Shard;

/// How many bytes of batches become one record: few syncs, and little memory.
const RECORD_BYTES: usize = 4 << 20;

/// Restores a backup into a folder, which must be empty or not exist. The folder appears when
/// everything was verified; a failure leaves nothing behind.
pub fn restore_to(input: impl Read, folder: &Path) -> Result<Summary, Error> {
    staged(folder, |staging| restore(input, FileLog::open(FileOptions::new(staging))?))
}

/// The same, divided into shards. `shard_of` is the shard of a workspace.
pub fn restore_to_shards(
    input: impl Read,
    folder: &Path,
    shards: u32,
    shard_of: impl Fn(&WorkspaceName) -> usize,
) -> Result<Summary, Error> {
    staged(folder, |staging| {
        let (logs, _lock) = open_shards(&FileOptions::new(staging), Some(shards))?;
        restore_shards(input, logs, shard_of)
    })
}

/// Builds a folder next to where it belongs, and moves it there when it is complete.
fn staged(
    folder: &Path,
    build: impl FnOnce(&Path) -> Result<Summary, Error>,
) -> Result<Summary, Error> {
    refuse_taken(folder)?;
    let failed = |path: &Path, error: &io::Error| {
        let (path, reason) = (path.to_owned(), error.to_string());
        Error::from(OpenError::Failed { path, reason })
    };
    let staging = staging_of(folder).map_err(|error| failed(folder, &error))?;
    // Only the owner may read it: it contains secrets.
    DirBuilder::new().mode(0o700).create(&staging).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::RestoreTaken { place: staging.display().to_string() },
        _ => failed(&staging, &error),
    })?;
    let restored = build(&staging).and_then(|summary| {
        fs::rename(&staging, folder).map_err(|error| failed(folder, &error))?;
        let parent = staging.parent().unwrap_or(Path::new("/"));
        let synced = File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(|error| failed(parent, &error))?;
        Ok(summary)
    });
    if restored.is_err() {
        // The first error is more important than a failure to clean up.
        fs::remove_dir_all(&staging).unwrap_or_default();
    }
    restored
}

fn refuse_taken(folder: &Path) -> Result<(), Error> {
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(false) | Err(_) => Err(Error::RestoreTaken { place: folder.display().to_string() }),
    }
}

/// The folder in which it is built: next to the target, so that it can be renamed.
fn staging_of(folder: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(folder)?;
    let (parent, name) = absolute
        .parent()
        .zip(absolute.file_name())
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it has no name"))?;
    let mut name = name.to_owned();
    name.push(".restoring");
    Ok(parent.join(name))
}

/// Fills an empty log with a backup, and loads every workspace to verify it.
pub fn restore<L: Log>(input: impl Read, log: L) -> Result<Summary, Error> {
    restore_shards(input, vec![log], |_| 0)
}

/// Fills empty logs, one for each shard, with a backup, and loads every workspace to verify it.
/// `shard_of` is the index of the log of a workspace.
pub fn restore_shards<L: Log>(
    input: impl Read,
    logs: Vec<L>,
    shard_of: impl Fn(&WorkspaceName) -> usize,
) -> Result<Summary, Error> {
    for log in &logs {
        if log.start() != log.tail() || !log.list_blobs("")?.is_empty() {
            return Err(Error::RestoreLogTaken { place: log.description() });
        }
    }
    let mut reader = BackupReader::begin(input)?;
    let log = logs.first().ok_or_else(|| damaged("there is no log to restore it to"))?;
    let mut writer = RestoreWriter { log, entry: None, blob: None, batches: None };
    let mut workspaces: Vec<Vec<BackupEntry>> = logs.iter().map(|_| Vec::new()).collect();
    while let Some(chunk) = reader.next()? {
        if let BackupChunk::Workspace(entry) = &chunk {
            writer.finish_workspace()?;
            let shard = shard_of(&entry.workspace);
            writer.log = &logs[shard];
            workspaces[shard].push(entry.clone());
        }
        writer.take(chunk)?;
    }
    writer.finish_workspace()?;
    for (log, workspaces) in logs.into_iter().zip(&workspaces) {
        let clock = Arc::new(SystemClock::default());
        prove(&Shard::open(log, clock, Options::default())?, workspaces)?;
    }
    Ok(reader.finish())
}

/// Loads every workspace, one at a time. Data that was not written by these rules may violate an
/// assertion, and is then rejected.
fn prove<L: Log>(shard: &Shard<L>, workspaces: &[BackupEntry]) -> Result<(), Error> {
    for BackupEntry { workspace, revision } in workspaces {
        let loaded = catch_unwind(AssertUnwindSafe(|| shard.load(workspace)));
        let loaded = loaded.unwrap_or_else(|_| Err(damaged("a workspace breaks a rule")));
        loaded.map_err(|error| match error {
            Error::Corrupt { what } => damaged(format!("workspace `{workspace}`: {what}")),
            error => error,
        })?;
        let mut machine = shard.machine();
        let found = machine.resident(workspace).map(|there| there.history.tail.next());
        if found != Some(revision.next()) {
            return Err(damaged(format!("workspace `{workspace}` is not at revision {revision}")));
        }
        // The workspace is dropped from memory together with the unwritten decisions of loading it.
        drop(machine.abandon(shard.clock.now(), &Error::Closed));
    }
    Ok(())
}

/// A backup that is being restored into a log.
struct RestoreWriter<'a, L> {
    log: &'a L,
    entry: Option<BackupEntry>,
    blob: Option<Box<dyn BlobWriter>>,
    batches: Option<Batches>,
}

/// Batches on their way into records.
struct Batches {
    next: Revision,
    last: Revision,
    /// Bytes that are not complete batches yet.
    waiting: Vec<u8>,
    record: Vec<u8>,
}

impl<L: Log> RestoreWriter<'_, L> {
    fn take(&mut self, chunk: BackupChunk) -> Result<(), Error> {
        match chunk {
            BackupChunk::Workspace(entry) => {
                self.entry = Some(entry);
                Ok(())
            }
            BackupChunk::Blob(header) => {
                self.finish_blob()?;
                self.begin_blob(&header)
            }
            BackupChunk::Batches(BatchesHeader { first, last }) => {
                self.finish_blob()?;
                let is_said = self.entry.as_ref().is_some_and(|entry| entry.revision == last);
                if !is_said || self.batches.is_some() {
                    return Err(damaged(
                        "the batches of a workspace are not those it is said to have",
                    ));
                }
                let (waiting, record) = (Vec::new(), Vec::new());
                self.batches = Some(Batches { next: first, last, waiting, record });
                Ok(())
            }
            BackupChunk::Bytes(bytes) => match (&mut self.blob, &mut self.batches, &self.entry) {
                (Some(blob), _, _) => blob.write(&bytes).map_err(full),
                (None, Some(batches), Some(entry)) => {
                    batches.waiting.extend_from_slice(&bytes);
                    batches.sort_out(&entry.workspace, self.log)
                }
                _ => Err(damaged("bytes belong to nothing")),
            },
        }
    }

    /// A backup may write only into the folders of its workspaces.
    fn begin_blob(&mut self, header: &BlobHeader) -> Result<(), Error> {
        let name = &header.name;
        let is_ours = self.entry.as_ref().is_some_and(|BackupEntry { workspace, .. }| {
            let is_file = files::File::parse(name).is_some_and(|(whose, _)| whose == *workspace);
            let mut kinds = [BlobKind::Artifacts, BlobKind::Secrets].into_iter();
            is_file || kinds.any(|kind| name.starts_with(&kind.folder(workspace)))
        });
        if !is_ours {
            return Err(damaged(format!("`{name}` is not a blob of its workspace")));
        }
        if self.entry.as_ref().is_some_and(|entry| is_secret(name, entry)) {
            check_secrets(self.log)?;
        }
        self.blob = Some(self.log.create_blob(name).map_err(full)?);
        Ok(())
    }

    fn finish_blob(&mut self) -> Result<(), Error> {
        self.blob.take().map_or(Ok(()), BlobWriter::commit).map_err(full)
    }

    fn finish_workspace(&mut self) -> Result<(), Error> {
        self.finish_blob()?;
        match self.batches.take() {
            None => Ok(()),
            Some(mut batches) if batches.is_whole() => batches.append(self.log),
            Some(_) => Err(damaged("batches of a workspace are missing")),
        }
    }
}

impl Batches {
    fn is_whole(&self) -> bool {
        self.waiting.is_empty() && self.next == self.last.next()
    }

    /// Takes complete batches out of the buffer.
    fn sort_out(&mut self, workspace: &WorkspaceName, log: &impl Log) -> Result<(), Error> {
        let mut taken = 0;
        while let Some(prefix) = self.waiting[taken..].first_chunk() {
            let bytes = codec::frame_bytes(*prefix);
            if bytes > RECORD_BYTES_MAX {
                return Err(damaged(format!("a batch says that it has {bytes} bytes")));
            }
            let Some(frame) = self.waiting[taken..].get(..bytes) else { break };
            let outline = codec::outline(frame)?;
            if outline.workspace != workspace.as_str() || outline.revision != self.next {
                return Err(damaged("a batch is not the one that follows"));
            }
            if self.record.len() + bytes > RECORD_BYTES && !self.record.is_empty() {
                append(log, &mut self.record)?;
            }
            self.record.extend_from_slice(frame);
            self.next = self.next.next();
            taken += bytes;
        }
        self.waiting.drain(..taken);
        Ok(())
    }

    fn append(&mut self, log: &impl Log) -> Result<(), Error> {
        append(log, &mut self.record)
    }
}

/// Reads a backup completely, before it is restored into a log that may not store secrets.
pub fn check_restorable(input: impl Read, can_store_secrets: bool) -> Result<(), Error> {
    let mut reader = BackupReader::begin(input)?;
    let mut entry = None;
    while let Some(chunk) = reader.next()? {
        match chunk {
            BackupChunk::Workspace(found) => entry = Some(found),
            BackupChunk::Blob(blob) if !can_store_secrets => {
                if entry.as_ref().is_some_and(|entry| is_secret(&blob.name, entry)) {
                    return Err(no_key());
                }
            }
            BackupChunk::Blob(_) | BackupChunk::Batches(_) | BackupChunk::Bytes(_) => {}
        }
    }
    Ok(())
}

fn is_secret(name: &str, entry: &BackupEntry) -> bool {
    name.starts_with(&BlobKind::Secrets.folder(&entry.workspace))
}

fn append(log: &impl Log, record: &mut Vec<u8>) -> Result<(), Error> {
    log.append(log.tail(), record).map_err(|error| match error {
        AppendError::Full => Error::Full,
        error => Error::Storage { what: error.to_string() },
    })?;
    record.clear();
    Ok(())
}

fn full(error: BlobError) -> Error {
    match error {
        BlobError::Full => Error::Full,
        BlobError::Exists { name } => damaged(format!("`{name}` is in it twice")),
        error => error.into(),
    }
}

//! Backups: all workspaces as one file, taken while they are written to, and restored into a
//! folder, or into a log for each shard.
//!
//! ```text
//!   every workspace, one after the other
//!     file lock: which files, which batches of the log ──▶ revision R      a moment
//!     base, runs, snapshot, contents, batches up to R ──▶ chunks           as long as it takes
//!
//!   chunks ──verify──▶ blobs and records of an empty log ──load each──▶ at R? ──▶ a folder
//! ```
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the letters `BATONBAK` |
//! | 2 | the format, which is 1; numbers are little-endian |
//! | any | chunks, in the format of an [export](crate::export) |
//!
//! | chunk | contains | how many |
//! |---|---|---|
//! | 1 about | JSON: when it was started, and the version of the program | one, first |
//! | 2 workspace | JSON: its name and revision | one for each, in any order |
//! | 3 blob | JSON: the name of one of its blobs, and its size | after its workspace |
//! | 4 bytes | a piece of that blob, or of batches | after a blob or batches |
//! | 5 batches | JSON: the first and the last, as in the log | at most one per workspace |
//! | 6 end | the SHA-256 of everything before | one, last |
//!
//! Servers that divide the workspaces among shards take a backup of each shard, and [`merge`] them.
//!
//! 1. A workspace is stored at one durable revision: with its retained history, its contents, the
//!    stored answers to idempotency keys, and its tokens.
//! 2. Writes continue during a backup. The log is not truncated and no content is removed until the
//!    backup is complete.
//! 3. A backup that was read to its end is identical to the one that was written. The new folder
//!    does not appear before that, nor before every workspace in it was loaded and found to have
//!    its revision.
//! 5. Existing data is never overwritten.
//!
//! A backup contains everything, including the values of secrets and the digests of tokens. Protect
//! it accordingly.
//!
//! Deliberately absent: one point in time for all workspaces, since they share nothing; incremental
//! backups; and commits after the backup: tokens that were issued since then are issued again.

mod create;
mod merge;
mod restore;

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use baton_core::{Revision, Timestamp, WorkspaceName};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::export::chunks::{self, ChunkError, ChunkReader};

pub use create::{of_folder, of_shards};
pub use merge::merge;
pub use restore::{check_restorable, restore, restore_shards, restore_to, restore_to_shards};

/// The magic letters of a backup.
const MAGIC: [u8; 8] = *b"BATONBAK";
/// The newest known format.
pub const FORMAT: u16 = 1;

const HEADER: u8 = 1;
const WORKSPACE: u8 = 2;
const BLOB: u8 = 3;
const BYTES: u8 = 4;
const BATCHES: u8 = 5;
const END: u8 = 6;

/// The description of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BackupHeader {
    time: Timestamp,
    program: String,
}

/// A workspace in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupEntry {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its revision.
    pub revision: Revision,
}

#[derive(Debug, Serialize, Deserialize)]
struct BlobHeader {
    name: String,
    bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct BatchesHeader {
    first: Revision,
    last: Revision,
}

/// The description of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// When it was started.
    pub time: Timestamp,
    /// The version of the program that took it.
    pub program: String,
    /// The workspaces, by name.
    pub workspaces: Vec<BackupEntry>,
}

/// Backups that are being taken.
#[derive(Default)]
pub(crate) struct Backups(Arc<AtomicUsize>);

/// While it exists, nothing that a backup has yet to read is removed.
pub(crate) struct BackupGuard(Arc<AtomicUsize>);

impl Backups {
    fn begin(&self) -> BackupGuard {
        self.0.fetch_add(1, Ordering::SeqCst);
        BackupGuard(Arc::clone(&self.0))
    }

    /// Whether a backup is being taken.
    pub(crate) fn are_taken(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Drop for BackupGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The next part of a backup.
#[derive(Debug)]
enum BackupChunk {
    Workspace(BackupEntry),
    Blob(BlobHeader),
    Batches(BatchesHeader),
    Bytes(Vec<u8>),
}

/// Reads a backup, a chunk at a time.
struct BackupReader<R> {
    chunks: ChunkReader<R>,
    summary: Summary,
    seen: BTreeSet<WorkspaceName>,
    last: u8,
    /// How many bytes of the blob are still to come; unlimited for batches.
    left: Option<u64>,
}

impl<R: Read> BackupReader<R> {
    fn begin(input: R) -> Result<Self, Error> {
        let mut chunks = ChunkReader::begin(input, MAGIC, FORMAT).map_err(refused)?;
        match chunks.chunk().map_err(refused)? {
            (HEADER, bytes) => {
                let BackupHeader { time, program } = chunks::json(&bytes).map_err(refused)?;
                let summary = Summary { time, program, workspaces: Vec::new() };
                Ok(Self { chunks, summary, seen: BTreeSet::new(), last: HEADER, left: Some(0) })
            }
            (kind, _) => Err(damaged(format!("it begins with a chunk of kind {kind}"))),
        }
    }

    /// The next part; none at the end, when everything read was verified.
    fn next(&mut self) -> Result<Option<BackupChunk>, Error> {
        let (kind, bytes) = self.chunks.chunk().map_err(refused)?;
        let last = std::mem::replace(&mut self.last, kind);
        let is_whole = self.left.is_none_or(|left| left == 0);
        let fits = match kind {
            WORKSPACE | END => is_whole,
            BLOB | BATCHES => is_whole && last != HEADER,
            BYTES => matches!(last, BLOB | BATCHES | BYTES),
            _ => false,
        };
        if !fits {
            let what = format!("a chunk of kind {kind} follows one of kind {last}");
            return Err(damaged(what));
        }
        self.chunk(kind, bytes).map_err(refused)
    }

    /// The description, after the end.
    fn finish(mut self) -> Summary {
        self.summary.workspaces.sort_by(|one, two| one.workspace.cmp(&two.workspace));
        self.summary
    }

    fn chunk(&mut self, kind: u8, bytes: Vec<u8>) -> Result<Option<BackupChunk>, ChunkError> {
        match kind {
            WORKSPACE => {
                let entry: BackupEntry = chunks::json(&bytes)?;
                if !self.seen.insert(entry.workspace.clone()) {
                    return Err(chunks::damaged("a workspace is in it twice"));
                }
                self.summary.workspaces.push(entry.clone());
                Ok(Some(BackupChunk::Workspace(entry)))
            }
            BLOB => {
                let blob: BlobHeader = chunks::json(&bytes)?;
                self.left = Some(blob.bytes);
                Ok(Some(BackupChunk::Blob(blob)))
            }
            BATCHES => {
                self.left = None;
                Ok(Some(BackupChunk::Batches(chunks::json(&bytes)?)))
            }
            BYTES => {
                if let Some(left) = &mut self.left {
                    let rest = left.checked_sub(bytes.len() as u64);
                    *left = rest.ok_or_else(|| chunks::damaged("a blob is longer than it says"))?;
                }
                Ok(Some(BackupChunk::Bytes(bytes)))
            }
            _ => self.chunks.end(&bytes).map(|()| None),
        }
    }
}

/// Reads a backup to its end, and returns its description. Nothing is restored.
pub fn verify(input: impl Read) -> Result<Summary, Error> {
    let mut reader = BackupReader::begin(input)?;
    while reader.next()?.is_some() {}
    Ok(reader.finish())
}

fn damaged(what: impl Into<String>) -> Error {
    Error::BackupDamaged { what: what.into() }
}

fn refused(error: ChunkError) -> Error {
    match error {
        ChunkError::Damaged(what) => Error::BackupDamaged { what },
        ChunkError::Newer(format) => Error::BackupNewer { format, known: FORMAT },
        ChunkError::Unreadable(reason) => {
            Error::Storage { what: format!("the backup could not be read: {reason}") }
        }
    }
}

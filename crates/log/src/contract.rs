//! The contract between the engine and the storage of its records.

use std::fmt;
use std::sync::Arc;

use crate::error::{AppendError, BlobError, ReadError, TruncateError};

/// The largest body one record may have, on any backend. A backend may allow less.
///
/// A record is read, checksummed and written at once, so this bounds the memory that a reader needs
/// and the time that recovery spends on one record.
pub const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The position of a record: opaque, only grows. The tail is the position of the next record.
///
/// The number has a meaning only for the backend. Callers compare positions and pass them back;
/// they never compute one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// One record as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its position.
    pub position: Position,
    /// The position of the next record, or the tail if it is the last one.
    pub next: Position,
    /// The bytes that were appended.
    pub body: Vec<u8>,
}

/// One ordered sequence of opaque records with a single writer, and named blobs.
///
/// The laws, each checked by a function of the `conformance` module:
///
/// 1. **Durable.** What `append` acknowledged with `Ok` survives a crash of the process and a power
///    cut. It is read back byte for byte, or not at all and with an error.
/// 2. **Fenced.** An append succeeds only if `expected` is the tail, so of two writers that read
///    the same tail one is refused. A refused append changes nothing.
/// 3. **Whole.** A record exists completely or not at all, whatever happened while it was written.
/// 4. **Ordered.** Records are read in the order of their appends; `next` of one is `position` of
///    the following; the last `next` is the tail.
/// 5. **Growing.** A position is never given to two records that were both acknowledged.
/// 6. **Fail-stop.** After [`AppendError::Failed`] the outcome of that append is unknown and every
///    later append fails too, until the log is opened again. Reads still work. Opening it again
///    decides finally whether the record exists.
/// 7. **Full is healthy.** [`AppendError::Full`] wrote nothing, and a later append may succeed.
/// 8. **Truncation is final.** Records before [`start`](Log::start) are gone, and reading them
///    fails with [`ReadError::Truncated`]; records at or after the position given to
///    [`truncate`](Log::truncate) are kept; the tail does not move.
/// 9. **Blobs are atomic.** A blob exists with all its bytes after a successful commit, and never
///    partially; one that was not committed does not exist. Bytes of a blob never change.
/// 10. **Owned.** Where several servers share a log, opening it again fences every earlier opening:
///     its appends, truncations, commits and deletions of blobs change nothing and are refused as
///     fenced. Writes that it acknowledged before are seen by the next. Checked by
///     `shared_conformance`.
/// 11. **A loss is reported.** If the store of a shared log has lost what it had acknowledged, the
///     next append of its owner is refused with [`AppendError::WentBack`], and the owner answers
///     nothing from memory any more. Checked by `shared_conformance`.
///
/// All methods may be called from many threads. Reads do not wait for a running append.
pub trait Log: Send + Sync + 'static {
    /// The oldest position that is kept. It equals the tail if there are no records.
    fn start(&self) -> Position;

    /// The position of the next record. Everything before it is durable.
    fn tail(&self) -> Position;

    /// Appends one record; durable on return. Returns the new tail.
    ///
    /// Compare-and-append: refused with [`AppendError::Fenced`] if `expected` is not the tail.
    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError>;

    /// Whole records from `from` on, with checksums verified: at least one if there is one, and
    /// then as many as keep the sum of the bodies within `bytes_max`. Empty exactly at the tail.
    ///
    /// `from` must be the tail or the position of a record.
    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError>;

    /// Fills `buffer` with the part of the body of the record at `record` that starts at `offset`.
    ///
    /// This is one read of exactly these bytes. The record's checksum covers the whole record and
    /// is therefore not verified: parts that are read this way carry their own. The part must lie
    /// within the record; a part beyond it may read the bytes of its neighbour.
    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError>;

    /// Declares that records before `before` are no longer needed. The backend may keep more.
    fn truncate(&self, before: Position) -> Result<(), TruncateError>;

    /// Starts a blob that will exist once it is committed.
    ///
    /// A name is a relative path of segments `[a-zA-Z0-9._%-]+` joined by `/`. Blobs are immutable:
    /// a name that exists, or is being written, is refused with [`BlobError::Exists`]. So is one
    /// that would be the folder of another, or that has another as its folder.
    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Opens a committed blob; `None` if there is none of this name.
    ///
    /// An open blob stays readable after it was deleted.
    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError>;

    /// The names of all committed blobs with this prefix, sorted by their bytes.
    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError>;

    /// Deletes a blob; durable on return. A missing blob is not an error. After an error it may
    /// exist, be gone, or reappear after a restart.
    fn delete_blob(&self, name: &str) -> Result<(), BlobError>;

    /// Describes this log and how it makes records durable; shown to the operator at start.
    fn description(&self) -> String;

    /// Whether this process may answer from what it has read and written. False while another one
    /// may have taken the log over, which only logs that several machines share can be.
    fn is_current(&self) -> bool {
        true
    }

    /// Whether the values of secrets may be stored in it. A log that others than this process can
    /// read needs a key for them.
    fn can_store_secrets(&self) -> bool {
        true
    }

    /// The number of free bytes in the storage, if known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }
}

/// A blob that is being written. Dropped without [`commit`](BlobWriter::commit), it never existed.
pub trait BlobWriter: Send {
    /// Appends bytes. After an error the blob cannot be committed.
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError>;

    /// The free bytes of the disk that it is written to. None if that is unknown or does not limit
    /// it.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Makes the blob exist, durably and at once with all its bytes.
    ///
    /// After [`BlobError::Failed`] it may or may not exist, but never partially.
    fn commit(self: Box<Self>) -> Result<(), BlobError>;
}

/// A committed blob.
pub trait Blob: Send + Sync {
    /// Its size in bytes.
    fn len(&self) -> u64;

    /// Whether it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from `offset` on. Refused if it reaches beyond the end.
    ///
    /// The log stores no checksum of a blob: its writer includes one.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError>;
}

/// A shared log is a log, so that an engine and its observers can hold the same one.
impl<T: Log + ?Sized> Log for Arc<T> {
    fn start(&self) -> Position {
        (**self).start()
    }

    fn tail(&self) -> Position {
        (**self).tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        (**self).append(expected, body)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        (**self).read(from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        (**self).read_part(record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        (**self).truncate(before)
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        (**self).create_blob(name)
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        (**self).open_blob(name)
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        (**self).list_blobs(prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        (**self).delete_blob(name)
    }

    fn description(&self) -> String {
        (**self).description()
    }

    fn is_current(&self) -> bool {
        (**self).is_current()
    }

    fn can_store_secrets(&self) -> bool {
        (**self).can_store_secrets()
    }

    fn free_bytes(&self) -> Option<u64> {
        (**self).free_bytes()
    }
}

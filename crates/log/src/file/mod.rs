//! The log in a folder of this machine: the default.
//!
//! ```text
//!   append ──▶ appender ──▶ last segment          one write, one sync, a separate lock
//!   read ────────────────▶ any segment            only the lock of the list of segments
//!   truncate ────────────▶ spare                  whole segments, oldest first
//!   (a thread) ──────────▶ spare                  zeros, ahead of need
//! ```
//!
//! It fulfils the contract of [`Log`] as follows.
//!
//! 1. A record is durable by one direct write (`O_DIRECT|O_DSYNC`) where the file system allows it,
//!    which is probed at open, else by a write and an `fdatasync`. See [`SyncMethod`].
//! 2. A failed write or sync poisons the log: see [`AppendError::Failed`]. It is never retried.
//! 3. The tail moves after the record is durable, so a reader never sees data that could still be
//!    lost.
//! 4. A truncated segment leaves the list before its file is touched, and a reader checks the start
//!    again after reading, so that it never mistakes new bytes for old ones.
//! 5. Every created, renamed and removed name is synced with its folder before anything relies on
//!    it. Segments are removed one at a time, so a power cut never leaves a gap.
//! 6. One log is open once: the folder is locked.
//! 7. A lost end is noticed: a mark beside the log records how far it was acknowledged, see
//!    `watermark.rs`, and a segment knows its length.
//!
//! Recovery is described in `survey.rs`, the bytes in `format.rs`, the files in `segment.rs`. A
//! folder may have several logs: see `shards.rs`.
//!
//! Deliberately absent: batching. The engine groups batches into one record; here one append is one
//! sync.

mod append;
mod blobs;
mod block_buffer;
mod format;
mod open;
mod read;
mod repair;
mod scan;
mod segment;
mod shards;
mod spare;
mod survey;
#[cfg(test)]
mod tests;
mod watermark;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::thread::JoinHandle;

use append::Appender;
use blobs::Blobs;
pub use format::{BLOCK_BYTES, FORMAT_VERSION};
pub use repair::{Damage, Report, repair, repair_on, verify, verify_on, visit, visit_on};
use segment::{FolderLayout, Segment};
pub use shards::{ShardsLock, open_shards, open_shards_on, shard_folders};
use spare::Spares;

use crate::contract::{Blob, BlobWriter, Log, Position, Record};
use crate::disk::{Disk, DiskFile, SystemDisk, Write};
use crate::error::{AppendError, BlobError, OpenError, ReadError, TruncateError};
use crate::planted;

/// How to open a [`FileLog`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The folder. Created if it does not exist; its parent must.
    pub folder: PathBuf,
    /// The size of a new segment: a multiple of 4096, at least 8192. It bounds the largest record.
    pub segment_bytes: u64,
    /// How spare segments are prepared.
    pub prepare: Prepare,
    /// Whether to bypass the page cache where the file system allows it.
    pub direct: bool,
}

/// The default size of a segment.
const SEGMENT_BYTES_DEFAULT: u64 = 64 * 1024 * 1024;

impl Options {
    /// The default options for a log in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            prepare: Prepare::Background,
            direct: true,
        }
    }
}

/// How spare segments are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// A background thread, ahead of need.
    Background,
    /// The append that needs one. Slow, but deterministic: for the simulator.
    Inline,
}

/// How records become durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncMethod {
    /// One write that bypasses the page cache and returns when the disk has the data.
    Direct,
    /// A write and an `fdatasync`.
    DataSync,
}

impl SyncMethod {
    fn write(self) -> Write {
        match self {
            Self::Direct => Write::Direct,
            Self::DataSync => Write::Buffered,
        }
    }

    /// Makes the writes to `file` durable, if they are not already.
    fn sync<F: DiskFile>(self, file: &F) -> io::Result<()> {
        match self {
            Self::Direct => Ok(()),
            Self::DataSync => file.sync_data(),
        }
    }
}

/// A log in a folder. Dropping it closes it and unlocks the folder.
pub struct FileLog<D: Disk = SystemDisk> {
    shared: Arc<Shared<D>>,
    appender: Mutex<Appender<D>>,
    method: SyncMethod,
    preparer: Option<JoinHandle<()>>,
}

/// State shared by appends, reads, truncation and preparation.
struct Shared<D: Disk> {
    disk: D,
    layout: FolderLayout,
    record_bytes_max: usize,
    /// Oldest first. Never empty, and the last one is the appender's.
    segments: RwLock<VecDeque<Arc<Segment<D::File>>>>,
    start: AtomicU64,
    tail: AtomicU64,
    spares: Spares,
    blobs: Blobs,
    /// One truncation at a time: segments must be removed in order.
    truncation: Mutex<()>,
    /// Why the log accepts no more records.
    failure: OnceLock<String>,
    _lock: D::Lock,
}

impl FileLog {
    /// Opens the log in a folder of this machine, or creates it.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        Self::open_on(SystemDisk, options)
    }
}

impl<D: Disk> FileLog<D> {
    /// Opens the log in a folder of this disk, or creates it.
    pub fn open_on(disk: D, options: Options) -> Result<Self, OpenError> {
        open::open(disk, options)
    }

    /// How records become durable.
    pub fn sync_method(&self) -> SyncMethod {
        self.method
    }

    /// The maximum size of a body in this log.
    pub fn record_bytes_max(&self) -> usize {
        self.shared.record_bytes_max
    }
}

impl<D: Disk> Shared<D> {
    fn start(&self) -> Position {
        Position(self.start.load(Ordering::Acquire))
    }

    fn tail(&self) -> Position {
        Position(self.tail.load(Ordering::Acquire))
    }

    fn set_tail(&self, tail: Position) {
        self.tail.store(tail.0, Ordering::Release);
    }

    /// Poisons the log.
    fn fail(&self, path: &Path, error: &io::Error) -> AppendError {
        let reason = format!("`{}`: {error}", path.display());
        AppendError::Failed(self.failure.get_or_init(|| reason).clone())
    }

    fn add_segment(&self, segment: Arc<Segment<D::File>>) {
        let mut segments = self.segments.write().expect("no method panics with the lock");
        // A segment that was too small for even one record was replaced, with its file.
        segments.pop_back_if(|last| last.base == segment.base);
        segments.push_back(segment);
    }

    /// The segment of a position, and the end of its records.
    fn locate(&self, position: Position) -> Option<(Arc<Segment<D::File>>, Position)> {
        // Read before the list: a segment that is added later must not use this tail.
        let tail = self.tail();
        let segments = self.segments.read().expect("no method panics with the lock");
        let index = segments.partition_point(|segment| segment.base <= position).checked_sub(1)?;
        let end = segments.get(index + 1).map_or(tail, |next| next.base);
        Some((Arc::clone(&segments[index]), end))
    }

    /// Removes the oldest segment from the list if all its records are before `before`.
    fn remove_oldest(&self, before: Position) -> Option<Arc<Segment<D::File>>> {
        let mut segments = self.segments.write().expect("no method panics with the lock");
        let next = segments.get(1)?.base;
        if next > before {
            return None;
        }
        self.start.store(next.0, Ordering::Release);
        segments.pop_front()
    }
}

impl<D: Disk> Log for FileLog<D> {
    fn start(&self) -> Position {
        self.shared.start()
    }

    fn tail(&self) -> Position {
        self.shared.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let mut appender = self.appender.lock().expect("no append panics with the lock");
        appender.append(&self.shared, expected, body)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        read::read(&self.shared, from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        read::read_part(&self.shared, record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        let shared = &*self.shared;
        let tail = shared.tail();
        if before > tail {
            return Err(TruncateError::BeyondTail { before, tail });
        }
        let _one_at_a_time = shared.truncation.lock().expect("no truncation panics with the lock");
        if let Some(reason) = shared.failure.get() {
            return Err(TruncateError::Failed(reason.clone()));
        }
        while let Some(segment) = shared.remove_oldest(before) {
            let recycled = shared.spares.recycle(&shared.disk, &segment.path, segment.bytes);
            if let Err(error) = recycled {
                shared.fail(&segment.path, &error);
                return Err(TruncateError::Failed(error.to_string()));
            }
        }
        Ok(())
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        blobs::create(&self.shared, name)
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        blobs::open(&self.shared, name)
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        blobs::list(&self.shared, prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        blobs::delete(&self.shared, name)
    }

    fn description(&self) -> String {
        let method = match self.method {
            SyncMethod::Direct => "direct writes",
            SyncMethod::DataSync => "buffered writes and fdatasync",
        };
        format!("file log in {}, {method}", self.shared.layout.folder.display())
    }

    fn free_bytes(&self) -> Option<u64> {
        self.shared.disk.free_bytes(&self.shared.layout.folder).ok()
    }
}

impl<D: Disk> Drop for FileLog<D> {
    fn drop(&mut self) {
        self.shared.spares.stop();
        if let Some(preparer) = self.preparer.take() {
            // A panic in that thread was about a spare, and is no reason to panic here.
            preparer.join().unwrap_or_default();
        }
        if let Ok(appender) = self.appender.lock() {
            appender.watermark.sync();
        }
    }
}

/// Makes the names in a folder durable.
fn sync_folder<D: Disk>(disk: &D, folder: &Path) -> io::Result<()> {
    if planted::is("log.no_directory_sync") { Ok(()) } else { disk.sync_folder(folder) }
}

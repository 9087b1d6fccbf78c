//! The few file operations that the file log needs, and nothing else.
//!
//! All accesses of the file log to a disk use [`Disk`] and [`DiskFile`]. The real one is
//! [`SystemDisk`]; the one with torn writes, full disks and flipped bits is
//! [`FaultyDisk`](crate::faulty::FaultyDisk). The log may rely on the following:
//!
//! 1. Bytes written through a [`Write::Buffered`] file are durable after
//!    [`sync_data`](DiskFile::sync_data) and not before. Until then any subset of their sectors may
//!    survive a power cut.
//! 2. Bytes written through a [`Write::Direct`] file are durable when
//!    [`write_at`](DiskFile::write_at) returns.
//! 3. A created, renamed or removed name is durable after [`sync_folder`](Disk::sync_folder) of its
//!    folder and not before. A rename is atomic and replaces its target.
//! 4. After a failed write or sync, the state of the bytes since the last good one is unknown.
//!
//! Deliberately absent: truncating and growing files, maps into memory, and permissions.

mod system;

use std::io;
use std::path::Path;

pub use system::{SystemDisk, SystemFile, SystemLock};

/// How the bytes of a file reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Through the page cache: durable after a sync.
    Buffered,
    /// Bypasses the page cache and is durable at return. Offsets, lengths and the memory itself
    /// must be aligned to [`BLOCK_BYTES`](crate::file::BLOCK_BYTES). A disk may refuse to open a
    /// file in this mode.
    Direct,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its last segment. Names that are not UTF-8 are not ours and are skipped.
    pub name: String,
    /// Whether it is itself a folder.
    pub is_folder: bool,
}

/// The result of [`Disk::lock`].
#[derive(Debug)]
pub enum Locked<L> {
    /// The caller holds it until this value is dropped.
    Held(L),
    /// Another process holds it.
    InUse {
        /// The holder, if known.
        holder: String,
    },
}

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;
    /// Holds a lock until it is dropped.
    type Lock: Send + Sync + 'static;

    /// Creates an empty file for buffered writing, or empties an existing one.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens an existing file for reading.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens an existing file for reading and writing.
    fn open_for_write(&self, path: &Path, write: Write) -> io::Result<Self::File>;
    /// Renames a file within its folder, replacing any file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. A missing file is not an error.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// The entries of a folder, sorted by name. A missing folder is an error.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;
    /// Creates a folder; returns whether it is new. Its parent must exist.
    fn create_folder(&self, folder: &Path) -> io::Result<bool>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Takes an exclusive lock at this path, without waiting.
    fn lock(&self, path: &Path) -> io::Result<Locked<Self::Lock>>;
    /// The number of free bytes on the disk that has this folder.
    fn free_bytes(&self, folder: &Path) -> io::Result<u64>;
    /// A number that the author of a record cannot guess. See the file log's format.
    fn salt(&self) -> u64;
}

/// An open file. It stays readable and writable when it is renamed or removed.
pub trait DiskFile: Send + Sync + 'static {
    /// Reads as much of the file at `offset` as fits into `buffer`, and returns the number of
    /// bytes.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all bytes at `offset`, extending the file if needed.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the bytes and the length durable.
    fn sync_data(&self) -> io::Result<()>;
    /// The size of the file in bytes.
    fn length(&self) -> io::Result<u64>;
}

/// Fills all of `buffer`, or fails if the file ends before.
pub(crate) fn read_exact_at(
    file: &impl DiskFile,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<()> {
    let bytes = file.read_at(offset, buffer)?;
    if bytes == buffer.len() {
        return Ok(());
    }
    let message = format!("the file ends {} bytes too early", buffer.len() - bytes);
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, message))
}

/// Whether an operation failed because there is no space, and not for another reason.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

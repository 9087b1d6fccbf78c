//! The few file operations that the file log needs, and nothing else.
//!
//! Everything between the file log and a disk goes through [`Disk`] and [`DiskFile`]. The real one
//! is [`SystemDisk`]; the one that tears, drops, fills and flips is
//! [`FaultyDisk`](crate::faulty::FaultyDisk). The words below are what the log may rely on:
//!
//! 1. Bytes written through a [`Write::Buffered`] file are durable after
//!    [`sync_data`](DiskFile::sync_data) and not before. Until then any subset of their sectors may
//!    survive a power cut.
//! 2. Bytes written through a [`Write::Direct`] file are durable when
//!    [`write_at`](DiskFile::write_at) returns.
//! 3. A created, renamed or removed name is durable after [`sync_folder`](Disk::sync_folder) of its
//!    folder and not before. A rename is atomic and replaces its target.
//! 4. After a failed write or sync nothing is known about the bytes since the last good one.
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
    /// Past the page cache and durable at return. Offsets, lengths and the memory itself must be
    /// aligned to [`BLOCK_BYTES`](crate::file::BLOCK_BYTES). A disk may refuse to open a file so.
    Direct,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its last segment. Names that are not UTF-8 are none of ours and left out.
    pub name: String,
    /// Whether it is itself a folder.
    pub is_folder: bool,
}

/// The answer to [`Disk::lock`].
#[derive(Debug)]
pub enum Locked<L> {
    /// The caller holds it until this value is dropped.
    Held(L),
    /// Another process holds it.
    InUse {
        /// Who, as far as it is known.
        holder: String,
    },
}

/// A place for files.
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
    /// Gives a file another name in the same folder, in place of whatever had that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. That it is not there is fine.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// What is in a folder, sorted by name. That the folder is not there is an error.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;
    /// Creates a folder, answering whether it was not there before. Its parent must be there.
    fn create_folder(&self, folder: &Path) -> io::Result<bool>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Takes the lock at this path for the caller alone, without waiting.
    fn lock(&self, path: &Path) -> io::Result<Locked<Self::Lock>>;
    /// How many bytes may still be written to the disk that has this folder.
    fn free_bytes(&self, folder: &Path) -> io::Result<u64>;
    /// A number that the author of a record cannot guess. See the file log's format.
    fn salt(&self) -> u64;
}

/// An open file. It stays readable and writable when its name changes or goes.
pub trait DiskFile: Send + Sync + 'static {
    /// Reads as much of the file at `offset` as fits into `buffer`, and returns the number of
    /// bytes.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// Writes all bytes at `offset`, extending the file if needed.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes the bytes and the length durable.
    fn sync_data(&self) -> io::Result<()>;
    /// How many bytes the file has.
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

/// Whether an operation failed because there is no space, and not for a worse reason.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

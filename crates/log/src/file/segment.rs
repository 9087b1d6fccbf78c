//! The files of a file log, and one segment of it.
//!
//! ```text
//! <folder>/LOCK                                 held while the log is open
//!         /log/00000000000000000000.segment     the base position, in 20 digits
//!             /00000000000000065123.segment
//!             /spare-7                          prepared or recycled, not part of the log
//!             /preparing                        a spare that is being written
//!             /probe                            while the way of writing is chosen
//!             /watermark                        how far the log was acknowledged
//!             /*.damaged                        what a repair cut off
//!         /blobs/<name>                         a committed blob
//!               /<name>.partial                 one that is being written
//! ```

use std::io;
use std::path::{Path, PathBuf};

use super::format::{SEGMENT_HEADER_BYTES, in_memory};
use crate::contract::Position;
use crate::disk::Disk;
use crate::error::OpenError;

const SEGMENT_SUFFIX: &str = ".segment";
const SPARE_PREFIX: &str = "spare-";

/// The files and folders in a log's folder.
#[derive(Clone, Debug)]
pub(crate) struct FolderLayout {
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    pub(crate) blobs: PathBuf,
}

impl FolderLayout {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { log: folder.join("log"), blobs: folder.join("blobs"), folder }
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("LOCK")
    }

    pub(crate) fn segment(&self, base: Position) -> PathBuf {
        self.log.join(format!("{:020}{SEGMENT_SUFFIX}", base.0))
    }

    pub(crate) fn spare(&self, number: u64) -> PathBuf {
        self.log.join(format!("{SPARE_PREFIX}{number}"))
    }

    pub(crate) fn preparing(&self) -> PathBuf {
        self.log.join("preparing")
    }

    pub(crate) fn watermark(&self) -> PathBuf {
        self.log.join("watermark")
    }

    pub(crate) fn probe(&self) -> PathBuf {
        self.log.join("probe")
    }

    /// All segments by name, in the order of their positions.
    pub(crate) fn segments<D: Disk>(
        &self,
        disk: &D,
    ) -> Result<Vec<(Position, PathBuf)>, OpenError> {
        let entries = disk.list(&self.log).map_err(failed(&self.log))?;
        let mut segments = Vec::new();
        for entry in entries {
            let digits = entry.name.strip_suffix(SEGMENT_SUFFIX).unwrap_or_default();
            if let (20, Ok(base)) = (digits.len(), digits.parse()) {
                segments.push((Position(base), self.log.join(&entry.name)));
            }
        }
        segments.sort();
        Ok(segments)
    }

    /// All spares by name, with their numbers.
    pub(crate) fn spares<D: Disk>(&self, disk: &D) -> io::Result<Vec<(u64, PathBuf)>> {
        let entries = disk.list(&self.log)?;
        let numbered = entries.into_iter().filter_map(|entry| {
            let number = entry.name.strip_prefix(SPARE_PREFIX)?.parse().ok()?;
            Some((number, self.log.join(&entry.name)))
        });
        Ok(numbered.collect())
    }
}

/// A file with records, open for reading.
#[derive(Debug)]
pub(crate) struct Segment<F> {
    /// The position of its first record.
    pub(crate) base: Position,
    pub(crate) salt: u64,
    pub(crate) path: PathBuf,
    /// The size of the file in bytes, including the header.
    pub(crate) bytes: u64,
    /// The number of bytes it was created with; 0 if its header does not contain it.
    pub(crate) made_bytes: u64,
    pub(crate) file: F,
}

impl<F> Segment<F> {
    /// The offset in the file of the record at `position`.
    pub(crate) fn offset_of(&self, position: Position) -> u64 {
        assert!(position >= self.base, "a segment holds no position before its base");
        SEGMENT_HEADER_BYTES + (position.0 - self.base.0)
    }

    /// The position of a record at this offset in the file.
    pub(crate) fn position_at(&self, offset: u64) -> Position {
        assert!(offset >= SEGMENT_HEADER_BYTES, "no record lies in the header");
        Position(self.base.0 + (offset - SEGMENT_HEADER_BYTES))
    }

    /// The free space for records from `position` on, in bytes.
    pub(crate) fn room_at(&self, position: Position) -> usize {
        in_memory(self.bytes.saturating_sub(self.offset_of(position)))
    }
}

/// Converts an I/O error about a path into an error of opening the log.
pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> OpenError + '_ {
    move |error| OpenError::Failed { path: path.to_owned(), reason: error.to_string() }
}

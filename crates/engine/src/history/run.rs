//! A run: consecutive batches of one workspace in one blob, found by revision, time and subject.
//!
//! The log forgets what its snapshots cover; runs are where history stays. A run is written once
//! and then only read: a batch by its revision, the batches from a revision on, the revision that
//! stood at a time, and the revisions that touched a subject (`state/shared/plan`).
//!
//! ```text
//!   offset            bytes  what
//!   0                    16  header    magic 8 | format version u16 | zero u16 | crc32 u32
//!   16                    b  batches   as given, back to back
//!   16 + b       24 x count  table     per revision: offset u32 | length u32 | time ms u64
//!                                      | batch crc32 u32 | row crc32 u32
//!   …                     n  index     a map of frames: subject and first revision -> revisions
//!   end - 60             60  footer    table offset u64 | index offset u64 | first revision u64
//!                                      | count u64 | first time ms u64 | last time ms u64
//!                                      | crc32 u32 | magic 8
//! ```
//!
//! Integers are little-endian; the offset in a row counts from the first batch. A key of the index
//! is the subject, a zero byte, and a revision in big-endian. Its value lists the revisions that
//! followed, as varint differences. At most 1024 revisions share a key, so a hot subject has many
//! keys. The newest change up to a revision is then in the entry at or below (subject, revision),
//! which is one frame however hot the subject is.
//!
//! Invariants:
//!
//! 1. A run is never empty, and its revisions are dense: row `r - first` is that of revision `r`.
//! 2. Batches lie in the order of their revisions without a gap. Header, batches, table, index and
//!    footer tile the blob.
//! 3. Times never decrease. A batch counts as no earlier than those before it, so a clock that
//!    stepped back cannot hide revisions from a search by time.
//! 4. Every byte is under a checksum, a row's together with its revision. A reader answers with
//!    what was written or with an error.
//! 5. An open run keeps its footer and the index's directory in memory, nothing per batch.
//!
//! Deliberately absent: any knowledge of what a batch holds. It is framed and checksummed by the
//! caller; the run carries a checksum of its own to tell that it hands out the right bytes.

mod layout;
mod read;
mod subjects;
#[cfg(test)]
mod tests;
mod touches;
mod write;

use baton_log::BlobError;
use thiserror::Error;

use crate::sorted_table::SortedTableError;

pub use self::read::{Batches, Run};
pub use self::subjects::Subjects;
pub use self::write::{RunSummary, RunWriter};

/// The newest format this program reads, and the one it writes.
pub const FORMAT_VERSION: u16 = 1;

/// Why a run could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// A run without a batch was to be finished.
    #[error("a run without batches cannot be written")]
    Empty,
    /// The run does not hold the revision that was asked for.
    #[error("revision {revision} is outside of the run, which holds {first} to {last}")]
    Outside {
        /// The revision asked for.
        revision: u64,
        /// The oldest revision in the run.
        first: u64,
        /// The newest revision in the run.
        last: u64,
    },
    /// The run was written by a later program. Nothing is wrong with it.
    #[error("the run has format version {found}, this program reads up to {supported}")]
    Newer {
        /// The version in the header.
        found: u16,
        /// The newest version this program reads.
        supported: u16,
    },
    /// The bytes are not what was written.
    #[error("{what} at offset {offset} is damaged")]
    Corrupt {
        /// The part that did not check out.
        what: &'static str,
        /// Where that part begins in the blob.
        offset: u64,
    },
    /// The batches or a subject exceed what a run can address.
    #[error("{what} has {bytes} bytes, at most {bytes_max} are possible")]
    TooLarge {
        /// The part that is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The blob below could not be read or written.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

impl RunError {
    /// Stable across releases.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty => "run.empty",
            Self::Outside { .. } => "run.outside",
            Self::Newer { .. } => "run.newer",
            Self::Corrupt { .. } => "run.corrupt",
            Self::TooLarge { .. } => "run.too_large",
            Self::Blob(_) => "run.blob",
        }
    }
}

/// A flaw of the index is a flaw of the run: its offsets already count from the start of the blob.
impl From<SortedTableError> for RunError {
    fn from(error: SortedTableError) -> Self {
        match error {
            SortedTableError::Newer { found, supported } => Self::Newer { found, supported },
            SortedTableError::Corrupt { what, offset } => Self::Corrupt { what, offset },
            SortedTableError::TooLarge { what, bytes, bytes_max } => {
                Self::TooLarge { what, bytes, bytes_max }
            }
            SortedTableError::Blob(error) => Self::Blob(error),
        }
    }
}

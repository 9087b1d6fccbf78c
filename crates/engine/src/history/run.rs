//! A run: consecutive batches of one workspace in one blob, found by revision, time and subject.
//!
//! The log is truncated when snapshots cover it; runs keep the history. A run is written once and
//! then only read: a batch by its revision, the batches from a revision on, the revision at a point
//! in time, and the revisions that changed a subject (`state/shared/plan`).
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
//! is the subject, a zero byte, and a revision in big-endian. Its value lists the following
//! revisions, as varint differences. At most 1024 revisions share a key, so a hot subject has many
//! keys. The newest change up to a revision is then in the entry at or below (subject, revision),
//! which is one frame however hot the subject is.
//!
//! Invariants:
//!
//! 1. A run is never empty, and its revisions are dense: row `r - first` is that of revision `r`.
//! 2. Batches are in the order of their revisions without gaps. Header, batches, table, index and
//!    footer tile the blob.
//! 3. Times never decrease. A batch counts as no earlier than those before it, so a clock that
//!    stepped back cannot hide revisions from a search by time.
//! 4. Every byte is under a checksum, a row's together with its revision. A reader returns the
//!    written bytes or an error.
//! 5. An open run keeps its footer and the index's directory in memory, nothing per batch.
//!
//! Deliberately absent: any knowledge of the content of a batch. It is framed and checksummed by
//! the caller; the run has a second checksum to verify that it returns the right bytes.

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

baton_core::refusals! {
    /// Why a run could not be written or read.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum RunError {
        /// A run without batches was to be written.
        #[error("a run without batches cannot be written")]
        Empty => {
            code: "run.empty",
            kind: Unavailable,
            hint: "report it, with the detail",
            cause: "There was nothing to write.",
        }
        /// A run does not contain the requested revision.
        #[error("revision {revision} is outside of the run, which holds {first} to {last}")]
        Outside {
            /// The requested revision.
            revision: u64,
            /// The oldest revision in the run.
            first: u64,
            /// The newest revision in the run.
            last: u64,
        } => {
            code: "run.outside",
            kind: Unavailable,
            hint: "report it, with the detail",
            cause: "The revision is in another run.",
        }
        /// A run was written by a newer version.
        #[error("the run has format version {found}, this program reads up to {supported}")]
        Newer {
            /// The version in the header.
            found: u16,
            /// The newest version this program reads.
            supported: u16,
        } => {
            code: "run.newer",
            kind: Unavailable,
            hint: "use the version that wrote it, or a later one",
            cause: "It has a format that this version does not know.",
        }
        /// A run is damaged.
        #[error("{what} at offset {offset} is damaged")]
        Corrupt {
            /// The part whose checksum does not match.
            what: &'static str,
            /// The start of that part in the blob.
            offset: u64,
        } => {
            code: "run.corrupt",
            kind: Unavailable,
            hint: "keep a copy of the folder, then run `baton log verify`",
            cause: "A checksum or a length does not match.",
        }
        /// The batches of a run, or a subject, are too large for a run.
        #[error("{what} has {bytes} bytes, at most {bytes_max} are possible")]
        TooLarge {
            /// The part that is too large.
            what: &'static str,
            /// Its size.
            bytes: u64,
            /// The limit.
            bytes_max: u64,
        } => {
            code: "run.too_large",
            kind: Unavailable,
            hint: "report it, with the detail",
            cause: "They exceed what a run can address.",
        }
        /// The blob below a run failed.
        #[error(transparent)]
        Blob(#[from] BlobError) => {
            code: "run.blob",
            kind: Unavailable,
            hint: "check the disk, then retry",
            cause: "The storage did not respond.",
        }
    }
}

/// Damage of the index is damage of the run: its offsets already count from the start of the blob.
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

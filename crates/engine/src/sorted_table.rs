//! Sorted table: a checksummed, immutable map from key bytes to value bytes, in one blob.
//!
//! A snapshot of a space is one such map, and so is the subject index of a history run. It is
//! written once, in key order, and then only read: a single key costs one page, a full load is a
//! sequential read that several threads may share page by page.
//!
//! ```text
//!   offset      bytes  what
//!   0              16  header     magic 8 | format version u16 | kind u8 | zero u8 | crc32 u32
//!   16       <= 65536  page 0     length u32 | crc32 u32 | count u32 | entries
//!                                 entry: key length varint | value length varint | key | value
//!   …        <= 65536  page 1 …
//!   d               n  directory  per page: first key length varint | first key
//!                                 | offset varint | length varint | page crc32 u32
//!   d + n          40  footer     directory offset u64 | directory length u64 | entries u64
//!                                 | directory crc32 u32 | footer crc32 u32 | magic 8
//! ```
//!
//! Integers are little-endian, varints are LEB128, the length of a page includes its header of
//! twelve bytes. Offsets count from the header, so that the map may start anywhere in a blob: the
//! index of a run follows the batches of the run ([`SortedTableWriter::finish_section`],
//! [`SortedTable::open_section`]).
//!
//! Invariants:
//!
//! 1. Keys ascend strictly, within a page and from page to page.
//! 2. A page holds at most [`PAGE_BYTES_MAX`] bytes, or exactly one entry. An entry that is larger
//!    than a page thus gets a separate page instead of an error.
//! 3. Header, pages, directory and footer tile the section without a gap. The footer contains the
//!    offset of the directory, so a truncated section never ends in bytes that could be mistaken
//!    for a footer, not even where a value contains another map.
//! 4. Every byte is under a checksum, and the directory repeats each page's: an intact page in the
//!    wrong place is damage too. A reader returns the written bytes or an error.
//! 5. The header has the same form in every version. A newer format can therefore be distinguished
//!    from damage, and is rejected by its number.
//!
//! Deliberately absent: compression, since loading is bound by the reader's allocations and not by
//! the disk; prefix-coded keys, since a borrowed key must be one slice; a cache, since the page
//! cache is one; deletion, since a newer blob replaces an older one.

pub(crate) mod layout;
#[cfg(test)]
pub(crate) mod memory_blob;
mod read;
#[cfg(test)]
mod tests;
mod write;

use baton_log::BlobError;
use thiserror::Error;

pub use self::read::{Entries, Entry, SortedTable};
pub use self::write::{SortedTableSummary, SortedTableWriter};

/// The newest format this program reads, and the one it writes.
pub const FORMAT_VERSION: u16 = 1;

/// The maximum size of a page with several entries. Large enough that headers and directory cost
/// next to nothing, small enough that one key can be looked up by reading one page.
pub const PAGE_BYTES_MAX: usize = 64 << 10;

/// The first key of each page is in memory while the map is open, so keys are bounded.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// Far above what the rules allow for a value; it keeps the length of a page within its `u32`.
pub const VALUE_BYTES_MAX: usize = 1 << 30;

baton_core::refusals! {
    /// Why a sorted table could not be written or read.
    #[derive(Clone, Debug, PartialEq, Eq, Error)]
    pub enum SortedTableError {
        /// A map of frames was written by a newer version.
        #[error("frames have format version {found}, this program reads up to {supported}")]
        Newer {
            /// The version in the header.
            found: u16,
            /// The newest version this program reads.
            supported: u16,
        } => {
            code: "frames.newer",
            kind: Unavailable,
            hint: "use the version that wrote it, or a later one",
            cause: "It has a format that this version does not know.",
        }
        /// A map of frames is damaged.
        #[error("{what} at offset {offset} is damaged")]
        Corrupt {
            /// The part whose checksum does not match.
            what: &'static str,
            /// The start of that part, counted from the start of the blob.
            offset: u64,
        } => {
            code: "frames.corrupt",
            kind: Unavailable,
            hint: "keep a copy of the folder, then run `baton log verify`",
            cause: "A checksum or a length does not match.",
        }
        /// A key or value is too large for a map of frames.
        #[error("{what} has {bytes} bytes, at most {bytes_max} are possible")]
        TooLarge {
            /// The part that is too large.
            what: &'static str,
            /// Its size.
            bytes: u64,
            /// The limit.
            bytes_max: u64,
        } => {
            code: "frames.too_large",
            kind: Unavailable,
            hint: "report it, with the detail",
            cause: "It exceeds what the rules allow, which indicates a bug.",
        }
        /// The blob below a map of frames failed.
        #[error(transparent)]
        Blob(#[from] BlobError) => {
            code: "frames.blob",
            kind: Unavailable,
            hint: "check the disk, then retry",
            cause: "The storage did not respond.",
        }
    }
}

//! Exports: a workspace as one file, to be archived or moved to another server.
//!
//! ```text
//!   BATONEXP 1 │ about │ snapshot … │ content, its bytes … │ content, its bytes … │ end
//! ```
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the letters `BATONEXP` |
//! | 2 | the format, which is 1; numbers have their low byte first |
//! | any | chunks |
//!
//! A chunk is one byte for its type, four for its length, four with the CRC-32 of those five and
//! the content, and the content.
//!
//! | chunk | holds | how many |
//! |---|---|---|
//! | 1 about | JSON: whose, at which revision and time | one, first |
//! | 2 snapshot | a piece of the snapshot, as it would be on disk | one or more |
//! | 3 content | JSON: the location of an artifact's blob, and how many bytes | one for each |
//! | 4 bytes | a piece of that blob, checksums included | after its content |
//! | 5 end | the SHA-256 of everything before | one, last |
//!
//! 1. An export that was read to its end is the one that was written: a flipped bit is detected by
//!    the checksum of its chunk, and anything missing, repeated or moved by the digest at the end.
//! 2. One chunk is in memory at a time.
//! 3. An export contains no secret, only references to them, as every answer does.
//!
//! Deliberately absent: the history. An export contains the state at one revision, as a fork does;
//! its revisions continue from there.

pub(crate) mod chunks;
mod reader;
mod workspace;
mod writer;

pub use reader::verify;
pub(crate) use reader::{ExportChunk, ExportReader};
pub(crate) use writer::{ExportWriter, SnapshotSink, write_blob};

use baton_core::{BlobPlace, Revision, Timestamp, WorkspaceName};
use serde::{Deserialize, Serialize};

/// What every export begins with.
const MAGIC: [u8; 8] = *b"BATONEXP";
/// The newest format that is known.
pub const FORMAT: u16 = 1;
/// Longest chunk that is written, and read.
pub(crate) const CHUNK_BYTES_MAX: usize = 256 << 10;

const HEADER: u8 = 1;
const SNAPSHOT: u8 = 2;
const CONTENT: u8 = 3;
const BYTES: u8 = 4;
const END: u8 = 5;

/// The description of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportHeader {
    /// Which workspace it was.
    pub workspace: WorkspaceName,
    /// As it was after this revision.
    pub revision: Revision,
    /// When that was.
    pub time: Timestamp,
}

/// The header of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentHeader {
    /// Its place.
    pub(crate) place: BlobPlace,
    /// How many bytes its blob has.
    pub(crate) bytes: u64,
}

//! Exports: a workspace as one file, to be kept elsewhere or carried to another place.
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
//! A chunk is one byte that says what it is, four that say how long, four with the CRC-32 of those
//! five and of what follows, and what follows.
//!
//! | chunk | holds | how many |
//! |---|---|---|
//! | 1 about | JSON: whose, at which revision and time | one, first |
//! | 2 snapshot | a piece of the snapshot, as it would stand on disk | one or more |
//! | 3 content | JSON: the place of an artifact's blob, and how many bytes | one for each |
//! | 4 bytes | a piece of that blob, checksums included | after its content |
//! | 5 end | the SHA-256 of everything before | one, last |
//!
//! 1. An export that is read to its end is the one that was written: a flipped bit is seen by the
//!    checksum of its chunk, and whatever is missing, repeated or moved by the digest at the end.
//! 2. One chunk is in memory at a time.
//! 3. No secret is in an export. What it has of them is what every answer has: references.
//!
//! Deliberately absent: the past. An export holds what there is at one revision, as a fork does;
//! its revisions count on from there.

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

/// What an export says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportHeader {
    /// Which workspace it was.
    pub workspace: WorkspaceName,
    /// As it was after this revision.
    pub revision: Revision,
    /// When that was.
    pub time: Timestamp,
}

/// What comes before the bytes of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentHeader {
    /// Its place.
    pub(crate) place: BlobPlace,
    /// How many bytes its blob has.
    pub(crate) bytes: u64,
}

//! Exports: a workspace as one file, to be archived or moved to another server.
//!
//! ```text
//!   BATONEXP 1 │ about │ snapshot … │ content, its bytes … │ content, its bytes … │ end
//! ```
//!
//! | bytes | what |
//! |---|---|
//! | 8 | the letters `BATONEXP` |
//! | 2 | the format, which is 1; numbers are little-endian |
//! | any | chunks |
//!
//! A chunk is one byte for its type, four for its length, four with the CRC-32 of those five and
//! the content, and the content.
//!
//! | chunk | contains | how many |
//! |---|---|---|
//! | 1 about | JSON: the workspace, its revision and time | one, first |
//! | 2 snapshot | a piece of the snapshot, as on disk | one or more |
//! | 3 content | JSON: the location of an artifact's blob, and its size | one for each |
//! | 4 bytes | a piece of that blob, checksums included | after its content |
//! | 5 end | the SHA-256 of everything before | one, last |
//!
//! 1. An export that was read to its end is identical to the one that was written: a flipped bit is
//!    detected by the checksum of its chunk, and anything missing, repeated or moved by the digest
//!    at the end.
//! 2. One chunk is in memory at a time.
//! 3. An export contains no secret, only references to them, as every answer does.
//!
//! A fork whose new workspace is in another shard is sent there in the same form, with the letters
//! `BATONFRK`, its origin as the first chunk, and everything that a fork within a shard copies:
//! values of secrets too, and the keys that sign webhooks. It exists only between two servers.
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

use crate::blobs::BlobKind;

/// The magic letters of an export.
const MAGIC: [u8; 8] = *b"BATONEXP";
/// The first bytes of a fork that is sent to another shard.
const FORK_MAGIC: [u8; 8] = *b"BATONFRK";
/// The newest known format.
pub const FORMAT: u16 = 1;
/// The maximum size of a chunk, written or read.
pub(crate) const CHUNK_BYTES_MAX: usize = 256 << 10;

const HEADER: u8 = 1;
const SNAPSHOT: u8 = 2;
const CONTENT: u8 = 3;
const BYTES: u8 = 4;
const END: u8 = 5;

/// The description of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportHeader {
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Its revision.
    pub revision: Revision,
    /// The time of that revision.
    pub time: Timestamp,
}

/// The header of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContentHeader {
    /// Its location.
    pub(crate) place: BlobPlace,
    /// The size of its blob in bytes.
    pub(crate) bytes: u64,
    /// Whether it is the value of a secret, which only a fork has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_secret: bool,
}

impl ContentHeader {
    /// The kind of blob.
    pub(crate) fn kind(&self) -> BlobKind {
        if self.is_secret { BlobKind::Secrets } else { BlobKind::Artifacts }
    }
}

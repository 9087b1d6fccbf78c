//! Contents: the bytes of artifacts and the values of secrets, in separate blobs.
//!
//! ```text
//!   Upload  ──write──▶ blob under a new name ───── commit, durable──▶ Stored ──▶ a command
//!                                                                                  │
//!   Reader  ◀──read, every block checked── blob ◀─── the location in the record ◀──┘
//!                                            │
//!   sweep   removes every blob that has no record and no pending record
//! ```
//!
//! The layout of a blob: the bytes unchanged, then their checksums.
//!
//! | bytes | what |
//! |---|---|
//! | any | the content |
//! | 4 for each block | CRC-32 of each block of 256 KiB of it, the last one shorter |
//! | 8 | the size of the content |
//! | 4 | CRC-32 of the checksums and that number |
//! | 4 | the letters `BAT1` |
//!
//! Every upload gets a random location that is never reused. The record of a location therefore
//! refers to the bytes that were written there, and a blob without a record can be removed even if
//! the same content is being uploaded again: that upload has another location.
//!
//! 1. A record is committed only after its blob is durable: every id can be read.
//! 2. A blob is removed only after the removal of its last record is durable.
//! 3. An upload without a record leaves nothing: its blob is removed when it is dropped, or, if the
//!    process ends between blob and record, when the workspace is next loaded.
//! 4. One block of a content is in memory at a time, whatever its size.
//!
//! Deliberately absent: sharing blobs between workspaces. Workspaces are isolated: whether another
//! one has the same content must be invisible, and must affect neither its lifetime nor its cost.

mod copy;
mod reader;
mod sweep;
mod upload;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::{BlobPlace, WorkspaceName, secret};
use baton_log::Log;

use crate::error::Error;
use crate::files;

pub(crate) use copy::blob_references;
pub use reader::BlobReader;
pub(crate) use sweep::deleted_count;
pub use upload::{StoredBlob, Upload};

/// How much of a content is read, verified and passed on at a time.
pub const BLOCK_BYTES: usize = 256 << 10;

/// The kind of content in a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlobKind {
    /// Artifacts.
    Artifacts,
    /// Secrets.
    Secrets,
}

impl BlobKind {
    /// The common prefix of the blobs of this kind in a workspace.
    pub fn folder(self, workspace: &WorkspaceName) -> String {
        let root = match self {
            Self::Artifacts => "artifacts/",
            #[cfg(feature = "planted")]
            Self::Secrets if baton_core::planted::is("contents.secret_on_the_wrong_shelf") => {
                "artifacts/"
            }
            Self::Secrets => "secrets/",
        };
        let folder = files::folder(workspace);
        format!("{root}{}", folder.strip_prefix(files::ROOT).unwrap_or(&folder))
    }

    /// The blob at a location.
    pub fn name(self, workspace: &WorkspaceName, place: &BlobPlace) -> String {
        format!("{}{place}", self.folder(workspace))
    }
}

/// Blobs that exist or are being written, and may be about to get a record.
#[derive(Clone, Default)]
pub(crate) struct PendingBlobs(Arc<Mutex<BTreeSet<String>>>);

impl PendingBlobs {
    pub(crate) fn begin(&self, name: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    }

    pub(crate) fn end(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub(crate) fn all(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Refuses to store and to read secrets in a log that others can read, without a key.
pub(crate) fn check_secrets(log: &impl Log) -> Result<(), Error> {
    if log.can_store_secrets() {
        return Ok(());
    }
    Err(no_key())
}

pub(crate) fn no_key() -> Error {
    Error::Rejected(secret::Rejection::NoKey {}.into())
}

/// A random location, which no other upload has with overwhelming probability.
pub fn random_place() -> BlobPlace {
    let half = || u128::from(RandomState::new().hash_one(0_u8));
    BlobPlace::of_number(half() << 64 | half())
}

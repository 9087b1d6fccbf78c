//! Contents: the bytes of artifacts and the values of secrets, in blobs beside the log.
//!
//! ```text
//!   Upload  ──write──▶ blob at a place of its own ──commit, durable──▶ Stored ──▶ a command
//!                                                                                  │
//!   Reader  ◀──read, every block checked── blob ◀── the place that the record has ◀┘
//!                                            │
//!   sweep   removes every blob that no record has and nobody is about to record
//! ```
//!
//! The layout of a blob: the bytes as they are, then what checks them.
//!
//! | bytes | what |
//! |---|---|
//! | any | the content |
//! | 4 for each block | CRC-32 of each block of 256 KiB of it, the last one shorter |
//! | 8 | how many bytes the content has |
//! | 4 | CRC-32 of the checksums and that number |
//! | 4 | the letters `BAT1` |
//!
//! A place is drawn by chance for every upload and never used again. What is recorded under it is
//! therefore what was written there, and a blob that no record has can be removed without asking
//! who might just be putting the same content again: they have another place.
//!
//! 1. A record is committed only after its blob is durable: whoever has an id can read it.
//! 2. A blob is removed only after it is durable that no record has it.
//! 3. An upload that is not recorded leaves nothing: it is gone when it is dropped, or, if the
//!    process ends between blob and record, when the workspace is next loaded.
//! 4. One block of a content is in memory at a time, however large it is.
//!
//! Deliberately absent: sharing blobs between workspaces. A workspace is what is isolated; that
//! another has the same content must not be seen, and must not keep or cost it anything.

mod copy;
mod reader;
mod sweep;
mod upload;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::{BlobPlace, WorkspaceName};

use crate::files;

pub(crate) use copy::blob_references;
pub use reader::BlobReader;
pub(crate) use sweep::deleted_count;
pub use upload::{StoredBlob, Upload};

/// How much of a content is read, checked and handed on at a time.
pub const BLOCK_BYTES: usize = 256 << 10;

/// What kind of content a blob holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlobKind {
    /// Artifacts.
    Artifacts,
    /// Secrets.
    Secrets,
}

impl BlobKind {
    /// What all blobs of this kind of a workspace begin with.
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

    /// The blob at a place.
    pub fn name(self, workspace: &WorkspaceName, place: &BlobPlace) -> String {
        format!("{}{place}", self.folder(workspace))
    }
}

/// Blobs that are there, or will be, and that a record may be about to have.
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

/// A place that nobody has had before, by all odds.
pub fn random_place() -> BlobPlace {
    let half = || u128::from(RandomState::new().hash_one(0_u8));
    BlobPlace::of_number(half() << 64 | half())
}

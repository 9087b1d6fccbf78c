//! Uploads: bytes that are being written to a blob.

use baton_core::artifact::{self, Put};
use baton_core::{ArtifactId, BlobPlace, SecretId, WorkspaceName, secret};
use baton_log::{BlobError, BlobWriter, Log};
use crc32fast::Hasher;
use sha2::{Digest, Sha256};

use super::{BLOCK_BYTES, BlobKind, PendingBlobs};
use crate::error::Error;
use crate::shard::Shard;

/// The letters at the end of every blob.
pub(super) const MAGIC: &[u8; 4] = b"BAT1";

/// Bytes that are being written. If it is dropped before it is committed, it leaves nothing.
pub struct Upload {
    writer: Box<dyn BlobWriter>,
    kind: BlobKind,
    digest: Sha256,
    block: Hasher,
    block_bytes: usize,
    /// The free space that must be left on the disk.
    reserve: u64,
    checksums: Vec<u8>,
    bytes: u64,
    place: BlobPlace,
    name: String,
    pending: PendingBlobs,
    is_committed: bool,
}

/// Bytes that are durable and have no record yet.
///
/// The owner reports the outcome with [`recorded`](Shard::recorded) or
/// [`unrecorded`](Shard::unrecorded). If it is dropped without a report, the blob is kept until the
/// data is opened again, since a record may be in flight.
#[must_use]
pub struct StoredBlob {
    /// Their location.
    pub place: BlobPlace,
    /// Their digest.
    pub artifact: ArtifactId,
    /// Their number.
    pub bytes: u64,
    name: String,
}

impl<L: Log> Shard<L> {
    /// Starts an upload to a location.
    pub fn upload(
        &self,
        workspace: &WorkspaceName,
        kind: BlobKind,
        place: BlobPlace,
    ) -> Result<Upload, Error> {
        let name = kind.name(workspace, &place);
        // Registered before it exists, so that no sweep sees it unregistered.
        self.pending.begin(name.clone());
        let writer = self.log.create_blob(&name).inspect_err(|_| self.pending.end(&name));
        Ok(Upload {
            writer: writer.map_err(full_or_failed)?,
            kind,
            digest: Sha256::new(),
            block: Hasher::new(),
            block_bytes: 0,
            reserve: self.options.disk_free_bytes_min,
            checksums: Vec::new(),
            bytes: 0,
            place,
            name,
            pending: self.pending.clone(),
            is_committed: false,
        })
    }

    /// Records that the bytes have a durable record.
    pub fn recorded(&self, stored: &StoredBlob) {
        self.pending.end(&stored.name);
    }

    /// Removes the bytes, which will never have a record.
    pub fn unrecorded(&self, stored: &StoredBlob) -> Result<(), Error> {
        let deleted = self.log.delete_blob(&stored.name);
        self.pending.end(&stored.name);
        Ok(deleted?)
    }
}

impl Upload {
    /// Adds bytes. Refused as soon as the maximum size is exceeded.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        match self.kind {
            BlobKind::Artifacts => artifact::check_bytes(self.bytes).map_err(refused)?,
            BlobKind::Secrets => secret::check_bytes(self.bytes).map_err(refused)?,
        }
        self.check_disk_space(bytes.len())?;
        self.digest.update(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(rest.len().min(BLOCK_BYTES - self.block_bytes));
            self.block.update(part);
            self.block_bytes += part.len();
            if self.block_bytes == BLOCK_BYTES {
                self.end_block();
            }
            rest = later;
        }
        self.writer.write(bytes).map_err(full_or_failed)
    }

    /// Refuses bytes that would use up the reserve, in which commands that free space are still
    /// accepted. It is checked for each block: a check of the disk costs little beside that.
    fn check_disk_space(&self, bytes: usize) -> Result<(), Error> {
        let is_first = self.bytes == bytes as u64;
        if self.reserve == 0 || !(is_first || self.block_bytes + bytes >= BLOCK_BYTES) {
            return Ok(());
        }
        let Some(free) = self.writer.free_bytes() else { return Ok(()) };
        if free.saturating_sub(bytes as u64) < self.reserve {
            return Err(Error::DiskLow { free, min: self.reserve });
        }
        Ok(())
    }

    fn end_block(&mut self) {
        let block = std::mem::replace(&mut self.block, Hasher::new());
        self.checksums.extend_from_slice(&block.finalize().to_le_bytes());
        self.block_bytes = 0;
    }

    /// Makes the bytes durable.
    pub fn commit(mut self) -> Result<StoredBlob, Error> {
        if self.block_bytes > 0 {
            self.end_block();
        }
        let mut end = std::mem::take(&mut self.checksums);
        end.extend_from_slice(&self.bytes.to_le_bytes());
        let checksum = crc32fast::hash(&end);
        end.extend_from_slice(&checksum.to_le_bytes());
        end.extend_from_slice(MAGIC);
        self.writer.write(&end).map_err(full_or_failed)?;
        let nothing: Box<dyn BlobWriter> = Box::new(Nothing);
        std::mem::replace(&mut self.writer, nothing).commit().map_err(full_or_failed)?;
        self.is_committed = true;
        let digest: [u8; 32] = self.digest.clone().finalize().into();
        Ok(StoredBlob {
            place: self.place.clone(),
            artifact: ArtifactId::of_digest(&digest),
            bytes: self.bytes,
            name: self.name.clone(),
        })
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if !self.is_committed {
            // A failed commit may have left the blob: the next sweep removes it.
            self.pending.end(&self.name);
        }
    }
}

impl StoredBlob {
    /// The command that records it as an artifact, without a description.
    pub fn put(&self) -> Put {
        Put {
            artifact: self.artifact.clone(),
            place: self.place.clone(),
            bytes: self.bytes,
            expected: None,
            media_type: None,
            name: None,
            keep_ms: None,
        }
    }

    /// The reference to it as a secret.
    pub fn secret(&self) -> SecretId {
        SecretId::at(&self.place)
    }
}

fn refused(rejection: impl Into<baton_core::Rejection>) -> Error {
    Error::Rejected(rejection.into())
}

/// A full disk is reported to the uploader; nothing was written.
fn full_or_failed(error: BlobError) -> Error {
    match error {
        BlobError::Full => Error::Full,
        BlobError::Name { .. }
        | BlobError::Exists { .. }
        | BlobError::OutOfRange { .. }
        | BlobError::Failed(_)
        | BlobError::Unreachable(_)
        | BlobError::Fenced => error.into(),
    }
}

/// A placeholder for a writer that was committed.
struct Nothing;

impl BlobWriter for Nothing {
    fn write(&mut self, _: &[u8]) -> Result<(), BlobError> {
        Err(BlobError::Failed("it was committed".to_owned()))
    }

    fn commit(self: Box<Self>) -> Result<(), BlobError> {
        Err(BlobError::Failed("it was committed".to_owned()))
    }
}

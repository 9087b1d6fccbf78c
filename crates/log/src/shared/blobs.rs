//! Blobs of a shared log.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::opening::Owned;
use crate::contract::{Blob, BlobWriter};
use crate::error::BlobError;

/// A blob that is being written. Its bytes are stored when it is committed.
pub(super) struct Writer {
    owned: Arc<Owned>,
    being_written: Arc<Mutex<BTreeSet<String>>>,
    name: String,
    /// A number that is never used again: a commit without an answer is recognised by it.
    pub(super) id: u64,
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new(
        owned: &Arc<Owned>,
        being_written: &Arc<Mutex<BTreeSet<String>>>,
        name: &str,
    ) -> Self {
        let (owned, being_written) = (Arc::clone(owned), Arc::clone(being_written));
        Self { owned, being_written, name: name.to_owned(), id: 0, bytes: Vec::new() }
    }
}

impl BlobWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        let (name, id) = (self.name.clone(), self.id);
        let bytes = Arc::<[u8]>::from(std::mem::take(&mut self.bytes));
        let commit =
            move |rows: &mut super::Rows, epoch| rows.commit_blob(epoch, &name, id, &bytes);
        if self.owned.execute_fenced(commit)? {
            return Ok(());
        }
        Err(BlobError::Exists { name: self.name.clone() })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.being_written.lock().expect("nothing panics with the lock").remove(&self.name);
    }
}

/// A committed blob.
pub(super) struct MemoryBlob(pub(super) Arc<[u8]>);

impl Blob for MemoryBlob {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let end = offset.saturating_add(buffer.len() as u64);
        let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        let part = range.and_then(|(from, to)| self.0.get(from..to));
        let refused = BlobError::OutOfRange { offset, end, length: self.len() };
        buffer.copy_from_slice(part.ok_or(refused)?);
        Ok(())
    }
}

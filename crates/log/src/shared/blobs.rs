//! Blobs of a shared log.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::opening::Owned;
use crate::contract::BlobWriter;
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
        let shard = self.owned.shard;
        let commit = move |rows: &mut super::Rows, epoch| {
            rows.commit_blob(shard, epoch, (&name, id), &bytes)
        };
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

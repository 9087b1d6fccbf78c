//! An object of the bucket, read by ranges.

use std::sync::{Arc, Mutex, PoisonError};

use baton_log::{Blob, BlobError};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::bucket::{StoreClient, unreachable_error};

/// How much is requested at a time. The engine reads blocks of 256 KiB in sequence, and a request
/// for each of them would take most of the time.
pub(crate) const WINDOW_BYTES: u64 = 4 << 20;

/// An object that existed when it was opened.
pub(crate) struct ObjectReader {
    client: StoreClient,
    path: Path,
    bytes: u64,
    /// The last window, and its offset.
    window: Mutex<(u64, Bytes)>,
}

impl ObjectReader {
    pub(crate) fn new(client: StoreClient, path: Path, bytes: u64) -> Self {
        Self { client, path, bytes, window: Mutex::default() }
    }

    fn fetch(&self, from: u64) -> Result<Bytes, BlobError> {
        let (store, path) = (Arc::clone(&self.client.store), self.path.clone());
        let range = from..self.bytes.min(from + WINDOW_BYTES);
        let due = range.end - range.start;
        let read = self.client.wait(async move { store.get_range(&path, range).await })?;
        let read = read.map_err(|error| unreachable_error(&error))?;
        if read.len() as u64 != due {
            let got = read.len();
            return Err(BlobError::Unreachable(format!("{got} of {due} bytes were sent")));
        }
        Ok(read)
    }
}

impl Blob for ObjectReader {
    fn len(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let end = offset.saturating_add(buffer.len() as u64);
        if end > self.bytes {
            return Err(BlobError::OutOfRange { offset, end, length: self.bytes });
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            let (begin, there) = &*window;
            let skipped = at.checked_sub(*begin).and_then(|skipped| usize::try_from(skipped).ok());
            let rest = skipped.and_then(|skipped| there.get(skipped..)).unwrap_or_default();
            if rest.is_empty() {
                *window = (at, self.fetch(at)?);
                continue;
            }
            let count = rest.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&rest[..count]);
            filled += count;
        }
        Ok(())
    }
}

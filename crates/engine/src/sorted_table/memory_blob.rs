//! A blob in memory for the tests of immutable files.
//!
//! It is stricter than a disk: reading past its end is a panic and not an error, because a reader
//! of damaged bytes must have checked every offset before using it. It counts reads, so that a
//! guarantee such as "one page" can be asserted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use baton_log::{Blob, BlobError, BlobWriter};

/// The result of a writer: `None` until it commits.
#[derive(Clone, Default)]
pub(crate) struct MemoryBlobSlot {
    committed: Arc<Mutex<Option<Vec<u8>>>>,
}

impl MemoryBlobSlot {
    pub(crate) fn writer(&self) -> Box<dyn BlobWriter> {
        Box::new(Writer { slot: self.clone(), bytes: Vec::new() })
    }

    pub(crate) fn committed(&self) -> Option<Vec<u8>> {
        self.committed.lock().expect("no test panics while it holds this").clone()
    }
}

struct Writer {
    slot: MemoryBlobSlot,
    bytes: Vec<u8>,
}

impl BlobWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), BlobError> {
        let mut committed = self.slot.committed.lock().expect("no test panics while it holds this");
        *committed = Some(self.bytes);
        Ok(())
    }
}

/// A blob with these bytes.
pub(crate) struct MemoryBlob {
    bytes: Vec<u8>,
    reads: AtomicUsize,
}

impl MemoryBlob {
    pub(crate) fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Self { bytes, reads: AtomicUsize::new(0) })
    }

    /// How many reads `work` takes.
    pub(crate) fn reads_of(&self, work: impl FnOnce()) -> usize {
        let before = self.reads.load(Ordering::Relaxed);
        work();
        self.reads.load(Ordering::Relaxed) - before
    }
}

impl Blob for MemoryBlob {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let offset = usize::try_from(offset).expect("a test blob fits in memory");
        buffer.copy_from_slice(&self.bytes[offset..][..buffer.len()]);
        Ok(())
    }
}

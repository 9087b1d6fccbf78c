//! A log in memory that counts how often it is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton::log::{
    AppendError, Blob, BlobError, BlobWriter, Log, MemoryLog, Position, ReadError, Record,
    TruncateError,
};

/// The log, and the count of its reads and those of its blobs.
#[derive(Clone, Default)]
pub(crate) struct CountingLog {
    log: MemoryLog,
    reads: Arc<AtomicU64>,
}

impl CountingLog {
    /// How often it was read since the last time.
    pub(crate) fn take_reads(&self) -> u64 {
        self.reads.swap(0, Ordering::Relaxed)
    }
}

struct CountingBlob(Arc<dyn Blob>, Arc<AtomicU64>);

impl Blob for CountingBlob {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read_at(offset, buffer)
    }
}

impl Log for CountingLog {
    fn start(&self) -> Position {
        self.log.start()
    }

    fn tail(&self) -> Position {
        self.log.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        self.log.append(expected, body)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.log.read(from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.log.read_part(record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        self.log.truncate(before)
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.log.create_blob(name)
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        let count = |blob| Arc::new(CountingBlob(blob, Arc::clone(&self.reads))) as Arc<dyn Blob>;
        Ok(self.log.open_blob(name)?.map(count))
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        self.log.list_blobs(prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        self.log.delete_blob(name)
    }

    fn description(&self) -> String {
        "counting memory".to_owned()
    }
}

//! A log whose blobs are in two locations.

use std::sync::Arc;

use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, Log, Position, ReadError, Record, TruncateError,
};

use crate::bucket::Bucket;

/// The prefix of the blobs of artifacts.
const ARTIFACTS: &str = "artifacts/";

/// A log that stores the bytes of artifacts in a bucket, and everything else itself.
pub struct SplitLog<L> {
    log: L,
    bucket: Bucket,
}

impl<L: Log> SplitLog<L> {
    /// Splits the blobs of a log.
    pub fn new(log: L, bucket: Bucket) -> Self {
        Self { log, bucket }
    }
}

fn is_in_bucket(name: &str) -> bool {
    name.starts_with(ARTIFACTS)
}

impl<L: Log> Log for SplitLog<L> {
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
        self.log.read(from, bytes_max)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.log.read_part(record, offset, buffer)
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        self.log.truncate(before)
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        if is_in_bucket(name) { self.bucket.create(name) } else { self.log.create_blob(name) }
    }

    /// Artifacts that were stored before the bucket was configured stay where they are, and can be
    /// read.
    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        match self.log.open_blob(name)? {
            None if is_in_bucket(name) => self.bucket.find(name),
            found => Ok(found),
        }
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        let mut names = self.log.list_blobs(prefix)?;
        if is_in_bucket(prefix) {
            names.extend(self.bucket.list(prefix)?);
            names.sort();
        }
        Ok(names)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        self.log.delete_blob(name)?;
        if is_in_bucket(name) { self.bucket.delete(name) } else { Ok(()) }
    }

    fn can_store_secrets(&self) -> bool {
        self.log.can_store_secrets()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.log.free_bytes()
    }

    fn description(&self) -> String {
        format!("{}, artifacts in {}", self.log.description(), self.bucket.description())
    }
}

//! A tap on the log: passes everything through and remembers what was appended.
//!
//! The auditor must know what the log has acknowledged without asking the engine, and without
//! reading from a disk that may have just been switched off. It must also know which bytes were on
//! their way when an append failed: after a restart the log holds all of them, or none.

use std::sync::{Arc, Mutex, MutexGuard};

use baton_log::faulty::FaultyDisk;
use baton_log::{
    AppendError, Blob, BlobError, BlobWriter, FileLog, Log, Position, ReadError, Record,
    TruncateError,
};

/// What went through the tap since it was last emptied.
#[derive(Default)]
pub struct Passed {
    /// Bodies that were acknowledged, in order.
    pub acknowledged: Vec<Vec<u8>>,
    /// The body of the append whose outcome is unknown, if there is one.
    pub unknown: Option<Vec<u8>>,
}

/// The file log on a faulty disk, with a tap. Clones share both.
#[derive(Clone)]
pub struct TappedLog {
    log: Arc<FileLog<FaultyDisk>>,
    passed: Arc<Mutex<Passed>>,
}

impl TappedLog {
    /// Puts a tap on a log.
    pub fn new(log: FileLog<FaultyDisk>) -> Self {
        Self { log: Arc::new(log), passed: Arc::default() }
    }

    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.passed.lock().expect("nothing panics with the lock")
    }

    /// Takes what was acknowledged since the last time.
    pub fn take_acknowledged(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.passed().acknowledged)
    }

    /// The body of the append whose outcome is unknown.
    pub fn unknown(&self) -> Option<Vec<u8>> {
        self.passed().unknown.clone()
    }
}

impl Log for TappedLog {
    fn start(&self) -> Position {
        self.log.start()
    }

    fn tail(&self) -> Position {
        self.log.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let appended = self.log.append(expected, body);
        let mut passed = self.passed();
        match &appended {
            Ok(_) => passed.acknowledged.push(body.to_vec()),
            // Later appends fail too and write nothing: only the first one's outcome is open.
            Err(AppendError::Failed(_)) if passed.unknown.is_none() => {
                passed.unknown = Some(body.to_vec());
            }
            Err(_) => {}
        }
        appended
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
        self.log.create_blob(name)
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        self.log.open_blob(name)
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        self.log.list_blobs(prefix)
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        self.log.delete_blob(name)
    }

    fn description(&self) -> String {
        self.log.description()
    }
}

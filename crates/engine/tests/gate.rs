//! A log in memory whose appends wait at a gate, so that a test decides what happens while a group
//! is on its way.

use std::sync::{Arc, Condvar, Mutex};

use baton::log::{
    AppendError, Blob, BlobError, BlobWriter, Log, MemoryLog, Position, ReadError, Record,
    TruncateError,
};

/// The gate, and the log behind it.
#[derive(Clone, Default)]
pub(crate) struct GatedLog {
    log: MemoryLog,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

#[derive(Default)]
struct Gate {
    closed: bool,
    waiting: usize,
}

impl GatedLog {
    /// Appends that begin from now on wait.
    pub(crate) fn close(&self) {
        self.gate.0.lock().expect("nobody panics at the gate").closed = true;
    }

    /// Lets them pass.
    pub(crate) fn open(&self) {
        self.gate.0.lock().expect("nobody panics at the gate").closed = false;
        self.gate.1.notify_all();
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.gate.0.lock().expect("nobody panics at the gate").waiting
    }
}

impl Log for GatedLog {
    fn start(&self) -> Position {
        self.log.start()
    }

    fn tail(&self) -> Position {
        self.log.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let mut gate = self.gate.0.lock().expect("nobody panics at the gate");
        gate.waiting += 1;
        while gate.closed {
            gate = self.gate.1.wait(gate).expect("nobody panics at the gate");
        }
        gate.waiting -= 1;
        drop(gate);
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
        "gated memory".to_owned()
    }
}

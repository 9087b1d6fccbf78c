//! A tap on the log: passes everything through and records what was appended.
//!
//! The auditor must know what the log has acknowledged without asking the engine, and without
//! reading from a disk that may have just been switched off. It must also know which bytes were in
//! flight when an append failed: after a restart the log contains all of them, or none.

use std::sync::{Arc, Mutex, MutexGuard};

use baton_log::faulty::FaultyDisk;
use baton_log::{AppendError, FileLog, Log, Position};

/// The records that passed through the tap since it was last emptied.
#[derive(Default)]
pub struct TapRecords {
    /// Bodies that were acknowledged, in order.
    pub acknowledged: Vec<Vec<u8>>,
    /// The body of the append whose outcome is unknown, if there is one.
    pub unknown: Option<Vec<u8>>,
}

/// The file log on a faulty disk, with a tap. Clones share both.
#[derive(Clone)]
pub struct TappedLog {
    log: Arc<FileLog<FaultyDisk>>,
    records: Arc<Mutex<TapRecords>>,
}

impl TappedLog {
    /// Puts a tap on a log.
    pub fn new(log: FileLog<FaultyDisk>) -> Self {
        Self { log: Arc::new(log), records: Arc::default() }
    }

    fn records(&self) -> MutexGuard<'_, TapRecords> {
        self.records.lock().expect("nothing panics with the lock")
    }

    /// Takes what was acknowledged since the last time.
    pub fn take_acknowledged(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.records().acknowledged)
    }

    /// The body of the append whose outcome is unknown.
    pub fn unknown(&self) -> Option<Vec<u8>> {
        self.records().unknown.clone()
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
        let mut records = self.records();
        match &appended {
            Ok(_) => records.acknowledged.push(body.to_vec()),
            // Later appends fail too and write nothing: only the outcome of the first one is
            // unknown.
            Err(AppendError::Failed(_)) if records.unknown.is_none() => {
                records.unknown = Some(body.to_vec());
            }
            Err(_) => {}
        }
        appended
    }

    baton_log::forward_reads!(log);

    fn description(&self) -> String {
        self.log.description()
    }
}

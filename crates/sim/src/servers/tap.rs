//! A tap on the log of one server: what it appended, and what it heard of that.

use std::sync::{Arc, Mutex, MutexGuard};

use baton_log::shared::SharedLog;
use baton_log::{AppendError, Log, Position};

/// An append that has an outcome.
pub(super) struct Heard {
    pub(super) expected: Position,
    pub(super) body: Vec<u8>,
    pub(super) outcome: Result<Position, AppendError>,
}

/// A shared log with a tap. Clones share both.
#[derive(Clone)]
pub(super) struct TappedShared {
    pub(super) log: Arc<SharedLog>,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl TappedShared {
    pub(super) fn new(log: Arc<SharedLog>) -> Self {
        Self { log, heard: Arc::default() }
    }

    fn heard(&self) -> MutexGuard<'_, Vec<Heard>> {
        self.heard.lock().expect("nothing panics with the lock")
    }

    /// Takes what was heard since the last time.
    pub(super) fn take_heard(&self) -> Vec<Heard> {
        std::mem::take(&mut self.heard())
    }
}

impl Log for TappedShared {
    fn start(&self) -> Position {
        self.log.start()
    }

    fn tail(&self) -> Position {
        self.log.tail()
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let outcome = self.log.append(expected, body);
        let heard = Heard { expected, body: body.to_vec(), outcome: outcome.clone() };
        self.heard().push(heard);
        outcome
    }

    baton_log::forward_reads!(log);

    fn description(&self) -> String {
        self.log.description()
    }
}

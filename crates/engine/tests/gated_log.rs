//! A log in memory whose appends wait at a gate, so that a test decides what happens while a group
//! is in flight.

use std::sync::{Arc, Condvar, Mutex};

use baton::log::{AppendError, Log, MemoryLog, Position};

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
    /// Blocks appends that start from now on.
    pub(crate) fn close(&self) {
        self.gate.0.lock().expect("no thread panics at the gate").closed = true;
    }

    /// Lets them pass.
    pub(crate) fn open(&self) {
        self.gate.0.lock().expect("no thread panics at the gate").closed = false;
        self.gate.1.notify_all();
    }

    /// How many appends are blocked.
    pub(crate) fn waiting(&self) -> usize {
        self.gate.0.lock().expect("no thread panics at the gate").waiting
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
        let mut gate = self.gate.0.lock().expect("no thread panics at the gate");
        gate.waiting += 1;
        while gate.closed {
            gate = self.gate.1.wait(gate).expect("no thread panics at the gate");
        }
        gate.waiting -= 1;
        drop(gate);
        self.log.append(expected, body)
    }

    baton::log::forward_reads!(log);

    fn description(&self) -> String {
        "gated memory".to_owned()
    }
}

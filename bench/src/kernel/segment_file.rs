//! The peer: the bare segment file with group commit.
//!
//! ```text
//!   task ── copies its record into the shared buffer, sleeps ◀──────────────┐
//!                         │                                                 │ answers
//!                         ▼                                                 │
//!   sync thread ── takes the buffer ── FileLog::append: one write, one sync ┘
//! ```
//!
//! Records are prepared once, and segments are truncated at once, so that they are recycled and
//! nothing is zeroed during a round. How the tasks are woken makes a great difference, so there are
//! two ways: see [`WakeMode`].

use std::future::poll_fn;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use baton_log::{FileLog, Log, Options, Position};

use super::load;
use crate::Outcome;
use crate::resources::{Measured, MeasuredTurn};

/// Bytes appended before the log is truncated.
const TRUNCATE_BYTES: usize = 32 << 20;

/// How the tasks of a durable group are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeMode {
    /// The sync thread wakes each of them, like a simple writer.
    Each,
    /// The sync thread wakes one, and that one the others: waking from another thread is expensive.
    /// No faster way is known, but such a log is of no practical use.
    First,
}

#[derive(Default)]
struct OpenGroup {
    group: u64,
    buffer: Vec<u8>,
    waiting: Vec<Waker>,
    stop: bool,
}

#[derive(Default)]
struct GroupCommit {
    open_group: Mutex<OpenGroup>,
    changed: Condvar,
    durable: AtomicU64,
    /// The tasks that the first one of their group wakes.
    heralded: Mutex<Vec<Waker>>,
    has_heralded: AtomicBool,
}

impl GroupCommit {
    fn open_group(&self) -> MutexGuard<'_, OpenGroup> {
        self.open_group.lock().expect("no thread panics with the lock")
    }

    async fn append(&self, record: &[u8]) {
        let mut group = None;
        poll_fn(|context| self.poll_append(context, record, &mut group)).await;
    }

    fn poll_append(
        &self,
        context: &Context<'_>,
        record: &[u8],
        group: &mut Option<u64>,
    ) -> Poll<()> {
        if let Some(group) = *group {
            if self.durable.load(Ordering::Acquire) <= group {
                return Poll::Pending;
            }
            if self.has_heralded.load(Ordering::Acquire)
                && self.has_heralded.swap(false, Ordering::AcqRel)
            {
                let mut heralded = self.heralded.lock().expect("no thread panics with the lock");
                heralded.drain(..).for_each(Waker::wake);
            }
            return Poll::Ready(());
        }
        let mut open_group = self.open_group();
        let is_first = open_group.buffer.is_empty();
        open_group.buffer.extend_from_slice(record);
        open_group.waiting.push(context.waker().clone());
        *group = Some(open_group.group);
        drop(open_group);
        if is_first {
            self.changed.notify_one();
        }
        Poll::Pending
    }

    fn sync_loop(&self, log: &FileLog, wake_mode: WakeMode) -> Outcome<()> {
        let (mut bytes, mut waiting) = (Vec::new(), Vec::new());
        let mut written = Recycled::new(log);
        loop {
            let open_group = self.changed.wait_while(self.open_group(), |open_group| {
                open_group.buffer.is_empty() && !open_group.stop
            });
            let mut open_group = open_group.expect("no thread panics with the lock");
            if open_group.buffer.is_empty() {
                return Ok(());
            }
            std::mem::swap(&mut open_group.buffer, &mut bytes);
            std::mem::swap(&mut open_group.waiting, &mut waiting);
            open_group.group += 1;
            let durable = open_group.group;
            drop(open_group);
            written.append(&bytes)?;
            bytes.clear();
            if wake_mode == WakeMode::Each {
                self.durable.store(durable, Ordering::Release);
                waiting.drain(..).for_each(Waker::wake);
                continue;
            }
            let first = waiting.pop();
            let mut heralded = self.heralded.lock().expect("no thread panics with the lock");
            heralded.append(&mut waiting);
            drop(heralded);
            self.durable.store(durable, Ordering::Release);
            self.has_heralded.store(true, Ordering::Release);
            first.into_iter().for_each(Waker::wake);
        }
    }

    fn stop(&self) {
        self.open_group().stop = true;
        self.changed.notify_one();
    }
}

/// A log that discards what it has written.
pub(crate) struct Recycled<'a> {
    log: &'a FileLog,
    tail: Position,
    bytes: usize,
}

impl<'a> Recycled<'a> {
    pub(crate) fn new(log: &'a FileLog) -> Self {
        Self { log, tail: log.tail(), bytes: 0 }
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.tail = self.log.append(self.tail, bytes)?;
        self.bytes += bytes.len();
        if self.bytes >= TRUNCATE_BYTES {
            self.bytes = 0;
            self.log.truncate(self.tail)?;
        }
        Ok(())
    }
}

/// Many callers, each of which appends a record of this size and waits until it is durable.
pub(crate) fn many(
    folder: &Path,
    turn: Duration,
    callers: usize,
    bytes: usize,
    wake_mode: WakeMode,
) -> Outcome<Measured> {
    let log = Arc::new(FileLog::open(Options::new(folder))?);
    let raw = Arc::new(GroupCommit::default());
    let syncing = {
        let (raw, log) = (Arc::clone(&raw), Arc::clone(&log));
        std::thread::spawn(move || {
            raw.sync_loop(&log, wake_mode).map_err(|error| error.to_string())
        })
    };
    let turn = load::runtime()?.block_on(async {
        let turn = Arc::new(MeasuredTurn::begin(turn));
        let record: Arc<[u8]> = vec![b'r'; bytes].into();
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let (raw, turn, record) =
                    (Arc::clone(&raw), Arc::clone(&turn), Arc::clone(&record));
                tokio::spawn(async move {
                    loop {
                        raw.append(&record).await;
                        if !turn.goes_on() {
                            return;
                        }
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await?;
        }
        Ok::<_, tokio::task::JoinError>(turn)
    })?;
    raw.stop();
    syncing.join().expect("the sync thread does not panic")?;
    Ok(turn.measured())
}

/// One caller that writes and syncs itself, without a task or thread in between.
pub(crate) fn one(folder: &Path, turn: Duration, bytes: usize) -> Outcome<Measured> {
    let log = FileLog::open(Options::new(folder))?;
    let mut written = Recycled::new(&log);
    let record = vec![b'r'; bytes];
    let turn = MeasuredTurn::begin(turn);
    loop {
        written.append(&record)?;
        if !turn.goes_on() {
            return Ok(turn.measured());
        }
    }
}

//! Writers: threads that write to sockets, so that the serving thread does not have to.
//!
//! A connection does not wait for its answers. It puts its output into its send queue, together
//! with its requests in flight that are not durable yet, and continues to receive:
//!
//! ```text
//!                        not durable                      durable
//!   connection ── send queue ──▶ waiting ── a group is durable ──▶ ready ──▶ flushed by the
//!              └── nothing in it waits for a group ────────────────┘  │      serving thread,
//!                                                                     └────▶ and by writers, as
//!                                                                            soon as several wait
//! ```
//!
//! Sending costs more than deciding, and the time is spent in the kernel's network stack, where
//! threads do not contend. An idle thread takes the next queue. If no writer gets a processor, the
//! serving thread flushes all queues, and none of them has waited for a writer.
//!
//! Invariants:
//!
//! 1. A queue is waiting, ready, being flushed, or idle: one of them at a time. So the output of a
//!    connection keeps its order.
//! 2. A queue that cannot be flushed because the peer accepts nothing is returned to its owner: the
//!    connection's task waits for the peer, with a deadline.
//! 3. If only few connections have ready output, each sends its own, and no thread is woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use baton::Baton;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::shared::Shared;

mod send_queue;
#[cfg(test)]
mod tests;

pub(crate) use send_queue::{Enqueued, SendQueue};

/// The number of connections with output in a tick from which writers are used, in that tick and
/// the next.
const BUSY_FROM: usize = 8;
/// The number of ready queues before a writer is woken: waking one costs as much as flushing one or
/// two.
const WAKE_FROM: usize = 8;
/// The time for which queues are flushed on the serving thread before it serves others.
const FLUSH_TIME_MAX: Duration = Duration::from_micros(500);
/// The maximum number of writers, however many processors there are: the network stack has locks.
const WRITERS_MAX: usize = 3;

/// The send queues of all connections that have output, and the threads that flush them.
#[derive(Default)]
pub(crate) struct Writers {
    queues: Mutex<Queues>,
    changed: Condvar,
    /// Connections that had output in this tick.
    active: AtomicUsize,
    /// Whether there were many of them in the last tick.
    was_busy: AtomicBool,
    has_pool: AtomicBool,
    /// A connection has output.
    tick: Notify,
    /// A queue has output that is not durable.
    submitted: Notify,
}

#[derive(Default)]
struct Queues {
    /// Send queues that wait for a group.
    waiting: Vec<(u64, Arc<SendQueue>)>,
    ready: VecDeque<Arc<SendQueue>>,
    /// The number of sleeping writers that were not woken.
    idle_writers: usize,
    is_closed: bool,
}

/// The running threads. They are joined when this is dropped.
pub(crate) struct WriterPool {
    writers: Arc<Writers>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for WriterPool {
    fn drop(&mut self) {
        self.writers.lock().is_closed = true;
        self.writers.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A writer that panicked has reported it.
            let _ = thread.join();
        }
        // Queues of connections that did not wait for them.
        let mut queues = self.writers.lock();
        let left = (std::mem::take(&mut queues.waiting), std::mem::take(&mut queues.ready));
        drop(queues);
        drop(left);
    }
}

impl Writers {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The useful number of writers for one of so many engines with connections of their own: one
    /// for each processor except the serving ones. None without such connections.
    pub(crate) fn default_count(engines: u32) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = processors.checked_div(engines as usize).unwrap_or(0);
        share.saturating_sub(1).min(WRITERS_MAX)
    }

    /// Starts this many threads.
    pub(crate) fn spawn(self: &Arc<Self>, count: usize) -> WriterPool {
        let threads = (0..count).filter_map(|_| {
            let writers = Arc::clone(self);
            let thread = std::thread::Builder::new().name("baton-send".to_owned());
            // Without writers, the serving thread sends everything.
            thread.spawn(move || writers.write_loop()).ok()
        });
        let threads: Vec<_> = threads.collect();
        self.has_pool.store(!threads.is_empty(), Ordering::Relaxed);
        WriterPool { writers: Arc::clone(self), threads }
    }

    fn write_loop(&self) {
        while let Some(queue) = self.next() {
            queue.flush();
        }
    }

    /// Waits for the next queue; none when the pool is closed.
    fn next(&self) -> Option<Arc<SendQueue>> {
        let mut queues = self.lock();
        loop {
            if let Some(queue) = queues.ready.pop_front() {
                return Some(queue);
            }
            if queues.is_closed {
                return None;
            }
            queues.idle_writers += 1;
            queues = self.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Counts a connection with output; returns whether writers should send it.
    fn should_offload(&self) -> bool {
        let before = self.active.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.tick.notify_one();
        }
        let is_busy = before >= BUSY_FROM || self.was_busy.load(Ordering::Relaxed);
        is_busy && self.has_pool.load(Ordering::Relaxed)
    }

    /// Makes a queue ready, or lets it wait for a group.
    fn schedule(&self, queue: Arc<SendQueue>, group: u64) {
        let mut queues = self.lock();
        if group == 0 {
            queues.ready.push_back(queue);
            let is_first = queues.ready.len() == 1;
            self.wake(queues);
            if is_first {
                self.tick.notify_one();
            }
            return;
        }
        queues.waiting.push((group, queue));
        let is_first = queues.waiting.len() == 1;
        drop(queues);
        if is_first {
            self.submitted.notify_one();
        }
    }

    /// Wakes a writer, if enough queues are ready.
    fn wake(&self, mut queues: MutexGuard<'_, Queues>) {
        let wakes = queues.ready.len() >= WAKE_FROM && queues.idle_writers > 0;
        if wakes {
            queues.idle_writers -= 1;
        }
        drop(queues);
        if wakes {
            self.changed.notify_one();
        }
    }

    /// Flushes the ready queues on the serving thread, for a limited time; returns whether any are
    /// left, or became ready in the meantime.
    fn drain_once(&self) -> bool {
        let began = Instant::now();
        let mut queues = self.lock();
        let mut count = queues.ready.len();
        while let Some(queue) = queues.ready.pop_front_if(|_| count > 0) {
            drop(queues);
            // Dropping the last reference to a queue may make others ready.
            queue.flush();
            count = if began.elapsed() < FLUSH_TIME_MAX { count - 1 } else { 0 };
            queues = self.lock();
        }
        !queues.ready.is_empty()
    }

    /// Flushes ready queues at the end of every tick: in a separate task, so that tasks that were
    /// woken before it have queued their output.
    pub(crate) async fn run(&self) {
        loop {
            self.tick.notified().await;
            let active = self.active.swap(0, Ordering::Relaxed);
            self.was_busy.store(active >= BUSY_FROM, Ordering::Relaxed);
            while self.drain_once() {
                yield_now().await;
            }
        }
    }

    /// Waits for the groups of requests in flight, and makes their queues ready when they are
    /// durable.
    pub(crate) async fn watch_durability(&self, shared: &Shared) {
        loop {
            let last = self.lock().waiting.iter().map(|(group, _)| *group).max();
            let Some(last) = last else {
                self.submitted.notified().await;
                continue;
            };
            let began = Instant::now();
            // The outcome is checked per request: one group may be lost although a later one is
            // durable.
            let _ = shared.baton.wait_durable(last).await;
            let took = began.elapsed();
            let slow = (took >= shared.settings.slow).then_some(took);
            self.make_ready(&shared.baton, |queue| {
                if let Some(took) = slow {
                    queue.was_slow(took);
                }
            });
            if self.drain_once() {
                self.tick.notify_one();
            }
        }
    }

    /// Makes queues ready that no longer wait for a group.
    fn make_ready(&self, baton: &Baton, seen: impl Fn(&SendQueue)) {
        let mut queues = self.lock();
        let Queues { waiting, ready, .. } = &mut *queues;
        waiting.retain_mut(|(group, queue)| {
            let is_decided = baton.group_status(*group).is_some();
            if is_decided {
                seen(queue);
                ready.push_back(Arc::clone(queue));
            }
            !is_decided
        });
        self.wake(queues);
    }
}

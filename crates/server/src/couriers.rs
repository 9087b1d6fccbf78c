//! Couriers: who answers what was handed in, and threads that help with it.
//!
//! A connection does not wait for its answers. It puts what it has to say into its bag, with what
//! it has handed in and what is not durable yet, and goes on receiving:
//!
//! ```text
//!                      not durable                       durable
//!   connection ── its bag ──▶ those who wait ── a group lands ──▶ the line ──▶ sent by the thread
//!              └── nothing in it waits ───────────────────────────┘  │        that serves
//!                                                                    └──────▶ and by couriers, as
//!                                                                             soon as several wait
//! ```
//!
//! To send costs more than to decide, and it is spent in the network, where threads do not stand in
//! each other's way. Whoever has time takes the next bag. If no courier gets a processor, the
//! thread that serves sends all of it by itself, and nobody has waited for anybody.
//!
//! Invariants:
//!
//! 1. A bag is with those who wait, or in the line, or with one who empties it, or at home: never
//!    two of them. So what a connection says keeps its order.
//! 2. A bag that cannot be emptied because the peer takes nothing goes home with the rest, and its
//!    owner is told: to wait for a peer, with a deadline, is the owner's affair.
//! 3. Where few have something to say that is ready, everybody sends by itself, and no thread is
//!    woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use baton::Baton;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::Instant;

use crate::shared::Shared;

mod bag;
#[cfg(test)]
mod tests;

pub(crate) use bag::{Bag, Packed};

/// Connections that must have said something in a turn before the others use bags, in it and in the
/// next one.
const MANY: usize = 8;
/// Bags in line before a courier is woken: to wake one costs as much as to empty one or two.
const WAKE_FROM: usize = 8;
/// Couriers, however many processors there are: the network has locks of its own.
const COURIERS_MAX: usize = 3;

/// The bags that are out, and those who empty them.
#[derive(Default)]
pub(crate) struct Couriers {
    out: Mutex<Out>,
    changed: Condvar,
    /// Connections that had something to say in this turn.
    said: AtomicUsize,
    /// There were many of them in the last one.
    was_many: AtomicBool,
    has_crew: AtomicBool,
    /// Somebody had something to say.
    turn: Notify,
    /// Something in a bag is not durable.
    handed_in: Notify,
}

#[derive(Default)]
struct Out {
    /// Bags that wait for a group.
    waiting: Vec<(u64, Arc<Bag>)>,
    line: VecDeque<Arc<Bag>>,
    /// Couriers that were not woken since they fell asleep.
    asleep: usize,
    is_over: bool,
}

/// The couriers at work. They go home when this is dropped.
pub(crate) struct Crew {
    couriers: Arc<Couriers>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.couriers.lock().is_over = true;
        self.couriers.changed.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
        // Bags of those who did not wait for them.
        let mut out = self.couriers.lock();
        let left = (std::mem::take(&mut out.waiting), std::mem::take(&mut out.line));
        drop(out);
        drop(left);
    }
}

impl Couriers {
    fn lock(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many couriers are worth it: one for each processor but the one that serves.
    pub(crate) fn wanted() -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        processors.saturating_sub(1).min(COURIERS_MAX)
    }

    /// Sends for couriers.
    pub(crate) fn hire(self: &Arc<Self>, count: usize) -> Crew {
        let threads = (0..count).filter_map(|_| {
            let couriers = Arc::clone(self);
            let thread = std::thread::Builder::new().name("baton-send".to_owned());
            // Without them everything is sent all the same.
            thread.spawn(move || couriers.work()).ok()
        });
        let threads: Vec<_> = threads.collect();
        self.has_crew.store(!threads.is_empty(), Ordering::Relaxed);
        Crew { couriers: Arc::clone(self), threads }
    }

    fn work(&self) {
        while let Some(bag) = self.next() {
            bag.carry();
        }
    }

    /// The next bag, waited for; none when it is over.
    fn next(&self) -> Option<Arc<Bag>> {
        let mut out = self.lock();
        loop {
            if let Some(bag) = out.line.pop_front() {
                return Some(bag);
            }
            if out.is_over {
                return None;
            }
            out.asleep += 1;
            out = self.changed.wait(out).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Somebody has something to say: whether others shall send it.
    fn says(&self) -> bool {
        let before = self.said.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            self.turn.notify_one();
        }
        let is_many = before >= MANY || self.was_many.load(Ordering::Relaxed);
        is_many && self.has_crew.load(Ordering::Relaxed)
    }

    /// A bag goes into the line, or waits for a group.
    fn take(&self, bag: Arc<Bag>, group: u64) {
        let mut out = self.lock();
        if group == 0 {
            out.line.push_back(bag);
            let is_first = out.line.len() == 1;
            self.wake(out);
            if is_first {
                self.turn.notify_one();
            }
            return;
        }
        out.waiting.push((group, bag));
        let is_first = out.waiting.len() == 1;
        drop(out);
        if is_first {
            self.handed_in.notify_one();
        }
    }

    /// Wakes a courier, if the line is long enough for that.
    fn wake(&self, mut out: MutexGuard<'_, Out>) {
        let wakes = out.line.len() >= WAKE_FROM && out.asleep > 0;
        if wakes {
            out.asleep -= 1;
        }
        drop(out);
        if wakes {
            self.changed.notify_one();
        }
    }

    /// Empties bags on the thread that serves; whether some have lined up again, that have to wait
    /// until others had their turn.
    fn help(&self) -> bool {
        let mut out = self.lock();
        let mut count = out.line.len();
        while let Some(bag) = out.line.pop_front_if(|_| count > 0) {
            drop(out);
            // Whoever lets go of a bag last may have to tell others, who line up.
            bag.carry();
            count -= 1;
            out = self.lock();
        }
        !out.line.is_empty()
    }

    /// Empties what is in the line at the end of every turn: to be run as a task of its own, so
    /// that those who were woken before it have said what they have to say.
    pub(crate) async fn attend(&self) {
        loop {
            self.turn.notified().await;
            let said = self.said.swap(0, Ordering::Relaxed);
            self.was_many.store(said >= MANY, Ordering::Relaxed);
            while self.help() {
                yield_now().await;
            }
        }
    }

    /// Sees to it that what was handed in becomes durable, and is answered then.
    pub(crate) async fn settle(&self, shared: &Shared) {
        loop {
            let last = self.lock().waiting.iter().map(|(group, _)| *group).max();
            let Some(last) = last else {
                self.handed_in.notified().await;
                continue;
            };
            let began = Instant::now();
            // What became of it is asked for each by itself: one group may be lost though a later
            // one is well.
            let _ = shared.baton.wait_durable(last).await;
            let took = began.elapsed();
            let slow = (took >= shared.settings.slow).then_some(took);
            self.release(&shared.baton, |bag| slow.iter().for_each(|took| bag.was_slow(*took)));
            if self.help() {
                self.turn.notify_one();
            }
        }
    }

    /// Whoever waits for nothing any more goes into the line.
    fn release(&self, baton: &Baton, seen: impl Fn(&Bag)) {
        let mut out = self.lock();
        let Out { waiting, line, .. } = &mut *out;
        waiting.retain_mut(|(group, bag)| {
            let is_settled = baton.group_status(*group).is_some();
            if is_settled {
                seen(bag);
                line.push_back(Arc::clone(bag));
            }
            !is_settled
        });
        self.wake(out);
    }
}

//! The groups that are durable, or lost with a reason; and the callers that wait for them.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::error::Error;

/// More waiters than this are woken by the first of them. Waking a task from a foreign thread
/// costs several times what it costs from a task of the same executor.
const DIRECT_WAKES_MAX: usize = 4;
/// Empty lists that are kept for reuse.
const SPARE_MAX: usize = 4;

#[derive(Default)]
struct Inner {
    upto: u64,
    lost: Vec<(RangeInclusive<u64>, Error)>,
    stopped: Option<Error>,
    closed: bool,
    /// By group, oldest first. There are hardly ever more than two: one in flight, one open.
    waiting: Vec<(u64, Vec<Waker>)>,
    /// Empty lists, to be reused.
    spare: Vec<Vec<Waker>>,
    deferred: Vec<Waker>,
}

/// How far groups are durable, and which were lost.
#[derive(Default)]
pub struct DurableWatermark {
    inner: Mutex<Inner>,
    // Copies for readers without the lock. `is_degraded` is set before `upto` passes a lost group.
    upto: AtomicU64,
    is_degraded: AtomicBool,
    any_deferred: AtomicBool,
}

impl DurableWatermark {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks everything up to this group as durable, unless it was lost before.
    pub fn advance(&self, group: u64) {
        let mut inner = self.lock();
        inner.upto = inner.upto.max(group);
        self.release(inner);
    }

    /// Marks these groups as lost.
    pub fn mark_lost(&self, groups: RangeInclusive<u64>, error: Error) {
        let mut inner = self.lock();
        self.is_degraded.store(true, Ordering::SeqCst);
        if let Error::Unknown { reason } = &error {
            inner.stopped = Some(Error::Stopped { reason: reason.clone() });
        } else if matches!(error, Error::Fenced | Error::WentBack { .. }) {
            inner.stopped = Some(error.clone());
        }
        inner.upto = inner.upto.max(*groups.end());
        // A disk that stays full loses group after group for the same reason: one range represents
        // them.
        match inner.lost.last_mut() {
            Some((before, reason)) if *reason == error && before.end() + 1 == *groups.start() => {
                *before = *before.start()..=*groups.end();
            }
            Some(_) | None => inner.lost.push((groups, error)),
        }
        self.release(inner);
    }

    /// Refuses further requests, for this reason.
    pub fn stop(&self, reason: &str) {
        let mut inner = self.lock();
        self.is_degraded.store(true, Ordering::SeqCst);
        inner.stopped.get_or_insert(Error::Stopped { reason: reason.to_owned() });
    }

    /// Closes it: no further group becomes durable.
    pub fn close(&self) {
        let mut inner = self.lock();
        self.is_degraded.store(true, Ordering::SeqCst);
        inner.stopped.get_or_insert(Error::Closed);
        inner.closed = true;
        self.release(inner);
    }

    /// Why no more requests are accepted, if so.
    pub fn stopped(&self) -> Option<Error> {
        if self.is_degraded.load(Ordering::SeqCst) { self.lock().stopped.clone() } else { None }
    }

    /// The outcome of a group: durable, and how far; or lost. None while it is unknown.
    pub fn group_status(&self, group: u64) -> Option<Result<u64, Error>> {
        if group == 0 {
            return Some(Ok(0));
        }
        let upto = self.upto.load(Ordering::SeqCst);
        if !self.is_degraded.load(Ordering::SeqCst) {
            return (group <= upto).then_some(Ok(upto));
        }
        self.lock().group_status(group)
    }

    /// The outcome of a group; while it is unknown, the waker is registered.
    pub fn group_status_or_wait(&self, group: u64, waker: &Waker) -> Option<Result<u64, Error>> {
        let mut inner = self.lock();
        let status = inner.group_status(group);
        if status.is_none() {
            inner.wait(group, waker.clone());
        }
        status
    }

    /// Whether wake-ups are still deferred.
    pub fn has_deferred_wakes(&self) -> bool {
        self.any_deferred.load(Ordering::SeqCst)
    }

    /// Sends the deferred wake-ups. Every caller that finds its group durable calls this.
    pub fn wake_deferred(&self) {
        // Every caller whose group is durable passes here, and almost none of them has anyone to
        // wake.
        if self.has_deferred_wakes() && self.any_deferred.swap(false, Ordering::SeqCst) {
            let deferred = std::mem::take(&mut self.lock().deferred);
            deferred.into_iter().for_each(Waker::wake);
        }
    }

    /// Wakes these, most of them through the first one.
    pub fn wake(&self, mut wakers: Vec<Waker>) {
        if wakers.len() > DIRECT_WAKES_MAX {
            let mut inner = self.lock();
            inner.deferred.extend(wakers.drain(DIRECT_WAKES_MAX..));
            self.any_deferred.store(true, Ordering::SeqCst);
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    fn release(&self, mut inner: MutexGuard<'_, Inner>) {
        let Inner { upto, closed, waiting, spare, deferred, .. } = &mut *inner;
        let ready = waiting.partition_point(|(group, _)| *closed || group <= upto);
        let mut first = Vec::new();
        for (_, mut wakers) in waiting.drain(..ready) {
            let direct_count = wakers.len().min(DIRECT_WAKES_MAX - first.len());
            first.extend(wakers.drain(..direct_count));
            deferred.append(&mut wakers);
            if spare.len() < SPARE_MAX {
                spare.push(wakers);
            }
        }
        self.any_deferred.store(!inner.deferred.is_empty(), Ordering::SeqCst);
        self.upto.store(inner.upto, Ordering::SeqCst);
        drop(inner);
        first.into_iter().for_each(Waker::wake);
    }
}

impl Inner {
    fn wait(&mut self, group: u64, waker: Waker) {
        let index = self.waiting.partition_point(|(before, _)| *before < group);
        if self.waiting.get(index).is_none_or(|(there, _)| *there != group) {
            self.waiting.insert(index, (group, self.spare.pop().unwrap_or_default()));
        }
        self.waiting[index].1.push(waker);
    }

    fn group_status(&self, group: u64) -> Option<Result<u64, Error>> {
        if let Some((_, error)) = self.lost.iter().find(|(groups, _)| groups.contains(&group)) {
            #[cfg(feature = "planted")]
            if baton_core::planted::is("settled.lost_counts") {
                return Some(Ok(self.upto));
            }
            return Some(Err(error.clone()));
        }
        if group <= self.upto {
            return Some(Ok(self.upto));
        }
        let reason = "the engine was closed first".to_owned();
        self.closed.then_some(Err(Error::Unknown { reason }))
    }
}

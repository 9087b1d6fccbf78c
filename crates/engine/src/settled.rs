//! Which groups are settled: durable, or lost with a reason. And who waits to know.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::error::Error;

/// More waiters than this are woken by the first of them. Waking a task from a foreign thread
/// costs several times what it costs from a task of the same executor.
const HERALD_FROM: usize = 8;

#[derive(Default)]
struct Inner {
    upto: u64,
    lost: Vec<(RangeInclusive<u64>, Error)>,
    stopped: Option<Error>,
    closed: bool,
    waiting: BTreeMap<u64, Vec<Waker>>,
    heralded: Vec<Waker>,
}

/// The fate of groups.
#[derive(Default)]
pub struct Settled(Mutex<Inner>);

impl Settled {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything up to this group is durable, unless it was lost before.
    pub fn reach(&self, group: u64) {
        let mut inner = self.lock();
        inner.upto = inner.upto.max(group);
        inner.release();
    }

    /// These groups are lost.
    pub fn lose(&self, groups: RangeInclusive<u64>, error: Error) {
        let mut inner = self.lock();
        if let Error::Unknown { reason } = &error {
            inner.stopped = Some(Error::Stopped { reason: reason.clone() });
        }
        inner.upto = inner.upto.max(*groups.end());
        inner.lost.push((groups, error));
        inner.release();
    }

    /// Nothing will be settled any more.
    pub fn close(&self) {
        let mut inner = self.lock();
        inner.stopped.get_or_insert(Error::Closed);
        inner.closed = true;
        inner.release();
    }

    /// Why nothing more is taken, if so.
    pub fn stopped(&self) -> Option<Error> {
        self.lock().stopped.clone()
    }

    /// The newest group that is settled, for opening what is held.
    pub fn upto(&self) -> u64 {
        self.lock().upto
    }

    /// What became of a group; none while that is open.
    pub fn fate(&self, group: u64) -> Option<Result<u64, Error>> {
        if group == 0 {
            return Some(Ok(0));
        }
        let inner = self.lock();
        inner.fate(group)
    }

    /// What became of a group, or the waker is kept until that is known.
    pub fn fate_or_wait(&self, group: u64, waker: &Waker) -> Option<Result<u64, Error>> {
        let mut inner = self.lock();
        let fate = inner.fate(group);
        if fate.is_none() {
            inner.waiting.entry(group).or_default().push(waker.clone());
        }
        fate
    }

    /// Wakes those that a herald was to wake. Whoever finds a group settled calls this.
    pub fn pass_on(&self) {
        let heralded = {
            let mut inner = self.lock();
            std::mem::take(&mut inner.heralded)
        };
        heralded.into_iter().for_each(Waker::wake);
    }

    /// Wakes one that waits for a later group, so that it sees to it.
    pub fn nudge(&self) {
        let next = self.lock().waiting.values_mut().find_map(Vec::pop);
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

impl Inner {
    fn fate(&self, group: u64) -> Option<Result<u64, Error>> {
        if let Some((_, error)) = self.lost.iter().find(|(groups, _)| groups.contains(&group)) {
            return Some(Err(error.clone()));
        }
        if group <= self.upto {
            return Some(Ok(self.upto));
        }
        let reason = "the engine was closed first".to_owned();
        self.closed.then_some(Err(Error::Unknown { reason }))
    }

    fn release(&mut self) {
        let later = if self.closed {
            BTreeMap::new()
        } else {
            self.waiting.split_off(&(self.upto + 1))
        };
        let mut ready = std::mem::replace(&mut self.waiting, later).into_values().flatten();
        let first: Vec<Waker> = ready.by_ref().take(HERALD_FROM).collect();
        self.heralded.extend(ready);
        first.into_iter().for_each(Waker::wake);
    }
}

//! Watches: every committed event that matches a pattern, in order, without gap or duplicate.
//!
//! ```text
//!   confirm ──▶ Watchers::deliver ──▶ queue of each watcher it concerns ──▶ Watch::next
//!                                          │ full
//!                                          └──▶ lagged: gets the revision to resume from
//! ```
//!
//! An event becomes one [`Notice`], shared by all its receivers; its JSON form is encoded once, at
//! the first use. Queues are bounded: a watcher that falls behind is removed from the list
//! immediately, keeps its queued events, and then gets the revision to resume from.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

pub use baton_core::Notice;
use baton_core::{Batch, Pattern, Revision};

use crate::waiter::{WaitResult, Waiter};

/// The public events of one batch.
pub struct Notices(Vec<Arc<Notice>>);

impl Notices {
    /// The public events of a batch.
    pub fn of(batch: &Arc<Batch>) -> Self {
        Self(Notice::all(batch))
    }

    /// The notices that pass a filter, in order.
    pub fn wanted<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = &'a Arc<Notice>> {
        self.0.iter().filter(|notice| filter.wants(notice))
    }
}

/// The filter of a watch.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The subjects.
    pub pattern: Pattern,
    /// Which types of event; all if empty.
    pub kinds: Vec<Pattern>,
    /// Whether events that are only about waiting calls are delivered without being named.
    pub waits: bool,
}

impl Filter {
    fn wants(&self, notice: &Notice) -> bool {
        let is_named = |kind: &Pattern| kind.as_str() == notice.kind();
        (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.matches(notice.kind())))
            && (self.waits || !notice.event().is_about_waiting() || self.kinds.iter().any(is_named))
            && notice.event().concerns(&self.pattern, notice.subject())
    }
}

/// The callers to wake or to answer once no lock is held.
#[derive(Default)]
pub struct Wakers {
    wakers: Vec<Waker>,
    /// Waiting calls that ended, and their results.
    pub(crate) waiters: Vec<(Arc<Waiter>, WaitResult)>,
}

impl Wakers {
    /// Answers the calls; returns the remaining wakers.
    pub fn answer(self) -> Vec<Waker> {
        self.waiters.into_iter().for_each(|(waiter, result)| waiter.complete(result));
        self.wakers
    }

    /// Wakes and answers them.
    pub fn wake(self) {
        self.answer().into_iter().for_each(Waker::wake);
    }
}

/// An item in the queue of a watcher.
pub enum Arrival {
    /// An event.
    Notice(Arc<Notice>),
    /// The queue overflowed, or the engine unloaded the workspace: resume from this revision.
    Ended(Ended),
}

/// How a watch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The first revision that was not delivered completely.
    pub resume_from: Revision,
    /// Whether it was because the watcher fell behind.
    pub lagged: bool,
}

/// The queue between the machine and one watcher.
pub struct Queue {
    filter: Filter,
    capacity: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    notices: VecDeque<Arc<Notice>>,
    ended: Option<Ended>,
    left: bool,
    waker: Option<Waker>,
}

impl Queue {
    /// An empty queue.
    pub fn new(filter: Filter, capacity: usize) -> Arc<Self> {
        Arc::new(Self { filter, capacity, inner: Mutex::default() })
    }

    /// The filter of the watch.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next arrival, or none yet.
    pub fn try_next(&self) -> Option<Arrival> {
        let mut inner = self.lock();
        match inner.notices.pop_front() {
            Some(notice) => Some(Arrival::Notice(notice)),
            None => inner.ended.map(Arrival::Ended),
        }
    }

    /// Whether the next notice belongs to the commit of this revision.
    pub fn begins_with(&self, revision: Revision) -> bool {
        let inner = self.lock();
        let next = inner.notices.front();
        next.is_some_and(|notice| notice.revision() == revision && !notice.is_live())
    }

    /// Waits for the next arrival.
    pub fn poll_next(&self, context: &Context<'_>) -> Poll<Arrival> {
        if let Some(arrival) = self.try_next() {
            return Poll::Ready(arrival);
        }
        let mut inner = self.lock();
        // An item may have arrived between the two checks.
        if !inner.notices.is_empty() || inner.ended.is_some() {
            context.waker().wake_by_ref();
        } else {
            inner.waker = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// The watcher is gone.
    pub fn leave(&self) {
        let mut inner = self.lock();
        inner.left = true;
        inner.notices.clear();
    }

    /// Whether the watcher accepts more.
    fn push(&self, notices: &Notices, wakers: &mut Wakers) -> bool {
        let mut inner = self.lock();
        if inner.left {
            return false;
        }
        let before = inner.notices.len();
        inner.notices.extend(notices.wanted(&self.filter).map(Arc::clone));
        if inner.notices.len() == before {
            return true;
        }
        wakers.wakers.extend(inner.waker.take());
        if inner.notices.len() <= self.capacity || before == 0 {
            return true;
        }
        // A commit is delivered completely or not at all, so that a watch can resume at any
        // revision.
        inner.notices.truncate(before);
        let resume_from = notices.0[0].resume_from();
        #[cfg(feature = "planted")]
        let resume_from = if baton_core::planted::is("watch.resume_one_late") {
            resume_from.next()
        } else {
            resume_from
        };
        inner.ended = Some(Ended { resume_from, lagged: true });
        false
    }

    fn end(&self, ended: Ended, wakers: &mut Wakers) {
        let mut inner = self.lock();
        inner.ended.get_or_insert(ended);
        wakers.wakers.extend(inner.waker.take());
    }
}

/// All watchers of one workspace.
#[derive(Default)]
pub struct Watchers(Vec<Arc<Queue>>);

impl Watchers {
    /// Whether there are no watchers. Queues whose watcher has gone count until the next event.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of watchers.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Drops watchers that have gone, and those whose watch was cancelled before it started.
    pub fn sweep(&mut self) {
        self.0.retain(|queue| Arc::strong_count(queue) > 1 && !queue.lock().left);
    }

    /// Adds a watcher, from the next commit on.
    pub fn add(&mut self, queue: Arc<Queue>) {
        self.0.push(queue);
    }

    /// Delivers a commit to every watcher whose filter matches.
    pub fn deliver(&mut self, notices: &Notices, wakers: &mut Wakers) {
        #[cfg(feature = "planted")]
        if baton_core::planted::is("watch.skip_some")
            && notices.0.first().is_some_and(|notice| notice.revision().0.is_multiple_of(17))
        {
            return;
        }
        self.0.retain(|queue| queue.push(notices, wakers));
    }

    /// Ends all watches with the revision to resume from.
    pub fn close(&mut self, resume_from: Revision, wakers: &mut Wakers) {
        for queue in self.0.drain(..) {
            queue.end(Ended { resume_from, lagged: false }, wakers);
        }
    }
}

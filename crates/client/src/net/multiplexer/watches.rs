//! Watches: the position of each, and the items that were not taken yet.
//!
//! ```text
//!            ┌────────── the connection broke, or the server ended it ──────────┐
//!            ▼                                                                  │
//!   begin ─▶ Due ──outgoing──▶ Asked ──answer──▶ Live ──▶ items ──▶ ready ──▶ watcher
//!            ▲                                    │
//!            └── the watcher caught up ── Full ◀──┘ too much is ready
//! ```
//!
//! 1. Each item is delivered once, in order: duplicates after a resume are recognised by their
//!    revision and index, and dropped.
//! 2. A watch resumes at the first revision that has not arrived completely. If the server starts
//!    later, events are lost, and the watch ends.
//! 3. Items for a number that is no longer in use are dropped, so that an old subscription is not
//!    confused with a new one.
//! 4. A slow watcher delays nothing else: its queue is bounded, and its subscription ends while the
//!    queue is full.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Poll, Waker};

use crate::{Caller, Item};
use baton_core::wire::{self, Problem};
use baton_core::{Kind, Revision};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::is_shutting_down;
use super::position::Position;
use crate::Error;
use crate::net::frames::{self, Pushed, ServerFrame};
use crate::net::options::Options;
use crate::net::random;

#[derive(Debug, PartialEq)]
enum WatchState {
    /// To be subscribed, but not before this time.
    Due(Option<Instant>),
    /// Subscribed under this number; the answer has not arrived.
    Asked(u64),
    /// Items arrive under this number.
    Live(u64),
    /// Unsubscribed until the queue is empty.
    Full,
    /// Ended; the error was not delivered yet.
    Ended(Error),
    /// Ended.
    Reported,
}

struct Watched {
    caller: Caller,
    request: wire::Watch,
    position: Position,
    state: WatchState,
    ready: VecDeque<(Item, usize)>,
    ready_bytes: usize,
    /// How often the server ended it since the last item.
    failures: u32,
    begin: Option<oneshot::Sender<Result<(), Error>>>,
    waker: Option<Waker>,
}

impl Watched {
    fn end(&mut self, error: Error) -> Option<Waker> {
        self.state = WatchState::Ended(error);
        self.waker.take()
    }

    /// A single item always fits, whatever its size.
    fn is_full(&self, options: &Options) -> bool {
        !self.ready.is_empty()
            && (self.ready.len() >= options.watch_queue_max
                || self.ready_bytes >= options.watch_queue_bytes_max)
    }

    fn has_caught_up(&self, options: &Options) -> bool {
        self.ready.len() <= options.watch_queue_max / 2
            && self.ready_bytes <= options.watch_queue_bytes_max / 2
    }
}

/// Every watch of a client, by its own number; the numbers on the wire change with every
/// subscription.
#[derive(Default)]
pub(super) struct Watches {
    watched: BTreeMap<u64, Watched>,
    subscriptions: BTreeMap<u64, u64>,
    /// Subscriptions to end.
    unwanted: Vec<u64>,
    /// A subscription has to start or end.
    has_work: bool,
}

impl Watches {
    /// Adds a watch.
    pub(super) fn add(
        &mut self,
        number: u64,
        caller: Caller,
        request: wire::Watch,
        options: &Options,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        if self.watched.len() >= options.watches_max {
            return Err(Error::Crowded { what: "watches", max: options.watches_max });
        }
        let (begin, begun) = oneshot::channel();
        let watched = Watched {
            caller,
            position: Position::of(&request),
            request,
            state: WatchState::Due(None),
            ready: VecDeque::new(),
            ready_bytes: 0,
            failures: 0,
            begin: Some(begin),
            waker: None,
        };
        self.watched.insert(number, watched);
        Ok(begun)
    }

    /// Whether there may be something to send.
    pub(super) fn has_work(&self) -> bool {
        self.has_work
    }

    /// Removes a watch.
    pub(super) fn remove(&mut self, number: u64) {
        let Some(watched) = self.watched.remove(&number) else { return };
        if let WatchState::Asked(id) | WatchState::Live(id) = watched.state {
            self.unsubscribe(id);
        }
    }

    fn unsubscribe(&mut self, id: u64) {
        self.subscriptions.remove(&id);
        self.unwanted.push(id);
        self.has_work = true;
    }

    /// The frames to send now, and when the next ones become due.
    pub(super) fn outgoing(
        &mut self,
        now: Instant,
        mut next_id: impl FnMut() -> u64,
        out: &mut Vec<Utf8Bytes>,
    ) -> Option<Instant> {
        self.has_work = false;
        for id in self.unwanted.drain(..) {
            out.push(frames::unwatch(next_id(), id).into());
        }
        let mut soonest: Option<Instant> = None;
        for (number, watched) in &mut self.watched {
            let WatchState::Due(moment) = watched.state else { continue };
            if let Some(moment) = moment.filter(|moment| *moment > now) {
                soonest = Some(soonest.map_or(moment, |soonest| soonest.min(moment)));
                continue;
            }
            let id = next_id();
            let request = watched.position.request(&watched.request);
            out.push(frames::watch(id, &watched.caller, &request).into());
            watched.state = WatchState::Asked(id);
            self.subscriptions.insert(id, *number);
        }
        soonest
    }

    fn find(&mut self, id: u64) -> Option<&mut Watched> {
        self.watched.get_mut(self.subscriptions.get(&id)?)
    }

    /// Whether a number belongs to a subscription.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.subscriptions.contains_key(&id)
    }

    /// The server's answer to a subscription.
    pub(super) fn answered(
        &mut self,
        id: u64,
        heard: &ServerFrame<'_>,
        options: &Options,
        now: Instant,
    ) -> Option<Waker> {
        let watched = self.find(id)?;
        let begun = match heard.problem() {
            Ok(Some(problem)) => return self.ended(id, problem, options, now),
            Ok(None) => heard.begun(),
            Err(what) => Err(what),
        };
        match begun.and_then(|from| watched.position.begin(from)) {
            Ok(()) => {
                watched.state = WatchState::Live(id);
                if let Some(begin) = watched.begin.take() {
                    // If the receiver is gone, the watch was cancelled.
                    let _ = begin.send(Ok(()));
                }
                None
            }
            Err(what) => self.fail(id, Error::Protocol { what }),
        }
    }

    /// The server refused a subscription for a reason that may pass: it is due again over the next
    /// connection. Returns how many have refused it.
    pub(super) fn refused(&mut self, id: u64) -> u32 {
        let Some(watched) = self.find(id) else { return 0 };
        watched.failures = watched.failures.saturating_add(1);
        watched.failures
    }

    /// Ends a watch with an error, or fails the call that starts it.
    fn fail(&mut self, id: u64, error: Error) -> Option<Waker> {
        let number = self.subscriptions.get(&id).copied()?;
        self.unsubscribe(id);
        let watched = self.watched.get_mut(&number)?;
        match watched.begin.take() {
            Some(begin) => {
                let _ = begin.send(Err(error));
                self.watched.remove(&number);
                None
            }
            None => watched.end(error),
        }
    }

    /// The server ended a subscription, or refused it.
    fn ended(
        &mut self,
        id: u64,
        problem: Problem,
        options: &Options,
        now: Instant,
    ) -> Option<Waker> {
        let watched = self.find(id)?;
        let resume_from = problem.fact("resume_from").and_then(|fact| fact.to().ok());
        let may_pass = matches!(problem.kind, Kind::Unavailable | Kind::Exhausted);
        let is_wanted = options.resume_watches && watched.begin.is_none();
        let is_resumed = is_wanted && (resume_from.is_some() || may_pass);
        // A server that is shutting down is treated as a lost connection.
        if !is_resumed && !is_shutting_down(&problem.code) {
            let waker = self.fail(id, Error::Refused(Box::new(problem)));
            // The server has ended it already.
            self.unwanted.retain(|unwanted| *unwanted != id);
            return waker;
        }
        if let Some(resume_from) = resume_from {
            watched.position.skip_to(resume_from);
        }
        // Resumes at once the first time, and with a backoff if the server keeps ending it.
        let failures = watched.failures;
        let wait = || now + options.backoff(failures - 1, random::fraction());
        let wait = (failures > 0).then(wait);
        watched.failures = failures.saturating_add(1);
        watched.state =
            if watched.has_caught_up(options) { WatchState::Due(wait) } else { WatchState::Full };
        self.subscriptions.remove(&id);
        self.has_work = true;
        None
    }

    /// Handles an item of a subscription.
    pub(super) fn pushed(
        &mut self,
        id: u64,
        heard: &ServerFrame<'_>,
        bytes: usize,
        options: &Options,
        now: Instant,
    ) -> Option<Waker> {
        let watched = self.find(id)?;
        let (item, last) = match heard.pushed() {
            Ok(Pushed::Item { item, last }) => (item, last),
            Ok(Pushed::Ended(problem)) => return self.ended(id, problem, options, now),
            Err(what) => return self.fail(id, Error::Protocol { what }),
        };
        if watched.is_full(options) {
            watched.state = WatchState::Full;
            self.unsubscribe(id);
            return None;
        }
        watched.failures = 0;
        if !watched.position.advance(&item, last) {
            return None;
        }
        watched.ready.push_back((item, bytes));
        watched.ready_bytes += bytes;
        watched.waker.take()
    }

    /// The connection is lost, with all subscriptions.
    pub(super) fn broken(&mut self) {
        self.subscriptions.clear();
        self.unwanted.clear();
        for watched in self.watched.values_mut() {
            if matches!(watched.state, WatchState::Asked(_) | WatchState::Live(_)) {
                watched.state = WatchState::Due(None);
            }
        }
    }

    /// Whether a watch is to be subscribed.
    pub(super) fn has_due(&self) -> bool {
        self.watched.values().any(|watched| matches!(watched.state, WatchState::Due(_)))
    }

    /// Ends all watches with an error.
    pub(super) fn end_all(&mut self, error: &Error) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for watched in self.watched.values_mut() {
            match watched.begin.take() {
                Some(begin) => {
                    watched.state = WatchState::Reported;
                    let _ = begin.send(Err(error.clone()));
                }
                None if matches!(watched.state, WatchState::Ended(_) | WatchState::Reported) => {}
                None => wakers.extend(watched.end(error.clone())),
            }
        }
        wakers
    }

    /// The next item of a watch, and whether it has to be subscribed again.
    pub(super) fn poll(
        &mut self,
        number: u64,
        waker: &Waker,
        options: &Options,
    ) -> (Poll<Option<Result<Item, Error>>>, bool) {
        let watched = self.watched.get_mut(&number).expect("a watcher's watch is kept");
        if let Some((item, bytes)) = watched.ready.pop_front() {
            watched.ready_bytes -= bytes;
            let is_due = watched.state == WatchState::Full && watched.has_caught_up(options);
            if is_due {
                watched.state = WatchState::Due(None);
            }
            return (Poll::Ready(Some(Ok(item))), is_due);
        }
        let poll = match std::mem::replace(&mut watched.state, WatchState::Reported) {
            WatchState::Ended(error) => Poll::Ready(Some(Err(error))),
            WatchState::Reported => Poll::Ready(None),
            state @ (WatchState::Due(_)
            | WatchState::Asked(_)
            | WatchState::Live(_)
            | WatchState::Full) => {
                watched.state = state;
                watched.waker = Some(waker.clone());
                Poll::Pending
            }
        };
        (poll, false)
    }

    /// Where to resume a watch if it ends now.
    pub(super) fn resume_from(&self, number: u64) -> Revision {
        let watched = self.watched.get(&number).expect("a watcher's watch is kept");
        match watched.ready.front() {
            Some((Item::Event(notice), _)) => notice.resume_from(),
            Some((Item::Snapshot { revision, .. }, _)) => *revision,
            None => watched.position.next(),
        }
    }
}

//! The multiplexer: many calls and watches over one connection.
//!
//! ```text
//!   call ───▶ add ──▶ ┌────────────┐ ──outgoing──▶ connection ──▶ server
//!   answer ◀───────── │ registries │ ◀──received── connection ◀──
//!                     └────────────┘ ◀──broken──── connection
//! ```
//!
//! 1. Every call ends: with an answer, when its time is over, or when the servers refuse the
//!    client. The error that is then reported is chosen under the lock that also knows whether it
//!    was sent.
//! 2. A call that is cancelled, or whose future is dropped, leaves nothing behind.
//! 3. The lock is never held while waiting, and no task is woken under it.
//!
//! The multiplexer does no I/O and knows no socket, so its tests need none.

mod position;
mod requests;
#[cfg(test)]
mod tests;
mod watches;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::{Caller, Item};
use baton_core::wire::{self, Problem};
use baton_core::{Answer, Mutation, Revision};
use requests::{Fate, Requests, Unwanted};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use watches::Watches;

pub(crate) use requests::Effect;

use crate::Error;
use crate::net::frames::{self, EncodedRequest, ServerFrame};
use crate::net::options::Options;

/// Whether this code means that the server is shutting down. It then refuses every call, including
/// those that waited. Nothing was done.
pub(crate) fn is_shutting_down(code: &str) -> bool {
    matches!(code, "server.closing" | "engine.closed")
}

/// The refusals that another server of several, or a later moment, may lift: the server has lost
/// the workspace or its log. True if the request may have been executed nevertheless.
const PASSING: [(&str, bool); 8] = [
    ("cluster.elsewhere", false),
    ("cluster.no_owner", false),
    ("cluster.owner_lost", true),
    ("cluster.owner_unreachable", false),
    ("engine.stopped", false),
    ("engine.unknown_outcome", true),
    ("log.away", false),
    ("log.fenced", false),
];

/// The state of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkState {
    /// Frames can be sent.
    Open,
    /// The server is shutting down and accepts no new calls.
    Leaving,
    /// There is no connection, or it is about to be closed, and the reason.
    Down(String),
}

struct Registries {
    link: LinkState,
    is_closing: bool,
    /// All handles were dropped.
    is_abandoned: bool,
    /// The connection will not come back.
    is_over: bool,
    /// How many servers in a row have refused the same call, if the connection is about to be
    /// closed for that.
    refusals: u32,
    requests: Requests,
    watches: Watches,
}

/// The registries of a client.
pub(crate) struct Multiplexer {
    url: String,
    /// The client can use several servers.
    has_others: bool,
    options: Options,
    ids: AtomicU64,
    registries: Mutex<Registries>,
    /// There may be something to send.
    work: Notify,
    /// The connection may have to end.
    leave: Notify,
}

impl Multiplexer {
    /// A multiplexer without calls, connected.
    pub(crate) fn new(url: String, has_others: bool, options: Options) -> Self {
        let registries = Registries {
            link: LinkState::Open,
            is_closing: false,
            is_abandoned: false,
            is_over: false,
            refusals: 0,
            requests: Requests::default(),
            watches: Watches::default(),
        };
        Self {
            url,
            has_others,
            options,
            ids: AtomicU64::new(1),
            registries: Mutex::new(registries),
            work: Notify::new(),
            leave: Notify::new(),
        }
    }

    fn registries(&self) -> MutexGuard<'_, Registries> {
        self.registries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings.
    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// A new request number.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a request and awaits its answer.
    pub(crate) async fn call(
        &self,
        id: u64,
        encoded: EncodedRequest,
        effect: Effect,
    ) -> Result<Answer, Error> {
        let wait_ms = encoded.awaits.as_ref().map_or(0, |awaits| awaits.wait_ms);
        let time = self.options.request_timeout + Duration::from_millis(wait_ms);
        let receiver = {
            let mut registries = self.registries();
            registries.check_open()?;
            registries.requests.add(id, encoded, effect, &self.options)?
        };
        self.work.notify_one();
        let mut guard = CancelGuard { multiplexer: self, number: id, cancel: Some(Self::forget) };
        let outcome = self.within_time(receiver, time, || self.withdraw(id)).await;
        guard.cancel = None;
        outcome
    }

    /// Starts a watch. If this succeeds, it must be [left](Self::leave_watch) in the end.
    pub(crate) async fn watch(&self, caller: &Caller, request: wire::Watch) -> Result<u64, Error> {
        let number = self.next_id();
        let begun = {
            let mut registries = self.registries();
            registries.check_open()?;
            registries.watches.add(number, caller.clone(), request, &self.options)?
        };
        self.work.notify_one();
        let mut guard = CancelGuard { multiplexer: self, number, cancel: Some(Self::leave_watch) };
        self.within_time(begun, self.options.request_timeout, || None).await?;
        guard.cancel = None;
        Ok(number)
    }

    /// Awaits an answer until the time limit.
    async fn within_time<T>(
        &self,
        mut receiver: oneshot::Receiver<Result<T, Error>>,
        time: Duration,
        give_up: impl FnOnce() -> Option<Fate>,
    ) -> Result<T, Error> {
        match timeout(time, &mut receiver).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => {
                let fate = give_up();
                // An answer that arrived at the last moment counts.
                receiver.try_recv().unwrap_or_else(|_| Err(self.too_late(fate, time)))
            }
        }
    }

    fn too_late(&self, fate: Option<Fate>, after: Duration) -> Error {
        match (fate, &self.registries().link) {
            (Some(Fate::Refused(error)), _) => error,
            (Some(Fate::Unknown), _) => {
                let reason = format!("no response within {} ms", after.as_millis());
                Error::Unknown { reason }
            }
            (_, LinkState::Down(reason)) => {
                Error::Unreachable { url: self.url.clone(), reason: reason.clone() }
            }
            (_, LinkState::Open | LinkState::Leaving) => Error::Timeout { after },
        }
    }

    fn withdraw(&self, id: u64) -> Option<Fate> {
        let fate = self.registries().requests.withdraw(id);
        self.leave.notify_one();
        fate
    }

    fn forget(&self, id: u64) {
        self.withdraw(id);
    }

    /// The next item of a watch.
    pub(crate) fn poll_watch(
        &self,
        number: u64,
        waker: &Waker,
    ) -> Poll<Option<Result<Item, Error>>> {
        let (poll, is_due) = self.registries().watches.poll(number, waker, &self.options);
        if is_due {
            self.work.notify_one();
        }
        poll
    }

    /// Where to resume a watch if it ends now.
    pub(crate) fn resume_from(&self, number: u64) -> Revision {
        self.registries().watches.resume_from(number)
    }

    /// Ends a watch.
    pub(crate) fn leave_watch(&self, number: u64) {
        self.registries().watches.remove(number);
        self.work.notify_one();
    }

    /// Accepts no new calls. Calls that are under way continue.
    pub(crate) fn close(&self) {
        self.registries().is_closing = true;
        self.leave.notify_one();
    }

    /// All handles were dropped.
    pub(crate) fn abandon(&self) {
        self.registries().is_abandoned = true;
        self.leave.notify_one();
    }

    /// Ready when the multiplexer is closed and all calls have ended.
    pub(crate) async fn finished(&self) {
        loop {
            {
                let registries = self.registries();
                if registries.is_abandoned
                    || (registries.is_closing && registries.requests.is_idle())
                {
                    return;
                }
            }
            self.leave.notified().await;
        }
    }

    /// The connection will not come back.
    pub(crate) fn over(&self) {
        let wakers = {
            let mut registries = self.registries();
            registries.is_over = true;
            registries.watches.end_all(&Error::Closed)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// There is a connection.
    pub(crate) fn connected(&self) {
        self.registries().link = LinkState::Open;
        self.work.notify_one();
    }

    /// The connection is lost, or could not be made.
    pub(crate) fn broken(&self, reason: &str) {
        let mut registries = self.registries();
        registries.link = LinkState::Down(reason.to_owned());
        registries.refusals = 0;
        registries.requests.broken(reason);
        registries.watches.broken();
        drop(registries);
        self.leave.notify_one();
    }

    /// The servers refuse this client, which no repetition changes: what waits for the connection
    /// ends with the error.
    pub(crate) fn denied(&self, error: &Error) {
        let wakers = {
            let mut registries = self.registries();
            registries.link = LinkState::Down(error.to_string());
            registries.requests.denied(error);
            registries.watches.end_all(error)
        };
        wakers.into_iter().for_each(Waker::wake);
        self.leave.notify_one();
    }

    /// Ready when something waits for a connection.
    pub(crate) async fn wanted(&self) {
        loop {
            {
                let registries = self.registries();
                if registries.requests.has_unsent() || registries.watches.has_due() {
                    return;
                }
            }
            self.work.notified().await;
        }
    }

    /// The frames to send now, and when the next ones become due.
    pub(crate) fn outgoing(&self, out: &mut Vec<Utf8Bytes>) -> Option<Instant> {
        let mut registries = self.registries();
        if registries.link != LinkState::Open {
            return None;
        }
        registries.requests.outgoing(self.options.in_flight_max, out);
        registries.watches.outgoing(Instant::now(), || self.next_id(), out)
    }

    /// Ready when there may be something to send.
    pub(crate) fn work(&self) -> impl Future<Output = ()> {
        self.work.notified()
    }

    /// How many servers in a row have refused a call for a reason that may pass.
    pub(crate) fn refusals(&self) -> u32 {
        self.registries().refusals
    }

    /// Handles a frame from the server. After an error, which is the reason, the connection has to
    /// be closed.
    pub(crate) fn received(&self, text: &str) -> Result<(), String> {
        self.handle(text).map_err(|what| match what {
            Unusable::Frame(what) => {
                format!("the server sent what cannot be understood: {what}")
            }
            Unusable::Server(detail) => {
                format!("the server cannot serve the workspace: {detail}")
            }
        })
    }

    fn handle(&self, text: &str) -> Result<(), Unusable> {
        let heard = ServerFrame::parse(text)?;
        let problem = heard.problem().unwrap_or_default();
        let is_shutting_down = problem.as_ref().is_some_and(|it| is_shutting_down(&it.code));
        let (mut registries, now) = (self.registries(), Instant::now());
        if is_shutting_down {
            registries.link = LinkState::Leaving;
        }
        if let (Some(id), None, Some(problem)) = (heard.id, heard.watch, problem)
            && self.has_others
            && registries.passes_on(id, &problem)
        {
            return Err(Unusable::Server(problem.detail));
        }
        let waker = match (heard.id, heard.watch) {
            (_, Some(id)) => registries.watches.pushed(id, &heard, text.len(), &self.options, now),
            (Some(id), None) if registries.watches.knows(id) => {
                registries.watches.answered(id, &heard, &self.options, now)
            }
            (Some(id), None) => {
                if is_shutting_down {
                    registries.requests.postponed(id);
                } else {
                    for unwanted in registries.requests.answered(id, &heard) {
                        self.release_grant(&mut registries, &unwanted);
                    }
                }
                None
            }
            (None, None) => {
                return Err(Unusable::Frame(match heard.problem()? {
                    Some(problem) => format!("the server objects: {}", problem.detail),
                    None => "a frame belongs to no request".to_owned(),
                }));
            }
        };
        let has_work = registries.requests.has_unsent() || registries.watches.has_work();
        let is_idle = registries.is_closing && registries.requests.is_idle();
        drop(registries);
        waker.into_iter().for_each(Waker::wake);
        if has_work {
            self.work.notify_one();
        }
        if is_idle {
            self.leave.notify_one();
        }
        Ok(())
    }
}

/// Why a connection cannot be used any longer.
enum Unusable {
    /// The server sent a frame that cannot be understood.
    Frame(String),
    /// The server has refused what another one may serve.
    Server(String),
}

impl From<String> for Unusable {
    fn from(what: String) -> Self {
        Self::Frame(what)
    }
}

impl Multiplexer {
    /// Releases what was granted too late. No caller waits for the answer.
    fn release_grant(&self, registries: &mut Registries, (caller, command): &Unwanted) {
        let (id, mutation) = (self.next_id(), Mutation::Command(command.clone()));
        let encoded = frames::mutation(id, caller, None, &mutation);
        // If the queue is full, the grant expires.
        let _ = registries.requests.add(id, encoded, Effect::Changes, &self.options);
    }
}

impl Registries {
    fn check_open(&self) -> Result<(), Error> {
        let is_open = !self.is_closing && !self.is_over;
        if is_open { Ok(()) } else { Err(Error::Closed) }
    }

    /// Whether the request with this number was refused for a reason that may pass. It is then left
    /// to the next server, with everything else that is in flight, so all of that must be
    /// repeatable.
    fn passes_on(&mut self, id: u64, problem: &Problem) -> bool {
        let passing = PASSING.iter().find(|(code, _)| problem.code == *code);
        let Some((_, may_be_done)) = passing else { return false };
        if self.is_closing || !self.requests.can_be_repeated() {
            return false;
        }
        let refusals = if self.watches.knows(id) {
            self.watches.refused(id)
        } else {
            self.requests.refused(id, problem, *may_be_done)
        };
        self.refusals = refusals;
        if refusals > 0 {
            self.link = LinkState::Down(problem.detail.clone());
        }
        refusals > 0
    }
}

/// Cancels a call if its future is dropped before it ends.
struct CancelGuard<'a> {
    multiplexer: &'a Multiplexer,
    number: u64,
    cancel: Option<fn(&Multiplexer, u64)>,
}

impl Drop for CancelGuard<'_> {
    fn drop(&mut self) {
        if let Some(cancel) = self.cancel {
            cancel(self.multiplexer, self.number);
        }
    }
}

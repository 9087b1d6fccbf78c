//! The multiplexer: many calls and watches over one connection.
//!
//! ```text
//!   call ───▶ add ──▶ ┌────────────┐ ──outgoing──▶ connection ──▶ server
//!   answer ◀───────── │ registries │ ◀──received── connection ◀──
//!                     └────────────┘ ◀──broken──── connection
//! ```
//!
//! 1. Every call ends: with an answer, or when its time is over. What is then reported about it is
//!    decided under the lock that also knows whether it was sent.
//! 2. A call that is given up, or whose future is dropped, leaves nothing behind.
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

use baton_core::{Answer, Mutation, Revision, wire};
use baton_handle::{Caller, Item};
use requests::{Fate, Requests, Unwanted};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use watches::Watches;

pub(crate) use requests::Effect;

use crate::error::Error;
use crate::frames::{self, EncodedRequest, ServerFrame};
use crate::options::Options;

/// Whether the server refuses with this code because it is going away, as it does with everything
/// then, also with calls that had waited. Nothing was done.
pub(crate) fn is_shutting_down(code: &str) -> bool {
    matches!(code, "server.closing" | "engine.closed")
}

/// What the connection to the server is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LinkState {
    /// Frames can be sent.
    Open,
    /// The server takes nothing new, because it is going away.
    Leaving,
    /// There is none, and why.
    Down(String),
}

struct Registries {
    link: LinkState,
    is_closing: bool,
    /// Nobody is left who could call.
    is_abandoned: bool,
    /// The connection will not come back.
    is_over: bool,
    requests: Requests,
    watches: Watches,
}

/// The registries of a client.
pub(crate) struct Multiplexer {
    url: String,
    options: Options,
    ids: AtomicU64,
    registries: Mutex<Registries>,
    /// There may be something to send.
    work: Notify,
    /// It may be time to go.
    leave: Notify,
}

impl Multiplexer {
    /// An empty multiplexer with an open line.
    pub(crate) fn new(url: String, options: Options) -> Self {
        let registries = Registries {
            link: LinkState::Open,
            is_closing: false,
            is_abandoned: false,
            is_over: false,
            requests: Requests::default(),
            watches: Watches::default(),
        };
        Self {
            url,
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

    /// A number that no request of this client had.
    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Has a request sent and awaits its answer.
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

    /// Has a watch begun. It must be [left](Self::leave_watch) in the end if this succeeds.
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

    /// Awaits what will be told, but not for ever.
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
                // What was told at the last moment counts.
                receiver.try_recv().unwrap_or_else(|_| Err(self.too_late(fate, time)))
            }
        }
    }

    fn too_late(&self, fate: Option<Fate>, after: Duration) -> Error {
        match (fate, &self.registries().link) {
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

    /// From where a watcher that goes now would have to resume.
    pub(crate) fn resume_from(&self, number: u64) -> Revision {
        self.registries().watches.resume_from(number)
    }

    /// The watcher is gone.
    pub(crate) fn leave_watch(&self, number: u64) {
        self.registries().watches.remove(number);
        self.work.notify_one();
    }

    /// Takes nothing new. What was begun goes on.
    pub(crate) fn close(&self) {
        self.registries().is_closing = true;
        self.leave.notify_one();
    }

    /// Nobody is left who could call.
    pub(crate) fn abandon(&self) {
        self.registries().is_abandoned = true;
        self.leave.notify_one();
    }

    /// Ready when the multiplexer is closed and everything that was begun has ended.
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
            registries.watches.close()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// There is a connection.
    pub(crate) fn connected(&self) {
        self.registries().link = LinkState::Open;
        self.work.notify_one();
    }

    /// There is no line, or no longer.
    pub(crate) fn broken(&self, reason: &str) {
        let mut registries = self.registries();
        registries.link = LinkState::Down(reason.to_owned());
        registries.requests.broken(reason);
        registries.watches.broken();
        drop(registries);
        self.leave.notify_one();
    }

    /// What may be sent now, and when there will be more without anyone's doing.
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

    /// Takes in what the server said. An error means that the connection is of no use any more.
    pub(crate) fn received(&self, text: &str) -> Result<(), String> {
        let heard = ServerFrame::parse(text)?;
        let is_shutting_down =
            matches!(heard.problem(), Ok(Some(it)) if is_shutting_down(&it.code));
        let (mut registries, now) = (self.registries(), Instant::now());
        if is_shutting_down {
            registries.link = LinkState::Leaving;
        }
        let waker = match (heard.id, heard.watch) {
            (_, Some(id)) => registries.watches.pushed(id, &heard, text.len(), &self.options, now),
            (Some(id), None) if registries.watches.knows(id) => {
                registries.watches.answered(id, &heard, &self.options, now)
            }
            (Some(id), None) => {
                if is_shutting_down {
                    registries.requests.postponed(id);
                } else if let Some(unwanted) = registries.requests.answered(id, &heard) {
                    self.release_grant(&mut registries, &unwanted);
                }
                None
            }
            (None, None) => {
                return Err(match heard.problem()? {
                    Some(problem) => format!("the server objects: {}", problem.detail),
                    None => "a frame is for nobody".to_owned(),
                });
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

impl Multiplexer {
    /// Has something sent that nobody waits for: what was granted too late is let go.
    fn release_grant(&self, registries: &mut Registries, (caller, command): &Unwanted) {
        let (id, mutation) = (self.next_id(), Mutation::Command(command.clone()));
        let encoded = frames::mutation(id, caller, None, &mutation);
        // If there is no room for it, it goes by itself when its time is over.
        let _ = registries.requests.add(id, encoded, Effect::Changes, &self.options);
    }
}

impl Registries {
    fn check_open(&self) -> Result<(), Error> {
        let is_open = !self.is_closing && !self.is_over;
        if is_open { Ok(()) } else { Err(Error::Closed) }
    }
}

/// Takes back what was begun, if the future that holds it is dropped before it ends.
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

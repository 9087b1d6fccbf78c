//! The desk: the books of a client, between those who call and the line to the server.
//!
//! ```text
//!   call ──▶ add ──▶ ┌───────┐ ──outgoing──▶ line ──▶ server
//!   told ◀────────── │ books │ ◀──received── line ◀──
//!                    └───────┘ ◀──broken──── line
//! ```
//!
//! 1. Every call ends: with an answer, or when its time is over. What is then said about it is
//!    decided under the lock that also knows whether it was sent.
//! 2. A call that is given up, or whose future is dropped, leaves nothing behind.
//! 3. The lock is never held while waiting, and nobody is woken under it.
//!
//! The desk does no I/O and knows no socket, so its tests need none.

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
use crate::frames::{self, Heard, Said};
use crate::options::Options;

/// Whether the server refuses with this code because it is going away, as it does with everything
/// then, also with calls that had waited. Nothing was done.
pub(crate) fn is_leaving(code: &str) -> bool {
    matches!(code, "server.closing" | "engine.closed")
}

/// What the line to the server is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// Frames can be sent.
    Open,
    /// The server takes nothing new, because it is going away.
    Leaving,
    /// There is none, and why.
    Down(String),
}

struct Books {
    line: Line,
    is_closing: bool,
    /// Nobody is left who could call.
    is_abandoned: bool,
    /// The line will not come back.
    is_over: bool,
    requests: Requests,
    watches: Watches,
}

/// The books of a client.
pub(crate) struct Desk {
    url: String,
    options: Options,
    ids: AtomicU64,
    books: Mutex<Books>,
    /// There may be something to send.
    work: Notify,
    /// It may be time to go.
    leave: Notify,
}

impl Desk {
    /// An empty desk with an open line.
    pub(crate) fn new(url: String, options: Options) -> Self {
        let books = Books {
            line: Line::Open,
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
            books: Mutex::new(books),
            work: Notify::new(),
            leave: Notify::new(),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(crate) async fn call(&self, id: u64, said: Said, effect: Effect) -> Result<Answer, Error> {
        let wait_ms = said.awaits.as_ref().map_or(0, |awaits| awaits.wait_ms);
        let time = self.options.request_timeout + Duration::from_millis(wait_ms);
        let told = {
            let mut books = self.books();
            books.check_open()?;
            books.requests.add(id, said, effect, &self.options)?
        };
        self.work.notify_one();
        let mut take_back = TakeBack { desk: self, number: id, how: Some(Self::forget) };
        let outcome = self.within_time(told, time, || self.withdraw(id)).await;
        take_back.how = None;
        outcome
    }

    /// Has a watch begun. It must be [left](Self::leave_watch) in the end if this succeeds.
    pub(crate) async fn watch(&self, caller: &Caller, request: wire::Watch) -> Result<u64, Error> {
        let number = self.next_id();
        let begun = {
            let mut books = self.books();
            books.check_open()?;
            books.watches.add(number, caller.clone(), request, &self.options)?
        };
        self.work.notify_one();
        let mut take_back = TakeBack { desk: self, number, how: Some(Self::leave_watch) };
        self.within_time(begun, self.options.request_timeout, || None).await?;
        take_back.how = None;
        Ok(number)
    }

    /// Awaits what will be told, but not for ever.
    async fn within_time<T>(
        &self,
        mut told: oneshot::Receiver<Result<T, Error>>,
        time: Duration,
        give_up: impl FnOnce() -> Option<Fate>,
    ) -> Result<T, Error> {
        match timeout(time, &mut told).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(Error::Closed),
            Err(_) => {
                let fate = give_up();
                // What was told at the last moment counts.
                told.try_recv().unwrap_or_else(|_| Err(self.too_late(fate, time)))
            }
        }
    }

    fn too_late(&self, fate: Option<Fate>, after: Duration) -> Error {
        match (fate, &self.books().line) {
            (Some(Fate::Unknown), _) => {
                let reason = format!("no response within {} ms", after.as_millis());
                Error::Unknown { reason }
            }
            (_, Line::Down(reason)) => {
                Error::Unreachable { url: self.url.clone(), reason: reason.clone() }
            }
            (_, Line::Open | Line::Leaving) => Error::Timeout { after },
        }
    }

    fn withdraw(&self, id: u64) -> Option<Fate> {
        let fate = self.books().requests.withdraw(id);
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
        let (poll, is_due) = self.books().watches.poll(number, waker, &self.options);
        if is_due {
            self.work.notify_one();
        }
        poll
    }

    /// From where a watcher that goes now would have to resume.
    pub(crate) fn resume_from(&self, number: u64) -> Revision {
        self.books().watches.resume_from(number)
    }

    /// The watcher is gone.
    pub(crate) fn leave_watch(&self, number: u64) {
        self.books().watches.remove(number);
        self.work.notify_one();
    }

    /// Takes nothing new. What was begun goes on.
    pub(crate) fn close(&self) {
        self.books().is_closing = true;
        self.leave.notify_one();
    }

    /// Nobody is left who could call.
    pub(crate) fn abandon(&self) {
        self.books().is_abandoned = true;
        self.leave.notify_one();
    }

    /// Ready when the desk is closed and everything that was begun has ended.
    pub(crate) async fn finished(&self) {
        loop {
            {
                let books = self.books();
                if books.is_abandoned || (books.is_closing && books.requests.is_idle()) {
                    return;
                }
            }
            self.leave.notified().await;
        }
    }

    /// The line will not come back.
    pub(crate) fn over(&self) {
        let wakers = {
            let mut books = self.books();
            books.is_over = true;
            books.watches.close()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// There is a line.
    pub(crate) fn connected(&self) {
        self.books().line = Line::Open;
        self.work.notify_one();
    }

    /// There is no line, or no longer.
    pub(crate) fn broken(&self, reason: &str) {
        let mut books = self.books();
        books.line = Line::Down(reason.to_owned());
        books.requests.broken(reason);
        books.watches.broken();
        drop(books);
        self.leave.notify_one();
    }

    /// What may be sent now, and when there will be more without anyone's doing.
    pub(crate) fn outgoing(&self, out: &mut Vec<Utf8Bytes>) -> Option<Instant> {
        let mut books = self.books();
        if books.line != Line::Open {
            return None;
        }
        books.requests.outgoing(self.options.in_flight_max, out);
        books.watches.outgoing(Instant::now(), || self.next_id(), out)
    }

    /// Ready when there may be something to send.
    pub(crate) fn work(&self) -> impl Future<Output = ()> {
        self.work.notified()
    }

    /// Takes in what the server said. An error means that the line is of no use any more.
    pub(crate) fn received(&self, text: &str) -> Result<(), String> {
        let heard = Heard::parse(text)?;
        let is_leaving = matches!(heard.problem(), Ok(Some(it)) if is_leaving(&it.code));
        let (mut books, now) = (self.books(), Instant::now());
        if is_leaving {
            books.line = Line::Leaving;
        }
        let waker = match (heard.id, heard.watch) {
            (_, Some(id)) => books.watches.pushed(id, &heard, text.len(), &self.options, now),
            (Some(id), None) if books.watches.knows(id) => {
                books.watches.answered(id, &heard, &self.options, now)
            }
            (Some(id), None) => {
                if is_leaving {
                    books.requests.postponed(id);
                } else if let Some(unwanted) = books.requests.answered(id, &heard) {
                    self.give_back(&mut books, &unwanted);
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
        let has_work = books.requests.has_unsent() || books.watches.has_work();
        let is_idle = books.is_closing && books.requests.is_idle();
        drop(books);
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

impl Desk {
    /// Has something sent that nobody waits for: what was granted too late is let go.
    fn give_back(&self, books: &mut Books, (caller, command): &Unwanted) {
        let (id, mutation) = (self.next_id(), Mutation::Command(command.clone()));
        let said = frames::mutation(id, caller, None, &mutation);
        // If there is no room for it, it goes by itself when its time is over.
        let _ = books.requests.add(id, said, Effect::Changes, &self.options);
    }
}

impl Books {
    fn check_open(&self) -> Result<(), Error> {
        let is_open = !self.is_closing && !self.is_over;
        if is_open { Ok(()) } else { Err(Error::Closed) }
    }
}

/// Takes back what was begun, if the future that holds it is dropped before it ends.
struct TakeBack<'a> {
    desk: &'a Desk,
    number: u64,
    how: Option<fn(&Desk, u64)>,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        if let Some(how) = self.how {
            how(self.desk, self.number);
        }
    }
}

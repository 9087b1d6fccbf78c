//! Whose turn it is on a connection for bytes, and how long the server may take when it is its.
//!
//! ```text
//!   our bytes ── Saying ──▶ the server takes them, and answers ── Hearing ──▶ whoever reads it
//!   as long as we need      at most `stall_max` without a sign               as long as we need
//! ```
//!
//! A file may come from a program that takes its time, and go to one that does: that nothing moves
//! is a fault only while it is the server's turn to move.

use std::error::Error as StdError;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// Since when it is the server's turn; nothing while it is ours.
pub(crate) struct Turn(Mutex<Option<Instant>>);

impl Turn {
    /// It begins with the server: it has to take the head.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Instant::now()))))
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_the_servers(&self, is_it: bool) {
        let since = is_it.then(Instant::now);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns when the server has let so much time pass in its turn: soon, at the latest after as
    /// much again.
    pub(crate) async fn overdue(&self, stall_max: Duration) {
        loop {
            let passed = self.since().map_or(Duration::ZERO, |since| since.elapsed());
            let left = stall_max.saturating_sub(passed);
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }
}

/// What is said about a server that does nothing.
pub(crate) fn stalled(stall_max: Duration) -> String {
    format!("nothing moved for {} ms", stall_max.as_millis())
}

/// The body of a request. It is the server's turn once it was given something.
pub(crate) struct Saying<B> {
    body: B,
    turn: Arc<Turn>,
}

impl<B> Saying<B> {
    pub(crate) fn new(body: B, turn: &Arc<Turn>) -> Self {
        Self { body, turn: Arc::clone(turn) }
    }
}

impl<B: Body + Unpin> Body for Saying<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.turn.is_the_servers(frame.is_ready());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer. It is the server's turn while more is wanted.
pub(crate) struct Hearing<B = Incoming> {
    body: B,
    stall_max: Duration,
    /// Runs while something is waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<B> Hearing<B> {
    pub(crate) fn new(body: B, stall_max: Duration) -> Self {
        Self { body, stall_max, alarm: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Hearing<B>
where
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let stall_max = self.stall_max;
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.alarm = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Error::other)));
        }
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(stall_max)));
        ready!(alarm.as_mut().poll(context));
        Poll::Ready(Some(Err(Error::new(ErrorKind::TimedOut, stalled(stall_max)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use futures_util::stream::poll_fn;
    use http_body_util::{BodyExt, StreamBody};
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;

    const STALL: Duration = Duration::from_secs(10);
    const HOUR: Duration = Duration::from_hours(1);

    const PIECE: Bytes = Bytes::from_static(b"x");

    /// A body, and who says what is in it.
    fn body() -> (mpsc::UnboundedSender<Bytes>, impl Body<Data = Bytes, Error = Error> + Unpin) {
        let (pieces, mut receiver) = mpsc::unbounded_channel();
        let stream = poll_fn(move |context| receiver.poll_recv(context));
        (pieces, StreamBody::new(stream.map(|piece| Ok(Frame::data(piece)))))
    }

    #[tokio::test(start_paused = true)]
    async fn our_own_time_is_not_held_against_the_server() {
        let (pieces, body) = body();
        let turn = Turn::new();
        let mut saying = Saying::new(body, &turn);
        assert!(timeout(HOUR, saying.frame()).await.is_err(), "there is nothing to say yet");
        assert!(timeout(HOUR, turn.overdue(STALL)).await.is_err(), "the server cannot help it");
        pieces.send(PIECE).unwrap();
        assert!(saying.frame().await.unwrap().is_ok());
        let begun = Instant::now();
        turn.overdue(STALL).await;
        assert_eq!(begun.elapsed(), STALL);
        // It takes some time before it wants more, and then waits for us again.
        assert!(timeout(STALL, saying.frame()).await.is_err());
        drop(pieces);
        assert!(saying.frame().await.is_none());
        let begun = Instant::now();
        turn.overdue(STALL).await;
        assert_eq!(begun.elapsed(), STALL, "everything was said");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_waited_for_only_while_more_is_wanted() {
        let (pieces, body) = body();
        let mut hearing = Hearing::new(body, STALL);
        for _ in 0..3 {
            pieces.send(PIECE).unwrap();
            assert!(hearing.frame().await.unwrap().is_ok());
            // Whoever reads does something else meanwhile.
            sleep(HOUR).await;
        }
        let begun = Instant::now();
        let stalled = hearing.frame().await.unwrap().unwrap_err();
        assert_eq!((stalled.kind(), begun.elapsed()), (ErrorKind::TimedOut, STALL));
    }
}

//! Detects that the server makes no progress on an upload or download.
//!
//! ```text
//!   our bytes ── RequestBody ──▶ the server reads them and answers ─── ResponseBody ──▶ the reader
//!   no limit                     at most `stall_max` without progress            no limit
//! ```
//!
//! The program that provides the bytes, or consumes them, may be slow. Only the time during which
//! the server has to act is measured.

use std::error::Error as StdError;
use std::io::{Error, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// Since when the server has to act; none while this side has to.
pub(crate) struct StallTimer(Mutex<Option<Instant>>);

impl StallTimer {
    /// Starts with the server, which has to read the head of the request.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Some(Instant::now()))))
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_server(&self, is_it: bool) {
        let since = is_it.then(Instant::now);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns when the server has made no progress for this time, at the latest after twice the
    /// time.
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

/// The reason for a server that makes no progress.
pub(crate) fn stalled(stall_max: Duration) -> String {
    format!("nothing moved for {} ms", stall_max.as_millis())
}

/// The body of a request. After each piece the server has to act.
pub(crate) struct RequestBody<B> {
    body: B,
    timer: Arc<StallTimer>,
}

impl<B> RequestBody<B> {
    pub(crate) fn new(body: B, timer: &Arc<StallTimer>) -> Self {
        Self { body, timer: Arc::clone(timer) }
    }
}

impl<B: Body + Unpin> Body for RequestBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        self.timer.wait_for_server(frame.is_ready());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of a response. While a piece is awaited, the server has to act.
pub(crate) struct ResponseBody<B = Incoming> {
    body: B,
    stall_max: Duration,
    /// Runs while a piece is awaited.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<B> ResponseBody<B> {
    pub(crate) fn new(body: B, stall_max: Duration) -> Self {
        Self { body, stall_max, alarm: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ResponseBody<B>
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

    /// A body, and the sender of its pieces.
    fn body() -> (mpsc::UnboundedSender<Bytes>, impl Body<Data = Bytes, Error = Error> + Unpin) {
        let (pieces, mut receiver) = mpsc::unbounded_channel();
        let stream = poll_fn(move |context| receiver.poll_recv(context));
        (pieces, StreamBody::new(stream.map(|piece| Ok(Frame::data(piece)))))
    }

    #[tokio::test(start_paused = true)]
    async fn our_own_time_is_not_held_against_the_server() {
        let (pieces, body) = body();
        let timer = StallTimer::new();
        let mut request_body = RequestBody::new(body, &timer);
        assert!(timeout(HOUR, request_body.frame()).await.is_err(), "there is nothing to say yet");
        assert!(timeout(HOUR, timer.overdue(STALL)).await.is_err(), "the server cannot help it");
        pieces.send(PIECE).unwrap();
        assert!(request_body.frame().await.unwrap().is_ok());
        let begun = Instant::now();
        timer.overdue(STALL).await;
        assert_eq!(begun.elapsed(), STALL);
        // The reader pauses before it reads more, and then waits for us again.
        assert!(timeout(STALL, request_body.frame()).await.is_err());
        drop(pieces);
        assert!(request_body.frame().await.is_none());
        let begun = Instant::now();
        timer.overdue(STALL).await;
        assert_eq!(begun.elapsed(), STALL, "everything was said");
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_waits_for_the_server_only_while_more_is_needed() {
        let (pieces, body) = body();
        let mut response_body = ResponseBody::new(body, STALL);
        for _ in 0..3 {
            pieces.send(PIECE).unwrap();
            assert!(response_body.frame().await.unwrap().is_ok());
            // The reader does something else in the meantime.
            sleep(HOUR).await;
        }
        let begun = Instant::now();
        let stalled = response_body.frame().await.unwrap().unwrap_err();
        assert_eq!((stalled.kind(), begun.elapsed()), (ErrorKind::TimedOut, STALL));
    }
}

//! The received bytes of one connection that are not answered yet.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::request::{REQUEST_BYTES_MAX, ReceivedRequest, may_end_head};
use crate::deadline_stream::DeadlineStream;
use crate::settings::Settings;

thread_local! {
    /// What is received, by all connections of a thread: an idle one has no buffer.
    static RECEIVED: RefCell<Vec<u8>> = RefCell::new(vec![0; REQUEST_BYTES_MAX]);
}

/// The events that a connection waits for.
pub(super) enum Woken {
    Received,
    /// The peer sends no more.
    Gone,
    Closing,
    /// The peer accepts nothing, or the deadline of a head has passed.
    Broken,
}

/// Bytes that are not answered, and since when the peer has been awaited.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    /// How many of them are known to be no complete head.
    partial: usize,
    head_bytes_max: usize,
    head_deadline: Duration,
    idle_since: Instant,
    /// Set again only when it has fired, and not for every request.
    alarm: Pin<Box<Sleep>>,
}

impl Inbox {
    pub(super) fn new(bytes: Vec<u8>, settings: &Settings) -> Self {
        let Settings { head_bytes_max, head_deadline, .. } = *settings;
        let alarm = Box::pin(sleep(head_deadline));
        let idle_since = Instant::now();
        Self { bytes, partial: 0, head_bytes_max, head_deadline, idle_since, alarm }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// What the bytes begin with.
    pub(super) fn received(&self) -> ReceivedRequest<'_> {
        // A head that arrives in many pieces is parsed once.
        let unknown = &self.bytes[self.partial.saturating_sub(2)..];
        let is_partial = self.bytes.is_empty() || (self.partial > 0 && !may_end_head(unknown));
        let received =
            if is_partial { ReceivedRequest::Partial } else { ReceivedRequest::of(&self.bytes) };
        match received {
            ReceivedRequest::Partial if self.bytes.len() > self.head_bytes_max => {
                ReceivedRequest::Other
            }
            received => received,
        }
    }

    /// So many bytes were answered.
    pub(super) fn answered(&mut self, length: usize) {
        if length == self.bytes.len() {
            self.bytes = Vec::new();
        } else {
            self.bytes.drain(..length);
        }
        self.partial = 0;
        self.idle_since = Instant::now();
    }

    /// Waits for more bytes.
    pub(super) async fn receive(
        &mut self,
        stream: &mut DeadlineStream,
        mut closing: Pin<&mut impl Future<Output = ()>>,
    ) -> Woken {
        self.partial = self.bytes.len();
        std::future::poll_fn(|context| {
            // Writers return what the peer does not accept at the moment.
            if ready!(Pin::new(&mut *stream).poll_flush(context)).is_err() {
                return Poll::Ready(Woken::Broken);
            }
            if let Poll::Ready(woken) = self.poll_receive(stream, context) {
                return Poll::Ready(woken);
            }
            if closing.as_mut().poll(context).is_ready() {
                return Poll::Ready(Woken::Closing);
            }
            self.poll_deadline(context).map(|()| Woken::Broken)
        })
        .await
    }

    fn poll_receive(
        &mut self,
        stream: &mut DeadlineStream,
        context: &mut Context<'_>,
    ) -> Poll<Woken> {
        RECEIVED.with_borrow_mut(|buffer| {
            let mut room = ReadBuf::new(buffer);
            let outcome = ready!(Pin::new(stream).poll_read(context, &mut room));
            if outcome.is_err() || room.filled().is_empty() {
                return Poll::Ready(Woken::Gone);
            }
            self.bytes.extend_from_slice(room.filled());
            Poll::Ready(Woken::Received)
        })
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.alarm.as_mut().poll(context));
            let deadline = self.idle_since + self.head_deadline;
            if deadline <= Instant::now() {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(deadline);
        }
    }
}

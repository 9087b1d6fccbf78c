//! A connection's byte stream, with two things that a plain socket lacks: a deadline for writes,
//! and a close that the peer sees.
//!
//! ```text
//!   write ──▶ the peer takes some ──▶ continue
//!         └─▶ the peer takes nothing ── the deadline passes ──▶ the connection is closed
//!
//!   end ──▶ no more is sent ──▶ what arrives is discarded ──▶ the peer closes too, or timeout
//! ```
//!
//! Closing a socket with unread data resets the connection, and a reset may destroy an answer that
//! the peer has not read yet: a request refused for its size would look like a network failure. So
//! what still arrives is read and discarded for a moment.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use baton_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::shared::Shared;
use crate::writers::{Enqueued, SendQueue};

/// How long the peer may take to notice that the connection ends.
const LINGER: Duration = Duration::from_secs(1);
/// How much is discarded at a time in the meantime.
const DISCARD_BYTES: usize = 4 << 10;

/// A socket with deadlines.
pub(crate) struct DeadlineStream {
    stream: Stream,
    /// What was read of it already.
    first: Vec<u8>,
    write_deadline: Duration,
    /// Runs while the peer accepts nothing, and while it is awaited at the end.
    timer: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
    /// The send queue, if writers may send for it.
    queue: Option<Arc<SendQueue>>,
    /// Unsent output that returned in the queue.
    unsent: Vec<u8>,
}

impl DeadlineStream {
    pub(crate) fn new(stream: Stream, write_deadline: Duration) -> Self {
        let (timer, has_ended, queue, unsent) = (None, false, None, Vec::new());
        Self { stream, first: Vec::new(), write_deadline, timer, has_ended, queue, unsent }
    }

    /// Lets these bytes be read first.
    pub(crate) fn with_first(mut self, first: Vec<u8>) -> Self {
        self.first = first;
        self
    }

    /// Lets writers send for it, unless there is TLS.
    pub(crate) fn with_writers(mut self, shared: &Arc<Shared>, number: u64) -> Self {
        if let Stream::Plain(socket) = &self.stream {
            self.queue = Some(SendQueue::new(shared, socket, number));
        }
        self
    }

    /// The bare socket and its queue, for an owner that handles deadlines itself.
    pub(crate) fn into_parts(self) -> (Stream, Option<Arc<SendQueue>>) {
        (self.stream, self.queue)
    }

    /// Queues the output for writers; pending if the queue is full, none if it must be sent here.
    fn poll_enqueue(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<Option<usize>>> {
        loop {
            ready!(self.poll_send_unsent(context))?;
            let Some(queue) = &self.queue else { return Poll::Ready(Ok(None)) };
            return match queue.enqueue_copy(slices, context.waker()) {
                Enqueued::Accepted => {
                    let count = slices.iter().map(|slice| slice.len()).sum();
                    self.with_deadline(context, Poll::Ready(Ok(Some(count))))
                }
                Enqueued::Declined if queue.wait_idle(context.waker()) => {
                    self.with_deadline(context, Poll::Pending)
                }
                // The queue has returned in the meantime, and its content is sent first.
                Enqueued::Declined if queue.needs_owner() => continue,
                // The deadline is kept: it may have been set before.
                Enqueued::Declined => Poll::Ready(Ok(None)),
                Enqueued::Gone => Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe))),
            };
        }
    }

    /// Sends what writers could not send.
    fn poll_send_unsent(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(queue) = &self.queue else { return Poll::Ready(Ok(())) };
        if self.unsent.is_empty() {
            if !queue.needs_owner() {
                return Poll::Ready(Ok(()));
            }
            match ready!(queue.poll_take_unsent(context)) {
                Some((bytes, _)) => self.unsent = bytes,
                None => return Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe))),
            }
        }
        while !self.unsent.is_empty() {
            let outcome = Pin::new(&mut self.stream).poll_write(context, &self.unsent);
            let count = ready!(self.with_deadline(context, outcome))?;
            self.unsent.drain(..count);
        }
        self.unsent = Vec::new();
        if let Some(queue) = &self.queue {
            queue.release();
        }
        Poll::Ready(Ok(()))
    }

    fn timer(&mut self, after: Duration) -> Pin<&mut Sleep> {
        self.timer.get_or_insert_with(|| Box::pin(sleep(after))).as_mut()
    }

    fn with_deadline<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<Result<T>>,
    ) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.timer = None;
            return outcome;
        }
        let deadline = self.write_deadline;
        ready!(self.timer(deadline).poll(context));
        Poll::Ready(Err(Error::from(ErrorKind::TimedOut)))
    }
}

impl AsyncRead for DeadlineStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if !self.first.is_empty() {
            let count = self.first.len().min(buffer.remaining());
            buffer.put_slice(&self.first[..count]);
            self.first.drain(..count);
            if self.first.is_empty() {
                self.first = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for DeadlineStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if let Some(count) = ready!(self.poll_enqueue(context, &[IoSlice::new(bytes)]))? {
            return Poll::Ready(Ok(count));
        }
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_deadline(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if let Some(count) = ready!(self.poll_enqueue(context, slices))? {
            return Poll::Ready(Ok(count));
        }
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.with_deadline(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_send_unsent(context))?;
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        // A socket has nothing to flush; TLS may buffer what the peer does not accept.
        if self.stream.is_secure() { self.with_deadline(context, outcome) } else { outcome }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.has_ended {
            if self.queue.as_ref().is_some_and(|queue| queue.wait_idle(context.waker())) {
                return self.with_deadline(context, Poll::Pending);
            }
            ready!(self.poll_send_unsent(context))?;
            let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.with_deadline(context, outcome))?;
            self.has_ended = true;
            self.timer = None;
        }
        if self.timer(LINGER).poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut discarded = [0; DISCARD_BYTES];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

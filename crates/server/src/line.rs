//! A connection's bytes, with the two things that a plain socket lacks: patience that ends, and an
//! end that the peer gets to see.
//!
//! ```text
//!   write ──▶ the peer takes some ──▶ go on
//!         └─▶ the peer takes nothing ── the deadline passes ──▶ the connection is left
//!
//!   end ──▶ no more is sent ──▶ what still comes is thrown away ──▶ the peer ends too, or time
//! ```
//!
//! Whoever closes a socket on which something unread lies resets the connection, and a reset may
//! destroy an answer that the peer has not read yet: a request refused for its size would look like
//! a broken network. So what still comes is taken and thrown away for a moment.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use baton_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long the peer may take to see that the connection ends.
const LINGER: Duration = Duration::from_secs(1);
/// What is thrown away at a time while it does.
const DISCARD_BYTES: usize = 4 << 10;

/// A socket with deadlines.
pub(crate) struct Line {
    stream: Stream,
    write_deadline: Duration,
    /// Runs while the peer takes nothing, and while it is waited for at the end.
    alarm: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
}

impl Line {
    pub(crate) fn new(stream: Stream, write_deadline: Duration) -> Self {
        Self { stream, write_deadline, alarm: None, has_ended: false }
    }

    /// The bare socket, for whoever sees to deadlines by itself.
    pub(crate) fn into_stream(self) -> Stream {
        self.stream
    }

    fn alarm(&mut self, after: Duration) -> Pin<&mut Sleep> {
        self.alarm.get_or_insert_with(|| Box::pin(sleep(after))).as_mut()
    }

    fn patient<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<Result<T>>,
    ) -> Poll<Result<T>> {
        if outcome.is_ready() {
            self.alarm = None;
            return outcome;
        }
        let deadline = self.write_deadline;
        ready!(self.alarm(deadline).poll(context));
        Poll::Ready(Err(Error::from(ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patient(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.patient(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        // A socket has nothing to flush; TLS may hold back what the peer does not take.
        if self.stream.is_secure() { self.patient(context, outcome) } else { outcome }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if !self.has_ended {
            let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.patient(context, outcome))?;
            self.has_ended = true;
            self.alarm = None;
        }
        if self.alarm(LINGER).poll(context).is_ready() {
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

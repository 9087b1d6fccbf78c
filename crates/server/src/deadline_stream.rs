//! A connection's byte stream, with three things that a plain socket lacks: a deadline for writes,
//! turns for large ones, and a close that the peer sees.
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
//! bytes that still arrive are read and discarded for a moment.

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use baton_tls::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::send_turns::{PART_BYTES, SendTurn, SendTurns};
use crate::shared::Shared;
use crate::writers::{Enqueued, SendQueue};

/// How long the peer may take to notice that the connection ends.
const LINGER: Duration = Duration::from_secs(1);
/// The same while the server shuts down: no more requests are read, so an idle peer need not be
/// awaited.
const LINGER_AT_THE_END: Duration = Duration::from_millis(50);
/// How much is discarded at a time in the meantime.
const DISCARD_BYTES: usize = 4 << 10;

/// A socket with deadlines.
pub(crate) struct DeadlineStream {
    stream: Stream,
    /// The bytes that have already been read.
    first: Vec<u8>,
    write_deadline: Duration,
    /// Runs while the peer accepts nothing, and while it is awaited at the end.
    timer: Option<Pin<Box<Sleep>>>,
    has_ended: bool,
    /// The send queue, if writers may send for it.
    queue: Option<Arc<SendQueue>>,
    /// The server, which may be ending.
    shared: Option<Arc<Shared>>,
    /// Unsent output that returned in the queue.
    unsent: Vec<u8>,
    /// The turns in which large output is sent, if others are to be served meanwhile.
    turns: Option<SendTurns>,
    turn: Turn,
}

/// Its turn to send a part of large output.
#[derive(Default)]
enum Turn {
    #[default]
    None,
    /// Boxed, since few connections have large output.
    Awaited(Pin<Box<dyn Future<Output = SendTurn> + Send>>),
    Taken(SendTurn),
}

impl DeadlineStream {
    pub(crate) fn new(stream: Stream, write_deadline: Duration) -> Self {
        Self {
            stream,
            first: Vec::new(),
            write_deadline,
            timer: None,
            has_ended: false,
            queue: None,
            shared: None,
            unsent: Vec::new(),
            turns: None,
            turn: Turn::None,
        }
    }

    /// Sends large output by turns.
    pub(crate) fn with_turns(mut self, turns: &SendTurns) -> Self {
        self.turns = Some(turns.clone());
        self
    }

    /// Lets these bytes be read first.
    pub(crate) fn with_first(mut self, first: Vec<u8>) -> Self {
        self.first = first;
        self
    }

    /// Lets writers send for it, unless there is TLS.
    pub(crate) fn with_writers(mut self, shared: &Arc<Shared>, number: u64) -> Self {
        self.shared = Some(Arc::clone(shared));
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

    /// How much of so many bytes may be sent now. A part of large output waits for its turn.
    fn poll_turn(&mut self, context: &mut Context<'_>, length: usize) -> Poll<Result<usize>> {
        let Some(turns) = &self.turns else { return Poll::Ready(Ok(length)) };
        if length <= PART_BYTES {
            self.turn = Turn::None;
            return Poll::Ready(Ok(length));
        }
        loop {
            match &mut self.turn {
                Turn::None => {
                    // It is not the peer's fault if its turn comes late, but it was before.
                    if let Some(timer) = &mut self.timer
                        && timer.as_mut().poll(context).is_ready()
                    {
                        return Poll::Ready(Err(Error::from(ErrorKind::TimedOut)));
                    }
                    let turns = turns.clone();
                    self.turn = Turn::Awaited(Box::pin(async move { turns.next().await }));
                }
                Turn::Awaited(turn) => self.turn = Turn::Taken(ready!(turn.as_mut().poll(context))),
                Turn::Taken(_) => return Poll::Ready(Ok(PART_BYTES)),
            }
        }
    }

    /// A part was sent, or the peer accepts nothing at the moment.
    fn end_turn<T>(&mut self, outcome: &Poll<T>) {
        if let Turn::Taken(turn) = std::mem::take(&mut self.turn)
            && outcome.is_ready()
        {
            // By a task: nothing may be written here for a long time.
            tokio::spawn(turn.end());
        }
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
        let length = ready!(self.poll_turn(context, bytes.len()))?;
        let outcome = Pin::new(&mut self.stream).poll_write(context, &bytes[..length]);
        self.end_turn(&outcome);
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
        let total = slices.iter().map(|slice| slice.len()).sum();
        let length = ready!(self.poll_turn(context, total))?;
        let outcome = if length < total {
            let part = &first_bytes(slices, length);
            Pin::new(&mut self.stream).poll_write_vectored(context, part)
        } else {
            Pin::new(&mut self.stream).poll_write_vectored(context, slices)
        };
        self.end_turn(&outcome);
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
        let is_the_end = self.shared.as_ref().is_some_and(|shared| shared.closing.is_raised());
        let linger = if is_the_end { LINGER_AT_THE_END } else { LINGER };
        if self.timer(linger).poll(context).is_ready() {
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

/// The first so many bytes.
fn first_bytes<'a>(slices: &'a [IoSlice<'_>], mut length: usize) -> Vec<IoSlice<'a>> {
    let first = slices.iter().map_while(|slice| {
        let count = slice.len().min(length);
        length -= count;
        (count > 0 || slice.is_empty()).then(|| IoSlice::new(&slice[..count]))
    });
    first.collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::yield_now;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);
    const BYTES: usize = 2 << 20;

    async fn pair() -> (Stream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (theirs, ours) = tokio::join!(TcpStream::connect(address), listener.accept());
        (Stream::from(ours.unwrap().0), theirs.unwrap())
    }

    /// Many rounds are needed for a large body, and everyone else is served in each of them.
    #[tokio::test]
    async fn a_large_body_is_sent_in_parts_between_which_others_are_served() {
        let (stream, mut peer) = pair().await;
        let turns = SendTurns::default();
        let mut stream = DeadlineStream::new(stream, LONG).with_turns(&turns);
        let (body, is_sent) = (vec![7; BYTES], Cell::new(false));
        let send = async {
            stream.write_all(&body).await.unwrap();
            is_sent.set(true);
        };
        let receive = async {
            let mut received = vec![0; BYTES];
            peer.read_exact(&mut received).await.unwrap();
            received
        };
        let serve = async {
            let mut rounds = 0;
            while !is_sent.get() {
                rounds += 1;
                yield_now().await;
            }
            rounds
        };
        let ((), received, rounds) = tokio::join!(send, receive, serve);
        assert_eq!(received, body);
        assert!(rounds >= BYTES / PART_BYTES - 1, "{rounds}");
        // A small one follows at once, and the turn is free again.
        stream.write_all(b"small").await.unwrap();
        turns.next().await.end().await;
    }

    #[test]
    fn the_first_bytes_of_several_slices_are_taken_in_order() {
        let slices = [IoSlice::new(b"abc"), IoSlice::new(b""), IoSlice::new(b"defg")];
        let text = |length: usize| {
            let first = first_bytes(&slices, length);
            first.iter().flat_map(|slice| slice.to_vec()).collect::<Vec<u8>>()
        };
        assert_eq!([text(0), text(2), text(3), text(5)], [&b""[..], b"ab", b"abc", b"abcde"]);
        assert_eq!(text(99), b"abcdefg");
    }
}

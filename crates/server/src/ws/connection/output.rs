//! The output of one WebSocket: through its queue, or directly if that is not possible.

use std::io::ErrorKind;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use baton_core::WorkspaceName;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use super::{Connection, End};
use crate::deadline_stream::DeadlineStream;
use crate::large_answer::encode_apart;
use crate::send_turns::PART_BYTES;
use crate::server_log::{FieldValue, Level, duration_us};
use crate::writers::Enqueued;
use crate::ws::framing::{Opcode, write, write_close};
use crate::ws::jobs::RequestAnswer;
use crate::ws::outbox::frame;
use crate::ws::pushes::Pushes;

impl Connection {
    /// Ensures that submitted requests are answered and all output is sent: by the writers, if
    /// possible without this task.
    pub(super) async fn flush(&mut self) -> Result<(), End> {
        let is_all_sent = self.outbox.bytes.is_empty() && self.in_flight.is_empty();
        if is_all_sent && !self.stream.has_unsent() && !self.queue_needs_owner() {
            return Ok(());
        }
        if let Some(queue) = &self.queue {
            match queue.enqueue(&mut self.outbox.bytes, &mut self.in_flight) {
                Enqueued::Accepted => {
                    self.outbox.recycle();
                    return Ok(());
                }
                Enqueued::Declined => {}
                Enqueued::Gone => return Err(End::Gone),
            }
        }
        self.drain().await
    }

    /// Waits for submitted requests, answers them and sends the answers.
    pub(super) async fn drain(&mut self) -> Result<(), End> {
        self.take_unsent().await?;
        if !self.in_flight.is_empty() {
            let shared = Arc::clone(&self.shared);
            let (began, count) = (Instant::now(), self.in_flight.len());
            self.in_flight.await_durable(&shared.baton).await;
            if began.elapsed() >= shared.settings.slow {
                self.note_slow(began.elapsed(), count);
            }
        }
        self.send_known().await?;
        assert!(self.in_flight.is_empty(), "it was waited for");
        Ok(())
    }

    /// Takes out of the queue what was not sent, and keeps the queue.
    async fn take_unsent(&mut self) -> Result<(), End> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let (mut bytes, mut in_flight) = queue.take_unsent().await.ok_or(End::Gone)?;
        if !bytes.is_empty() {
            bytes.append(&mut self.outbox.bytes);
            self.outbox.bytes = bytes;
        }
        in_flight.append(&mut self.in_flight);
        self.in_flight = in_flight;
        Ok(())
    }

    /// Sends all output, and the answers whose outcome is known; returns the queue.
    async fn send_known(&mut self) -> Result<(), End> {
        let shared = Arc::clone(&self.shared);
        loop {
            let is_large = self.in_flight.has_large(&shared.baton);
            let Some((id, outcome)) = self.in_flight.known(&shared.baton) else { break };
            match outcome {
                Ok(answer) if is_large => {
                    let format = self.outbox.format;
                    let encode = move || frame(format, id, &answer);
                    self.outbox.add_frame(encode_apart(&shared.encoders, encode).await);
                }
                outcome => self.outbox.answer(id, &outcome),
            }
            if self.outbox.bytes.len() >= shared.settings.unsent_bytes_max {
                self.send().await?;
            }
        }
        self.send().await?;
        if let Some(queue) = &self.queue {
            queue.release();
        }
        Ok(())
    }

    /// Adds the answer of a job to the output.
    pub(super) fn answer(&mut self, id: u64, outcome: RequestAnswer) {
        match outcome {
            RequestAnswer::Answer(outcome) => self.outbox.answer(id, &outcome),
            RequestAnswer::Frame(frame) => self.outbox.add_frame(frame),
        }
    }

    /// Whether the queue needs its owner.
    pub(super) fn queue_needs_owner(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.needs_owner())
    }

    /// The watches, wherever they are stored.
    pub(super) fn watches<T>(&mut self, ask: impl FnOnce(&mut Pushes) -> T) -> T {
        match &self.queue {
            Some(queue) => queue.watches(ask),
            None => ask(&mut self.pushes),
        }
    }

    /// The queue has something to report, or came back with unsent output or a large answer. What
    /// is not durable yet goes into the queue again, so that receiving continues.
    pub(super) async fn check_queue(&mut self) -> Result<(), End> {
        if let Some((took, count)) = self.queue.as_ref().and_then(|queue| queue.slow()) {
            self.note_slow(took, count);
        }
        self.take_unsent().await?;
        self.send_known().await?;
        self.flush().await
    }

    /// Logs a slow round, and its last operation.
    fn note_slow(&self, took: Duration, count: usize) {
        let workspace = self.workspace.as_ref().map_or("", WorkspaceName::as_str);
        let fields = [
            ("connection", FieldValue::Number(self.outbox.connection)),
            ("workspace", FieldValue::Text(workspace)),
            ("agent", FieldValue::Text(self.agent.as_str())),
            ("requests", FieldValue::Number(count as u64)),
            ("duration_us", duration_us(took)),
        ];
        self.shared.settings.server_log.write_throttled(Level::Warn, "operation.slow", &fields);
    }

    /// Sends all output.
    async fn send(&mut self) -> Result<(), End> {
        let mut sent = 0;
        while sent < self.outbox.bytes.len() || self.stream.has_unsent() {
            let left = self.outbox.bytes.len() - sent;
            let is_large = left > PART_BYTES;
            let turn = if is_large { Some(self.shared.send_turns.next().await) } else { None };
            let part = &self.outbox.bytes[sent..sent + left.min(PART_BYTES)];
            match self.stream.try_write(part) {
                Ok(count) => {
                    sent += count;
                    if let Some(turn) = turn {
                        turn.end().await;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // It is another connection's turn meanwhile.
                    drop(turn);
                    let deadline = self.shared.settings.write_deadline;
                    match timeout(deadline, self.stream.writable()).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return Err(End::Gone),
                    }
                }
                Err(_) => return Err(End::Gone),
            }
        }
        self.outbox.recycle();
        Ok(())
    }

    /// A timer fired: sends a ping, and closes the connection if the last one was not answered.
    pub(super) async fn check_liveness(&mut self) -> Result<(), End> {
        let settings = &self.shared.settings;
        self.alarm.set(sleep(settings.ping_every));
        if self.unfinished_since.is_some_and(|since| since.elapsed() >= settings.body_deadline) {
            return Err(End::Close(1008, "the message took too long"));
        }
        self.silent += 1;
        match self.silent {
            1 => Ok(()),
            2 => {
                write(&mut self.outbox.bytes, Opcode::Ping, b"");
                self.flush().await
            }
            _ => Err(End::Close(1001, "no sign of life")),
        }
    }

    /// The server shuts down: requests are answered, watchers get the revision to resume from, then
    /// the connection is closed.
    pub(super) async fn close_gracefully(&mut self) -> End {
        // The engine is closing: it refuses every call that waits, and ends every watch with the
        // revision to resume from.
        loop {
            let outcome = std::future::poll_fn(|context| {
                if let Poll::Ready(done) = self.jobs.poll(context) {
                    return Poll::Ready(Some(Some(done)));
                }
                if self.collect_pushes(context) || self.queue_needs_owner() {
                    return Poll::Ready(Some(None));
                }
                let watches = match &self.queue {
                    Some(queue) => queue.watches_left(context.waker()),
                    None => self.pushes.len(),
                };
                let is_over = watches + self.jobs.questions() + self.jobs.waits() == 0;
                if is_over { Poll::Ready(None) } else { Poll::Pending }
            });
            let Some(outcome) = outcome.await else { break };
            if let Some((id, outcome)) = outcome {
                self.answer(id, outcome);
            }
            if let Err(end) = self.flush().await {
                return end;
            }
        }
        End::Close(1001, "the server is shutting down")
    }

    /// Ends the connection from this side, after the answers to submitted requests.
    pub(super) async fn close(mut self, code: u16, reason: &str) {
        // Nothing follows it.
        self.watches(|pushes| *pushes = Pushes::default());
        if self.drain().await.is_ok() {
            write_close(&mut self.outbox.bytes, code, reason);
            if self.drain().await.is_ok() {
                let mut stream =
                    DeadlineStream::new(self.stream, self.shared.settings.write_deadline);
                let _ = stream.shutdown().await;
            }
        }
    }
}

//! What one WebSocket says: by its bag, or by itself where that cannot be.

use std::io::ErrorKind;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use baton_core::WorkspaceName;
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, timeout};

use super::{Connection, End};
use crate::couriers::Packed;
use crate::journal::{Level, Said, duration_us};
use crate::line::Line;
use crate::ws::framing::{Opcode, write, write_close};
use crate::ws::pushes::Pushes;

impl Connection {
    /// Sees to it that what was handed in is answered and all there is to send is sent: by others,
    /// if that goes without this one.
    pub(super) async fn flush(&mut self) -> Result<(), End> {
        let is_all_said = self.outbox.bytes.is_empty() && self.turn.is_empty();
        if is_all_said && !self.stream.has_unsent() && !self.has_returned() {
            return Ok(());
        }
        if let Some(bag) = &self.bag {
            match bag.pack(&mut self.outbox.bytes, &mut self.turn) {
                Packed::Yes => {
                    self.outbox.let_go();
                    return Ok(());
                }
                Packed::No => {}
                Packed::Gone => return Err(End::Gone),
            }
        }
        self.settle().await
    }

    /// Waits for what was handed in, answers it and sends that.
    pub(super) async fn settle(&mut self) -> Result<(), End> {
        if let Some(bag) = &self.bag {
            let (mut bytes, mut turn) = bag.unpacked().await.ok_or(End::Gone)?;
            if !bytes.is_empty() {
                bytes.append(&mut self.outbox.bytes);
                self.outbox.bytes = bytes;
            }
            turn.append(&mut self.turn);
            self.turn = turn;
        }
        if !self.turn.is_empty() {
            let shared = Arc::clone(&self.shared);
            let (began, count) = (Instant::now(), self.turn.len());
            self.turn.settle(&shared.baton).await;
            if began.elapsed() >= shared.settings.slow {
                self.note_slow(began.elapsed(), count);
            }
            while let Some((id, outcome)) = self.turn.next(&shared.baton) {
                self.outbox.answer(id, &outcome);
                if self.outbox.bytes.len() >= shared.settings.unsent_bytes_max {
                    self.send().await?;
                }
            }
        }
        self.send().await?;
        if let Some(bag) = &self.bag {
            bag.give_back();
        }
        Ok(())
    }

    /// Whether the bag needs its owner.
    pub(super) fn has_returned(&self) -> bool {
        self.bag.as_ref().is_some_and(|bag| bag.is_returned())
    }

    /// The watches, wherever they are kept.
    pub(super) fn watches<T>(&mut self, ask: impl FnOnce(&mut Pushes) -> T) -> T {
        match &self.bag {
            Some(bag) => bag.watches(ask),
            None => ask(&mut self.pushes),
        }
    }

    /// The bag has something to tell, or came back with something in it.
    pub(super) async fn look_into_bag(&mut self) -> Result<(), End> {
        if let Some((took, count)) = self.bag.as_ref().and_then(|bag| bag.slow()) {
            self.note_slow(took, count);
        }
        self.settle().await
    }

    /// Writes down that a turn has taken long, and what was last asked for in it.
    fn note_slow(&self, took: Duration, count: usize) {
        let workspace = self.workspace.as_ref().map_or("", WorkspaceName::as_str);
        let fields = [
            ("connection", Said::Number(self.outbox.connection)),
            ("workspace", Said::Text(workspace)),
            ("agent", Said::Text(self.agent.as_str())),
            ("requests", Said::Number(count as u64)),
            ("duration_us", duration_us(took)),
        ];
        self.shared.settings.journal.note_again(Level::Warn, "operation.slow", &fields);
    }

    /// Sends all there is to send.
    async fn send(&mut self) -> Result<(), End> {
        let mut sent = 0;
        while sent < self.outbox.bytes.len() || self.stream.has_unsent() {
            match self.stream.try_write(&self.outbox.bytes[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let deadline = self.shared.settings.write_deadline;
                    match timeout(deadline, self.stream.writable()).await {
                        Ok(Ok(())) => {}
                        Ok(Err(_)) | Err(_) => return Err(End::Gone),
                    }
                }
                Err(_) => return Err(End::Gone),
            }
        }
        self.outbox.let_go();
        Ok(())
    }

    /// Time has passed: asks for a sign of life, and leaves if there is none.
    pub(super) async fn look_after(&mut self) -> Result<(), End> {
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

    /// The server ends: what was asked is answered, watchers learn where to resume, then the
    /// connection is closed.
    pub(super) async fn say_farewell(&mut self) -> End {
        // The engine is closing: it refuses every call that waits, and ends every watch with the
        // revision to resume from.
        loop {
            let outcome = std::future::poll_fn(|context| {
                if let Poll::Ready(done) = self.jobs.poll(context) {
                    return Poll::Ready(Some(Some(done)));
                }
                if self.collect_pushes(context) || self.has_returned() {
                    return Poll::Ready(Some(None));
                }
                let watches = match &self.bag {
                    Some(bag) => bag.watches_left(context.waker()),
                    None => self.pushes.len(),
                };
                let is_over = watches + self.jobs.questions() + self.jobs.waits() == 0;
                if is_over { Poll::Ready(None) } else { Poll::Pending }
            });
            let Some(outcome) = outcome.await else { break };
            if let Some((id, outcome)) = outcome {
                self.outbox.answer(id, &outcome);
            }
            if let Err(end) = self.flush().await {
                return end;
            }
        }
        End::Close(1001, "the server is shutting down")
    }

    /// Ends the connection from this side, after the answers to what was handed in.
    pub(super) async fn close(mut self, code: u16, reason: &str) {
        // Nothing comes after it.
        self.watches(|pushes| *pushes = Pushes::default());
        if self.settle().await.is_ok() {
            write_close(&mut self.outbox.bytes, code, reason);
            if self.settle().await.is_ok() {
                let mut line = Line::new(self.stream, self.shared.settings.write_deadline);
                let _ = line.shutdown().await;
            }
        }
    }
}

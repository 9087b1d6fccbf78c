//! The stream of a shard: everything durable of it, written by one server at a time.
//!
//! ```text
//!   sequence   1      2     3     4      5      6      7       8
//!            mark   log   part  part   log   blob   mark    log
//!           epoch 1                               epoch 2
//!                                  expected last = 6 ──▶ refused: the last is 7
//! ```
//!
//! 1. Every message is published with the sequence of the last one that its writer knows. NATS
//!    refuses it if the stream has another last message. So a writer that does not know of a mark
//!    can write nothing after it.
//! 2. Opening publishes a mark with an epoch, and only after the mark that it read there has a
//!    lower one. From then on every earlier opening is refused.
//! 3. A message without an answer is resolved by publishing a mark with the same expectation. If
//!    that is stored, the message is not there and never will be. Otherwise the message after the
//!    expected one names the owner.
//! 4. A stream that ends before the last message that its writer knows has lost messages, however
//!    it came to that. The writer reports it, and writes nothing more.
//! 5. A record that is too large for one message is written as parts, and a last message without
//!    which the parts have no effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_cluster::now_ms;
use baton_log::ownership::{
    AppendAttempt, AppendStep, GONE_MS, PAUSE_MS, REPEAT_MS, Resolved, Sent,
};
use baton_log::{AppendError, Position};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::connection::{EXPECTED_LAST, Failure, Nats, Outgoing, Stored, random};
use crate::ownership::{Ownership, is_gone};
use crate::setup;

/// How long the answer to a message is awaited before its outcome is resolved.
const WRITE_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(PAUSE_MS);
/// Messages and bytes that one request reads.
const PAGE: u32 = 512;
const PAGE_BYTES: u32 = 8 << 20;
/// Which write a message belongs to.
pub(crate) const WRITE: &str = "Baton-Write";

/// The writer, and where the log starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) epoch: i64,
    pub(crate) server: String,
    /// The opening that wrote it.
    pub(crate) opening: String,
    pub(crate) start: u64,
}

/// The state of the stream that the writer knows.
struct Writer {
    /// The sequence of the last message.
    last: u64,
    start: u64,
    /// Why nothing can be written any more.
    failed: Option<AppendError>,
}

/// The stream of a shard, as its owner has it.
pub(crate) struct ShardStream {
    nats: Nats,
    pub(crate) ownership: Arc<Ownership>,
    name: String,
    /// The prefix of all its subjects.
    prefix: String,
    opening: String,
    writes: AtomicU64,
    /// Held during a write.
    writer: tokio::sync::Mutex<Writer>,
}

/// The messages that one write was sent as.
struct Write<'a> {
    id: String,
    messages: &'a [Outgoing],
    position: Position,
    /// Since when the stream was seen to end too early.
    short_since_ms: Option<u64>,
}

impl ShardStream {
    /// Opens the stream of a shard that was taken: from now on no other server can write to it.
    /// None if another server has taken the shard in the meantime.
    pub(crate) async fn open(nats: &Nats, ownership: Ownership) -> Result<Option<Self>, Failure> {
        let prefix = &nats.location().prefix;
        let stream = Self {
            nats: nats.clone(),
            name: setup::shard(prefix, ownership.shard),
            prefix: format!("{prefix}.shard.{}.", ownership.shard),
            ownership: Arc::new(ownership),
            opening: random(8)?,
            writes: AtomicU64::new(0),
            writer: tokio::sync::Mutex::new(Writer { last: 0, start: 0, failed: None }),
        };
        let begun = now_ms();
        loop {
            match stream.try_open().await {
                Ok(is_mine) => return Ok(is_mine.then_some(stream)),
                Err(Failure::Missing) => {
                    let name = &stream.name;
                    return Err(Failure::refused(format!("the stream `{name}` is missing")));
                }
                Err(Failure::Broken(_) | Failure::Again(_) | Failure::WrongSequence)
                    if now_ms() < begun + REPEAT_MS =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(failure) => return Err(failure),
            }
        }
    }

    async fn try_open(&self) -> Result<bool, Failure> {
        let last = self.nats.last_sequence(&self.name).await?;
        let found = self.last_mark().await?;
        let mut writer = self.writer.lock().await;
        if let Some((mark, sequence)) = found {
            writer.start = mark.start;
            if mark.opening == self.opening {
                writer.last = sequence;
                return Ok(true);
            }
            if mark.epoch >= self.ownership.epoch {
                return Ok(false);
            }
        }
        let mark = self.mark(writer.start).with(EXPECTED_LAST, &last).with(WRITE, &self.next_id());
        writer.last = self.nats.publish(mark, WRITE_MAX).await?;
        Ok(true)
    }

    async fn last_mark(&self) -> Result<Option<(Mark, u64)>, Failure> {
        let found = self.nats.last_on(&self.name, &self.subject("mark")).await?;
        found.map(|found| Ok((found.fact()?, found.sequence))).transpose()
    }

    /// A subject of this shard.
    pub(crate) fn subject(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// The last part of a subject of this shard.
    pub(crate) fn rest<'a>(&self, subject: &'a str) -> &'a str {
        subject.strip_prefix(&self.prefix).unwrap_or_default()
    }

    pub(crate) fn nats(&self) -> &Nats {
        &self.nats
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn mark(&self, start: u64) -> Outgoing {
        let mark = Mark {
            epoch: self.ownership.epoch,
            server: self.ownership.server.clone(),
            opening: self.opening.clone(),
            start,
        };
        Outgoing::fact(self.subject("mark"), &mark)
    }

    /// A text that no other write has.
    fn next_id(&self) -> String {
        format!("{}-{}", self.opening, self.writes.fetch_add(1, Ordering::SeqCst))
    }

    /// The sequence of the last message, and where the log starts.
    pub(crate) async fn ends(&self) -> (u64, Position) {
        let writer = self.writer.lock().await;
        (writer.last, Position(writer.start))
    }

    /// Writes messages, all or none, and resolves what has no answer. The sequence of the last one.
    /// The position is that of the record, if it is one.
    pub(crate) async fn write(
        &self,
        messages: &[Outgoing],
        position: Position,
    ) -> Result<u64, AppendError> {
        let mut writer = self.writer.lock().await;
        self.write_as(&mut writer, messages, position).await
    }

    /// Moves the start of the log.
    pub(crate) async fn truncate(&self, start: Position) -> Result<(), AppendError> {
        let mut writer = self.writer.lock().await;
        let moved = writer.start.max(start.0);
        self.write_as(&mut writer, &[self.mark(moved)], start).await?;
        writer.start = moved;
        Ok(())
    }

    async fn write_as(
        &self,
        writer: &mut Writer,
        messages: &[Outgoing],
        position: Position,
    ) -> Result<u64, AppendError> {
        if let Some(failed) = &writer.failed {
            return Err(failed.clone());
        }
        match self.attempt(writer, messages, position).await {
            Ok(()) => Ok(writer.last),
            // Nothing was written, and the stream is still this server's.
            Err(AppendError::Full) => Err(AppendError::Full),
            Err(failed) => {
                match failed {
                    AppendError::Fenced { .. } => self.ownership.lose(),
                    AppendError::WentBack { .. } => self.ownership.mark_stale(),
                    AppendError::TooLarge { .. } | AppendError::Full | AppendError::Failed(_) => {}
                }
                writer.failed = Some(failed.clone());
                Err(failed)
            }
        }
    }

    async fn attempt(
        &self,
        writer: &mut Writer,
        messages: &[Outgoing],
        position: Position,
    ) -> Result<(), AppendError> {
        let mut attempt = AppendAttempt::new(position, now_ms());
        let mut write = Write { id: self.next_id(), messages, position, short_since_ms: None };
        let mut step = AppendStep::Send;
        loop {
            if let AppendStep::PauseThenSend | AppendStep::PauseThenLook = step {
                tokio::time::sleep(PAUSE).await;
            }
            step = match step {
                AppendStep::Send | AppendStep::PauseThenSend => {
                    write.id = self.next_id();
                    attempt.sent(self.send(writer, &write).await, now_ms())
                }
                AppendStep::Look | AppendStep::PauseThenLook => {
                    let looked = self.look(writer, &mut write).await;
                    attempt.looked(looked.map_err(|failure| failure.reason()), now_ms())
                }
                AppendStep::Done(outcome) => return outcome,
            };
        }
    }

    /// Sends all messages at once, each with the expectation that the one before is stored.
    async fn send(&self, writer: &mut Writer, write: &Write<'_>) -> Sent {
        let sent = (writer.last..).zip(write.messages).map(|(expected, message)| {
            let out = message.clone().with(EXPECTED_LAST, &expected).with(WRITE, &write.id);
            self.nats.publish(out, WRITE_MAX)
        });
        for (index, stored) in (0..).zip(join_all(sent).await) {
            let is_first = index == 0;
            match stored {
                Ok(sequence) if sequence == writer.last + index + 1 => {}
                Ok(_) => return Sent::Unknown("NATS gave another sequence".to_owned()),
                // The parts before are there, and nothing without their last message.
                Err(Failure::Full) => {
                    writer.last += index;
                    return Sent::Full;
                }
                Err(Failure::WrongSequence) if is_first => return Sent::NotInserted,
                Err(Failure::Again(reason)) if is_first => return Sent::Again(reason),
                Err(failure) => return Sent::Unknown(failure.reason()),
            }
        }
        writer.last += write.messages.len() as u64;
        Sent::Inserted
    }

    /// Determines the outcome of messages without an answer.
    async fn look(&self, writer: &mut Writer, write: &mut Write<'_>) -> Result<Resolved, Failure> {
        let look_id = format!("{}-look", write.id);
        let mut expected = writer.last;
        loop {
            let mark = self.mark(writer.start).with(EXPECTED_LAST, &expected).with(WRITE, &look_id);
            match self.nats.publish(mark, WRITE_MAX).await {
                Ok(sequence) => return self.absent(writer, sequence).await,
                Err(Failure::WrongSequence) => {}
                Err(failure) => return Err(failure),
            }
            let asked = json!({"seq": expected + 1, "batch": 1});
            let found = self.nats.batch(&self.name, &asked).await?;
            let Some(found) = found.first() else { return self.nothing(writer, write).await };
            if found.sequence != expected + 1 {
                return self.purged(expected, write.position).await;
            }
            match found.header(WRITE) {
                Some(id) if id == write.id => expected += 1,
                Some(id) if id == look_id => return self.absent(writer, found.sequence).await,
                Some(_) | None => return self.written_by_another(writer).await,
            }
            if expected == writer.last + write.messages.len() as u64 {
                writer.last = expected;
                return Ok(Resolved::Durable);
            }
        }
    }

    /// There is no message after the expected one, though its sequence is refused: the replica that
    /// answers lags behind, or the stream has lost messages. A leader that was just elected may not
    /// have seen all of them, so that one look proves nothing.
    async fn nothing(&self, writer: &Writer, write: &mut Write<'_>) -> Result<Resolved, Failure> {
        let (known, found) = (writer.last, self.nats.last_sequence(&self.name).await?);
        if found >= known {
            write.short_since_ms = None;
            return Err(Failure::Again("what is stored is not decided yet".to_owned()));
        }
        let now_ms = now_ms();
        if now_ms < *write.short_since_ms.get_or_insert(now_ms) + GONE_MS {
            return Err(Failure::Again(format!(
                "the stream ends at message {found}, and had acknowledged {known}"
            )));
        }
        Ok(Resolved::WentBack { known, found })
    }

    /// Another server has written to the stream. If the last message of this one is no longer this
    /// one's, the stream had lost it before.
    async fn written_by_another(&self, writer: &Writer) -> Result<Resolved, Failure> {
        let known = writer.last;
        let asked = json!({"seq": known, "batch": 1});
        let last = self.nats.batch(&self.name, &asked).await?;
        let is_mine = |id: &str| id.starts_with(&self.opening);
        let is_replaced =
            |last: &Stored| last.sequence == known && !last.header(WRITE).is_some_and(is_mine);
        if last.first().is_some_and(is_replaced) {
            let found = self.nats.last_sequence(&self.name).await?;
            return Ok(Resolved::WentBack { known, found });
        }
        Ok(Resolved::Fenced)
    }

    /// The messages are not there, and a mark in their place ensures that they never will be. A
    /// server that was declared gone does not send them again.
    async fn absent(&self, writer: &mut Writer, last: u64) -> Result<Resolved, Failure> {
        writer.last = last;
        if is_gone(&self.nats, &self.ownership.server).await? {
            return Ok(Resolved::Fenced);
        }
        Ok(Resolved::Absent)
    }

    /// The messages after the expected one are gone, so another server has the stream. If it has
    /// truncated it beyond the position, the message may have been there.
    async fn purged(&self, expected: u64, position: Position) -> Result<Resolved, Failure> {
        match self.last_mark().await? {
            Some((mark, sequence)) if sequence > expected && mark.opening != self.opening => {
                let is_beyond = mark.start > position.0;
                Ok(if is_beyond { Resolved::Unknown } else { Resolved::Fenced })
            }
            Some(_) | None => {
                Err(Failure::Again("the stream has lost messages, or is not complete".to_owned()))
            }
        }
    }

    /// Messages from a sequence on, in order: at least one unless there is none up to the other.
    pub(crate) async fn read(&self, from: u64, until: u64) -> Result<Vec<Stored>, Failure> {
        let asked = json!({"seq": from, "batch": PAGE, "max_bytes": PAGE_BYTES});
        let begun = now_ms();
        loop {
            let found = match self.nats.batch(&self.name, &asked).await {
                Ok(found) => found,
                Err(Failure::Broken(_) | Failure::Again(_)) if now_ms() < begun + REPEAT_MS => {
                    Vec::new()
                }
                Err(failure) => return Err(failure),
            };
            // An empty answer is one of a replica that lags behind.
            if !found.is_empty() || from > until {
                return Ok(found);
            }
            if now_ms() >= begun + REPEAT_MS {
                return Err(Failure::Broken("the stream cannot be read".to_owned()));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Removes messages of the log before a sequence, and marks that are no longer the last.
    pub(crate) async fn purge_before(&self, sequence: u64) -> Result<(), Failure> {
        for kind in ["log", "part"] {
            let asked = json!({"filter": self.subject(kind), "seq": sequence});
            self.nats.purge(&self.name, &asked).await?;
        }
        let asked = json!({"filter": self.subject("mark"), "keep": 1});
        self.nats.purge(&self.name, &asked).await
    }
}

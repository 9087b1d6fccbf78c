//! The records of a shard: appends, what is in memory, truncation.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use async_nats::HeaderMap;
use baton_cluster::chunks::CHUNK_BYTES;
use baton_cluster::spool::{Found, Spool, copy_part, no_record, within};
use baton_log::{AppendError, Position, RECORD_BYTES_MAX, ReadError, Record, TruncateError};
use bytes::Bytes;

use crate::connection::{Failure, Outgoing, Stored};
use crate::shard_stream::{ShardStream, WRITE};

const POSITION: &str = "Baton-Position";
const CHECKSUM: &str = "Baton-Crc";
/// How many messages before this one are parts of the record.
const PARTS: &str = "Baton-Parts";

/// The records of a shard.
pub(crate) struct Records {
    stream: Arc<ShardStream>,
    kept: RwLock<Kept>,
    /// Held during an append.
    appending: Mutex<()>,
}

/// The known records: those in memory, and where each one is in the stream.
pub(crate) struct Kept {
    spool: Spool,
    /// The position and the first sequence of every record.
    places: VecDeque<(Position, u64)>,
}

impl Kept {
    fn push(&mut self, record: Record, first: u64) {
        self.places.push_back((record.position, first));
        self.spool.push(record);
    }

    /// The sequence of the oldest record that a log with this start has, or the one given.
    fn sequence_of(&self, start: Position, otherwise: u64) -> u64 {
        let index = self.places.partition_point(|(position, _)| *position < start);
        self.places.get(index).map_or(otherwise, |(_, sequence)| *sequence)
    }

    fn truncate(&mut self, start: Position) {
        self.spool.truncate(start);
        while self.places.front().is_some_and(|(position, _)| *position < start) {
            self.places.pop_front();
        }
    }
}

/// Puts records together from messages that are read in order.
#[derive(Default)]
pub(crate) struct Assembly {
    parts: VecDeque<Stored>,
}

impl Assembly {
    /// A part of a record that may follow.
    pub(crate) fn part(&mut self, message: Stored) {
        let is_next = self.parts.back().is_some_and(|before| {
            before.sequence + 1 == message.sequence && before.header(WRITE) == message.header(WRITE)
        });
        if !is_next {
            self.parts.clear();
        }
        self.parts.push_back(message);
    }

    /// The record whose last message this is, and its first sequence. None if it has parts that are
    /// no longer there.
    pub(crate) fn finish(&mut self, message: &Stored) -> Result<Option<(Record, u64)>, ReadError> {
        let mut parts = std::mem::take(&mut self.parts);
        // Parts of a write that was given up are nothing.
        let is_followed = parts.back().is_some_and(|part| {
            part.sequence + 1 == message.sequence && part.header(WRITE) == message.header(WRITE)
        });
        if !is_followed {
            parts.clear();
        }
        let number = |name: &str| message.header(name).and_then(|text| text.parse::<u64>().ok());
        let (Some(position), Some(crc), Some(count)) =
            (number(POSITION), number(CHECKSUM), number(PARTS))
        else {
            return Err(damaged(Position(0), message.sequence));
        };
        if parts.len() as u64 != count {
            return Ok(None);
        }
        let bytes = parts.iter().map(|part| part.body.len()).sum::<usize>() + message.body.len();
        let mut body = Vec::with_capacity(bytes);
        for part in &parts {
            body.extend_from_slice(&part.body);
        }
        body.extend_from_slice(&message.body);
        let position = Position(position);
        if u64::from(crc32fast::hash(&body)) != crc {
            return Err(damaged(position, message.sequence));
        }
        let next = Position(position.0 + bytes as u64 + 1);
        Ok(Some((Record { position, next, body }, message.sequence - count)))
    }
}

fn damaged(position: Position, sequence: u64) -> ReadError {
    let reason = format!("the checksum of message {sequence} does not match");
    ReadError::Corrupt { position, reason }
}

/// Records as they are read from a stream.
pub(crate) struct Loading {
    kept: Kept,
    assembly: Assembly,
}

impl Loading {
    pub(crate) fn new(start: Position) -> Self {
        let kept = Kept { spool: Spool::starting_at(start), places: VecDeque::new() };
        Self { kept, assembly: Assembly::default() }
    }

    /// A message of the log. Records before the start may still be there, with gaps.
    pub(crate) fn see(&mut self, kind: &str, message: Stored) -> Result<(), ReadError> {
        if kind == "part" {
            self.assembly.part(message);
            return Ok(());
        }
        let tail = self.kept.spool.tail();
        let Some((record, first)) = self.assembly.finish(&message)? else {
            let text = message.header(POSITION);
            let position = text.and_then(|text| text.parse::<u64>().ok());
            let is_needed = position.is_none_or(|position| position >= self.kept.spool.start().0);
            return if is_needed { Err(no_record(tail)) } else { Ok(()) };
        };
        if record.position < self.kept.spool.start() {
            return Ok(());
        }
        if record.position != tail {
            return Err(no_record(tail));
        }
        self.kept.push(record, first);
        Ok(())
    }

    pub(crate) fn finish(self, stream: &Arc<ShardStream>) -> Records {
        let (stream, kept) = (Arc::clone(stream), RwLock::new(self.kept));
        Records { stream, kept, appending: Mutex::new(()) }
    }
}

impl Records {
    fn kept(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_mut(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn appending(&self) -> MutexGuard<'_, ()> {
        self.appending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn start(&self) -> Position {
        self.kept().spool.start()
    }

    pub(crate) fn tail(&self) -> Position {
        self.kept().spool.tail()
    }

    pub(crate) fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let _appending = self.appending();
        let tail = self.tail();
        if expected != tail {
            return Err(AppendError::Fenced { expected, tail });
        }
        if body.len() > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes: body.len(), bytes_max: RECORD_BYTES_MAX });
        }
        let messages = self.messages(expected, body);
        let count = messages.len() as u64;
        let stream = Arc::clone(&self.stream);
        let closing = || AppendError::Failed("the log is being closed".to_owned());
        let written = self
            .stream
            .nats()
            .network()
            .wait(async move { stream.write(&messages, expected).await });
        let last = written.ok_or_else(closing)??;
        let next = Position(tail.0 + body.len() as u64 + 1);
        let record = Record { position: expected, next, body: body.to_vec() };
        self.kept_mut().push(record, last + 1 - count);
        Ok(next)
    }

    /// The messages of a record: parts, and the last one.
    fn messages(&self, position: Position, body: &[u8]) -> Vec<Outgoing> {
        let body_bytes = Bytes::copy_from_slice(body);
        let mut rest = body_bytes;
        let mut messages = Vec::new();
        let message = |kind: &str, body: Bytes| Outgoing {
            subject: self.stream.subject(kind),
            headers: HeaderMap::new(),
            body,
        };
        while rest.len() > CHUNK_BYTES {
            messages.push(message("part", rest.split_to(CHUNK_BYTES)));
        }
        let parts = messages.len();
        let last = message("log", rest)
            .with(POSITION, &position)
            .with(CHECKSUM, &crc32fast::hash(body))
            .with(PARTS, &parts);
        messages.push(last);
        messages
    }

    pub(crate) fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let found = self.kept().spool.read(from, bytes_max)?;
        match found {
            Found::Here(records) => Ok(records),
            Found::Stored => self.read_stored(from, bytes_max),
        }
    }

    /// Records that are no longer in memory.
    fn read_stored(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let mut sequence = self.kept().sequence_of(from, 0);
        let mut records: Vec<Record> = Vec::new();
        let mut assembly = Assembly::default();
        while records.is_empty() {
            let stream = Arc::clone(&self.stream);
            let asked = sequence;
            let read = async move { stream.read(asked, asked).await };
            let failed = |failure: Failure| ReadError::Failed(failure.reason());
            let closing = || ReadError::Failed("the log is being closed".to_owned());
            let network = self.stream.nats().network();
            let messages = network.wait(read).ok_or_else(closing)?.map_err(failed)?;
            for message in messages {
                sequence = message.sequence + 1;
                match self.stream.rest(&message.subject) {
                    "part" => assembly.part(message),
                    "log" => records.extend(assembly.finish(&message)?.map(|(record, _)| record)),
                    _ => {}
                }
            }
        }
        match records.first() {
            Some(first) if first.position == from => Ok(within(records.into_iter(), bytes_max)),
            Some(_) | None => Err(no_record(from)),
        }
    }

    pub(crate) fn read_part(
        &self,
        record: Position,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), ReadError> {
        let found = self.kept().spool.read_part(record, offset, buffer)?;
        if let Found::Here(()) = found {
            return Ok(());
        }
        let stored = self.read_stored(record, 0)?;
        let stored = stored.first().ok_or_else(|| no_record(record))?;
        copy_part(stored, offset, buffer)
    }

    pub(crate) fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        let _appending = self.appending();
        let Some(start) = self.kept().spool.start_after(before)? else { return Ok(()) };
        let (stream, network) = (Arc::clone(&self.stream), self.stream.nats().network());
        let moved = network.wait(async move {
            stream.truncate(start).await?;
            Ok(stream.ends().await.0)
        });
        let closing = || AppendError::Failed("the log is being closed".to_owned());
        let last =
            moved.ok_or_else(closing).and_then(|moved| moved).map_err(|error| match error {
                AppendError::Fenced { .. } => TruncateError::Fenced,
                other => TruncateError::Failed(other.to_string()),
            })?;
        let mut kept = self.kept_mut();
        let sequence = kept.sequence_of(start, last);
        kept.truncate(start);
        drop(kept);
        // Messages that are left after an error are removed the next time.
        let stream = Arc::clone(&self.stream);
        drop(network.spawn(async move {
            let _ = stream.purge_before(sequence).await;
        }));
        Ok(())
    }
}

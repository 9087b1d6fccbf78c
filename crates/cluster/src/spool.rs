//! What the owner of a log knows of it: its ends, and the newest records.

use std::collections::VecDeque;

use baton_log::{Position, ReadError, Record, TruncateError};

/// Records in memory, of each shard. The engine archives the log long before it has as much.
const BYTES_MAX: usize = 64 << 20;

/// The ends of a log, and its newest records.
#[derive(Debug, Default)]
pub struct Spool {
    start: Position,
    tail: Position,
    records: VecDeque<Record>,
    bytes: usize,
}

/// What a read finds in memory.
#[derive(Debug)]
pub enum Found<T> {
    /// It is there.
    Here(T),
    /// It is only in the store.
    Stored,
}

impl Spool {
    /// An empty log that starts here.
    #[must_use]
    pub fn starting_at(start: Position) -> Self {
        Self { start, tail: start, ..Self::default() }
    }

    /// The oldest position that is kept.
    #[must_use]
    pub fn start(&self) -> Position {
        self.start
    }

    /// The position of the next record.
    #[must_use]
    pub fn tail(&self) -> Position {
        self.tail
    }

    /// Adds the record at the tail.
    pub fn push(&mut self, record: Record) {
        self.tail = record.next;
        self.bytes += record.body.len();
        self.records.push_back(record);
        while self.bytes > BYTES_MAX {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(record) = self.records.pop_front() {
            self.bytes -= record.body.len();
        }
    }

    /// The position of the oldest record in memory.
    fn first(&self) -> Position {
        self.records.front().map_or(self.tail, |record| record.position)
    }

    fn check(&self, position: Position) -> Result<(), ReadError> {
        let (start, tail) = (self.start, self.tail);
        if position < start {
            return Err(ReadError::Truncated { position, start });
        }
        if position > tail {
            return Err(ReadError::BeyondTail { position, tail });
        }
        Ok(())
    }

    fn index_of(&self, position: Position) -> Result<usize, ReadError> {
        let found = self.records.binary_search_by_key(&position, |record| record.position);
        found.map_err(|_| no_record(position))
    }

    /// Whole records, at least one and then as many as fit.
    pub fn read(&self, from: Position, bytes_max: usize) -> Result<Found<Vec<Record>>, ReadError> {
        self.check(from)?;
        if from < self.first() {
            return Ok(Found::Stored);
        }
        let first = if from == self.tail { self.records.len() } else { self.index_of(from)? };
        Ok(Found::Here(within(self.records.range(first..).cloned(), bytes_max)))
    }

    /// Fills a buffer with a part of the body of a record.
    pub fn read_part(
        &self,
        record: Position,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<Found<()>, ReadError> {
        self.check(record)?;
        if record == self.tail {
            return Err(ReadError::BeyondTail { position: record, tail: self.tail });
        }
        if record < self.first() {
            return Ok(Found::Stored);
        }
        let found = &self.records[self.index_of(record)?];
        copy_part(found, offset, buffer).map(Found::Here)
    }

    /// The position of the oldest record that a truncation keeps: a position inside a record still
    /// needs that record. None if nothing in memory is truncated.
    pub fn start_after(&self, before: Position) -> Result<Option<Position>, TruncateError> {
        let tail = self.tail;
        if before > tail {
            return Err(TruncateError::BeyondTail { before, tail });
        }
        let after = self.records.partition_point(|record| record.next <= before);
        Ok(match self.records.get(after) {
            Some(record) if before >= self.first() => Some(record.position),
            Some(_) => None,
            None => Some(tail),
        })
    }

    /// Records before this position are gone.
    pub fn truncate(&mut self, start: Position) {
        self.start = self.start.max(start);
        while self.records.front().is_some_and(|record| record.position < start) {
            self.pop();
        }
    }
}

/// The error for a position at which no record begins.
#[must_use]
pub fn no_record(position: Position) -> ReadError {
    ReadError::Corrupt { position, reason: "no record begins here".to_owned() }
}

/// Fills a buffer with a part of the body of a record.
pub fn copy_part(record: &Record, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
    let from = offset as usize;
    let part = from.checked_add(buffer.len()).and_then(|to| record.body.get(from..to));
    let beyond = ReadError::BeyondTail { position: record.position, tail: record.next };
    part.map(|part| buffer.copy_from_slice(part)).ok_or(beyond)
}

/// At least one record, then as many as fit.
pub fn within(records: impl Iterator<Item = Record>, bytes_max: usize) -> Vec<Record> {
    let mut bytes = 0;
    let mut is_first = true;
    records
        .take_while(|record| {
            bytes += record.body.len();
            std::mem::take(&mut is_first) || bytes <= bytes_max
        })
        .collect()
}

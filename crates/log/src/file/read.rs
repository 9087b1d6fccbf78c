//! Reads records concurrently with appends and truncation.

use std::io;

use super::Shared;
use super::format::{Found, RECORD_HEADER_BYTES, find_record, in_memory};
use super::segment::Segment;
use crate::contract::{Position, Record};
use crate::disk::{Disk, DiskFile, read_exact_at};
use crate::error::ReadError;

/// The minimum size of a read, for readers that request little.
const READ_BYTES_MIN: usize = 4096;
/// The maximum size of a read, for readers that request everything.
const READ_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(crate) fn read<D: Disk>(
    shared: &Shared<D>,
    from: Position,
    bytes_max: usize,
) -> Result<Vec<Record>, ReadError> {
    check_range(shared, from)?;
    let mut reading =
        Reading { records: Vec::new(), next: from, bytes_left: bytes_max, memory: Vec::new() };
    while let Some((segment, end)) = shared.locate(reading.next) {
        if reading.next >= end {
            break;
        }
        let result = reading.read_piece(&segment, end);
        // The result is only valid if the segment was still in use afterwards.
        check_range(shared, from)?;
        if !result? {
            break;
        }
    }
    check_range(shared, from)?;
    Ok(reading.records)
}

/// Some records of a segment without a writer; `end` is where its records end.
pub(crate) fn read_segment<F: DiskFile>(
    segment: &Segment<F>,
    from: Position,
    end: Position,
) -> Result<Vec<Record>, ReadError> {
    let (records, memory) = (Vec::new(), Vec::new());
    let mut reading = Reading { records, next: from, bytes_left: READ_BYTES_MAX, memory };
    reading.read_piece(segment, end)?;
    Ok(reading.records)
}

pub(crate) fn read_part<D: Disk>(
    shared: &Shared<D>,
    record: Position,
    offset: u32,
    buffer: &mut [u8],
) -> Result<(), ReadError> {
    check_range(shared, record)?;
    let truncated = || ReadError::Truncated { position: record, start: shared.start() };
    let (segment, end) = shared.locate(record).ok_or_else(truncated)?;
    let first = RECORD_HEADER_BYTES as u64 + u64::from(offset);
    let part_end = Position(record.0.saturating_add(first).saturating_add(buffer.len() as u64));
    if part_end > end {
        return Err(ReadError::BeyondTail { position: part_end, tail: end });
    }
    let result = read_exact_at(&segment.file, segment.offset_of(record) + first, buffer);
    check_range(shared, record)?;
    result.map_err(|error| cannot_read(&segment, &error))
}

fn check_range<D: Disk>(shared: &Shared<D>, position: Position) -> Result<(), ReadError> {
    let (start, tail) = (shared.start(), shared.tail());
    if position < start {
        return Err(ReadError::Truncated { position, start });
    }
    if position > tail {
        return Err(ReadError::BeyondTail { position, tail });
    }
    Ok(())
}

fn cannot_read<F>(segment: &Segment<F>, error: &io::Error) -> ReadError {
    ReadError::Failed(format!("`{}`: {error}", segment.path.display()))
}

struct Reading {
    records: Vec<Record>,
    next: Position,
    bytes_left: usize,
    memory: Vec<u8>,
}

impl Reading {
    /// Reads one piece of a segment whose records end at `end`. Returns whether to continue.
    fn read_piece<F: DiskFile>(
        &mut self,
        segment: &Segment<F>,
        end: Position,
    ) -> Result<bool, ReadError> {
        let left = in_memory(end.0 - self.next.0);
        let wanted = self.bytes_left.saturating_add(RECORD_HEADER_BYTES);
        self.fill(segment, wanted.clamp(READ_BYTES_MIN, READ_BYTES_MAX).min(left))?;
        let mut from = 0;
        loop {
            match find_record(segment.salt, self.next, &self.memory[from..]) {
                Found::Record { bytes } => {
                    let body = &self.memory[from + RECORD_HEADER_BYTES..from + bytes];
                    if body.len() > self.bytes_left && !self.records.is_empty() {
                        return Ok(false);
                    }
                    self.bytes_left = self.bytes_left.saturating_sub(body.len());
                    let (position, next) = (self.next, Position(self.next.0 + bytes as u64));
                    self.records.push(Record { position, next, body: body.to_vec() });
                    self.next = next;
                    from += bytes;
                    if from == self.memory.len() {
                        return Ok(true);
                    }
                }
                Found::Incomplete { bytes } if bytes > left => {
                    return Err(self.corrupt(segment, "it reaches beyond the end of the segment"));
                }
                Found::Incomplete { bytes } => {
                    let body_bytes = bytes - RECORD_HEADER_BYTES;
                    if body_bytes > self.bytes_left && !self.records.is_empty() {
                        return Ok(false);
                    }
                    if from > 0 {
                        return Ok(true);
                    }
                    self.fill(segment, bytes)?;
                }
                Found::Nothing(reason) => return Err(self.corrupt(segment, reason)),
            }
        }
    }

    fn fill<F: DiskFile>(&mut self, segment: &Segment<F>, bytes: usize) -> Result<(), ReadError> {
        self.memory.resize(bytes, 0);
        read_exact_at(&segment.file, segment.offset_of(self.next), &mut self.memory)
            .map_err(|error| cannot_read(segment, &error))
    }

    fn corrupt<F>(&self, segment: &Segment<F>, reason: &str) -> ReadError {
        let offset = segment.offset_of(self.next);
        let reason = format!("byte {offset} of `{}`: {reason}", segment.path.display());
        ReadError::Corrupt { position: self.next, reason }
    }
}

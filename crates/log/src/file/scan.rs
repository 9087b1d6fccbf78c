//! Scans a segment: follows the chain of records, and searches beyond it.
//!
//! Reads are large and sequential, because recovery reads the whole log.

use std::io;

use super::format::{
    Found, RECORD_HEADER_BYTES, RECORD_MAGIC, SEGMENT_HEADER_BYTES, find_record, in_memory,
};
use super::segment::Segment;
use crate::contract::Position;
use crate::disk::DiskFile;

/// Large enough that the read dominates the system call, small enough for the cache of a core.
const WINDOW_BYTES: usize = 1024 * 1024;

/// A part of a file in memory that moves forward with its reader.
pub(crate) struct Window {
    memory: Vec<u8>,
    offset: u64,
    filled: usize,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self { memory: Vec::new(), offset: 0, filled: 0 }
    }

    /// Discards the buffer, because another file follows.
    fn reset(&mut self) {
        self.filled = 0;
    }

    /// The bytes of the file from `offset` on: at least `wanted` unless the file ends before.
    fn bytes_at<F: DiskFile>(
        &mut self,
        segment: &Segment<F>,
        offset: u64,
        wanted: usize,
    ) -> io::Result<&[u8]> {
        let skipped = offset.checked_sub(self.offset).and_then(|skip| usize::try_from(skip).ok());
        let held = skipped.filter(|skip| skip + wanted <= self.filled);
        let from = if let Some(skip) = held {
            skip
        } else {
            let bytes = wanted.max(WINDOW_BYTES.min(in_memory(segment.bytes)));
            if self.memory.len() < bytes {
                self.memory = vec![0; bytes];
            }
            self.filled = 0;
            self.filled = segment.file.read_at(offset, &mut self.memory)?;
            self.offset = offset;
            0
        };
        Ok(&self.memory[from..self.filled])
    }

    /// The content at `offset`, with as much of the file in view as necessary.
    fn find<F: DiskFile>(&mut self, segment: &Segment<F>, offset: u64) -> io::Result<Found> {
        let position = segment.position_at(offset);
        let bytes = self.bytes_at(segment, offset, RECORD_HEADER_BYTES)?;
        let found = find_record(segment.salt, position, bytes);
        let Found::Incomplete { bytes: wanted } = found else {
            return Ok(found);
        };
        let bytes = self.bytes_at(segment, offset, wanted)?;
        Ok(find_record(segment.salt, position, bytes))
    }
}

/// A chain of consecutive records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) records: u64,
    /// The last record, if there is one.
    pub(crate) last: Option<Position>,
    /// The expected position of the record after the last one.
    pub(crate) end: Position,
    /// Why the chain ends, unless it reached the given limit.
    pub(crate) flaw: Option<String>,
}

/// Follows the records from `from` on, up to the start of the next segment.
pub(crate) fn follow<F: DiskFile>(
    window: &mut Window,
    segment: &Segment<F>,
    from: Position,
    limit: Option<Position>,
) -> io::Result<Chain> {
    window.reset();
    let mut chain = Chain { records: 0, last: None, end: from, flaw: None };
    while limit.is_none_or(|limit| chain.end < limit) {
        match window.find(segment, segment.offset_of(chain.end))? {
            Found::Record { bytes } => {
                chain.records += 1;
                chain.last = Some(chain.end);
                chain.end = Position(chain.end.0 + bytes as u64);
            }
            Found::Incomplete { .. } => {
                chain.flaw = Some("the file ends within a record".to_owned());
                break;
            }
            Found::Nothing(reason) => {
                chain.flaw = Some(reason.to_owned());
                break;
            }
        }
    }
    if let Some(limit) = limit.filter(|limit| chain.end > *limit) {
        let end = chain.end;
        chain.flaw = Some(format!("the records end at position {end}, beyond {limit}"));
    }
    Ok(chain)
}

/// The first byte at or after `offset` at which a valid record of this segment starts.
///
/// Records are packed, so every byte is a candidate. A candidate must contain its own position,
/// which leaves hardly any for the checksum to decide.
pub(crate) fn search<F: DiskFile>(
    window: &mut Window,
    segment: &Segment<F>,
    offset: u64,
) -> io::Result<Option<u64>> {
    window.reset();
    let mut offset = offset.max(SEGMENT_HEADER_BYTES);
    loop {
        let bytes = window.bytes_at(segment, offset, RECORD_HEADER_BYTES)?;
        if bytes.len() < RECORD_HEADER_BYTES {
            return Ok(None);
        }
        let Some(skip) = find_magic(bytes) else {
            // The last bytes may be the beginning of a magic number that the next window completes.
            offset += (bytes.len() - (RECORD_MAGIC.len() - 1)) as u64;
            continue;
        };
        offset += skip as u64;
        if matches!(window.find(segment, offset)?, Found::Record { .. }) {
            return Ok(Some(offset));
        }
        offset += 1;
    }
}

/// Segments are filled with zeros, so most of what is searched is skipped a block at a time.
fn find_magic(bytes: &[u8]) -> Option<usize> {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut from = 0;
    while from + RECORD_MAGIC.len() <= bytes.len() {
        let block = &bytes[from..bytes.len().min(from + ZEROS.len())];
        if *block == ZEROS[..block.len()] {
            from += block.len();
            continue;
        }
        // A magic number may start in this block and end in the next.
        let seen = &bytes[from..bytes.len().min(from + ZEROS.len() + RECORD_MAGIC.len() - 1)];
        let found = seen.windows(RECORD_MAGIC.len()).position(|window| window == RECORD_MAGIC);
        if let Some(skip) = found {
            return Some(from + skip);
        }
        from += ZEROS.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_magic_is_found_at_any_offset() {
        let mut bytes = vec![0; 3 * 4096 + 7];
        for at in 0..=bytes.len() - RECORD_MAGIC.len() {
            bytes[at..at + 4].copy_from_slice(&RECORD_MAGIC);
            assert_eq!(find_magic(&bytes), Some(at));
            bytes[at..at + 4].fill(0);
        }
        assert_eq!(find_magic(&bytes), None);
        assert_eq!(find_magic(&RECORD_MAGIC[..3]), None);
    }
}

//! The writer of a log: the hot path.
//!
//! ```text
//!   file    ──┬────────────────┬────────────────┬────────────────┬──
//!             │ records   ┊    │                │                │      blocks of 4 KiB
//!           ──┴───────────┊────┴────────────────┴────────────────┴──
//!                         ┊ tail
//!   buffer    [ kept      ┊ header body ······ 0000000]                 one write, block-aligned
//! ```
//!
//! An append is one write of whole blocks: the bytes of the last block that are durable already,
//! the new record, and zeros up to the end of its last block. With direct writes that is all; with
//! buffered ones a sync follows. Rewriting the durable bytes is harmless even if the write tears,
//! because every sector contains them before and after.
//!
//! Invariants:
//!
//! 1. The first `offset(tail) % 4096` bytes of the buffer are those of the file's block.
//! 2. Nothing is allocated once the buffer has the size of the largest record so far.
//! 3. After a failed write or sync nothing is written again. Linux forgets which pages it could not
//!    write and would report the next sync as a success. A write that found no space is the
//!    exception.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::block_buffer::BlockBuffer;
use super::format::{
    BLOCK_BYTES, RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES, SegmentHeader, encode_record,
    in_memory, round_up,
};
use super::segment::Segment;
use super::watermark::Watermark;
use super::{Shared, SyncMethod, sync_folder};
use crate::contract::Position;
use crate::disk::{Disk, DiskFile, is_full, read_exact_at};
use crate::error::AppendError;
use crate::planted;

/// Enough for most records without growing.
const BUFFER_BYTES: usize = 256 * 1024;

/// Writes at the tail of the last segment.
pub(crate) struct Appender<D: Disk> {
    segment: Arc<Segment<D::File>>,
    file: D::File,
    method: SyncMethod,
    buffer: BlockBuffer,
    tail: Position,
    /// The position of the last record of this segment; the tail if it has none.
    last: Position,
    pub(crate) watermark: Watermark<D::File>,
}

impl<D: Disk> Appender<D> {
    /// Continues at the tail of a segment, after securing what is before and after it.
    ///
    /// The last record may have been read from a cache whose write failed. It is written again, so
    /// that a reader that sees it now will also see it later. The bytes after it, up to
    /// `torn_until`, are overwritten so that a torn record cannot reappear.
    pub(crate) fn resume(
        disk: &D,
        segment: Arc<Segment<D::File>>,
        method: SyncMethod,
        last: Position,
        tail: Position,
        torn_until: u64,
        watermark: Watermark<D::File>,
    ) -> io::Result<Self> {
        let file = disk.open_for_write(&segment.path, method.write())?;
        let from = segment.offset_of(last) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64;
        let kept = in_memory(segment.offset_of(tail) - from);
        let bytes = round_up(kept.max(in_memory(torn_until.saturating_sub(from))));
        let mut buffer = BlockBuffer::new(bytes.max(BUFFER_BYTES));
        let memory = &mut buffer.slice_mut()[..bytes];
        read_exact_at(&segment.file, from, &mut memory[..kept])?;
        memory[kept..].fill(0);
        if bytes > 0 {
            file.write_at(from, memory)?;
            method.sync(&file)?;
        }
        keep_last_block(&mut buffer, kept);
        Ok(Self { segment, file, method, buffer, tail, last, watermark })
    }

    pub(crate) fn append(
        &mut self,
        shared: &Shared<D>,
        expected: Position,
        body: &[u8],
    ) -> Result<Position, AppendError> {
        if let Some(reason) = shared.failure.get() {
            return Err(AppendError::Failed(reason.clone()));
        }
        if expected != self.tail {
            return Err(AppendError::Fenced { expected, tail: self.tail });
        }
        if body.len() > shared.record_bytes_max {
            let bytes_max = shared.record_bytes_max;
            return Err(AppendError::TooLarge { bytes: body.len(), bytes_max });
        }
        if RECORD_HEADER_BYTES + body.len() > self.segment.room_at(self.tail) {
            self.rotate(shared)?;
        }
        self.write(body).map_err(|error| match error {
            WriteError::Full => AppendError::Full,
            WriteError::Failed(error) => shared.fail(&self.segment.path, &error),
        })?;
        self.watermark.advance(self.tail);
        shared.set_tail(self.tail);
        Ok(self.tail)
    }

    fn write(&mut self, body: &[u8]) -> Result<(), WriteError> {
        let offset = self.segment.offset_of(self.tail);
        let kept = in_memory(offset % BLOCK_BYTES as u64);
        let end = kept + RECORD_HEADER_BYTES + body.len();
        let padded = round_up(end);
        self.buffer.reserve(padded, kept);
        let memory = &mut self.buffer.slice_mut()[..padded];
        encode_record(self.segment.salt, self.tail, body, &mut memory[kept..end]);
        memory[end..].fill(0);
        self.file.write_at(offset - kept as u64, memory).map_err(WriteError::of_write)?;
        if !planted::is("log.skip_sync") {
            self.method.sync(&self.file).map_err(WriteError::Failed)?;
        }
        keep_last_block(&mut self.buffer, end);
        self.last = self.tail;
        self.tail = Position(self.tail.0 + (end - kept) as u64);
        Ok(())
    }

    /// Continues in a new segment that starts at the tail.
    fn rotate(&mut self, shared: &Shared<D>) -> Result<(), AppendError> {
        let base = if planted::is("log.lose_last_on_rotate") { self.last } else { self.tail };
        let spare = shared.spares.take(&shared.disk).map_err(|error| {
            if is_full(&error) {
                AppendError::Full
            } else {
                shared.fail(&shared.layout.preparing(), &error)
            }
        })?;
        let made_bytes = shared.spares.segment_bytes;
        let header = SegmentHeader { base, salt: self.segment.salt, made_bytes };
        let file = match name_spare(shared, &spare, header, self.method) {
            Ok(file) => file,
            Err(error) if is_full(&error) => {
                shared.spares.put_back(spare);
                return Err(AppendError::Full);
            }
            Err(error) => return Err(shared.fail(&spare, &error)),
        };
        let segment = finish_segment(shared, header);
        let segment = Arc::new(segment.map_err(|error| shared.fail(&spare, &error))?);
        shared.add_segment(Arc::clone(&segment));
        (self.segment, self.file) = (segment, file);
        (self.last, self.tail) = (base, base);
        self.watermark.sync();
        Ok(())
    }
}

/// Why a record is not in the log.
enum WriteError {
    /// The file system had no space for it, as can happen where overwriting allocates blocks.
    Full,
    /// The outcome is unknown.
    Failed(io::Error),
}

impl WriteError {
    /// A write that found no space did not write its last block, in which the record ends: what it
    /// wrote is no record, and the next one replaces it. This is not so for a sync that found no
    /// space: some of the blocks it was about may be on disk and others lost.
    fn of_write(error: io::Error) -> Self {
        if is_full(&error) { Self::Full } else { Self::Failed(error) }
    }
}

/// Moves the bytes of the last, incomplete block to the front, where the next write starts.
fn keep_last_block(buffer: &mut BlockBuffer, end: usize) {
    let block = end / BLOCK_BYTES * BLOCK_BYTES;
    buffer.slice_mut().copy_within(block..end, 0);
}

/// Writes the header of a new segment into a spare and gives it its name, not yet durably.
///
/// The header is durable before the name is, so a segment with a bad header was damaged later.
fn name_spare<D: Disk>(
    shared: &Shared<D>,
    spare: &Path,
    header: SegmentHeader,
    method: SyncMethod,
) -> io::Result<D::File> {
    let file = shared.disk.open_for_write(spare, method.write())?;
    let mut block = BlockBuffer::new(BLOCK_BYTES);
    header.encode(block.slice_mut());
    file.write_at(0, block.slice())?;
    method.sync(&file)?;
    shared.disk.rename(spare, &shared.layout.segment(header.base))?;
    Ok(file)
}

/// Makes the name of a new segment durable and opens it for reading.
fn finish_segment<D: Disk>(
    shared: &Shared<D>,
    header: SegmentHeader,
) -> io::Result<Segment<D::File>> {
    sync_folder(&shared.disk, &shared.layout.log)?;
    let path = shared.layout.segment(header.base);
    let file = shared.disk.open(&path)?;
    let bytes = file.length()?;
    assert!(bytes > SEGMENT_HEADER_BYTES, "a spare has all its bytes");
    let SegmentHeader { base, salt, made_bytes } = header;
    Ok(Segment { base, salt, path, bytes, made_bytes, file })
}

/// Turns a spare into a segment, durably, before the preparing thread exists.
pub(crate) fn create_segment<D: Disk>(
    shared: &Shared<D>,
    header: SegmentHeader,
    method: SyncMethod,
) -> io::Result<Segment<D::File>> {
    let spare = shared.spares.take_inline(&shared.disk)?;
    name_spare(shared, &spare, header, method)?;
    finish_segment(shared, header)
}

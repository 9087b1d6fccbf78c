//! The writer: entries in key order in, a blob out.

use baton_log::{BlobError, BlobWriter};

use super::layout::{header, put_varint, varint_bytes};
use super::{FORMAT_VERSION, FRAME_BYTES_MAX, FrameError, KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Opens the header of every map.
pub(super) const MAGIC: [u8; 8] = *b"BATONFRM";

/// Ends the footer of every map.
pub(super) const FOOTER_MAGIC: [u8; 8] = *b"BATONEND";

/// `length u32 | crc32 u32 | count u32`.
pub(super) const FRAME_HEAD_BYTES: usize = 12;

/// The fixed size of the footer.
pub(super) const FOOTER_BYTES: usize = 40;

/// Frames are gathered up to this size, so that a large map is written in few calls.
const WRITE_BYTES: usize = 256 << 10;

/// What [`FrameWriter::finish`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSummary {
    /// How many entries the map has.
    pub entries: u64,
    /// How many frames they fill.
    pub frames: u64,
    /// What it takes in the blob, header and footer included.
    pub bytes: u64,
}

/// Writes one map. Dropped before [`finish`](Self::finish), it leaves nothing behind.
pub struct FrameWriter {
    output: Box<dyn BlobWriter>,
    /// Bytes on their way to the output; the open frame is their end.
    buffer: Vec<u8>,
    frame_start: usize,
    /// Entries in the open frame; none means that no frame is open.
    frame_entries: u32,
    /// Where the open frame, or else the next one, begins in the section.
    frame_offset: u64,
    /// Grows by a first key when a frame opens and by the rest when it closes.
    directory: Vec<u8>,
    last_key: Vec<u8>,
    entries: u64,
    frames: u64,
}

impl FrameWriter {
    /// Begins a map wherever the output stands, be it at its start or behind other bytes. The
    /// `kind` says what the map is for and comes back as [`Frames::kind`](super::Frames::kind).
    pub fn new(output: Box<dyn BlobWriter>, kind: u8) -> Self {
        let buffer = header(MAGIC, FORMAT_VERSION, kind).to_vec();
        Self {
            output,
            frame_start: 0,
            frame_entries: 0,
            frame_offset: buffer.len() as u64,
            buffer,
            directory: Vec::new(),
            last_key: Vec::new(),
            entries: 0,
            frames: 0,
        }
    }

    /// Adds an entry. Keys must ascend strictly: a caller out of order has a bug, and a map written
    /// from it would lose keys in silence.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), FrameError> {
        assert!(self.entries == 0 || self.last_key.as_slice() < key, "keys must ascend strictly");
        bounded("a key", key, KEY_BYTES_MAX)?;
        bounded("a value", value, VALUE_BYTES_MAX)?;
        let lengths = varint_bytes(key.len() as u64) + varint_bytes(value.len() as u64);
        let entry_bytes = lengths + key.len() + value.len();
        let frame_bytes = self.buffer.len() - self.frame_start;
        if self.frame_entries > 0 && frame_bytes + entry_bytes > FRAME_BYTES_MAX {
            self.close_frame()?;
        }
        if self.frame_entries == 0 {
            self.open_frame(key);
        }
        put_varint(&mut self.buffer, key.len() as u64);
        put_varint(&mut self.buffer, value.len() as u64);
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        self.frame_entries += 1;
        self.entries += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Completes the map and commits the blob.
    pub fn finish(self) -> Result<FrameSummary, FrameError> {
        let (output, summary) = self.finish_section()?;
        output.commit()?;
        Ok(summary)
    }

    /// Completes the map and hands the output back, for a blob that holds more than the map. Such a
    /// blob must remember where the map began and ended.
    pub fn finish_section(mut self) -> Result<(Box<dyn BlobWriter>, FrameSummary), FrameError> {
        if self.frame_entries > 0 {
            self.close_frame()?;
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend_from_slice(&self.frame_offset.to_le_bytes());
        footer.extend_from_slice(&(self.directory.len() as u64).to_le_bytes());
        footer.extend_from_slice(&self.entries.to_le_bytes());
        footer.extend_from_slice(&crc32fast::hash(&self.directory).to_le_bytes());
        footer.extend_from_slice(&crc32fast::hash(&footer).to_le_bytes());
        footer.extend_from_slice(&FOOTER_MAGIC);
        assert_eq!(footer.len(), FOOTER_BYTES);

        let bytes = self.frame_offset + (self.directory.len() + footer.len()) as u64;
        self.buffer.append(&mut self.directory);
        self.buffer.append(&mut footer);
        self.flush()?;
        let summary = FrameSummary { entries: self.entries, frames: self.frames, bytes };
        Ok((self.output, summary))
    }

    fn open_frame(&mut self, first_key: &[u8]) {
        self.frame_start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
        put_varint(&mut self.directory, first_key.len() as u64);
        self.directory.extend_from_slice(first_key);
    }

    fn close_frame(&mut self) -> Result<(), FrameError> {
        let frame = &mut self.buffer[self.frame_start..];
        let length = u32::try_from(frame.len()).expect("keys and values are bounded below 2^31");
        frame[8..12].copy_from_slice(&self.frame_entries.to_le_bytes());
        let crc = crc32fast::hash(&frame[8..]);
        frame[..4].copy_from_slice(&length.to_le_bytes());
        frame[4..8].copy_from_slice(&crc.to_le_bytes());

        put_varint(&mut self.directory, self.frame_offset);
        put_varint(&mut self.directory, u64::from(length));
        self.directory.extend_from_slice(&crc.to_le_bytes());
        self.frame_offset += u64::from(length);
        self.frame_entries = 0;
        self.frames += 1;
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlobError> {
        self.output.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

fn bounded(what: &'static str, part: &[u8], bytes_max: usize) -> Result<(), FrameError> {
    if part.len() <= bytes_max {
        return Ok(());
    }
    Err(FrameError::TooLarge { what, bytes: part.len() as u64, bytes_max: bytes_max as u64 })
}

//! The bytes of a segment and of a record. Everything in this format stays readable.
//!
//! A segment file starts with a block that identifies it:
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..8 | magic | `BATONLOG` |
//! | 8..12 | version | [`FORMAT_VERSION`] |
//! | 12..16 | blocks | how many blocks of 4096 bytes the file has; 0 if that is not known |
//! | 16..24 | base | the position of its first record |
//! | 24..32 | salt | the same in all segments of a log |
//! | 32..36 | checksum | crc32 of bytes 0..32 |
//!
//! The rest of the block is zero except for a copy of these 36 bytes at byte 2048, so that damage
//! to one sector does not cost a whole segment. The layout of these 36 bytes is the same in every
//! version; everything else may change with it. Records follow, packed:
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..4 | magic | distinguishes a record from zeros and most other data |
//! | 4..8 | length | of the body |
//! | 8..16 | position | of this record |
//! | 16..20 | checksum | crc32 of the salt, bytes 4..16 and the body |
//! | 20.. | body | |
//!
//! All numbers are little-endian.
//!
//! Invariants:
//!
//! 1. A record is at file offset `4096 + position - base`, so a record is found by its position
//!    without an index.
//! 2. A record never spans segments, and the base of a segment is the end of the previous one, so
//!    that a missing segment leaves a detectable gap.
//! 3. Positions never repeat and are covered by the checksum. Recycled segments are full of old
//!    records, but the position of an old record never matches its new location. The position
//!    serves as a generation number.
//! 4. Authors of bodies do not know the salt. A body that contains the bytes of a record therefore
//!    cannot be mistaken for one, wherever it is in a torn or recycled segment.
//!
//! Deliberately absent: compression, encryption, and any meaning of a body.

use crate::contract::{Position, RECORD_BYTES_MAX};
use crate::planted;

/// The unit of direct writes, and the size of a segment's header.
pub const BLOCK_BYTES: usize = 4096;
/// The format that this program writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 1;
/// The overhead of a record.
pub(crate) const RECORD_HEADER_BYTES: usize = 20;
/// The offset of the first record of a segment.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = BLOCK_BYTES as u64;

/// The first byte is rare in text and in `MessagePack`, which makes the search for it fast.
pub(crate) const RECORD_MAGIC: [u8; 4] = [0xc1, b'R', b'e', b'c'];
const SEGMENT_MAGIC: [u8; 8] = *b"BATONLOG";
const SEGMENT_FIELDS_BYTES: usize = 36;
const SEGMENT_COPY_OFFSET: usize = BLOCK_BYTES / 2;

/// The content of a segment's first block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) base: Position,
    pub(crate) salt: u64,
    /// How many bytes the file was made with; 0 if that is not known.
    pub(crate) made_bytes: u64,
}

/// Why a segment's first block is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentFlaw {
    Damaged,
    Newer { version: u32 },
}

impl SegmentHeader {
    /// Fills the first block of a segment.
    pub(crate) fn encode(&self, block: &mut [u8]) {
        assert_eq!(block.len(), BLOCK_BYTES);
        block.fill(0);
        block[0..8].copy_from_slice(&SEGMENT_MAGIC);
        block[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        // A file too large for the field has no length there.
        let blocks = u32::try_from(self.made_bytes / BLOCK_BYTES as u64).unwrap_or(0);
        block[12..16].copy_from_slice(&blocks.to_le_bytes());
        block[16..24].copy_from_slice(&self.base.0.to_le_bytes());
        block[24..32].copy_from_slice(&self.salt.to_le_bytes());
        let checksum = crc32fast::hash(&block[0..32]);
        block[32..36].copy_from_slice(&checksum.to_le_bytes());
        block.copy_within(0..SEGMENT_FIELDS_BYTES, SEGMENT_COPY_OFFSET);
    }

    /// Reads the first block of a segment, of which the file may have only a part.
    pub(crate) fn decode(block: &[u8]) -> Result<Self, SegmentFlaw> {
        match Self::decode_fields(block) {
            Err(SegmentFlaw::Damaged) => {
                Self::decode_fields(block.get(SEGMENT_COPY_OFFSET..).unwrap_or_default())
            }
            other => other,
        }
    }

    fn decode_fields(bytes: &[u8]) -> Result<Self, SegmentFlaw> {
        let fields = bytes.get(..SEGMENT_FIELDS_BYTES).ok_or(SegmentFlaw::Damaged)?;
        if fields[0..8] != SEGMENT_MAGIC || crc32fast::hash(&fields[0..32]) != u32_at(fields, 32) {
            return Err(SegmentFlaw::Damaged);
        }
        let version = u32_at(fields, 8);
        if version > FORMAT_VERSION {
            return Err(SegmentFlaw::Newer { version });
        }
        let made_bytes = u64::from(u32_at(fields, 12)) * BLOCK_BYTES as u64;
        Ok(Self { base: Position(u64_at(fields, 16)), salt: u64_at(fields, 24), made_bytes })
    }
}

/// The content at a position where a record is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A record with this many bytes, header and body.
    Record { bytes: usize },
    /// A candidate for a record; the decision needs this many bytes.
    Incomplete { bytes: usize },
    /// Not a record.
    Nothing(&'static str),
}

/// Writes a record's header, and its body, to the beginning of `into`.
pub(crate) fn encode_record(salt: u64, position: Position, body: &[u8], into: &mut [u8]) {
    let length = u32::try_from(body.len()).expect("a body has at most 16 MiB");
    let (header, rest) = into.split_at_mut(RECORD_HEADER_BYTES);
    header[0..4].copy_from_slice(&RECORD_MAGIC);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..16].copy_from_slice(&position.0.to_le_bytes());
    let checksum = checksum(salt, &header[4..16], body);
    header[16..20].copy_from_slice(&checksum.to_le_bytes());
    rest[..body.len()].copy_from_slice(body);
}

/// Looks for the record at `position` at the beginning of `bytes`.
pub(crate) fn find_record(salt: u64, position: Position, bytes: &[u8]) -> Found {
    let Some(header) = bytes.get(..RECORD_HEADER_BYTES) else {
        return Found::Incomplete { bytes: RECORD_HEADER_BYTES };
    };
    if header[0..4] != RECORD_MAGIC {
        return Found::Nothing("no record begins there");
    }
    let at = Position(u64_at(header, 8));
    if at != position && !planted::is("log.reuse_without_position_check") {
        return Found::Nothing("the record there belongs to another position");
    }
    let length = u32_at(header, 4) as usize;
    if length > RECORD_BYTES_MAX {
        return Found::Nothing("the record there has an impossible length");
    }
    let Some(body) = bytes.get(RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + length) else {
        return Found::Incomplete { bytes: RECORD_HEADER_BYTES + length };
    };
    if checksum(salt, &header[4..16], body) != u32_at(header, 16) {
        return Found::Nothing("the checksum of the record there does not match");
    }
    Found::Record { bytes: RECORD_HEADER_BYTES + length }
}

fn checksum(salt: u64, fields: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(fields);
    hasher.update(body);
    hasher.finalize()
}

/// The next multiple of the block size.
pub(crate) fn round_up(bytes: usize) -> usize {
    bytes.next_multiple_of(BLOCK_BYTES)
}

/// A number of bytes that are, or are about to be, in memory.
pub(crate) fn in_memory(bytes: u64) -> usize {
    usize::try_from(bytes).expect("what is held in memory fits its address space")
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

//! The fixed-width parts of a run: rows of the table and the footer.

use crate::sorted_table::layout::{Fields, HEADER_BYTES};

/// The magic bytes of the header.
pub(super) const MAGIC: [u8; 8] = *b"BATONRUN";

/// The magic bytes of the footer.
pub(super) const FOOTER_MAGIC: [u8; 8] = *b"BATONFIN";

/// The kind of the sorted table that is the subject index.
pub(super) const SUBJECT_INDEX_KIND: u8 = b's';

/// The offset of the batches.
pub(super) const BATCHES_OFFSET: u64 = HEADER_BYTES as u64;

/// The fixed size of a row.
pub(super) const ROW_BYTES: usize = 24;

/// The fixed size of the footer.
pub(super) const FOOTER_BYTES: usize = 60;

/// How many revisions of a subject share one key. With ten bytes for the widest difference this is
/// far below a frame, and searching it takes a microsecond.
pub(super) const CHUNK_REVISIONS_MAX: usize = 1024;

/// The location and the time of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The offset from the first batch.
    pub(super) offset: u32,
    pub(super) length: u32,
    pub(super) time_ms: u64,
    pub(super) batch_crc: u32,
}

impl Row {
    pub(super) fn encode(&self, revision: u64) -> [u8; ROW_BYTES] {
        let mut bytes = [0; ROW_BYTES];
        bytes[..4].copy_from_slice(&self.offset.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.time_ms.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.batch_crc.to_le_bytes());
        let crc = row_crc(&bytes[..20], revision);
        bytes[20..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None` unless these are the bytes of this revision's row.
    pub(super) fn decode(bytes: &[u8; ROW_BYTES], revision: u64) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        let row = Self {
            offset: fields.u32()?,
            length: fields.u32()?,
            time_ms: fields.u64()?,
            batch_crc: fields.u32()?,
        };
        (fields.u32()? == row_crc(&bytes[..20], revision)).then_some(row)
    }

    /// The end of the batch, from the first batch.
    pub(super) fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.length)
    }
}

/// The checksum includes the revision, which is not stored, so that a misplaced row is detected.
fn row_crc(fields: &[u8], revision: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&revision.to_le_bytes());
    hasher.update(fields);
    hasher.finalize()
}

/// The summary of a run, known as soon as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) table_offset: u64,
    pub(super) index_offset: u64,
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) first_time_ms: u64,
    pub(super) last_time_ms: u64,
}

impl Footer {
    pub(super) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let numbers = [
            self.table_offset,
            self.index_offset,
            self.first,
            self.count,
            self.first_time_ms,
            self.last_time_ms,
        ];
        let mut bytes = [0; FOOTER_BYTES];
        for (field, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes[..48]);
        bytes[48..52].copy_from_slice(&crc.to_le_bytes());
        bytes[52..].copy_from_slice(&FOOTER_MAGIC);
        bytes
    }

    /// `None` unless the footer is valid and the parts it describes fit before its own offset.
    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES], footer_offset: u64) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        let footer = Self {
            table_offset: fields.u64()?,
            index_offset: fields.u64()?,
            first: fields.u64()?,
            count: fields.u64()?,
            first_time_ms: fields.u64()?,
            last_time_ms: fields.u64()?,
        };
        let table_bytes = footer.count.checked_mul(ROW_BYTES as u64)?;
        let sound = fields.u32()? == crc32fast::hash(&bytes[..48])
            && fields.array() == Some(FOOTER_MAGIC)
            && footer.count > 0
            && footer.first.checked_add(footer.count - 1).is_some()
            && footer.table_offset >= BATCHES_OFFSET
            && footer.table_offset.checked_add(table_bytes) == Some(footer.index_offset)
            && footer.index_offset <= footer_offset;
        sound.then_some(footer)
    }

    /// The newest revision. The sum was checked when the footer was decoded.
    pub(super) fn last(&self) -> u64 {
        self.first + (self.count - 1)
    }

    /// The offset of a row in the blob. The revision must be in the run.
    pub(super) fn row_offset(&self, revision: u64) -> u64 {
        self.table_offset + (revision - self.first) * ROW_BYTES as u64
    }
}

//! The writer: entries in key order in, a blob out.

use baton_log::{BlobError, BlobWriter};

use super::layout::{header, put_varint, varint_bytes};
use super::{FORMAT_VERSION, KEY_BYTES_MAX, PAGE_BYTES_MAX, SortedTableError, VALUE_BYTES_MAX};

/// The magic bytes of the header.
pub(super) const MAGIC: [u8; 8] = *b"BATONFRM";

/// The magic bytes of the footer.
pub(super) const FOOTER_MAGIC: [u8; 8] = *b"BATONEND";

/// `length u32 | crc32 u32 | count u32`.
pub(super) const PAGE_HEAD_BYTES: usize = 12;

/// The fixed size of the footer.
pub(super) const FOOTER_BYTES: usize = 40;

/// Pages are buffered up to this size, so that a large map is written in few calls.
const WRITE_BYTES: usize = 256 << 10;

/// What [`SortedTableWriter::finish`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedTableSummary {
    /// How many entries the map has.
    pub entries: u64,
    /// The number of pages.
    pub pages: u64,
    /// Its size in the blob, including header and footer.
    pub bytes: u64,
}

/// Writes one map. Dropped before [`finish`](Self::finish), it leaves nothing behind.
pub struct SortedTableWriter {
    output: Box<dyn BlobWriter>,
    /// Bytes on their way to the output; the open page is their end.
    buffer: Vec<u8>,
    page_start: usize,
    /// Entries in the open page; none means that no page is open.
    page_entries: u32,
    /// The start of the open page, or else of the next one, in the section.
    page_offset: u64,
    /// Grows by a first key when a page opens and by the rest when it closes.
    directory: Vec<u8>,
    last_key: Vec<u8>,
    entries: u64,
    pages: u64,
}

impl SortedTableWriter {
    /// Begins a map at the current position of the output, be it at its start or after other bytes.
    /// The `kind` is the purpose of the map and is returned by
    /// [`SortedTable::kind`](super::SortedTable::kind).
    pub fn new(output: Box<dyn BlobWriter>, kind: u8) -> Self {
        let buffer = header(MAGIC, FORMAT_VERSION, kind).to_vec();
        Self {
            output,
            page_start: 0,
            page_entries: 0,
            page_offset: buffer.len() as u64,
            buffer,
            directory: Vec::new(),
            last_key: Vec::new(),
            entries: 0,
            pages: 0,
        }
    }

    /// Adds an entry. Keys must ascend strictly: a violation is a bug in the caller, and the map
    /// would lose keys silently.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), SortedTableError> {
        assert!(self.entries == 0 || self.last_key.as_slice() < key, "keys must ascend strictly");
        bounded("a key", key, KEY_BYTES_MAX)?;
        bounded("a value", value, VALUE_BYTES_MAX)?;
        let lengths = varint_bytes(key.len() as u64) + varint_bytes(value.len() as u64);
        let entry_bytes = lengths + key.len() + value.len();
        let page_bytes = self.buffer.len() - self.page_start;
        if self.page_entries > 0 && page_bytes + entry_bytes > PAGE_BYTES_MAX {
            self.close_page()?;
        }
        if self.page_entries == 0 {
            self.open_page(key);
        }
        put_varint(&mut self.buffer, key.len() as u64);
        put_varint(&mut self.buffer, value.len() as u64);
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(value);
        self.page_entries += 1;
        self.entries += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Completes the map and commits the blob.
    pub fn finish(self) -> Result<SortedTableSummary, SortedTableError> {
        let (output, summary) = self.finish_section()?;
        output.commit()?;
        Ok(summary)
    }

    /// Completes the map and returns the output, for a blob that contains more than the map. Such a
    /// blob must store where the map starts and ends.
    pub fn finish_section(
        mut self,
    ) -> Result<(Box<dyn BlobWriter>, SortedTableSummary), SortedTableError> {
        if self.page_entries > 0 {
            self.close_page()?;
        }
        let mut footer = Vec::with_capacity(FOOTER_BYTES);
        footer.extend_from_slice(&self.page_offset.to_le_bytes());
        footer.extend_from_slice(&(self.directory.len() as u64).to_le_bytes());
        footer.extend_from_slice(&self.entries.to_le_bytes());
        footer.extend_from_slice(&crc32fast::hash(&self.directory).to_le_bytes());
        footer.extend_from_slice(&crc32fast::hash(&footer).to_le_bytes());
        footer.extend_from_slice(&FOOTER_MAGIC);
        assert_eq!(footer.len(), FOOTER_BYTES);

        let bytes = self.page_offset + (self.directory.len() + footer.len()) as u64;
        self.buffer.append(&mut self.directory);
        self.buffer.append(&mut footer);
        self.flush()?;
        let summary = SortedTableSummary { entries: self.entries, pages: self.pages, bytes };
        Ok((self.output, summary))
    }

    fn open_page(&mut self, first_key: &[u8]) {
        self.page_start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; PAGE_HEAD_BYTES]);
        put_varint(&mut self.directory, first_key.len() as u64);
        self.directory.extend_from_slice(first_key);
    }

    fn close_page(&mut self) -> Result<(), SortedTableError> {
        let page = &mut self.buffer[self.page_start..];
        let length = u32::try_from(page.len()).expect("keys and values are bounded below 2^31");
        page[8..12].copy_from_slice(&self.page_entries.to_le_bytes());
        let crc = crc32fast::hash(&page[8..]);
        page[..4].copy_from_slice(&length.to_le_bytes());
        page[4..8].copy_from_slice(&crc.to_le_bytes());

        put_varint(&mut self.directory, self.page_offset);
        put_varint(&mut self.directory, u64::from(length));
        self.directory.extend_from_slice(&crc.to_le_bytes());
        self.page_offset += u64::from(length);
        self.page_entries = 0;
        self.pages += 1;
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

fn bounded(what: &'static str, part: &[u8], bytes_max: usize) -> Result<(), SortedTableError> {
    if part.len() <= bytes_max {
        return Ok(());
    }
    Err(SortedTableError::TooLarge { what, bytes: part.len() as u64, bytes_max: bytes_max as u64 })
}

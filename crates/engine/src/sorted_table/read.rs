//! The reader: footer and directory in memory, pages from the blob on demand.

use std::iter::FusedIterator;
use std::ops::{Bound, Range};
use std::sync::Arc;

use baton_log::Blob;

use super::layout::{Fields, HEADER_BYTES, HeaderFlaw, check_header};
use super::write::{FOOTER_BYTES, FOOTER_MAGIC, MAGIC, PAGE_HEAD_BYTES};
use super::{FORMAT_VERSION, PAGE_BYTES_MAX, SortedTableError};

/// Sequential reads fetch whole pages up to this size at once.
const WINDOW_BYTES_MAX: usize = 1 << 20;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// An open map. It keeps one key and twenty bytes per page in memory, and no entries.
pub struct SortedTable {
    blob: Arc<dyn Blob>,
    /// The offset of the header in the blob.
    start: u64,
    kind: u8,
    entries: u64,
    directory: Vec<PageReference>,
}

/// The directory entry of a page.
struct PageReference {
    first_key: Box<[u8]>,
    /// The offset from the header.
    offset: u64,
    length: u32,
    crc: u32,
}

impl SortedTable {
    /// Opens a map that is the whole blob.
    pub fn open(blob: Arc<dyn Blob>) -> Result<Self, SortedTableError> {
        let section = 0..blob.len();
        Self::open_section(blob, section)
    }

    /// Opens a map that is a part of a blob. Reads its header, its footer and its directory.
    pub fn open_section(
        blob: Arc<dyn Blob>,
        section: Range<u64>,
    ) -> Result<Self, SortedTableError> {
        let Range { start, end } = section;
        let length = end.min(blob.len()).saturating_sub(start);
        if length < HEADER_BYTES as u64 {
            return Err(SortedTableError::Corrupt { what: "frames header", offset: start });
        }
        let mut header = [0; HEADER_BYTES];
        blob.read_at(start, &mut header)?;
        let kind = check_header(&header, MAGIC, FORMAT_VERSION).map_err(|flaw| match flaw {
            HeaderFlaw::Damaged => {
                SortedTableError::Corrupt { what: "frames header", offset: start }
            }
            HeaderFlaw::Newer { found } => {
                SortedTableError::Newer { found, supported: FORMAT_VERSION }
            }
        })?;

        let footer_offset = length.saturating_sub(FOOTER_BYTES as u64);
        let damaged =
            SortedTableError::Corrupt { what: "frames footer", offset: start + footer_offset };
        if length < (HEADER_BYTES + FOOTER_BYTES) as u64 {
            return Err(damaged);
        }
        let mut footer = [0; FOOTER_BYTES];
        blob.read_at(start + footer_offset, &mut footer)?;
        let Some(footer) = Footer::parse(&footer, footer_offset) else { return Err(damaged) };

        let offset = start + footer.directory_offset;
        let mut bytes = vec![0; footer.directory_length];
        blob.read_at(offset, &mut bytes)?;
        if crc32fast::hash(&bytes) != footer.directory_crc {
            return Err(SortedTableError::Corrupt { what: "frames directory", offset });
        }
        let directory = parse_directory(&bytes, footer.directory_offset)
            .ok_or(SortedTableError::Corrupt { what: "frames directory", offset })?;
        Ok(Self { blob, start, kind, entries: footer.entries, directory })
    }

    /// The purpose of the map, as the writer gave it.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// How many entries the map has.
    pub fn len(&self) -> u64 {
        self.entries
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The number of pages.
    pub fn page_count(&self) -> usize {
        self.directory.len()
    }

    /// The value of a key. Reads at most one page.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, SortedTableError> {
        let mut buffer = Vec::new();
        let entry = self.floor_in(key, &mut buffer)?;
        Ok(entry.filter(|&(found, _)| found == key).map(|(_, value)| value.to_vec()))
    }

    /// The entry of the greatest key that is not above this one. Reads at most one page.
    pub fn floor(&self, key: &[u8]) -> Result<Option<Entry>, SortedTableError> {
        let mut buffer = Vec::new();
        let entry = self.floor_in(key, &mut buffer)?;
        Ok(entry.map(|(found, value)| (found.to_vec(), value.to_vec())))
    }

    /// The entries from a key on, in order. The first read is one page and later ones double up to
    /// a mebibyte, so that a short range is cheap and a long one fast. Ends after an error.
    pub fn range(&self, from: Bound<&[u8]>) -> Entries<'_> {
        let first_page = match from {
            Bound::Included(key) | Bound::Excluded(key) => self.page_of(key).unwrap_or(0),
            Bound::Unbounded => 0,
        };
        Entries {
            pages: self,
            from: from.map(<[u8]>::to_vec),
            window: Vec::new(),
            window_bytes: PAGE_BYTES_MAX,
            window_pages: first_page..first_page,
            next_page: first_page,
            position: 0,
            page_end: 0,
            remaining: 0,
        }
    }

    /// Visits the entries of one page, in order. Panics if there is no such page.
    pub fn decode_page(
        &self,
        index: usize,
        visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), SortedTableError> {
        self.decode_pages(index..index + 1, visit)
    }

    /// Visits the entries of consecutive pages, in order and with large reads. Threads that load a
    /// map together take a range of pages each. Panics if there are no such pages.
    pub fn decode_pages(
        &self,
        pages: Range<usize>,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), SortedTableError> {
        assert!(pages.end <= self.page_count(), "the map has {} frames", self.page_count());
        let mut buffer = Vec::new();
        let mut first = pages.start;
        while first < pages.end {
            let window = self.window(first, pages.end, WINDOW_BYTES_MAX);
            self.read_pages(&window, &mut buffer)?;
            let mut rest = buffer.as_slice();
            for index in window.clone() {
                let (page, after) = rest.split_at(self.directory[index].length as usize);
                let (count, entries) = self.check_page(index, page)?;
                self.visit_entries(index, count, entries, &mut visit)?;
                rest = after;
            }
            first = window.end;
        }
        Ok(())
    }

    fn visit_entries(
        &self,
        index: usize,
        count: u32,
        entries: &[u8],
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), SortedTableError> {
        let mut fields = Fields::new(entries);
        for _ in 0..count {
            let (key, value) = entry(&mut fields).ok_or_else(|| self.damaged(index))?;
            visit(key, value);
        }
        if fields.remaining() > 0 {
            return Err(self.damaged(index));
        }
        Ok(())
    }

    fn floor_in<'b>(
        &self,
        key: &[u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Borrowed<'b>, SortedTableError> {
        let Some(index) = self.page_of(key) else { return Ok(None) };
        self.read_pages(&(index..index + 1), buffer)?;
        let (count, entries) = self.check_page(index, buffer)?;
        let mut fields = Fields::new(entries);
        let mut floor = None;
        for _ in 0..count {
            let (found, value) = entry(&mut fields).ok_or_else(|| self.damaged(index))?;
            if found > key {
                break;
            }
            floor = Some((found, value));
        }
        Ok(floor)
    }

    /// The only page that may contain the key.
    fn page_of(&self, key: &[u8]) -> Option<usize> {
        self.directory.partition_point(|page| *page.first_key <= *key).checked_sub(1)
    }

    /// The pages that fit into a read of this size, and at least one.
    fn window(&self, first: usize, end: usize, bytes_max: usize) -> Range<usize> {
        let limit = self.directory[first].offset + bytes_max as u64;
        let fits = |page: &PageReference| page.offset + u64::from(page.length) <= limit;
        let count = self.directory[first..end].iter().take_while(|&page| fits(page)).count();
        first..first + count.max(1)
    }

    fn read_pages(
        &self,
        window: &Range<usize>,
        buffer: &mut Vec<u8>,
    ) -> Result<(), SortedTableError> {
        let first = &self.directory[window.start];
        let last = &self.directory[window.end - 1];
        let bytes = last.offset + u64::from(last.length) - first.offset;
        buffer.resize(usize::try_from(bytes).expect("a window fits in memory"), 0);
        self.blob.read_at(self.start + first.offset, buffer)?;
        Ok(())
    }

    /// The number of entries in a page and their bytes, after their checksums were verified.
    fn check_page<'b>(
        &self,
        index: usize,
        page: &'b [u8],
    ) -> Result<(u32, &'b [u8]), SortedTableError> {
        let reference = &self.directory[index];
        let mut fields = Fields::new(page);
        let sound = fields.u32() == Some(reference.length)
            && fields.u32() == Some(reference.crc)
            && crc32fast::hash(&page[8..]) == reference.crc;
        match fields.u32() {
            Some(count) if sound => Ok((count, &page[PAGE_HEAD_BYTES..])),
            _ => Err(self.damaged(index)),
        }
    }

    fn damaged(&self, index: usize) -> SortedTableError {
        SortedTableError::Corrupt {
            what: "frame",
            offset: self.start + self.directory[index].offset,
        }
    }
}

/// The entries of a map from some key on; see [`SortedTable::range`].
pub struct Entries<'a> {
    pages: &'a SortedTable,
    from: Bound<Vec<u8>>,
    /// The bytes of `window_frames`.
    window: Vec<u8>,
    window_bytes: usize,
    window_pages: Range<usize>,
    /// The page after the one being read.
    next_page: usize,
    /// The start of the next entry in the window.
    position: usize,
    /// The end of the current page in the window.
    page_end: usize,
    remaining: u32,
}

impl Entries<'_> {
    fn enter_page(&mut self) -> Result<(), SortedTableError> {
        let index = self.next_page;
        if index == self.window_pages.end {
            let page_count = self.pages.page_count();
            self.window_pages = self.pages.window(index, page_count, self.window_bytes);
            self.pages.read_pages(&self.window_pages, &mut self.window)?;
            self.window_bytes = (self.window_bytes * 2).min(WINDOW_BYTES_MAX);
            self.page_end = 0;
        }
        let start = self.page_end;
        let end = start + self.pages.directory[index].length as usize;
        let (count, _) = self.pages.check_page(index, &self.window[start..end])?;
        self.next_page = index + 1;
        self.position = start + PAGE_HEAD_BYTES;
        self.page_end = end;
        self.remaining = count;
        Ok(())
    }

    /// The next entry of the open page, unless it is before the range.
    fn step(&mut self) -> Result<Option<Entry>, SortedTableError> {
        let mut fields = Fields::new(&self.window[self.position..self.page_end]);
        let damaged = || self.pages.damaged(self.next_page - 1);
        let (key, value) = entry(&mut fields).ok_or_else(damaged)?;
        if self.remaining == 1 && fields.remaining() > 0 {
            return Err(damaged());
        }
        self.remaining -= 1;
        self.position = self.page_end - fields.remaining();
        let inside = match &self.from {
            Bound::Included(from) => from.as_slice() <= key,
            Bound::Excluded(from) => from.as_slice() < key,
            Bound::Unbounded => true,
        };
        Ok(inside.then(|| (key.to_vec(), value.to_vec())))
    }

    /// The next entry inside the range.
    fn advance(&mut self) -> Result<Option<Entry>, SortedTableError> {
        loop {
            if self.remaining > 0 {
                if let Some(entry) = self.step()? {
                    return Ok(Some(entry));
                }
            } else if self.next_page < self.pages.page_count() {
                self.enter_page()?;
            } else {
                return Ok(None);
            }
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, SortedTableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.advance();
        if entry.is_err() {
            // The bytes after damage could be mistaken for the next entry.
            self.remaining = 0;
            self.next_page = self.pages.page_count();
        }
        entry.transpose()
    }
}

impl FusedIterator for Entries<'_> {}

/// A key and its value, borrowed from a page.
type Borrowed<'b> = Option<(&'b [u8], &'b [u8])>;

fn entry<'b>(fields: &mut Fields<'b>) -> Borrowed<'b> {
    let key_length = fields.length()?;
    let value_length = fields.length()?;
    Some((fields.bytes(key_length)?, fields.bytes(value_length)?))
}

struct Footer {
    directory_offset: u64,
    directory_length: usize,
    directory_crc: u32,
    entries: u64,
}

impl Footer {
    /// `None` unless the footer is valid and the directory ends exactly where it starts.
    fn parse(bytes: &[u8; FOOTER_BYTES], footer_offset: u64) -> Option<Self> {
        let mut fields = Fields::new(bytes);
        let directory_offset = fields.u64()?;
        let directory_length = fields.u64()?;
        let entries = fields.u64()?;
        let directory_crc = fields.u32()?;
        let crc = fields.u32()?;
        let sound = crc == crc32fast::hash(&bytes[..28])
            && fields.array() == Some(FOOTER_MAGIC)
            && directory_offset >= HEADER_BYTES as u64
            && directory_offset.checked_add(directory_length) == Some(footer_offset);
        let directory_length = usize::try_from(directory_length).ok()?;
        sound.then_some(Self { directory_offset, directory_length, directory_crc, entries })
    }
}

/// `None` unless the pages tile the space between header and directory and their keys ascend.
fn parse_directory(bytes: &[u8], directory_offset: u64) -> Option<Vec<PageReference>> {
    let mut fields = Fields::new(bytes);
    let mut pages: Vec<PageReference> = Vec::new();
    let mut next_offset = HEADER_BYTES as u64;
    while fields.remaining() > 0 {
        let key_length = fields.length()?;
        let first_key = fields.bytes(key_length)?;
        let offset = fields.varint()?;
        let length = u32::try_from(fields.varint()?).ok()?;
        let crc = fields.u32()?;
        let ascends = pages.last().is_none_or(|last| *last.first_key < *first_key);
        let end = offset.checked_add(u64::from(length))?;
        if offset != next_offset || (length as usize) < PAGE_HEAD_BYTES || !ascends {
            return None;
        }
        next_offset = end;
        pages.push(PageReference { first_key: first_key.into(), offset, length, crc });
    }
    (next_offset == directory_offset).then_some(pages)
}

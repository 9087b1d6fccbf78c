//! The reader: rows and batches directly from the blob, subjects through the index.

use std::iter::FusedIterator;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use baton_log::Blob;

use super::layout::{
    BATCHES_OFFSET, FOOTER_BYTES, Footer, MAGIC, ROW_BYTES, Row, SUBJECT_INDEX_KIND,
};
use super::subjects::{self, Subjects};
use super::{FORMAT_VERSION, RunError};
use crate::sorted_table::SortedTable;
use crate::sorted_table::layout::{HEADER_BYTES, HeaderFlaw, check_header};

/// The first read of [`Run::batches`], enough for a page of history.
const WINDOW_BYTES_MIN: u64 = 64 << 10;

/// The size that later reads double up to.
const WINDOW_BYTES_MAX: u64 = 1 << 20;

/// At most this many rows are fetched with one read, which bounds them to 96 KiB.
const WINDOW_ROWS_MAX: u64 = 4096;

/// An open run.
pub struct Run {
    blob: Arc<dyn Blob>,
    footer: Footer,
    index: SortedTable,
}

impl Run {
    /// Reads header and footer, and the directory of the index.
    pub fn open(blob: Arc<dyn Blob>) -> Result<Self, RunError> {
        let length = blob.len();
        if length < HEADER_BYTES as u64 {
            return Err(RunError::Corrupt { what: "run header", offset: 0 });
        }
        let mut header = [0; HEADER_BYTES];
        blob.read_at(0, &mut header)?;
        check_header(&header, MAGIC, FORMAT_VERSION).map_err(|flaw| match flaw {
            HeaderFlaw::Damaged => RunError::Corrupt { what: "run header", offset: 0 },
            HeaderFlaw::Newer { found } => RunError::Newer { found, supported: FORMAT_VERSION },
        })?;

        let offset = length.saturating_sub(FOOTER_BYTES as u64);
        if offset < BATCHES_OFFSET {
            return Err(RunError::Corrupt { what: "run footer", offset });
        }
        let mut footer = [0; FOOTER_BYTES];
        blob.read_at(offset, &mut footer)?;
        let footer = Footer::decode(&footer, offset)
            .ok_or(RunError::Corrupt { what: "run footer", offset })?;

        let index = SortedTable::open_section(blob.clone(), footer.index_offset..offset)?;
        if index.kind() != SUBJECT_INDEX_KIND {
            let offset = footer.index_offset;
            return Err(RunError::Corrupt { what: "subject index", offset });
        }
        Ok(Self { blob, footer, index })
    }

    /// The oldest revision.
    pub fn first(&self) -> u64 {
        self.footer.first
    }

    /// The newest revision.
    pub fn last(&self) -> u64 {
        self.footer.last()
    }

    /// When the oldest revision was made.
    pub fn first_time_ms(&self) -> u64 {
        self.footer.first_time_ms
    }

    /// When the newest revision was made.
    pub fn last_time_ms(&self) -> u64 {
        self.footer.last_time_ms
    }

    /// The size of the blob.
    pub fn bytes(&self) -> u64 {
        self.blob.len()
    }

    /// The batch of a revision, in two small reads. A revision outside of the run is an error.
    pub fn batch(&self, revision: u64) -> Result<Vec<u8>, RunError> {
        let row = self.row(revision)?;
        let mut batch = vec![0; row.length as usize];
        self.blob.read_at(BATCHES_OFFSET + u64::from(row.offset), &mut batch)?;
        check_batch(&row, &batch)?;
        Ok(batch)
    }

    /// The batches from a revision on, in order: all of them if it is before the run, none if it is
    /// after. Reads ahead, at first 64 KiB and then up to a mebibyte. Ends after an error.
    pub fn batches(&self, from: u64) -> Batches<'_> {
        Batches {
            run: self,
            // Relative to the run, so that the end exists even after the largest revision.
            next: from.saturating_sub(self.first()).min(self.footer.count),
            window_bytes: WINDOW_BYTES_MIN,
            rows: Vec::new(),
            row: 0,
            bytes: Vec::new(),
        }
    }

    /// The newest revision up to `at_most` that touched the subject. Reads at most one frame.
    pub fn last_change(&self, subject: &str, at_most: u64) -> Result<Option<u64>, RunError> {
        let key = subjects::key(subject, at_most);
        let Some((found, value)) = self.index.floor(&key)? else { return Ok(None) };
        let (prefix, first) = subjects::split(&found).ok_or_else(|| self.index_damaged())?;
        if !key.starts_with(prefix) || prefix.len() + 8 != key.len() {
            return Ok(None);
        }
        let mut revisions = Vec::new();
        self.decode(first, &value, &mut revisions)?;
        let upto = revisions.partition_point(|&revision| revision <= at_most);
        Ok(revisions[..upto].last().copied())
    }

    /// The revisions that touched the subject, ascending.
    pub fn changes(&self, subject: &str) -> Result<Vec<u64>, RunError> {
        let prefix = subjects::prefix(subject);
        let mut revisions = Vec::new();
        for entry in self.index.range(Bound::Included(&prefix)) {
            let (key, value) = entry?;
            let (found, first) = subjects::split(&key).ok_or_else(|| self.index_damaged())?;
            if found != prefix {
                break;
            }
            self.decode(first, &value, &mut revisions)?;
        }
        Ok(revisions)
    }

    /// The subjects from one on, in the order of their bytes, each with its ascending revisions.
    pub fn subjects(&self, from: Bound<&str>) -> Subjects<'_> {
        let from = match from {
            Bound::Included(subject) => subjects::prefix(subject),
            Bound::Excluded(subject) => subjects::prefix_after(subject),
            Bound::Unbounded => Vec::new(),
        };
        let entries = self.index.range(Bound::Included(&from));
        Subjects::new(entries, self.revisions(), self.footer.index_offset)
    }

    /// The newest revision made at this time or before, by a binary search over the table.
    pub fn revision_at(&self, time_ms: u64) -> Result<Option<u64>, RunError> {
        if time_ms < self.first_time_ms() {
            return Ok(None);
        }
        if time_ms >= self.last_time_ms() {
            return Ok(Some(self.last()));
        }
        let (mut not_after, mut after) = (self.first(), self.last());
        while after - not_after > 1 {
            let middle = not_after + (after - not_after) / 2;
            if self.row(middle)?.time_ms <= time_ms {
                not_after = middle;
            } else {
                after = middle;
            }
        }
        Ok(Some(not_after))
    }

    fn revisions(&self) -> RangeInclusive<u64> {
        self.first()..=self.last()
    }

    fn row(&self, revision: u64) -> Result<Row, RunError> {
        if !self.revisions().contains(&revision) {
            return Err(RunError::Outside { revision, first: self.first(), last: self.last() });
        }
        let mut bytes = [0; ROW_BYTES];
        self.blob.read_at(self.footer.row_offset(revision), &mut bytes)?;
        self.check_row(&bytes, revision)
    }

    fn check_row(&self, bytes: &[u8; ROW_BYTES], revision: u64) -> Result<Row, RunError> {
        let batches_bytes = self.footer.table_offset - BATCHES_OFFSET;
        Row::decode(bytes, revision).filter(|row| row.end() <= batches_bytes).ok_or_else(|| {
            RunError::Corrupt { what: "row of a batch", offset: self.footer.row_offset(revision) }
        })
    }

    fn decode(&self, first: u64, value: &[u8], revisions: &mut Vec<u64>) -> Result<(), RunError> {
        subjects::decode(first, value, &self.revisions(), revisions)
            .ok_or_else(|| self.index_damaged())
    }

    fn index_damaged(&self) -> RunError {
        RunError::Corrupt { what: "subject index", offset: self.footer.index_offset }
    }
}

fn check_batch(row: &Row, batch: &[u8]) -> Result<(), RunError> {
    if crc32fast::hash(batch) == row.batch_crc {
        return Ok(());
    }
    Err(RunError::Corrupt { what: "batch", offset: BATCHES_OFFSET + u64::from(row.offset) })
}

/// The batches of a run from a revision on; see [`Run::batches`].
pub struct Batches<'a> {
    run: &'a Run,
    /// The index of the next row.
    next: u64,
    window_bytes: u64,
    /// The rows of the batches that were read ahead, and the index of the next one.
    rows: Vec<Row>,
    row: usize,
    /// The batches of `rows`, back to back.
    bytes: Vec<u8>,
}

impl Batches<'_> {
    fn advance(&mut self) -> Result<Option<(u64, Vec<u8>)>, RunError> {
        if self.next == self.run.footer.count {
            return Ok(None);
        }
        if self.row == self.rows.len() {
            self.read_ahead()?;
        }
        let row = self.rows[self.row];
        let start = (row.offset - self.rows[0].offset) as usize;
        let batch = &self.bytes[start..][..row.length as usize];
        check_batch(&row, batch)?;
        let revision = self.run.first() + self.next;
        self.row += 1;
        self.next += 1;
        Ok(Some((revision, batch.to_vec())))
    }

    fn read_ahead(&mut self) -> Result<(), RunError> {
        self.read_rows()?;
        let first = self.rows[0];
        let last = self.rows[self.rows.len() - 1];
        let length = last.end() - u64::from(first.offset);
        self.bytes.resize(usize::try_from(length).expect("a window fits in memory"), 0);
        self.run.blob.read_at(BATCHES_OFFSET + u64::from(first.offset), &mut self.bytes)?;
        self.window_bytes = (self.window_bytes * 2).min(WINDOW_BYTES_MAX);
        Ok(())
    }

    /// The rows of the batches that fit into the window, and at least one.
    fn read_rows(&mut self) -> Result<(), RunError> {
        let footer = &self.run.footer;
        // An estimate: as many rows as batches of average size would fill the window.
        let batch_bytes = ((footer.table_offset - BATCHES_OFFSET) / footer.count).max(1);
        let wanted = (self.window_bytes / batch_bytes).clamp(1, WINDOW_ROWS_MAX);
        let count = wanted.min(footer.count - self.next);
        let first = footer.first + self.next;
        let bytes = usize::try_from(count).expect("at most `WINDOW_ROWS_MAX`") * ROW_BYTES;
        let mut table = vec![0; bytes];
        self.run.blob.read_at(footer.row_offset(first), &mut table)?;

        self.rows.clear();
        self.row = 0;
        let (rows, _) = table.as_chunks::<ROW_BYTES>();
        for (revision, bytes) in (first..=footer.last()).zip(rows) {
            let row = self.run.check_row(bytes, revision)?;
            if let (Some(start), Some(last)) = (self.rows.first(), self.rows.last()) {
                if u64::from(row.offset) != last.end() {
                    let offset = footer.row_offset(revision);
                    return Err(RunError::Corrupt { what: "row of a batch", offset });
                }
                if row.end() - u64::from(start.offset) > self.window_bytes {
                    break;
                }
            }
            self.rows.push(row);
        }
        Ok(())
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<(u64, Vec<u8>), RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.advance();
        if batch.is_err() {
            self.next = self.run.footer.count;
        }
        batch.transpose()
    }
}

impl FusedIterator for Batches<'_> {}

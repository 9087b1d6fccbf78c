//! The writer: batches in the order of their revisions in, a blob out.

use baton_log::BlobWriter;

use super::layout::{BATCHES_OFFSET, Footer, MAGIC, Row, SUBJECT_INDEX_KIND};
use super::touches::Touches;
use super::{FORMAT_VERSION, RunError, subjects};
use crate::sorted_table::SortedTableWriter;
use crate::sorted_table::layout::header;

/// Batches are buffered up to this size, since most are far smaller than a write should be.
const WRITE_BYTES: usize = 256 << 10;

/// What [`RunWriter::finish`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The oldest revision in the run.
    pub first: u64,
    /// The newest revision in the run.
    pub last: u64,
    /// When the oldest revision was made.
    pub first_time_ms: u64,
    /// When the newest revision was made.
    pub last_time_ms: u64,
    /// The size of the blob.
    pub bytes: u64,
}

/// Writes one run. Dropped before [`finish`](Self::finish), it leaves nothing behind. Until then
/// the table and the subjects are in memory, some 24 bytes per batch and eight per change; see
/// `touches.rs`.
pub struct RunWriter {
    output: Box<dyn BlobWriter>,
    /// Bytes on their way to the output.
    buffer: Vec<u8>,
    batches_bytes: u32,
    table: Vec<u8>,
    first: u64,
    count: u64,
    first_time_ms: u64,
    last_time_ms: u64,
    touches: Touches,
}

impl RunWriter {
    /// Begins a run whose oldest revision is `first_revision`.
    pub fn new(output: Box<dyn BlobWriter>, first_revision: u64) -> Self {
        Self {
            output,
            buffer: header(MAGIC, FORMAT_VERSION, 0).to_vec(),
            batches_bytes: 0,
            table: Vec::new(),
            first: first_revision,
            count: 0,
            first_time_ms: 0,
            last_time_ms: 0,
            touches: Touches::default(),
        }
    }

    /// Adds a subject that the next batch touches, given in parts.
    pub fn touch(&mut self, subject: &[&str]) {
        let number = u32::try_from(self.count).expect("more rows would not fit into memory");
        self.touches.add(subject, number);
    }

    /// Adds the batch of the next revision with the subjects that it touches, in any order and
    /// possibly repeated. A revision that is not the next one is a bug in the caller: the table
    /// cannot represent gaps.
    pub fn push(
        &mut self,
        revision: u64,
        time_ms: u64,
        batch: &[u8],
        subjects: &[&str],
    ) -> Result<(), RunError> {
        let next = self.first.checked_add(self.count);
        assert_eq!(Some(revision), next, "the revisions of a run must be dense");
        let bytes = u64::from(self.batches_bytes) + batch.len() as u64;
        let Ok(batches_bytes) = u32::try_from(bytes) else {
            let bytes_max = u64::from(u32::MAX);
            return Err(RunError::TooLarge { what: "the run", bytes, bytes_max });
        };
        if self.count == 0 {
            self.first_time_ms = time_ms;
        }
        self.last_time_ms = self.last_time_ms.max(time_ms);
        let row = Row {
            offset: self.batches_bytes,
            length: batches_bytes - self.batches_bytes,
            time_ms: self.last_time_ms,
            batch_crc: crc32fast::hash(batch),
        };
        self.table.extend_from_slice(&row.encode(revision));
        self.batches_bytes = batches_bytes;
        for subject in subjects {
            self.touch(&[subject]);
        }
        self.count += 1;
        self.buffer.extend_from_slice(batch);
        if self.buffer.len() >= WRITE_BYTES {
            self.output.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Completes the run and commits the blob. A run without a batch is refused.
    pub fn finish(mut self) -> Result<RunSummary, RunError> {
        if self.count == 0 {
            return Err(RunError::Empty);
        }
        let table_offset = BATCHES_OFFSET + u64::from(self.batches_bytes);
        let footer = Footer {
            table_offset,
            index_offset: table_offset + self.table.len() as u64,
            first: self.first,
            count: self.count,
            first_time_ms: self.first_time_ms,
            last_time_ms: self.last_time_ms,
        };
        self.output.write(&self.buffer)?;
        self.output.write(&self.table)?;
        let mut index = SortedTableWriter::new(self.output, SUBJECT_INDEX_KIND);
        let mut revisions = Vec::new();
        self.touches.for_each(|subject, batches| {
            revisions.clear();
            revisions.extend(batches.iter().map(|number| self.first + u64::from(*number)));
            subjects::write(&mut index, subject, &revisions)
        })?;
        let (mut output, summary) = index.finish_section()?;
        let footer_bytes = footer.encode();
        output.write(&footer_bytes)?;
        output.commit()?;
        Ok(RunSummary {
            first: footer.first,
            last: footer.last(),
            first_time_ms: footer.first_time_ms,
            last_time_ms: footer.last_time_ms,
            bytes: footer.index_offset + summary.bytes + footer_bytes.len() as u64,
        })
    }
}

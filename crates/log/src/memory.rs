//! A log in memory: the contract without a disk.
//!
//! For tests, for experiments, and for work that may be lost with the process. Clones share one
//! log, so that a test can "open it again". It never fails and is never full.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::blob_name;
use crate::contract::{Blob, BlobWriter, Log, Position, RECORD_BYTES_MAX, Record};
use crate::error::{AppendError, BlobError, ReadError, TruncateError};

/// Records and blobs that exist as long as the last clone.
#[derive(Clone, Debug, Default)]
pub struct MemoryLog {
    contents: Arc<Mutex<Contents>>,
}

#[derive(Debug, Default)]
struct Contents {
    records: VecDeque<(Position, Arc<[u8]>)>,
    tail: Position,
    blobs: BTreeMap<String, Arc<MemoryBlob<Vec<u8>>>>,
    being_written: BTreeSet<String>,
}

impl MemoryLog {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().expect("no method panics while it holds the lock")
    }
}

impl Contents {
    fn start(&self) -> Position {
        self.records.front().map_or(self.tail, |(position, _)| *position)
    }

    /// The index of the record at `position`, which is neither truncated nor beyond the tail.
    fn index_of(&self, position: Position) -> Result<usize, ReadError> {
        let (start, tail) = (self.start(), self.tail);
        if position < start {
            return Err(ReadError::Truncated { position, start });
        }
        if position > tail {
            return Err(ReadError::BeyondTail { position, tail });
        }
        if position == tail {
            return Ok(self.records.len());
        }
        self.records.binary_search_by_key(&position, |(position, _)| *position).map_err(|_| {
            ReadError::Corrupt { position, reason: "no record begins here".to_owned() }
        })
    }

    /// Whether a blob has this name, or one of the two names is the folder of the other.
    fn clashes(&self, name: &str) -> bool {
        let is_folder_of = |folder: &str, name: &str| {
            name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        };
        self.blobs
            .keys()
            .any(|other| other == name || is_folder_of(other, name) || is_folder_of(name, other))
    }

    fn next_of(&self, index: usize) -> Position {
        self.records.get(index + 1).map_or(self.tail, |(position, _)| *position)
    }
}

impl Log for MemoryLog {
    fn start(&self) -> Position {
        self.contents().start()
    }

    fn tail(&self) -> Position {
        self.contents().tail
    }

    fn append(&self, expected: Position, body: &[u8]) -> Result<Position, AppendError> {
        let mut contents = self.contents();
        let tail = contents.tail;
        if expected != tail {
            return Err(AppendError::Fenced { expected, tail });
        }
        if body.len() > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes: body.len(), bytes_max: RECORD_BYTES_MAX });
        }
        contents.records.push_back((tail, body.into()));
        // Positions are opaque. Steps that depend on the body keep callers from counting records.
        contents.tail = Position(tail.0 + body.len() as u64 + 1);
        Ok(contents.tail)
    }

    fn read(&self, from: Position, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let contents = self.contents();
        let first = contents.index_of(from)?;
        let mut records = Vec::new();
        let mut bytes = 0;
        for index in first..contents.records.len() {
            let (position, body) = &contents.records[index];
            bytes += body.len();
            if bytes > bytes_max && !records.is_empty() {
                break;
            }
            let next = contents.next_of(index);
            records.push(Record { position: *position, next, body: body.to_vec() });
        }
        Ok(records)
    }

    fn read_part(&self, record: Position, offset: u32, buffer: &mut [u8]) -> Result<(), ReadError> {
        let contents = self.contents();
        let index = contents.index_of(record)?;
        let part = contents.records.get(index).and_then(|(_, body)| {
            let from = offset as usize;
            body.get(from..from.checked_add(buffer.len())?)
        });
        let beyond = ReadError::BeyondTail { position: record, tail: contents.tail };
        buffer.copy_from_slice(part.ok_or(beyond)?);
        Ok(())
    }

    fn truncate(&self, before: Position) -> Result<(), TruncateError> {
        let mut contents = self.contents();
        let tail = contents.tail;
        if before > tail {
            return Err(TruncateError::BeyondTail { before, tail });
        }
        // A position inside a record still needs that record: only records that end before it may
        // be dropped.
        while !contents.records.is_empty() && contents.next_of(0) <= before {
            contents.records.pop_front();
        }
        Ok(())
    }

    fn create_blob(&self, name: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        blob_name::check(name)?;
        let mut contents = self.contents();
        if contents.clashes(name) || !contents.being_written.insert(name.to_owned()) {
            return Err(BlobError::Exists { name: name.to_owned() });
        }
        drop(contents);
        Ok(Box::new(Writer { log: self.clone(), name: name.to_owned(), bytes: Vec::new() }))
    }

    fn open_blob(&self, name: &str) -> Result<Option<Arc<dyn Blob>>, BlobError> {
        blob_name::check(name)?;
        let blob = self.contents().blobs.get(name).cloned();
        Ok(blob.map(|blob| blob as Arc<dyn Blob>))
    }

    fn list_blobs(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        blob_name::check_prefix(prefix)?;
        let contents = self.contents();
        let names = contents.blobs.keys().filter(|name| name.starts_with(prefix));
        Ok(names.cloned().collect())
    }

    fn delete_blob(&self, name: &str) -> Result<(), BlobError> {
        blob_name::check(name)?;
        self.contents().blobs.remove(name);
        Ok(())
    }

    fn description(&self) -> String {
        "memory log, lost with the process".to_owned()
    }
}

struct Writer {
    log: MemoryLog,
    name: String,
    bytes: Vec<u8>,
}

impl BlobWriter for Writer {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        let blob = Arc::new(MemoryBlob(std::mem::take(&mut self.bytes)));
        self.log.contents().blobs.insert(self.name.clone(), blob);
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.log.contents().being_written.remove(&self.name);
    }
}

/// A blob whose bytes are in memory.
#[derive(Debug)]
pub struct MemoryBlob<B>(pub B);

impl<B: AsRef<[u8]> + Send + Sync> Blob for MemoryBlob<B> {
    fn len(&self) -> u64 {
        self.0.as_ref().len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), BlobError> {
        let end = offset.saturating_add(buffer.len() as u64);
        let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
        let part = range.and_then(|(from, to)| self.0.as_ref().get(from..to));
        let refused = BlobError::OutOfRange { offset, end, length: self.len() };
        buffer.copy_from_slice(part.ok_or(refused)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::conformance!(memory, {
        let log = MemoryLog::default();
        move || Box::new(log.clone()) as Box<dyn Log>
    });
}

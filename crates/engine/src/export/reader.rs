//! Reading an export.

use std::io::Read;

use baton_core::history::Origin;
use serde::de::DeserializeOwned;

use super::chunks::{self, ChunkError, ChunkReader};
use super::{
    BYTES, CONTENT, ContentHeader, END, ExportHeader, FORK_MAGIC, FORMAT, HEADER, MAGIC, SNAPSHOT,
};
use crate::error::Error;

/// The next part of an export.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExportChunk {
    /// A part of the snapshot.
    Snapshot(Vec<u8>),
    /// A content begins.
    Content(ContentHeader),
    /// A part of its blob.
    Bytes(Vec<u8>),
}

/// Reads an export, a chunk at a time.
pub(crate) struct ExportReader<R> {
    chunks: ChunkReader<R>,
    /// The previous chunk, which determines what may follow.
    last: u8,
    /// How many bytes of the content are still to come.
    left: u64,
}

impl<R: Read> ExportReader<R> {
    /// Starts to read, and returns the description of the export.
    pub(crate) fn begin(input: R) -> Result<(Self, ExportHeader), Error> {
        Self::begin_with(input, MAGIC)
    }

    /// The same for a fork from another shard, which begins with its origin.
    pub(crate) fn begin_fork(input: R) -> Result<(Self, Origin), Error> {
        Self::begin_with(input, FORK_MAGIC)
    }

    fn begin_with<H: DeserializeOwned>(input: R, magic: [u8; 8]) -> Result<(Self, H), Error> {
        let mut chunks = ChunkReader::begin(input, magic, FORMAT).map_err(refused)?;
        match chunks.chunk().map_err(refused)? {
            (HEADER, bytes) => Ok((Self { chunks, last: HEADER, left: 0 }, json(&bytes)?)),
            (kind, _) => Err(damaged(&format!("it begins with a chunk of kind {kind}"))),
        }
    }

    /// The next part; none at the end, when everything read was verified.
    pub(crate) fn next(&mut self) -> Result<Option<ExportChunk>, Error> {
        let last = self.last;
        let (kind, bytes) = self.chunks.chunk().map_err(refused)?;
        self.last = kind;
        let fits = match kind {
            SNAPSHOT => last == HEADER || last == SNAPSHOT,
            CONTENT | END => last != HEADER && self.left == 0,
            BYTES => last == CONTENT || last == BYTES,
            _ => false,
        };
        if !fits {
            let what = format!("a chunk of kind {kind} follows one of kind {last}");
            return Err(damaged(&what));
        }
        match kind {
            SNAPSHOT => Ok(Some(ExportChunk::Snapshot(bytes))),
            CONTENT => {
                let header: ContentHeader = json(&bytes)?;
                self.left = header.bytes;
                Ok(Some(ExportChunk::Content(header)))
            }
            BYTES => {
                let left = self.left.checked_sub(bytes.len() as u64);
                self.left = left.ok_or_else(|| damaged("a content is longer than it says"))?;
                Ok(Some(ExportChunk::Bytes(bytes)))
            }
            _ => self.chunks.end(&bytes).map(|()| None).map_err(refused),
        }
    }
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    chunks::json(bytes).map_err(refused)
}

fn refused(error: ChunkError) -> Error {
    match error {
        ChunkError::Damaged(what) => damaged(&what),
        ChunkError::Newer(format) => Error::ImportNewer { format, known: FORMAT },
        ChunkError::Unreadable(reason) => {
            Error::Storage { what: format!("what is to be imported could not be read: {reason}") }
        }
    }
}

/// The error that an export is damaged.
pub(crate) fn damaged(what: &str) -> Error {
    Error::ImportDamaged { what: what.to_owned() }
}

/// Reads an export to its end, and returns its description. Nothing is imported.
pub fn verify(input: impl Read) -> Result<ExportHeader, Error> {
    let (mut reader, header) = ExportReader::begin(input)?;
    while reader.next()?.is_some() {}
    Ok(header)
}

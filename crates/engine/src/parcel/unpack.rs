//! Reading a parcel.

use std::io::Read;

use serde::de::DeserializeOwned;

use super::chunks::{self, ChunkError, ChunkReader};
use super::{ABOUT, About, BYTES, CONTENT, ContentAbout, END, FORMAT, LETTERS, SNAPSHOT};
use crate::error::Error;

/// What comes next in a parcel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Some of the snapshot.
    Snapshot(Vec<u8>),
    /// A content begins.
    Content(ContentAbout),
    /// Some of its blob.
    Bytes(Vec<u8>),
}

/// Reads a parcel, a chunk at a time.
pub(crate) struct Unpacker<R> {
    chunks: ChunkReader<R>,
    /// What came last, which says what may come next.
    last: u8,
    /// How many bytes of the content are still to come.
    left: u64,
}

impl<R: Read> Unpacker<R> {
    /// Begins to read, and says what the parcel is about.
    pub(crate) fn begin(input: R) -> Result<(Self, About), Error> {
        let mut chunks = ChunkReader::begin(input, LETTERS, FORMAT).map_err(refused)?;
        match chunks.chunk().map_err(refused)? {
            (ABOUT, bytes) => Ok((Self { chunks, last: ABOUT, left: 0 }, json(&bytes)?)),
            (kind, _) => Err(damaged(&format!("it begins with a chunk of kind {kind}"))),
        }
    }

    /// The next piece; none at the end, when all that came is known to be what was written.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>, Error> {
        let last = self.last;
        let (kind, bytes) = self.chunks.chunk().map_err(refused)?;
        self.last = kind;
        let fits = match kind {
            SNAPSHOT => last == ABOUT || last == SNAPSHOT,
            CONTENT | END => last != ABOUT && self.left == 0,
            BYTES => last == CONTENT || last == BYTES,
            _ => false,
        };
        if !fits {
            let what = format!("a chunk of kind {kind} comes after one of kind {last}");
            return Err(damaged(&what));
        }
        match kind {
            SNAPSHOT => Ok(Some(Piece::Snapshot(bytes))),
            CONTENT => {
                let about: ContentAbout = json(&bytes)?;
                self.left = about.bytes;
                Ok(Some(Piece::Content(about)))
            }
            BYTES => {
                let left = self.left.checked_sub(bytes.len() as u64);
                self.left = left.ok_or_else(|| damaged("a content is longer than it says"))?;
                Ok(Some(Piece::Bytes(bytes)))
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

/// That what is to be imported is not what was exported.
pub(crate) fn damaged(what: &str) -> Error {
    Error::ImportDamaged { what: what.to_owned() }
}

/// Reads a parcel to its end, and says what it is about. Nothing is imported.
pub fn verify(input: impl Read) -> Result<About, Error> {
    let (mut unpacker, about) = Unpacker::begin(input)?;
    while unpacker.next()?.is_some() {}
    Ok(about)
}

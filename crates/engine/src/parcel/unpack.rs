//! Reading a parcel.

use std::io::{ErrorKind, Read};

use crc32fast::Hasher;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{
    ABOUT, About, BYTES, CHUNK_BYTES_MAX, CONTENT, ContentAbout, END, FORMAT, HEAD_BYTES, LETTERS,
    SNAPSHOT,
};
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
    input: R,
    digest: Sha256,
    /// What came last, which says what may come next.
    last: u8,
    /// How many bytes of the content are still to come.
    left: u64,
}

impl<R: Read> Unpacker<R> {
    /// Begins to read, and says what the parcel is about.
    pub(crate) fn begin(input: R) -> Result<(Self, About), Error> {
        let mut unpacker = Self { input, digest: Sha256::new(), last: 0, left: 0 };
        let mut letters = [0; LETTERS.len()];
        unpacker.fill(&mut letters)?;
        if letters != *LETTERS {
            return Err(damaged("it is no export of a workspace"));
        }
        let mut format = [0; 2];
        unpacker.fill(&mut format)?;
        match u16::from_le_bytes(format) {
            FORMAT => {}
            0 => return Err(damaged("its format is 0, which there is not")),
            format => return Err(Error::ImportNewer { format, known: FORMAT }),
        }
        match unpacker.chunk()? {
            (ABOUT, bytes) => Ok((unpacker, json(&bytes)?)),
            (kind, _) => Err(damaged(&format!("it begins with a chunk of kind {kind}"))),
        }
    }

    /// The next piece; none at the end, when all that came is known to be what was written.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>, Error> {
        let before = self.digest.clone();
        let last = self.last;
        let (kind, bytes) = self.chunk()?;
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
            _ => self.end(before, &bytes),
        }
    }

    fn end(&mut self, before: Sha256, digest: &[u8]) -> Result<Option<Piece>, Error> {
        let expected: [u8; 32] = before.finalize().into();
        if digest != expected {
            return Err(damaged("its digest is not that of what came"));
        }
        let mut more = [0; 1];
        match self.read_some(&mut more)? {
            0 => Ok(None),
            _ => Err(damaged("something follows its end")),
        }
    }

    fn chunk(&mut self) -> Result<(u8, Vec<u8>), Error> {
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head)?;
        let [kind, a, b, c, d, checksum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > CHUNK_BYTES_MAX {
            return Err(damaged(&format!("a chunk says that it has {length} bytes")));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        let mut found = Hasher::new();
        found.update(&head[..5]);
        found.update(&bytes);
        if found.finalize().to_le_bytes() != checksum {
            return Err(damaged("a chunk is not what was written"));
        }
        self.last = kind;
        Ok((kind, bytes))
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_some(&mut buffer[filled..])? {
                0 => return Err(damaged("it is cut off")),
                count => filled += count,
            }
        }
        self.digest.update(buffer);
        Ok(())
    }

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        loop {
            match self.input.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => {
                    let what = format!("what is to be imported could not be read: {error}");
                    return Err(Error::Storage { what });
                }
            }
        }
    }
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))
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

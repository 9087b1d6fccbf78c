//! The format of exports and backups: chunks with checksums, and a digest at the end.

use std::io::{ErrorKind, Read, Write};

use crc32fast::Hasher;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::CHUNK_BYTES_MAX;
use crate::error::Error;
use crate::give_way::GiveWay;

/// The size of a chunk's header.
const HEAD_BYTES: usize = 9;
/// How much is digested and written before the thread gives way: some tens of microseconds.
const PART_BYTES: usize = 32 << 10;

/// Why chunks cannot be read. The reader adds the kind of file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChunkError {
    /// They are damaged.
    Damaged(String),
    /// They were written by a newer program, in this format.
    Newer(u16),
    /// The source failed.
    Unreadable(String),
}

/// The error that something is damaged.
pub(crate) fn damaged(what: impl Into<String>) -> ChunkError {
    ChunkError::Damaged(what.into())
}

/// Writes chunks to an output.
pub(crate) struct ChunkWriter {
    output: Box<dyn Write + Send>,
    digest: Sha256,
    bytes: u64,
}

impl ChunkWriter {
    /// Writes the magic letters and the format.
    pub(crate) fn begin(
        output: Box<dyn Write + Send>,
        magic: [u8; 8],
        format: u16,
    ) -> Result<Self, Error> {
        let mut writer = Self { output, digest: Sha256::new(), bytes: 0 };
        writer.put(&magic)?;
        writer.put(&format.to_le_bytes())?;
        Ok(writer)
    }

    /// A chunk that contains JSON.
    pub(crate) fn json(&mut self, kind: u8, value: &impl Serialize) -> Result<(), Error> {
        self.chunk(kind, &serde_json::to_vec(value).expect("what is said of it can be encoded"))
    }

    /// A chunk.
    pub(crate) fn chunk(&mut self, kind: u8, bytes: &[u8]) -> Result<(), Error> {
        let length = u32::try_from(bytes.len()).expect("chunks are small").to_le_bytes();
        let mut head = vec![kind];
        head.extend_from_slice(&length);
        let mut checksum = Hasher::new();
        checksum.update(&head);
        checksum.update(bytes);
        head.extend_from_slice(&checksum.finalize().to_le_bytes());
        self.put(&head)?;
        self.put(bytes)
    }

    /// The last chunk, with the digest of everything before. Returns the total size.
    pub(crate) fn finish(mut self, kind: u8) -> Result<u64, Error> {
        let digest: [u8; 32] = self.digest.clone().finalize().into();
        self.chunk(kind, &digest)?;
        self.output.flush().map_err(|error| unwritable(&error))?;
        Ok(self.bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for part in bytes.chunks(PART_BYTES) {
            self.digest.update(part);
            self.bytes += part.len() as u64;
            self.output.write_all(part).map_err(|error| unwritable(&error))?;
            if part.len() == PART_BYTES {
                GiveWay::now();
            }
        }
        Ok(())
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::Storage { what: format!("the file could not be written: {error}") }
}

/// Reads chunks, one at a time.
pub(crate) struct ChunkReader<R> {
    input: R,
    digest: Sha256,
    /// The digest of everything before the last chunk.
    before: Sha256,
}

impl<R: Read> ChunkReader<R> {
    /// Starts to read a file that must begin with these letters.
    pub(crate) fn begin(input: R, magic: [u8; 8], known: u16) -> Result<Self, ChunkError> {
        let mut reader = Self { input, digest: Sha256::new(), before: Sha256::new() };
        let mut found = [0; 8];
        reader.fill(&mut found)?;
        if found != magic {
            let magic = String::from_utf8_lossy(&magic);
            return Err(damaged(format!("it does not begin with `{magic}`")));
        }
        let mut format = [0; 2];
        reader.fill(&mut format)?;
        match u16::from_le_bytes(format) {
            0 => Err(damaged("its format is 0, which there is not")),
            format if format <= known => Ok(reader),
            format => Err(ChunkError::Newer(format)),
        }
    }

    /// The next chunk: its kind and its content.
    pub(crate) fn chunk(&mut self) -> Result<(u8, Vec<u8>), ChunkError> {
        self.before = self.digest.clone();
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head)?;
        let [kind, a, b, c, d, checksum @ ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > CHUNK_BYTES_MAX {
            return Err(damaged(format!("a chunk says that it has {length} bytes")));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        let mut found = Hasher::new();
        found.update(&head[..5]);
        found.update(&bytes);
        if found.finalize().to_le_bytes() != checksum {
            return Err(damaged("a chunk is not what was written"));
        }
        Ok((kind, bytes))
    }

    /// Verifies that the last chunk is the end, with the digest of everything before it.
    pub(crate) fn end(&mut self, digest: &[u8]) -> Result<(), ChunkError> {
        let expected: [u8; 32] = self.before.clone().finalize().into();
        if digest != expected {
            return Err(damaged("its digest is not that of what came"));
        }
        let mut more = [0; 1];
        match self.read_some(&mut more)? {
            0 => Ok(()),
            _ => Err(damaged("something follows its end")),
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), ChunkError> {
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

    fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize, ChunkError> {
        loop {
            match self.input.read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(ChunkError::Unreadable(error.to_string())),
            }
        }
    }
}

/// The JSON of a chunk.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ChunkError> {
    let text = std::str::from_utf8(bytes).map_err(|error| damaged(error.to_string()))?;
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::Result as IoResult;
    use std::sync::{Arc, Mutex};

    use super::*;

    /// The sizes of what is written.
    #[derive(Clone, Default)]
    struct Sizes(Arc<Mutex<Vec<usize>>>);

    impl Write for Sizes {
        fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
            self.0.lock().unwrap().push(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> IoResult<()> {
            Ok(())
        }
    }

    /// Between the parts, the thread gives way to those that serve callers.
    #[test]
    fn a_large_chunk_is_digested_and_written_in_small_parts() {
        let sizes = Sizes::default();
        let mut writer = ChunkWriter::begin(Box::new(sizes.clone()), *b"BATONTST", 1).unwrap();
        writer.chunk(7, &vec![1; CHUNK_BYTES_MAX]).unwrap();
        let total = writer.finish(5).unwrap();
        let sizes = sizes.0.lock().unwrap();
        assert_eq!(sizes.iter().sum::<usize>() as u64, total);
        assert_eq!(sizes.iter().max(), Some(&PART_BYTES));
        assert_eq!(sizes.iter().filter(|size| **size == PART_BYTES).count(), 8);
    }
}

//! Writing a parcel.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use baton_log::{Blob, BlobError, BlobWriter};
use crc32fast::Hasher;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{
    ABOUT, About, BYTES, CHUNK_BYTES_MAX, CONTENT, ContentAbout, END, FORMAT, LETTERS, SNAPSHOT,
};
use crate::error::Error;

/// Writes a parcel to wherever it goes.
pub(crate) struct Packer {
    output: Box<dyn Write + Send>,
    digest: Sha256,
}

impl Packer {
    /// Begins with what the parcel is about.
    pub(crate) fn begin(output: Box<dyn Write + Send>, about: &About) -> Result<Self, Error> {
        let mut packer = Self { output, digest: Sha256::new() };
        packer.put(LETTERS)?;
        packer.put(&FORMAT.to_le_bytes())?;
        packer.json(ABOUT, about)?;
        Ok(packer)
    }

    /// A content: its blob as it is.
    pub(crate) fn content(&mut self, about: &ContentAbout, blob: &dyn Blob) -> Result<(), Error> {
        self.json(CONTENT, about)?;
        let mut offset = 0;
        while offset < blob.len() {
            let count = (blob.len() - offset).min(CHUNK_BYTES_MAX as u64);
            let mut piece = vec![0; usize::try_from(count).expect("chunks are small")];
            blob.read_at(offset, &mut piece)?;
            self.chunk(BYTES, &piece)?;
            offset += count;
        }
        Ok(())
    }

    /// The end, without which it is none.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let digest: [u8; 32] = self.digest.clone().finalize().into();
        self.chunk(END, &digest)?;
        self.output.flush().map_err(|error| unwritable(&error))
    }

    fn json(&mut self, kind: u8, value: &impl Serialize) -> Result<(), Error> {
        self.chunk(kind, &serde_json::to_vec(value).expect("what is said of it can be encoded"))
    }

    fn chunk(&mut self, kind: u8, bytes: &[u8]) -> Result<(), Error> {
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

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.digest.update(bytes);
        self.output.write_all(bytes).map_err(|error| unwritable(&error))
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::Storage { what: format!("the export could not be written: {error}") }
}

/// Lets a snapshot be written into a parcel as if it were a blob.
pub(crate) struct SnapshotSink {
    packer: Arc<Mutex<Packer>>,
    waiting: Vec<u8>,
}

impl SnapshotSink {
    pub(crate) fn new(packer: &Arc<Mutex<Packer>>) -> Self {
        Self { packer: Arc::clone(packer), waiting: Vec::new() }
    }

    fn send(&mut self, count: usize) -> Result<(), BlobError> {
        let piece: Vec<u8> = self.waiting.drain(..count).collect();
        let mut packer = self.packer.lock().unwrap_or_else(PoisonError::into_inner);
        packer.chunk(SNAPSHOT, &piece).map_err(|error| BlobError::Failed(error.to_string()))
    }
}

impl BlobWriter for SnapshotSink {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.waiting.extend_from_slice(bytes);
        while self.waiting.len() >= CHUNK_BYTES_MAX {
            self.send(CHUNK_BYTES_MAX)?;
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<(), BlobError> {
        let count = self.waiting.len();
        if count > 0 { self.send(count) } else { Ok(()) }
    }
}

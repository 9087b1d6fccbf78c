//! Writing a parcel.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use baton_log::{Blob, BlobError, BlobWriter};

use super::chunks::ChunkWriter;
use super::{
    ABOUT, About, BYTES, CHUNK_BYTES_MAX, CONTENT, ContentAbout, END, FORMAT, LETTERS, SNAPSHOT,
};
use crate::error::Error;

/// Writes a parcel to wherever it goes.
pub(crate) struct Packer(ChunkWriter);

impl Packer {
    /// Begins with what the parcel is about.
    pub(crate) fn begin(output: Box<dyn Write + Send>, about: &About) -> Result<Self, Error> {
        let mut chunks = ChunkWriter::begin(output, LETTERS, FORMAT)?;
        chunks.json(ABOUT, about)?;
        Ok(Self(chunks))
    }

    /// A content: its blob as it is.
    pub(crate) fn content(&mut self, about: &ContentAbout, blob: &dyn Blob) -> Result<(), Error> {
        self.0.json(CONTENT, about)?;
        write_blob(&mut self.0, BYTES, blob)
    }

    /// The end, without which it is none.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.0.finish(END).map(drop)
    }
}

/// The bytes of a blob, a chunk at a time.
pub(crate) fn write_blob(chunks: &mut ChunkWriter, kind: u8, blob: &dyn Blob) -> Result<(), Error> {
    let mut offset = 0;
    while offset < blob.len() {
        let count = (blob.len() - offset).min(CHUNK_BYTES_MAX as u64);
        let mut piece = vec![0; usize::try_from(count).expect("chunks are small")];
        blob.read_at(offset, &mut piece)?;
        chunks.chunk(kind, &piece)?;
        offset += count;
    }
    Ok(())
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
        packer.0.chunk(SNAPSHOT, &piece).map_err(|error| BlobError::Failed(error.to_string()))
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

//! Writes an export.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::history::Origin;
use baton_log::{Blob, BlobError, BlobWriter};

use super::chunks::ChunkWriter;
use super::{
    BYTES, CHUNK_BYTES_MAX, CONTENT, ContentHeader, END, ExportHeader, FORK_MAGIC, FORMAT, HEADER,
    MAGIC, SNAPSHOT,
};
use crate::error::Error;

/// Writes an export to an output.
pub(crate) struct ExportWriter(ChunkWriter);

impl ExportWriter {
    /// Starts with the description.
    pub(crate) fn begin(
        output: Box<dyn Write + Send>,
        header: &ExportHeader,
    ) -> Result<Self, Error> {
        let mut chunks = ChunkWriter::begin(output, MAGIC, FORMAT)?;
        chunks.json(HEADER, header)?;
        Ok(Self(chunks))
    }

    /// Starts a fork for another shard with its origin.
    pub(crate) fn begin_fork(
        output: Box<dyn Write + Send>,
        origin: &Origin,
    ) -> Result<Self, Error> {
        let mut chunks = ChunkWriter::begin(output, FORK_MAGIC, FORMAT)?;
        chunks.json(HEADER, origin)?;
        Ok(Self(chunks))
    }

    /// A content: its blob, unchanged.
    pub(crate) fn content(&mut self, header: &ContentHeader, blob: &dyn Blob) -> Result<(), Error> {
        self.0.json(CONTENT, header)?;
        write_blob(&mut self.0, BYTES, blob)
    }

    /// The end chunk, without which the export is invalid.
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

/// Presents an export as a blob, so that a snapshot can be written into it.
pub(crate) struct SnapshotSink {
    writer: Arc<Mutex<ExportWriter>>,
    waiting: Vec<u8>,
}

impl SnapshotSink {
    pub(crate) fn new(writer: &Arc<Mutex<ExportWriter>>) -> Self {
        Self { writer: Arc::clone(writer), waiting: Vec::new() }
    }

    fn send(&mut self, count: usize) -> Result<(), BlobError> {
        let piece: Vec<u8> = self.waiting.drain(..count).collect();
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.0.chunk(SNAPSHOT, &piece).map_err(|error| BlobError::Failed(error.to_string()))
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

//! Chunks of blobs that were read recently, and the bytes of a blob in chunks.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use baton_log::BlobError;

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 512 << 10;
/// Bytes of chunks that are kept in memory.
const CACHE_BYTES_MAX: usize = 64 << 20;

/// Chunks that were read recently, oldest first. All shards of a server share it.
#[derive(Debug)]
pub struct ChunkCache<I> {
    chunks: HashMap<(I, u32), Arc<[u8]>>,
    order: VecDeque<(I, u32)>,
    bytes: usize,
}

impl<I> Default for ChunkCache<I> {
    fn default() -> Self {
        Self { chunks: HashMap::new(), order: VecDeque::new(), bytes: 0 }
    }
}

impl<I: Clone + Eq + Hash> ChunkCache<I> {
    /// A part of the blob with this id, if it is there.
    pub fn get(&self, id: I, part: u32) -> Option<Arc<[u8]>> {
        self.chunks.get(&(id, part)).cloned()
    }

    /// Adds a part.
    pub fn put(&mut self, id: I, part: u32, bytes: &Arc<[u8]>) {
        if self.chunks.insert((id.clone(), part), Arc::clone(bytes)).is_some() {
            return;
        }
        self.order.push_back((id, part));
        self.bytes += bytes.len();
        while self.bytes > CACHE_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.chunks.remove(&oldest).map_or(0, |bytes| bytes.len());
        }
    }
}

/// Fills a buffer from a blob of this length, whose parts have a size and are read one by one.
pub fn read_chunks(
    (length, chunk_bytes): (u64, usize),
    offset: u64,
    buffer: &mut [u8],
    mut part: impl FnMut(u32) -> Result<Arc<[u8]>, BlobError>,
) -> Result<(), BlobError> {
    let end = offset.saturating_add(buffer.len() as u64);
    if end > length {
        return Err(BlobError::OutOfRange { offset, end, length });
    }
    let odd = |_| BlobError::Failed("the blob has too many parts".to_owned());
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset + filled as u64;
        let number = u32::try_from(at / chunk_bytes as u64).map_err(odd)?;
        let chunk = part(number)?;
        let from = usize::try_from(at % chunk_bytes as u64).unwrap_or_default();
        let count = chunk.len().saturating_sub(from).min(buffer.len() - filled);
        if count == 0 {
            return Err(BlobError::Failed(format!("part {number} of a blob is cut")));
        }
        buffer[filled..filled + count].copy_from_slice(&chunk[from..from + count]);
        filled += count;
    }
    Ok(())
}

/// The folders that the name of a blob is in: `a` and `a/b` for `a/b/c`.
#[must_use]
pub fn folders(name: &str) -> Vec<String> {
    name.match_indices('/').map(|(index, _)| name[..index].to_owned()).collect()
}

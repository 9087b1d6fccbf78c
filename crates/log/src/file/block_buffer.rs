//! Memory for direct writes: aligned to a block, grown when needed, never released.

use super::format::{BLOCK_BYTES, round_up};

/// A slice whose address and length are multiples of the block size.
///
/// The vector is one block longer than the slice, so that an aligned slice of the required length
/// always fits. It is replaced to grow and never resized, because that could move it.
pub(crate) struct BlockBuffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl BlockBuffer {
    pub(crate) fn new(bytes: usize) -> Self {
        let bytes = round_up(bytes.max(1));
        let memory = vec![0; bytes + BLOCK_BYTES];
        let start = memory.as_ptr().align_offset(BLOCK_BYTES);
        assert!(start <= BLOCK_BYTES, "an aligned address lies within every block's length");
        Self { memory, start, bytes }
    }

    /// Makes room for `bytes`, keeping the first `kept`.
    pub(crate) fn reserve(&mut self, bytes: usize, kept: usize) {
        if bytes > self.bytes {
            // Doubling, so that records that grow slowly do not allocate each time.
            let mut larger = Self::new(bytes.next_power_of_two());
            larger.slice_mut()[..kept].copy_from_slice(&self.slice()[..kept]);
            *self = larger;
        }
    }

    pub(crate) fn slice(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.bytes]
    }

    pub(crate) fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

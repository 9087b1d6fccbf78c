//! Reads bytes from a blob, verifying every block.

use std::sync::Arc;

use baton_core::{BlobPlace, WorkspaceName};
use baton_log::{Blob, Log};

use super::upload::MAGIC;
use super::{BLOCK_BYTES, BlobKind};
use crate::error::Error;
use crate::shard::Shard;

/// The size of the trailer after the checksums.
const END_BYTES: usize = 16;

/// A content that can be read, even if it is deleted in the meantime. Cheap to clone.
#[derive(Clone)]
pub struct BlobReader {
    blob: Arc<dyn Blob>,
    checksums: Arc<[u8]>,
    bytes: u64,
    /// Its name in errors about damage.
    what: Arc<str>,
}

impl<L: Log> Shard<L> {
    /// Opens the content at a location. A missing content or an invalid trailer is damage, since a
    /// record refers to it.
    pub fn content(
        &self,
        workspace: &WorkspaceName,
        kind: BlobKind,
        place: &BlobPlace,
    ) -> Result<BlobReader, Error> {
        let name = kind.name(workspace, place);
        let missing = || Error::Corrupt { what: format!("`{name}` has disappeared") };
        BlobReader::open(self.log.open_blob(&name)?.ok_or_else(missing)?, name.as_str().into())
    }
}

impl BlobReader {
    fn open(blob: Arc<dyn Blob>, what: Arc<str>) -> Result<Self, Error> {
        let damaged = |reason: &str| Error::Corrupt { what: format!("`{what}`: {reason}") };
        let length = blob.len();
        let too_short = || damaged("it is too short");
        let mut end = [0; END_BYTES];
        let end_at = length.checked_sub(END_BYTES as u64).ok_or_else(too_short)?;
        blob.read_at(end_at, &mut end)?;
        let (bytes, rest) = end.split_at(8);
        let (checksum, magic) = rest.split_at(4);
        if magic != MAGIC {
            return Err(damaged("it does not end as it should"));
        }
        let bytes = u64::from_le_bytes(bytes.try_into().expect("eight bytes are eight bytes"));
        let table = bytes.div_ceil(BLOCK_BYTES as u64).checked_mul(4);
        let is_whole = table.and_then(|table| bytes.checked_add(table)) == Some(end_at);
        let table =
            table.filter(|_| is_whole).ok_or_else(|| damaged("its length is not its own"))?;
        let table = usize::try_from(table).map_err(|_| damaged("its length is not its own"))?;
        let mut checksums = vec![0; table + 8];
        blob.read_at(bytes, &mut checksums)?;
        if crc32fast::hash(&checksums).to_le_bytes() != checksum {
            return Err(damaged("its checksums are not what was written"));
        }
        checksums.truncate(table);
        Ok(Self { blob, checksums: checksums.into(), bytes, what })
    }

    /// Its size in bytes.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes from `offset` on, up to the end of their block; none at the end.
    pub fn block(&self, offset: u64) -> Result<Vec<u8>, Error> {
        if offset >= self.bytes {
            return Ok(Vec::new());
        }
        let number = offset / BLOCK_BYTES as u64;
        let first = number * BLOCK_BYTES as u64;
        let length = (self.bytes - first).min(BLOCK_BYTES as u64);
        let length = usize::try_from(length).expect("blocks are small");
        let mut block = vec![0; length];
        self.blob.read_at(first, &mut block)?;
        let place = usize::try_from(number * 4).expect("there are few checksums");
        if crc32fast::hash(&block).to_le_bytes() != self.checksums[place..place + 4] {
            let what = format!("`{}`: block {number} is not what was written", self.what);
            return Err(Error::Corrupt { what });
        }
        let skipped = usize::try_from(offset - first).expect("blocks are small");
        block.drain(..skipped);
        Ok(block)
    }

    /// All bytes, for a content that is known to be small.
    pub fn whole(&self) -> Result<Vec<u8>, Error> {
        let mut whole = Vec::new();
        while (whole.len() as u64) < self.bytes {
            whole.extend_from_slice(&self.block(whole.len() as u64)?);
        }
        Ok(whole)
    }
}

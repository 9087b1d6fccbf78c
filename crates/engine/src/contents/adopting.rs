//! A workspace that begins with the records of another has its contents too, as its own.

use baton_core::{BlobPlace, Space, WorkspaceName};
use baton_log::{BlobError, Log};

use super::{BLOCK_BYTES, Shelf};
use crate::error::Error;
use crate::shard::Shard;

/// Where the contents are that a space has records of.
pub(crate) fn places(space: &Space) -> impl Iterator<Item = (Shelf, BlobPlace)> {
    let artifacts = space.artifact.after(None);
    let artifacts = artifacts.map(|record| (Shelf::Artifacts, record.place.clone()));
    let secrets = space.secret.after(None);
    artifacts.chain(secrets.map(|secret| (Shelf::Secrets, secret.secret.place())))
}

impl<L: Log> Shard<L> {
    /// Copies the contents of a space from where they are to a workspace that nobody uses yet, so
    /// that neither shares the other's fate. What is gone where it was, since the space is from
    /// before, stays gone.
    pub(crate) fn adopt(
        &self,
        from: &WorkspaceName,
        to: &WorkspaceName,
        space: &Space,
    ) -> Result<(), Error> {
        for (shelf, place) in places(space) {
            let Some(blob) = self.log.open_blob(&shelf.name(from, &place))? else { continue };
            let mut writer = match self.log.create_blob(&shelf.name(to, &place)) {
                // An attempt that was cut off has copied it: bytes of a blob never change.
                Err(BlobError::Exists { .. }) => continue,
                writer => writer?,
            };
            let mut offset = 0;
            while offset < blob.len() {
                let count = (blob.len() - offset).min(BLOCK_BYTES as u64);
                let mut piece = vec![0; usize::try_from(count).expect("blocks are small")];
                blob.read_at(offset, &mut piece)?;
                writer.write(&piece)?;
                offset += count;
            }
            writer.commit()?;
        }
        Ok(())
    }
}

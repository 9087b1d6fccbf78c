//! Copies the contents of a workspace to another one that starts with its records.

use baton_core::{BlobPlace, Space, WorkspaceName};
use baton_log::{BlobError, Log};

use super::{BLOCK_BYTES, BlobKind, check_secrets};
use crate::error::Error;
use crate::shard::Shard;

/// The locations of the contents that a space has records of.
pub(crate) fn blob_references(space: &Space) -> impl Iterator<Item = (BlobKind, BlobPlace)> {
    let artifacts = space.artifact.after(None);
    let artifacts = artifacts.map(|record| (BlobKind::Artifacts, record.place.clone()));
    let secrets = space.secret.after(None);
    artifacts.chain(secrets.map(|secret| (BlobKind::Secrets, secret.secret.place())))
}

impl<L: Log> Shard<L> {
    /// Copies the contents of a space to an unused workspace, so that each has its own. A content
    /// that was removed already, because the space is an old one, stays missing.
    pub(crate) fn copy_blobs(
        &self,
        from: &WorkspaceName,
        to: &WorkspaceName,
        space: &Space,
    ) -> Result<(), Error> {
        for (kind, place) in blob_references(space) {
            if kind == BlobKind::Secrets {
                check_secrets(&self.log)?;
            }
            let Some(blob) = self.log.open_blob(&kind.name(from, &place))? else { continue };
            let mut writer = match self.log.create_blob(&kind.name(to, &place)) {
                // An interrupted attempt has copied it: the bytes of a blob never change.
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

//! Removes blobs without a record.

use std::collections::BTreeSet;

use baton_core::WorkspaceName;
use baton_log::Log;

use super::BlobKind;
use super::copy::blob_references;
use crate::error::Error;
use crate::machine::Resident;
use crate::shard::Shard;

/// How many contents of a workspace have been removed. While that does not change, no blob of it
/// has become superfluous.
pub(crate) fn deleted_count(resident: &Resident) -> u64 {
    resident.space.artifact.gone() + resident.space.secret.gone()
}

impl<L: Log> Shard<L> {
    /// Removes the blobs of a workspace that have no record: expired or deleted contents, and
    /// uploads that were interrupted before they were recorded.
    pub fn sweep_blobs(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.with_files_locked(workspace, || self.sweep_locked(workspace))
    }

    fn sweep_locked(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        // Checked under the file lock: a backup that starts later waits for the lock of this
        // workspace.
        if self.backups.are_taken() {
            return Ok(());
        }
        // Before anything else is read: what is removed in the meantime is left to another sweep.
        let (mark, stay) = {
            let mut machine = self.settled(workspace);
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            (deleted_count(resident), resident.stay)
        };
        let mut names = Vec::new();
        for kind in [BlobKind::Artifacts, BlobKind::Secrets] {
            names.extend(self.log.list_blobs(&kind.folder(workspace))?);
        }
        // In this order: a blob that is recorded between the two reads is seen by one of them.
        let pending = self.pending.all();
        let (recorded, group) = {
            let mut machine = self.settled(workspace);
            let durable = machine.durable();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let group = resident.undurable(resident.space.revision(), durable);
            (recorded(workspace, resident), group)
        };
        // The removal of a record could still be lost; the removal of its blob could not be undone.
        if !self.block_until_durable(group) || self.watermark().stopped().is_some() {
            return Ok(());
        }
        for name in names {
            if !recorded.contains(&name) && !pending.contains(&name) {
                self.log.delete_blob(&name)?;
            }
        }
        let mut machine = self.machine();
        let resident = machine.resident(workspace).filter(|resident| resident.stay == stay);
        if let Some(resident) = resident {
            resident.swept = Some(mark);
        }
        Ok(())
    }
}

fn recorded(workspace: &WorkspaceName, resident: &Resident) -> BTreeSet<String> {
    let references = blob_references(&resident.space);
    references.map(|(kind, place)| kind.name(workspace, &place)).collect()
}

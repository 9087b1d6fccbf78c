//! `workspace.delete`.
//!
//! ```text
//!   resident ──removed──▶ not loadable ──write──▶ deleted-R ──▶ other blobs are deleted
//! ```
//!
//! The blob `deleted-R` is the empty workspace that follows revision R. It exists completely or not
//! at all, and with it everything up to R is gone, whatever else is still on disk. It remains after
//! everything else, so that the revisions of a later workspace of this name continue after R.
//!
//! 1. A process that is killed in the middle leaves the workspace as it was, or deleted.
//! 2. A write is either before the deletion, and gone, or after it, and in the new workspace.
//! 3. A revision identifies a workspace: a repeated request does not delete a later one.

use baton_core::workspace::{Listed, Rejection, Reply};
use baton_core::{Revision, WorkspaceName};
use baton_log::Log;

use crate::blobs::BlobKind;
use crate::error::Error;
use crate::files::File;
use crate::machine::{Removed, Stays};
use crate::shard::Shard;

impl<L: Log> Shard<L> {
    /// Deletes the workspace that has had this revision.
    pub(crate) fn delete_workspace(
        &self,
        workspace: &WorkspaceName,
        revision: Revision,
    ) -> Result<Reply, Error> {
        self.with_files_locked(workspace, || self.delete_locked(workspace, revision))
    }

    fn delete_locked(&self, workspace: &WorkspaceName, revision: Revision) -> Result<Reply, Error> {
        self.check_serving()?;
        self.check_disk_space()?;
        let rejected = |rejection: Rejection| Err(Error::Rejected(rejection.into()));
        let id = workspace.clone();
        let mut removed = loop {
            self.load_locked(workspace)?;
            let mut machine = self.settled(workspace);
            // It may have left memory while its tables were away.
            let Some(resident) = machine.resident(workspace) else { continue };
            let space = &resident.space;
            if revision <= space.workspace.began() || revision > space.revision() {
                return rejected(Rejection::NotFound { id, revision });
            }
            if self.backups.are_taken() {
                return rejected(Rejection::InUse { id });
            }
            match machine.remove(workspace) {
                Ok(removed) => break removed,
                Err(Stays::Read) => return rejected(Rejection::InUse { id }),
                Err(Stays::Changed { group }) => {
                    drop(machine);
                    self.block_until_durable(group);
                }
            }
            self.check_serving()?;
        };
        let revision = removed.space.revision();
        if let Err(error) = self.record_deletion(workspace, &removed) {
            removed.end(revision.next(), &Err(error.clone())).wake();
            self.machine().put_back(workspace, removed);
            return Err(error);
        }
        let deleted = Rejection::Deleted { id: id.clone() };
        // Watches must not continue as if nothing had happened: this revision is gone.
        removed.end(revision, &Ok(Err(deleted.into()))).wake();
        self.past_spaces.remove(workspace);
        self.indexes.remove(workspace);
        self.remove_deleted(workspace, revision);
        Ok(Reply::Deleted(Listed { id, revision }))
    }

    fn record_deletion(&self, workspace: &WorkspaceName, removed: &Removed) -> Result<(), Error> {
        let space = removed.space.emptied();
        let file = File::Deleted { revision: space.revision().0 };
        #[cfg(feature = "planted")]
        if baton_core::planted::is("deletion.not_recorded") {
            return Ok(());
        }
        let Err(error) = self.write_space(workspace, file, &space) else { return Ok(()) };
        // If it is there but not durable, the workspace would come back after a power cut, with
        // what was written in between.
        if self.log.delete_blob(&file.name(workspace)).is_err() {
            let reason = format!("it is unknown whether workspace `{workspace}` is deleted");
            self.watermark().stop(&reason);
        }
        Err(error)
    }

    /// Removes what is left of a deleted workspace. Files that cannot be removed now are removed
    /// when the workspace is loaded.
    fn remove_deleted(&self, workspace: &WorkspaceName, revision: Revision) {
        let files = self.files_of(workspace).unwrap_or_default();
        let is_over = |file: &File| *file != File::Deleted { revision: revision.0 };
        let mut names: Vec<_> =
            files.into_iter().filter(is_over).map(|file| file.name(workspace)).collect();
        for kind in [BlobKind::Artifacts, BlobKind::Secrets] {
            names.extend(self.log.list_blobs(&kind.folder(workspace)).unwrap_or_default());
        }
        let pending = self.pending.all();
        for name in names.iter().filter(|name| !pending.contains(*name)) {
            // A failure leaves it there, and nothing refers to it.
            self.log.delete_blob(name).unwrap_or_default();
        }
    }
}

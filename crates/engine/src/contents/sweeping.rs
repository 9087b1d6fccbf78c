//! Removing the blobs that no record has.

use std::collections::BTreeSet;

use baton_core::WorkspaceName;
use baton_log::Log;

use super::Shelf;
use super::adopting::places;
use crate::error::Error;
use crate::machine::Resident;
use crate::shard::Shard;

/// How many contents of a workspace have gone so far. As long as that stays, no blob of it has
/// become superfluous.
pub(crate) fn gone(resident: &Resident) -> u64 {
    resident.space.artifact.gone() + resident.space.secret.gone()
}

impl<L: Log> Shard<L> {
    /// Removes the blobs of a workspace that no record has: what expired or was deleted, and what a
    /// process that ended had not come to record.
    pub fn sweep_contents(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        self.alone(workspace, || self.sweep_alone(workspace))
    }

    fn sweep_alone(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        // Looked at in our turn: a backup that begins later waits for its own with this workspace.
        if self.backups.are_taken() {
            return Ok(());
        }
        let mut names = Vec::new();
        for shelf in [Shelf::Artifacts, Shelf::Secrets] {
            names.extend(self.log.list_blobs(&shelf.folder(workspace))?);
        }
        // In this order: what is recorded between the two looks is seen by one of them.
        let pending = self.pending.all();
        let (recorded, mark, stay, group) = {
            let mut machine = self.machine();
            let durable = machine.durable();
            let Some(resident) = machine.resident(workspace) else { return Ok(()) };
            let group = resident.undurable(resident.space.revision(), durable);
            (recorded(workspace, resident), gone(resident), resident.stay, group)
        };
        // That a record is gone may yet be lost; its blob would be lost for good.
        if !self.becomes_durable(group) || self.settled().stopped().is_some() {
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
    let places = places(&resident.space);
    places.map(|(shelf, place)| shelf.name(workspace, &place)).collect()
}

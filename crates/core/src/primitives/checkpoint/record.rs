//! A checkpoint as the table keeps it.

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Checksum, Pages};
use crate::json::Json;
use crate::names::{AgentId, CheckpointId, CheckpointLabel, TaskId};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// What is known of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Which.
    pub id: CheckpointId,
    /// Of which task.
    pub task: TaskId,
    /// Which of that task, counted from 1.
    pub number: u64,
    /// The one it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// What it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Box<str>>,
    /// A name by which it is found, and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// What its author notes about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// Who saved it.
    pub saved_by: AgentId,
    /// When.
    pub saved_at: Timestamp,
    /// In which commit.
    pub revision: Revision,
    /// How many bytes the state has.
    pub bytes: u64,
    /// Their checksum.
    pub checksum: Checksum,
    /// Where the state is.
    pub pages: Pages,
}

/// What a record costs besides what is written in it: itself, its names, and its places in the
/// lists of the table.
const RECORD_BYTES: usize = 400;

impl Record {
    /// About how many bytes of memory it takes, without its state.
    pub fn footprint(&self) -> usize {
        RECORD_BYTES
            + size_of_val(&*self.pages)
            + self.description.as_ref().map_or(0, |text| text.len())
            + self.label.as_ref().map_or(0, |label| label.as_str().len())
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
    }

    /// The checkpoint as callers see it.
    pub fn shown(&self, state: Option<Json>) -> Checkpoint {
        Checkpoint {
            id: self.id.clone(),
            task: self.task.clone(),
            number: self.number,
            parent: self.parent.clone(),
            description: self.description.as_deref().map(ToOwned::to_owned),
            label: self.label.clone(),
            metadata: self.metadata.clone(),
            saved_by: self.saved_by.clone(),
            saved_at: self.saved_at,
            revision: self.revision,
            bytes: self.bytes,
            checksum: self.checksum,
            state,
        }
    }
}

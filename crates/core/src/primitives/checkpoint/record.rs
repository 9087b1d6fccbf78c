//! A checkpoint as the table stores it.

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Checksum, Pages};
use crate::json::Json;
use crate::names::{AgentId, CheckpointId, CheckpointKey, CheckpointLabel, StateType, TaskId};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// The record of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The id.
    pub id: CheckpointId,
    /// The task.
    pub task: TaskId,
    /// Its number within the task, counted from 1.
    pub number: u64,
    /// Its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// Its key, by which its author knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<CheckpointKey>,
    /// The key of the one that it continues, whether or not that one exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_key: Option<CheckpointKey>,
    /// A description in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Box<str>>,
    /// A label, by which it can be found and which keeps it from being pruned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<CheckpointLabel>,
    /// Metadata of its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// The agent that saved it.
    pub saved_by: AgentId,
    /// When it was saved.
    pub saved_at: Timestamp,
    /// The revision of that commit.
    pub revision: Revision,
    /// The size of the state in bytes.
    pub bytes: u64,
    /// The checksum of the state.
    pub checksum: Checksum,
    /// The type of the state if it is bytes; none for JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<StateType>,
    /// The pages of the state.
    pub pages: Pages,
}

/// The overhead of a record: itself, its names, and its index entries.
const RECORD_BYTES: usize = 400;

impl Record {
    /// Its approximate memory use in bytes, without its state.
    pub fn footprint(&self) -> usize {
        RECORD_BYTES
            + size_of_val(&*self.pages)
            + self.description.as_ref().map_or(0, |text| text.len())
            + self.label.as_ref().map_or(0, |label| label.as_str().len())
            + self.key.as_ref().map_or(0, |key| 2 * key.as_str().len())
            + self.parent_key.as_ref().map_or(0, |key| key.as_str().len())
            + self.metadata.as_ref().map_or(0, |metadata| metadata.as_bytes().len())
    }

    /// The checkpoint as callers see it.
    pub fn shown(&self, state: Option<Json>) -> Checkpoint {
        Checkpoint {
            id: self.id.clone(),
            task: self.task.clone(),
            number: self.number,
            parent: self.parent.clone(),
            key: self.key.clone(),
            parent_key: self.parent_key.clone(),
            description: self.description.as_deref().map(ToOwned::to_owned),
            label: self.label.clone(),
            metadata: self.metadata.clone(),
            saved_by: self.saved_by.clone(),
            saved_at: self.saved_at,
            revision: self.revision,
            bytes: self.bytes,
            checksum: self.checksum,
            content_type: self.content_type.clone(),
            state,
            writes: Vec::new(),
        }
    }
}

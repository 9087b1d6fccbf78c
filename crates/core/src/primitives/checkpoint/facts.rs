//! Everything about checkpoints that a snapshot holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Chunk, Pending, Record, Rule};
use crate::names::{CheckpointKey, TaskId};

/// Everything about checkpoints that a snapshot holds. It shares the parts with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How many were ever saved.
    pub created: u64,
    /// The retention rules.
    pub rules: Vec<Rule>,
    /// The parts of which there may be many: first chunks, then pages, checkpoints,
    /// threads and pending writes.
    pub parts: Vec<Part>,
}

/// One part of the facts about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A chunk, by number.
    Chunk(u32, Chunk),
    /// The chunks of a page, by number.
    Page(u32, Arc<[u32]>),
    /// A checkpoint.
    Record(Arc<Record>),
    /// A task with checkpoints: how many were ever saved, and the head.
    Thread(TaskId, u64, u64),
    /// The pending writes after a checkpoint of a task.
    Writes(TaskId, CheckpointKey, Vec<Arc<Pending>>),
}

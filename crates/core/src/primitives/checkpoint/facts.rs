//! Everything about checkpoints that a snapshot holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Record, Rule};
use crate::names::TaskId;

/// Everything about checkpoints that a snapshot holds. It shares the parts with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How many were ever saved.
    pub created: u64,
    /// The retention rules.
    pub rules: Vec<Rule>,
    /// The parts of which there may be many: first chunks, then pages, checkpoints and threads.
    pub parts: Vec<Part>,
}

/// One part of the facts about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A chunk, by number.
    Chunk(u32, Arc<str>),
    /// The chunks of a page, by number.
    Page(u32, Arc<[u32]>),
    /// A checkpoint.
    Record(Arc<Record>),
    /// A task with checkpoints: how many were ever saved, and the head.
    Thread(TaskId, u64, u64),
}

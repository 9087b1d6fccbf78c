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
    /// How many are kept, and for how long.
    pub rules: Vec<Rule>,
    /// What there may be many of: chunks first, then pages, checkpoints and threads.
    pub parts: Vec<Part>,
}

/// One of many facts about checkpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A chunk, by number.
    Chunk(u32, Arc<str>),
    /// Which chunks a page has, by number.
    Page(u32, Arc<[u32]>),
    /// A checkpoint.
    Record(Arc<Record>),
    /// A task that has checkpoints: how many were ever saved, and which is its head.
    Thread(TaskId, u64, u64),
}

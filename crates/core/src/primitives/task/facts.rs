//! Everything about tasks that a snapshot holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Past, Record, Waiting};
use crate::names::TaskType;

/// Everything about tasks that a snapshot holds. It shares the records with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Every known task, by id.
    pub records: Vec<Arc<Record>>,
    /// All waiting claims, in order of arrival.
    pub claims: Vec<Waiting>,
    /// How many tasks were ever created.
    pub created: u64,
    /// The counters that cannot be recomputed: for all types, and for each.
    pub past: (Past, Vec<(TaskType, Past)>),
}

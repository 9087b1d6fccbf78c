//! Everything about hand-offs that a snapshot holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Counters, Handoff};
use crate::names::AgentId;
use crate::waiting::wait_queue::Waiter;

/// Everything about hand-offs that a snapshot holds. It shares the records with the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Every known hand-off, by id.
    pub records: Vec<Arc<Handoff>>,
    /// The waiting calls, in order of arrival.
    pub waits: Vec<Waiter<AgentId>>,
    /// The counters.
    #[serde(rename = "tally")]
    pub counters: Counters,
}

//! What one commit did: the unit of revision, of atomicity and of the log.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::time::Timestamp;

/// The events of one commit. All of them happened, at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Its place in the workspace's history.
    pub revision: Revision,
    /// When it was decided.
    pub time: Timestamp,
    /// Who caused it.
    pub agent: AgentId,
    /// What happened, in order. Never empty.
    pub events: Vec<Event>,
}

impl Batch {
    /// When and by whom its events happened.
    pub fn moment(&self) -> Moment<'_> {
        Moment { revision: self.revision, time: self.time, agent: &self.agent }
    }
}

/// When and by whom an event happened.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The batch's revision.
    pub revision: Revision,
    /// The batch's time.
    pub time: Timestamp,
    /// The batch's author.
    pub agent: &'a AgentId,
}

//! What one commit did: the unit of revision, of atomicity and of the log.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::names::AgentId;
use crate::numbers::Revision;
use crate::reaction;
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

    /// In whose name each of the events happened: what a reaction did is the doing of whoever added
    /// it, everything else of whoever caused the commit.
    pub fn authors(&self) -> impl Iterator<Item = &AgentId> {
        let (mut by, mut left) = (&self.agent, 0);
        self.events.iter().map(move |event| {
            if left > 0 {
                left -= 1;
                return by;
            }
            if let Event::Reaction(reaction::Event::Ran { by: author, events, .. }) = event {
                (by, left) = (author, *events);
            }
            &self.agent
        })
    }

    /// In whose name one of the events happened.
    pub fn author(&self, index: usize) -> &AgentId {
        self.authors().nth(index).unwrap_or(&self.agent)
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

//! A batch: the unit of revision, of atomicity and of the log.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::names::{AgentId, Key};
use crate::numbers::Revision;
use crate::reaction;
use crate::state;
use crate::time::Timestamp;

/// The events of one commit, which are applied atomically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Its revision.
    pub revision: Revision,
    /// When it was decided.
    pub time: Timestamp,
    /// The author.
    pub agent: AgentId,
    /// The events, in order. Never empty.
    pub events: Vec<Event>,
}

impl Batch {
    /// The batch of a plain set, which has written this entry.
    pub fn of_set(entry: &state::Entry) -> Self {
        let event = state::Event::Set {
            namespace: entry.namespace().clone(),
            key: Key::parse(entry.key()).expect("keys are checked before they are stored"),
            value: entry.json(),
            version: entry.version(),
            operation: state::Operation::Set,
            expires_at: None,
            bound_to: None,
            source: None,
        };
        Self {
            revision: entry.revision(),
            time: entry.updated_at(),
            agent: entry.updated_by().clone(),
            events: vec![event.into()],
        }
    }

    /// The time and author of its events.
    pub fn moment(&self) -> Moment<'_> {
        Moment { revision: self.revision, time: self.time, agent: &self.agent }
    }

    /// The author of each event: for effects of a reaction the agent that added it, for everything
    /// else the agent that caused the commit.
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

    /// The author of one event.
    pub fn author(&self, index: usize) -> &AgentId {
        self.authors().nth(index).unwrap_or(&self.agent)
    }
}

/// The revision, time and author of an event.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The batch's revision.
    pub revision: Revision,
    /// The batch's time.
    pub time: Timestamp,
    /// The batch's author.
    pub agent: &'a AgentId,
}

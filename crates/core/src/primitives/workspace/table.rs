//! The facts about the workspace itself.

use super::vocabulary::{Event, Retention};
use crate::history::Origin;

/// How the workspace is set up. Changes only by [`Table::evolve`] and [`Table::undo`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    retention: Retention,
    origin: Option<Origin>,
}

/// How to take back one change: the set-up as it was.
pub struct Undo(Table);

impl Table {
    /// Applies a fact.
    pub fn evolve(&mut self, event: &Event) -> Undo {
        let before = self.clone();
        match event {
            Event::Configured { retention } => self.retention = *retention,
            Event::Founded { origin } => self.origin = Some(origin.clone()),
        }
        Undo(before)
    }

    /// Takes back one change.
    pub fn undo(&mut self, undo: Undo) {
        *self = undo.0;
    }

    /// How much of the past is kept.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Where it came from, if it was not empty when it began.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Puts together what a snapshot holds.
    pub fn restore(retention: Retention, origin: Option<Origin>) -> Self {
        Self { retention, origin }
    }

    /// Asserts the invariants of the module's story.
    pub fn check(&self) {
        assert!(self.retention.history_count > 0, "at least one revision is kept");
        assert!(self.retention.history_age_ms > 0, "for at least a moment");
    }
}

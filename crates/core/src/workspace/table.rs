//! The facts about the workspace itself.

use super::vocabulary::{Event, Retention};

/// How the workspace is set up. Changes only by [`Table::evolve`] and [`Table::undo`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    retention: Retention,
}

/// How to take back one change: the set-up as it was.
pub struct Undo(Retention);

impl Table {
    /// Applies a fact.
    pub fn evolve(&mut self, event: &Event) -> Undo {
        let before = self.retention;
        match event {
            Event::Configured { retention } => self.retention = *retention,
        }
        Undo(before)
    }

    /// Takes back one change.
    pub fn undo(&mut self, undo: &Undo) {
        self.retention = undo.0;
    }

    /// How much of the past is kept.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// Puts together what a snapshot holds.
    pub fn restore(retention: Retention) -> Self {
        Self { retention }
    }

    /// Asserts the invariants of the module's story.
    pub fn check(&self) {
        assert!(self.retention.history_count > 0, "at least one revision is kept");
        assert!(self.retention.history_age_ms > 0, "for at least a moment");
    }
}

//! The table of the workspace itself.

use super::vocabulary::{Event, Retention};
use crate::history::Origin;
use crate::numbers::Revision;
use crate::primitive;
use crate::space::batch::Moment;

/// The configuration of the workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    retention: Retention,
    origin: Option<Origin>,
    began: Option<Revision>,
}

/// How to undo one change: the previous configuration.
pub struct Undo(Table);

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = (Retention, Option<Origin>, Option<Revision>);

    fn evolve(&mut self, event: &Event, _moment: &Moment<'_>) -> Undo {
        let before = self.clone();
        match event {
            Event::Configured { retention } => self.retention = *retention,
            Event::Founded { origin } => self.origin = Some(origin.clone()),
        }
        Undo(before)
    }

    fn undo(&mut self, undo: Undo) {
        *self = undo.0;
    }

    fn facts(&self) -> Self::Facts {
        (self.retention, self.origin.clone(), self.began)
    }

    fn restore((retention, origin, began): Self::Facts) -> Self {
        Self { retention, origin, began }
    }

    fn check(&self) {
        assert!(self.retention.history_count > 0, "at least one revision is kept");
        assert!(self.retention.history_age_ms > 0, "for at least a moment");
    }
}

impl Table {
    /// How much history is kept.
    pub fn retention(&self) -> Retention {
        self.retention
    }

    /// The origin of the workspace, if it was forked or imported.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// The revision at which the previous workspace of this name was deleted; 0 if there was none.
    pub fn began(&self) -> Revision {
        self.began.unwrap_or_default()
    }

    /// The previous workspace of this name was deleted at this revision.
    pub(crate) fn begin_after(&mut self, revision: Revision) {
        self.began = Some(revision);
    }
}

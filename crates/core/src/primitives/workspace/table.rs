//! The table of the workspace itself.

use super::vocabulary::{Event, Founding, Retention, Synced};
use crate::history::Origin;
use crate::numbers::Revision;
use crate::primitive;
use crate::space::batch::Moment;
use crate::sync::Seen;
use crate::time::Timestamp;

/// The configuration of the workspace. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    retention: Retention,
    origin: Option<Origin>,
    began: Option<Revision>,
    founding: Option<Founding>,
    seen: Vec<Seen>,
}

/// All its data, for a snapshot.
pub struct Facts {
    /// How much history is kept.
    pub retention: Retention,
    /// The origin of the workspace, if it was forked or imported.
    pub origin: Option<Origin>,
    /// The revision at which the previous workspace of this name was deleted.
    pub began: Option<Revision>,
    /// Its start, if it was forked or imported.
    pub founding: Option<Founding>,
    /// The revisions of other copies that it includes, by id.
    pub seen: Vec<Seen>,
}

/// How to undo one change: the previous configuration.
pub struct Undo(Table);

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let before = self.clone();
        match event {
            Event::Configured { retention } => self.retention = *retention,
            Event::Founded { origin } => {
                self.origin = Some(origin.clone());
                self.settle_founding(moment.revision, moment.time);
                if let Some(copy) = origin.copy.clone() {
                    self.seen.retain(|seen| seen.copy != copy);
                    self.seen.push(Seen { copy, revision: origin.revision, time: origin.time });
                    self.seen.sort_by(|one, other| one.copy.cmp(&other.copy));
                }
            }
            Event::Synced(Synced { seen, .. }) => self.seen.clone_from(seen),
        }
        Undo(before)
    }

    fn undo(&mut self, undo: Undo) {
        *self = undo.0;
    }

    fn facts(&self) -> Self::Facts {
        let Self { retention, origin, began, founding, seen } = self.clone();
        Facts { retention, origin, began, founding, seen }
    }

    fn restore(facts: Facts) -> Self {
        let Facts { retention, origin, began, founding, seen } = facts;
        Self { retention, origin, began, founding, seen }
    }

    fn check(&self) {
        assert!(self.retention.history_count > 0, "at least one revision is kept");
        assert!(self.retention.history_age_ms > 0, "for at least a moment");
        assert!(self.seen.is_sorted_by(|one, other| one.copy < other.copy), "each copy once");
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

    /// The revisions of other copies that it includes, by id.
    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// Its start, if it was forked or imported by a version that records it.
    pub fn founding(&self) -> Option<Founding> {
        self.founding
    }

    /// It started with this revision, after everything was released in it.
    pub(crate) fn settle_founding(&mut self, revision: Revision, time: Timestamp) {
        self.founding = Some(Founding { revision, time });
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

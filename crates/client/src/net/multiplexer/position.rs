//! The position of a watch, so that nothing is missed and nothing is delivered twice.

use crate::Item;
use baton_core::{Revision, wire};

/// The position up to which events have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The first revision that has not arrived completely; none while only the server knows.
    next: Option<Revision>,
    /// The last event of that revision that has arrived, if some have.
    within: Option<usize>,
    /// The snapshot has not arrived.
    needs_snapshot: bool,
}

impl Position {
    /// Before anything has arrived.
    pub(super) fn of(request: &wire::Watch) -> Self {
        let next = request.from.filter(|_| !request.snapshot);
        let next = next.map(|from| from.max(Revision(1)));
        Self { next, within: None, needs_snapshot: request.snapshot }
    }

    /// The first revision that has not arrived completely.
    pub(super) fn next(&self) -> Revision {
        self.next.unwrap_or(Revision(1))
    }

    /// The request for the rest of the watch.
    pub(super) fn request(&self, request: &wire::Watch) -> wire::Watch {
        // The server refuses a snapshot together with a revision, so it has to see both.
        let from = if self.needs_snapshot { request.from } else { self.next };
        wire::Watch { from, snapshot: self.needs_snapshot, ..request.clone() }
    }

    /// The server reports its first revision. If it is later than requested, there is a gap.
    pub(super) fn begin(&mut self, from: Revision) -> Result<(), String> {
        match self.next {
            Some(next) if !self.needs_snapshot && from > next => {
                Err(format!("the watch would begin at revision {from} instead of {next}"))
            }
            Some(_) if !self.needs_snapshot => Ok(()),
            Some(_) | None => {
                self.next = Some(from);
                Ok(())
            }
        }
    }

    /// Whether an item is new; if so, the position moves past it.
    pub(super) fn advance(&mut self, item: &Item, last: bool) -> bool {
        match item {
            Item::Snapshot { revision, .. } => {
                if !self.needs_snapshot {
                    return false;
                }
                *self = Self { next: Some(revision.next()), within: None, needs_snapshot: false };
            }
            // It is not stored: it arrives once or not at all, and does not move the position.
            Item::Event(notice) if notice.is_live() => return !self.needs_snapshot,
            Item::Event(notice) => {
                let (revision, index) = (notice.revision(), notice.index());
                let next = self.next();
                let is_known = revision < next
                    || (revision == next && self.within.is_some_and(|within| index <= within));
                if is_known || self.needs_snapshot {
                    return false;
                }
                self.next = Some(if last { revision.next() } else { revision });
                self.within = (!last).then_some(index);
            }
        }
        true
    }

    /// The server reports that nothing before this revision is missing, except a commit whose last
    /// event has not arrived.
    pub(super) fn skip_to(&mut self, revision: Revision) {
        if !self.needs_snapshot && self.within.is_none() {
            self.next = Some(self.next().max(revision));
        }
    }
}

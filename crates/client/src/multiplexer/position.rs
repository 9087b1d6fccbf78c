//! Where a watch is: what has arrived, so that nothing is missed and nothing comes twice.

use baton_core::{Revision, wire};
use baton_handle::Item;

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// The first revision that has not arrived whole; none while only the server knows.
    next: Option<Revision>,
    /// The last event of that revision that has arrived, if some have.
    within: Option<usize>,
    /// The entries to begin with have not arrived.
    needs_snapshot: bool,
}

impl Position {
    /// Before anything has arrived.
    pub(super) fn of(request: &wire::Watch) -> Self {
        let next = request.from.filter(|_| !request.snapshot);
        let next = next.map(|from| from.max(Revision(1)));
        Self { next, within: None, needs_snapshot: request.snapshot }
    }

    /// The first revision that has not arrived whole.
    pub(super) fn next(&self) -> Revision {
        self.next.unwrap_or(Revision(1))
    }

    /// What to ask for now, of what was asked for at first.
    pub(super) fn request(&self, request: &wire::Watch) -> wire::Watch {
        let from = if self.needs_snapshot { None } else { self.next };
        wire::Watch { from, snapshot: self.needs_snapshot, ..request.clone() }
    }

    /// The server says from which revision on it sends. Later than what was asked for is a gap.
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

    /// Whether an item is new. If it is, it has arrived.
    pub(super) fn advance(&mut self, item: &Item, last: bool) -> bool {
        match item {
            Item::Snapshot { revision, .. } => {
                if !self.needs_snapshot {
                    return false;
                }
                *self = Self { next: Some(revision.next()), within: None, needs_snapshot: false };
            }
            // It is in no log: it comes once, or not at all, and nothing is resumed by it.
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

    /// The server knows that nothing before this revision is missing. A commit of which the last
    /// event has not arrived is, whatever the server knows.
    pub(super) fn skip_to(&mut self, revision: Revision) {
        if !self.needs_snapshot && self.within.is_none() {
            self.next = Some(self.next().max(revision));
        }
    }
}

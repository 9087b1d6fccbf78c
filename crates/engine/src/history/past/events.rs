//! The history of all events.

use std::sync::Arc;

use baton_core::history::At;
use baton_core::limits;
use baton_core::user_event::{History, Order, Page, PageStart, Rejection};
use baton_core::{Batch, Json, Notice, Pattern, Revision, Timestamp};
use baton_log::Log;

use super::Past;
use super::change_log::SCANNED_MAX;
use crate::error::Error;

fn refused(rejection: Rejection) -> Error {
    Error::Rejected(rejection.into())
}

/// The page so far.
struct PageBuilder {
    events: Vec<Json>,
    bytes: usize,
    limit: usize,
}

impl PageBuilder {
    fn is_full(&self) -> bool {
        self.events.len() >= self.limit || self.bytes >= limits::PAGE_BYTES_MAX
    }

    /// Adds the matching events of a batch, after this many of them; returns how many were added in
    /// total if more match than fit.
    fn add(&mut self, batch: Batch, query: &History, delivered: usize) -> Option<usize> {
        let batch = Arc::new(batch);
        let wanted = (0..batch.events.len()).filter(|index| query.wants(&batch, *index));
        let mut wanted: Vec<_> = wanted.collect();
        if query.order == Order::Newest {
            wanted.reverse();
        }
        for (delivered, index) in wanted.into_iter().enumerate().skip(delivered) {
            if self.is_full() {
                return Some(delivered);
            }
            let json = Notice::new(Arc::clone(&batch), index).json();
            self.bytes += json.len();
            self.events.push(Json::trusted(&json));
        }
        None
    }
}

impl<L: Log> Past<'_, L> {
    /// `event.history`: the events in the requested order, and the cursor of the next page.
    pub fn events(&self, query: &History) -> Result<Page, Error> {
        let limit = query.limit().map_err(refused)?;
        let start = query.page_start().map_err(refused)?;
        let (first, last) = self.range(query)?;
        let begin = match query.order {
            Order::Newest => last,
            Order::Oldest => first,
        };
        let PageStart { revision, mut delivered } =
            start.unwrap_or(PageStart { revision: begin, delivered: 0 });
        let in_range = |revision: &Revision| (first..=last).contains(revision);
        let mut builder = PageBuilder { events: Vec::new(), bytes: 0, limit };
        let mut scanned = 0;
        let mut next = Some(revision).filter(in_range);
        let cursor = loop {
            let Some(revision) = self.next_touch(query, next)?.filter(in_range) else { break None };
            if builder.is_full() || scanned == SCANNED_MAX {
                break Some(revision.to_string());
            }
            if let Some(delivered) = builder.add(self.batch(revision)?, query, delivered) {
                break Some(format!("{revision}.{delivered}"));
            }
            delivered = 0;
            scanned += 1;
            next = match query.order {
                Order::Newest => revision.0.checked_sub(1).map(Revision),
                Order::Oldest => Some(revision.next()),
            };
        };
        Ok(Page { events: builder.events, oldest: self.floor(), cursor })
    }

    /// The next revision to read. For a query about one subject, the index leads from one to the
    /// next.
    fn next_touch(
        &self,
        query: &History,
        next: Option<Revision>,
    ) -> Result<Option<Revision>, Error> {
        match (next, query.subject.as_ref().and_then(Pattern::is_exact)) {
            (Some(next), Some(subject)) if query.order == Order::Newest => {
                self.last_change(subject, next)
            }
            _ => Ok(next),
        }
    }

    /// The first and the last requested revision.
    fn range(&self, query: &History) -> Result<(Revision, Revision), Error> {
        let kept = self.floor().next();
        let first = match query.from {
            None => kept,
            Some(At::Revision(from)) => {
                self.check_events_from(from)?;
                from.max(Revision(1))
            }
            Some(At::Time(moment)) => self.first_since(moment)?,
        };
        let last = match query.to {
            None => self.present,
            Some(At::Revision(to)) => to.min(self.present),
            Some(At::Time(moment)) => {
                let after = self.first_since(Timestamp(moment.0.saturating_add(1)))?;
                Revision(after.0.saturating_sub(1))
            }
        };
        Ok((first.max(kept), last))
    }

    /// The first retained revision that was not decided before a time. Times never decrease in a
    /// workspace, so this is a binary search.
    pub(super) fn first_since(&self, moment: Timestamp) -> Result<Revision, Error> {
        let (mut first, mut end) = (self.floor().next().0, self.present.next().0);
        while first < end {
            let middle = first + (end - first) / 2;
            if self.batch(Revision(middle))?.time < moment {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(Revision(first))
    }
}

//! The events of one task, from the log.

use baton_core::refusal::{bad, within};
use baton_core::task::{Rejection, Transition};
use baton_core::{Revision, TaskId, limits};
use baton_log::Log;

use super::Past;
use crate::error::Error;

fn refused(rejection: impl Into<Rejection>) -> Error {
    Error::Rejected(rejection.into().into())
}

impl<L: Log> Past<'_, L> {
    /// `task.history`: the events of a task, newest first, and the cursor of the next page.
    pub fn transitions(
        &self,
        task: &TaskId,
        limit: Option<u64>,
        cursor: Option<&str>,
    ) -> Result<(Vec<Transition>, Option<String>), Error> {
        let range = (1, limits::PAGE_MAX as u64);
        let limit = within("limit", limit, limits::PAGE_DEFAULT as u64, range).map_err(refused)?;
        let limit = usize::try_from(limit).expect("pages are small");
        let subject = format!("tasks/{task}");
        let mut below = match cursor {
            None => self.present,
            Some(cursor) => {
                let bad = |_| refused(bad("cursor", "it is not where a page ended"));
                cursor.parse().map(Revision).map_err(bad)?.min(self.present)
            }
        };
        let mut transitions = Vec::new();
        let kept = |revision: &Revision| *revision > self.floor;
        while let Some(revision) = self.last_change(&subject, below)?.filter(kept) {
            // The events of a commit stay together, so that a page ends between two.
            if transitions.len() >= limit {
                return Ok((transitions, Some(revision.to_string())));
            }
            let batch = self.batch(revision)?;
            let about = |index: &usize| batch.events[*index].subject() == subject;
            let events = (0..batch.events.len()).filter(about).rev();
            transitions.extend(events.map(|index| Transition::of(&batch, index)));
            below = Revision(revision.0 - 1);
        }
        Ok((transitions, None))
    }
}

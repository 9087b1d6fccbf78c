//! The commits about one subject, as recorded.

use baton_core::{Batch, Revision};
use baton_log::Log;

use super::Past;
use crate::error::Error;

impl<L: Log> Past<'_, L> {
    /// The commits before a revision that touched a subject, oldest first; if there are more than
    /// the limit, the newest ones.
    pub fn story(
        &self,
        subject: &str,
        before: Revision,
        batches_max: usize,
    ) -> Result<Vec<Batch>, Error> {
        let mut batches = Vec::new();
        let mut below = Revision(before.0.saturating_sub(1)).min(self.present);
        let kept = |revision: &Revision| *revision > self.floor;
        while batches.len() < batches_max
            && let Some(revision) = self.last_change(subject, below)?.filter(kept)
        {
            batches.push(self.batch(revision)?);
            below = Revision(revision.0 - 1);
        }
        batches.reverse();
        Ok(batches)
    }
}

//! Storage quotas of a workspace.
//!
//! ```text
//!   decide ─▶ evolve ─▶ is there more than before, and more than allowed? ──no──▶ done
//!                                        └──yes──▶ everything is undone, and refused
//! ```
//!
//! | counted as | what |
//! |---|---|
//! | entries | keys of shared state |
//! | bytes | entries, artifacts, secrets, frames of streams, checkpoints |
//! | | messages, tasks and hand-offs that are not over |
//!
//! Invariants:
//!
//! 1. It applies to a whole commit, so that a transaction that frees space for itself fits, and
//!    nothing is done partially. Each run of a reaction is checked separately, and fails alone.
//! 2. A commit that stores no more than before always fits: when the quota is exceeded, entries can
//!    still be deleted and changed.
//! 3. A signal is never refused: expiry must not depend on free space.
//! 4. It is not part of the history: replay does not check it, and without a quota it costs one
//!    comparison.
//!
//! Deliberately absent: quotas for tasks, locks and the like, which have limits in
//! [`limits`](crate::limits).

use super::Space;
use crate::rejection::Rejection;

#[cfg(test)]
mod tests;

/// A storage quota; what is not given is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StorageQuota {
    /// The maximum number of entries.
    pub entries_max: Option<u64>,
    /// The maximum size of all stored data in bytes.
    pub bytes_max: Option<u64>,
}

impl StorageQuota {
    /// Whether this much may be stored.
    pub(super) fn allows(&self, stored: Stored) -> bool {
        self.entries_max.is_none_or(|max| stored.entries <= max)
            && self.bytes_max.is_none_or(|max| stored.bytes <= max)
    }
}

/// How much a workspace stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    entries: u64,
    bytes: u64,
}

impl Stored {
    /// The usage with one more entry of this size.
    pub(super) fn with_entry(self, bytes: usize) -> Self {
        Self { entries: self.entries + 1, bytes: self.bytes + bytes as u64 }
    }
}

impl Space {
    /// Sets the quota. Existing data stays.
    pub fn set_quota(&mut self, quota: Option<StorageQuota>) {
        self.quota = quota.filter(|quota| *quota != StorageQuota::default());
    }

    /// How much is stored, if there is a quota.
    #[inline]
    pub(super) fn bounded(&self) -> Option<Stored> {
        self.quota.map(|_| self.stored())
    }

    pub(super) fn stored(&self) -> Stored {
        let entries: usize = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        let bytes = self.state.bytes()
            + self.stream.bytes()
            + self.checkpoint.bytes()
            + self.message.store().open().bytes
            + self.task.unfinished_bytes()
            + self.handoff.unfinished().1;
        let bytes = bytes as u64 + self.artifact.bytes() + self.secret.bytes();
        Stored { entries: entries as u64, bytes }
    }

    /// Whether the current size is allowed, given the size before.
    #[inline]
    pub(super) fn check_quota(&self, before: Option<Stored>) -> Result<(), Rejection> {
        let (Some(before), Some(quota)) = (before, self.quota) else { return Ok(()) };
        let now = self.stored();
        if let Some(max) = quota.entries_max.filter(|max| now.entries > *max)
            && now.entries > before.entries
        {
            return Err(Rejection::TooManyEntries { given: now.entries, max });
        }
        if let Some(max) = quota.bytes_max.filter(|max| now.bytes > *max)
            && now.bytes > before.bytes
        {
            return Err(Rejection::TooManyBytes { given: now.bytes, max });
        }
        Ok(())
    }
}

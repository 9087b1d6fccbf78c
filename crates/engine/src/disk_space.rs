//! The guard against a full disk: a disk that is nearly full is read-only.
//!
//! ```text
//!   free < min            writes of callers are refused with `engine.disk_low`,
//!                         except those that make room or keep what a caller holds
//!   free < min/2          those as well
//!   free >= min + min/4   writes are accepted again automatically
//! ```
//!
//! A write that finds the disk full discards the memory, so that nothing unwritten is visible.
//! Stopping earlier keeps reads and watches at their usual speed, and leaves space for the engine's
//! own writes: expiries, archives and snapshots.
//!
//! 1. Acknowledged writes are unaffected, and refused writes had no effect.
//! 2. Queries, watches and history work as usual.
//! 3. The free space is read during compaction and for each block of an upload, never during a
//!    write.

use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::Mutation;
use baton_log::Log;

use crate::error::Error;
use crate::shard::Shard;

/// Assume that there is space.
const ENOUGH: u64 = u64::MAX;

/// The last reading of the free space, if it is too low.
pub(crate) struct DiskSpace(AtomicU64);

impl Default for DiskSpace {
    fn default() -> Self {
        Self(AtomicU64::new(ENOUGH))
    }
}

impl<L: Log> Shard<L> {
    /// Reads the free space.
    pub fn refresh_disk_space(&self) {
        let min = self.options.disk_free_bytes_min;
        let Some(free) = self.log.free_bytes().filter(|_| min > 0) else { return };
        // Hysteresis: some more space must be free before writes are accepted again.
        let is_low = self.disk_space.0.load(Ordering::SeqCst) != ENOUGH;
        let needed = if is_low { min.saturating_add(min / 4) } else { min };
        self.disk_space.0.store(if free < needed { free } else { ENOUGH }, Ordering::SeqCst);
    }

    /// Refuses what is not even worth the last room.
    pub(crate) fn check_disk_space_for(&self, mutation: &Mutation) -> Result<(), Error> {
        match self.disk_space.0.load(Ordering::SeqCst) {
            ENOUGH => Ok(()),
            free if free >= self.options.disk_free_bytes_min / 2 && mutation.is_relief() => Ok(()),
            _ => self.check_disk_space(),
        }
    }

    /// Refuses to write while the disk is nearly full.
    pub fn check_disk_space(&self) -> Result<(), Error> {
        match self.disk_space.0.load(Ordering::SeqCst) {
            ENOUGH => Ok(()),
            free => Err(Error::DiskLow { free, min: self.options.disk_free_bytes_min }),
        }
    }
}

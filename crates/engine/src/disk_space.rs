//! Whether there is room to write: a disk that is nearly full is for reading only.
//!
//! ```text
//!   free < min            every write of a caller is refused, with a code that says why
//!   free >= min + min/4   writes are taken again; nobody has to do anything
//! ```
//!
//! A write that finds the disk full throws away all that is in memory, so that what was not written
//! is not seen. To stop before that keeps reads and watches going at their usual speed, and leaves
//! room for what the engine has to write by itself: what time causes, archives and snapshots.
//!
//! 1. What was acknowledged stays so, and what is refused was not written.
//! 2. Questions, watches and the past are answered as ever.
//! 3. It is looked at whenever the engine looks after its files, and never on the way of a write.

use std::sync::atomic::{AtomicU64, Ordering};

use baton_log::Log;

use crate::error::Error;
use crate::shard::Shard;

/// Says that there is room.
const ENOUGH: u64 = u64::MAX;

/// What was seen when the disk was last looked at: how much is free if that is too little.
pub(crate) struct DiskSpace(AtomicU64);

impl Default for DiskSpace {
    fn default() -> Self {
        Self(AtomicU64::new(ENOUGH))
    }
}

impl<L: Log> Shard<L> {
    /// Looks at the disk.
    pub fn refresh_disk_space(&self) {
        let min = self.options.disk_free_bytes_min;
        let Some(free) = self.log.free_bytes().filter(|_| min > 0) else { return };
        // Not to and fro around the bound: some more must be free before writes are taken again.
        let is_low = self.disk_space.0.load(Ordering::SeqCst) != ENOUGH;
        let needed = if is_low { min.saturating_add(min / 4) } else { min };
        self.disk_space.0.store(if free < needed { free } else { ENOUGH }, Ordering::SeqCst);
    }

    /// Refuses to write while the disk is nearly full.
    pub fn check_disk_space(&self) -> Result<(), Error> {
        match self.disk_space.0.load(Ordering::SeqCst) {
            ENOUGH => Ok(()),
            free => Err(Error::DiskLow { free, min: self.options.disk_free_bytes_min }),
        }
    }
}

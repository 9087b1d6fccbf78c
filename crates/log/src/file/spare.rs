//! Spare segments: prepared ahead of use, and recycled afterwards.
//!
//! ```text
//!            prepare: zeros, synced                take: header, renamed to its base
//!   nothing ────────────────────────▶ spare ──────────────────────────────────────▶ segment
//!                                       ▲                                              │
//!                                       └──────────────────────────────────────────────┘
//!                                              recycle: truncated, renamed
//! ```
//!
//! Overwriting existing bytes of a file costs half of what growing it costs, so a segment is
//! written once completely before its first record. Preallocation takes a while, so it is done
//! ahead of time on a separate thread; a recycled segment avoids even that.
//!
//! Invariants:
//!
//! 1. A spare has all its bytes, durably: it gets its name only after they are synced.
//! 2. At most [`SPARES_MAX`] are kept.
//! 3. The content of a spare does not matter. See the format for why old records stay invalid.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard};

use super::format::in_memory;
use super::segment::FolderLayout;
use super::{Prepare, sync_folder};
use crate::disk::{Disk, DiskFile};

/// Two: one to continue with, and one for bursts of truncation.
const SPARES_MAX: usize = 2;
/// The size of a write, which is synced at once: a concurrent append waits for everything that is
/// in the queue of the disk.
const WRITE_BYTES: u64 = 1024 * 1024;

/// The spares of one log.
pub(crate) struct Spares {
    layout: FolderLayout,
    pub(crate) segment_bytes: u64,
    prepare: Prepare,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: Vec<PathBuf>,
    next_number: u64,
    wanted: bool,
    failure: Option<io::Error>,
    stopped: bool,
}

impl Spares {
    /// Keeps existing spares that fit, and removes the others.
    pub(crate) fn open<D: Disk>(
        disk: &D,
        layout: &FolderLayout,
        segment_bytes: u64,
        prepare: Prepare,
    ) -> io::Result<Self> {
        let mut state = State::default();
        disk.remove(&layout.preparing())?;
        for (number, path) in layout.spares(disk)? {
            state.next_number = state.next_number.max(number + 1);
            let fits = disk.open(&path)?.length()? == segment_bytes;
            if fits && state.ready.len() < SPARES_MAX {
                state.ready.push(path);
            } else {
                disk.remove(&path)?;
            }
        }
        let layout = layout.clone();
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Ok(Self { layout, segment_bytes, prepare, state, changed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no method panics while it holds the lock")
    }

    /// A spare for a new segment. Waits for one to be prepared if there is none.
    pub(crate) fn take<D: Disk>(&self, disk: &D) -> io::Result<PathBuf> {
        match self.prepare {
            Prepare::Inline => self.take_inline(disk),
            Prepare::Background => self.take_prepared(),
        }
    }

    /// A spare for a new segment, prepared by the caller if there is none.
    pub(crate) fn take_inline<D: Disk>(&self, disk: &D) -> io::Result<PathBuf> {
        let ready = self.state().ready.pop();
        ready.map_or_else(|| self.prepare_one(disk), Ok)
    }

    fn take_prepared(&self) -> io::Result<PathBuf> {
        let mut state = self.state();
        if state.ready.is_empty() {
            // An earlier failure does not predict this attempt.
            state.failure = None;
            state.wanted = true;
            self.changed.notify_all();
            state = self
                .changed
                .wait_while(state, |state| state.ready.is_empty() && state.failure.is_none())
                .expect("no method panics while it holds the lock");
        }
        let Some(spare) = state.ready.pop() else {
            return Err(state.failure.take().expect("the wait ends with a spare or a failure"));
        };
        state.wanted = true;
        self.changed.notify_all();
        Ok(spare)
    }

    /// Returns a spare that could not be used.
    pub(crate) fn put_back(&self, spare: PathBuf) {
        self.state().ready.push(spare);
        self.changed.notify_all();
    }

    /// Turns a truncated segment into a spare, or removes it if there are enough.
    pub(crate) fn recycle<D: Disk>(&self, disk: &D, segment: &Path, bytes: u64) -> io::Result<()> {
        let spare = {
            let mut state = self.state();
            let fits = bytes == self.segment_bytes && state.ready.len() < SPARES_MAX;
            fits.then(|| self.next_path(&mut state))
        };
        match &spare {
            Some(spare) => disk.rename(segment, spare)?,
            None => disk.remove(segment)?,
        }
        // Durable before it is used: otherwise a power cut could restore a segment under its old
        // name with new contents.
        sync_folder(disk, &self.layout.log)?;
        if let Some(spare) = spare {
            self.put_back(spare);
        }
        Ok(())
    }

    fn next_path(&self, state: &mut State) -> PathBuf {
        state.next_number += 1;
        self.layout.spare(state.next_number - 1)
    }

    /// Prepares spares until [`stop`](Self::stop): the loop of the background thread.
    pub(crate) fn run<D: Disk>(&self, disk: &D) {
        loop {
            let wanted = self.changed.wait_while(self.state(), |state| {
                let is_needed = state.wanted && state.ready.is_empty();
                !state.stopped && !is_needed
            });
            let mut state = wanted.expect("no method panics while it holds the lock");
            if state.stopped {
                return;
            }
            state.wanted = false;
            drop(state);
            match self.prepare_one(disk) {
                Ok(spare) => self.put_back(spare),
                Err(error) => {
                    self.state().failure = Some(error);
                    self.changed.notify_all();
                }
            }
        }
    }

    /// Asks the background thread for a spare, unless there is one.
    pub(crate) fn want_one(&self) {
        self.state().wanted = true;
        self.changed.notify_all();
    }

    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    fn prepare_one<D: Disk>(&self, disk: &D) -> io::Result<PathBuf> {
        let preparing = self.layout.preparing();
        if let Err(error) = self.write_zeros(disk, &preparing) {
            // The partial file would only take up space on a full disk. If this fails as well, the
            // next attempt or the next start removes it.
            disk.remove(&preparing).unwrap_or_default();
            return Err(error);
        }
        let spare = self.next_path(&mut self.state());
        disk.rename(&preparing, &spare)?;
        sync_folder(disk, &self.layout.log)?;
        Ok(spare)
    }

    fn write_zeros<D: Disk>(&self, disk: &D, path: &Path) -> io::Result<()> {
        let file = disk.create(path)?;
        let zeros = vec![0; in_memory(WRITE_BYTES.min(self.segment_bytes))];
        let mut offset = 0;
        while offset < self.segment_bytes {
            if self.state().stopped {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "the log is closing"));
            }
            let bytes = WRITE_BYTES.min(self.segment_bytes - offset);
            file.write_at(offset, &zeros[..in_memory(bytes)])?;
            file.sync_data()?;
            offset += bytes;
        }
        Ok(())
    }
}

//! Threads that do long work yield to the threads that serve callers.
//!
//! If there are fewer processors than busy threads, a thread that wakes up waits until another one
//! has used up its time slice, which is a millisecond and more: many times the duration of a
//! request. So threads that do long work have a lower priority, and where that is not possible they
//! still offer their processor every hundred microseconds or so.

/// Units of work after which a thread gives way. A unit is an entry, an event or an evaluated
/// condition: some hundred nanoseconds.
pub(crate) const UNITS: usize = 256;

/// How much lower the priority of such a thread is. Beside a thread of usual priority it gets about
/// a tenth of the processor, so nothing that it holds for a moment is held for long.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of this thread. Programs call it for the threads of their runtime that do
/// blocking work; the engine calls it for its own.
pub fn lower_priority() {
    // Elsewhere it would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    {
        // Without it the thread does the same work.
        let _ = rustix::process::nice(NICE);
    }
}

/// Counts the work of a thread.
#[derive(Default)]
pub(crate) struct GiveWay {
    done: usize,
}

impl GiveWay {
    /// So much was done.
    pub(crate) fn after(&mut self, units: usize) {
        self.done += units;
        if self.done >= UNITS {
            self.done = 0;
            Self::now();
        }
    }

    /// As many units were done as a thread may do in a row.
    pub(crate) fn now() {
        std::thread::yield_now();
    }
}

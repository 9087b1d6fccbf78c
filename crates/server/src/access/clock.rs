//! The time by which tokens of this server begin and end.
//!
//! ```text
//!   the engine with the tokens is here       their workspace's time
//!   it is in another server of the cluster   the time it had when it was asked last, and what
//!                                            has passed since
//! ```
//!
//! It never runs backwards, whatever happens to the clock of the machine, and not over a restart: a
//! token lasts for its full time to live, and an expired token stays expired.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};

use baton::WorkspaceClock;
use baton::clock::{Clock, SystemClock};
use baton_core::Timestamp;

/// The time of the tokens.
#[derive(Default)]
pub(crate) struct TokenClock {
    steady: SystemClock,
    /// The workspace of the tokens, if its engine is here.
    workspace: RwLock<Option<WorkspaceClock>>,
    /// How far that time was ahead of the steady clock when it was seen last.
    ahead_ms: AtomicI64,
}

impl TokenClock {
    /// The tokens are in an engine of this server.
    pub(crate) fn follow(&self, workspace: WorkspaceClock) {
        *self.workspace.write().unwrap_or_else(PoisonError::into_inner) = Some(workspace);
    }

    /// It is this time in the server that has the tokens.
    pub(crate) fn learn(&self, time: Timestamp) {
        let ahead_ms = time.0.cast_signed().saturating_sub(self.steady.now().0.cast_signed());
        self.ahead_ms.store(ahead_ms, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> Timestamp {
        let workspace = self.workspace.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = workspace.as_ref().and_then(WorkspaceClock::now) {
            self.learn(now);
            return now;
        }
        let ahead_ms = self.ahead_ms.load(Ordering::Relaxed);
        Timestamp(self.steady.now().0.saturating_add_signed(ahead_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learned_time_advances() {
        let clock = TokenClock::default();
        assert!(clock.now() > Timestamp(1_000_000_000_000), "the time of this machine at first");
        clock.learn(Timestamp(5_000));
        let (one, two) = (clock.now(), clock.now());
        assert!(Timestamp(5_000) <= one && one <= two && two < Timestamp(1_000_000_000));
    }
}

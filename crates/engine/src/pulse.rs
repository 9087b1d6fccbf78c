//! Detects a pause of the engine: the process was stopped, the computer was overloaded, or one call
//! took very long.
//!
//! ```text
//!   a thread beats twice a second ──▶ a beat is late: no request was received in the meantime
//! ```
//!
//! A lease may expire only after its holder had the chance to renew it, so the driver checks for a
//! pause before it expires leases.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Stopwatch;

/// How often it beats.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);
/// How late a beat may be. Less would take an ordinary delay for a pause.
const LATE_MAX: Duration = Duration::from_millis(500);

/// The beats of one engine.
pub(crate) struct Pulse(Mutex<State>);

struct State {
    last: Stopwatch,
    has_paused: bool,
}

impl Default for Pulse {
    fn default() -> Self {
        Self(Mutex::new(State { last: Stopwatch::start(), has_paused: false }))
    }
}

impl Pulse {
    /// A beat.
    pub(crate) fn beat(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.has_paused |= is_late(state.last.elapsed());
        state.last = Stopwatch::start();
    }

    /// Whether there was a pause since the last call.
    pub(crate) fn take_pause(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = is_late(state.last.elapsed());
        if is_late {
            // This pause must not be found a second time by the next beat.
            state.last = Stopwatch::start();
        }
        std::mem::take(&mut state.has_paused) || is_late
    }
}

fn is_late(since_last: Duration) -> bool {
    since_last > INTERVAL + LATE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_beat_is_a_pause_and_an_ordinary_one_is_not() {
        for (since_last, expected) in [(0, false), (500, false), (1_000, false), (1_001, true)] {
            assert_eq!(is_late(Duration::from_millis(since_last)), expected, "{since_last}");
        }
        let pulse = Pulse::default();
        pulse.0.lock().unwrap().has_paused = true;
        assert!(pulse.take_pause(), "a beat has noticed it");
        assert!(!pulse.0.lock().unwrap().has_paused, "it is reported once");
    }
}

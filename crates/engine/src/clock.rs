//! Clocks: the engine's only source of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use baton_core::Timestamp;

/// A clock.
pub trait Clock: Send + Sync + 'static {
    /// The current time. Never earlier than a time it returned before.
    fn now(&self) -> Timestamp;

    /// Whether it advances while the engine is paused, so that a pause must not count as silence of
    /// agents that could not be heard.
    fn goes_on_in_pauses(&self) -> bool {
        false
    }
}

/// The system clock, read once and then advanced by the monotonic one: setting the system clock, or
/// suspending the machine, makes no lease expire early.
pub struct SystemClock {
    origin: Timestamp,
    began: Instant,
}

impl Default for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { origin: Timestamp(milliseconds(since)), began: Instant::now() }
    }
}

impl SystemClock {
    /// A clock that begins at this time instead of the system's, such as that of a shared log.
    #[expect(clippy::disallowed_methods, reason = "it is a clock with another beginning")]
    pub fn beginning_at(origin: Timestamp) -> Self {
        Self { origin, began: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.origin.after(milliseconds(self.began.elapsed()))
    }

    fn goes_on_in_pauses(&self) -> bool {
        true
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A clock that is set manually, for tests and the simulator.
#[derive(Clone, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that is stopped at this time.
    pub fn at(moment: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(moment.0)))
    }

    /// Advances it.
    pub fn advance(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// Sets it, even back: a server may start on a machine whose clock is wrong.
    pub fn set(&self, moment: Timestamp) {
        self.0.store(moment.0, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }
}

/// Measures how long something took.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "measuring is not deciding")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

//! The time for which the serving thread is held: by one connection, or by sending for all of them.
//! All other connections wait meanwhile.
//!
//! Measured by the clock, so a thread that loses its processor to another one counts as held too.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::metrics::Counter;

/// The upper bounds of the buckets, in microseconds; one more bucket has no bound.
pub(crate) const HELD_BOUNDS_US: [u64; 9] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000];

/// How often the serving thread was held for how long.
#[derive(Debug, Default)]
pub struct HeldTimes {
    counts: [Counter; HELD_BOUNDS_US.len() + 1],
    nanoseconds: Counter,
}

impl HeldTimes {
    fn record(&self, held: Duration) {
        let microseconds = held.as_micros();
        let exceeds = |bound: &&u64| microseconds > u128::from(**bound);
        let bucket = HELD_BOUNDS_US.iter().take_while(exceeds).count();
        self.counts[bucket].add(1);
        self.nanoseconds.add(u64::try_from(held.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Runs a task of the serving thread, and records each time that it is served.
    pub(crate) async fn measured<F: Future>(&self, task: F) -> F::Output {
        let mut task = pin!(task);
        std::future::poll_fn(|context| {
            let began = Instant::now();
            let outcome = task.as_mut().poll(context);
            self.record(began.elapsed());
            outcome
        })
        .await
    }

    /// The count of each bucket.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(Counter::count).collect()
    }

    /// All of them together, in microseconds.
    pub(crate) fn microseconds(&self) -> u64 {
        self.nanoseconds.count() / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_counted_under_the_first_bound_that_it_does_not_exceed() {
        let held = HeldTimes::default();
        for microseconds in [0, 50, 51, 50_000, 50_001] {
            held.record(Duration::from_micros(microseconds));
        }
        let counts = held.counts();
        assert_eq!((counts[0], counts[1], counts[8], counts[9]), (2, 1, 1, 1));
        assert_eq!(held.microseconds(), 100_102);
    }

    /// Tasks that are counted are being served, not waiting.
    #[tokio::test(start_paused = true)]
    async fn a_waiting_task_is_not_counted_as_serving() {
        let held = HeldTimes::default();
        held.measured(tokio::time::sleep(Duration::from_secs(1))).await;
        assert_eq!(held.counts()[0], 2, "it was served before and after");
        assert_eq!(held.microseconds(), 0);
    }
}

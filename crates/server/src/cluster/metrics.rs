//! The counters of a server that shares its data with others: shards taken and lost, and requests
//! for other owners.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::metrics::{Counter, Gauge, Page};

/// The upper bounds of the buckets, in microseconds; one more bucket has no bound.
const BOUNDS_US: [u64; 12] = [
    500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
    10_000_000,
];

/// How often something took how long.
#[derive(Debug, Default)]
pub struct Durations {
    counts: [Counter; BOUNDS_US.len() + 1],
    microseconds: Counter,
}

impl Durations {
    /// Records that it happened once.
    pub fn record(&self, took: Duration) {
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.iter().take_while(|bound| microseconds > **bound).count();
        self.counts[bucket].add(1);
        self.microseconds.add(microseconds);
    }

    fn mean_us(&self) -> u64 {
        let count: u64 = self.counts.iter().map(Counter::count).sum();
        self.microseconds.count().checked_div(count).unwrap_or_default()
    }
}

/// The counters of a server of a cluster. Without one, they stay at zero.
#[derive(Debug, Default)]
pub struct ClusterMetrics {
    /// Shards that were taken: those of servers that are gone, and those that were given away.
    pub taken: Counter,
    /// Shards that were lost: to a server that has taken them over, or by a failed write.
    pub lost: Counter,
    /// Requests and `WebSocket`s that the owner of their workspace did not accept or answer.
    pub forward_failures: Counter,
    /// The times from the decision to take a shard until its requests are served.
    pub take_times: Durations,
    /// The times from the last heartbeat of a lost server until one of its shards is served here.
    pub failovers: Durations,
    /// Until a heartbeat is stored: one round trip to the log.
    pub heartbeats: Durations,
    /// Requests that wait for an owner.
    pub owner_waiting: Gauge,
    /// How long requests waited for an owner, of those that had to.
    pub owner_waits: Durations,
}

/// The counters of a server since it was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounters {
    /// Shards that it has taken.
    pub shards_taken: u64,
    /// Shards that it has lost.
    pub shards_lost: u64,
    /// Requests and `WebSocket`s that it has forwarded.
    pub forwarded: u64,
    /// The requests that the owner did not accept or answer.
    pub forward_failures: u64,
    /// How long it takes to take a shard, on average.
    pub take_ms_mean: u64,
    /// How long a heartbeat takes, on average.
    pub heartbeat_us_mean: u64,
}

impl ClusterMetrics {
    pub(super) fn counters(&self, forwarded: &Counter) -> ServerCounters {
        ServerCounters {
            shards_taken: self.taken.count(),
            shards_lost: self.lost.count(),
            forwarded: forwarded.count(),
            forward_failures: self.forward_failures.count(),
            take_ms_mean: self.take_times.mean_us() / 1_000,
            heartbeat_us_mean: self.heartbeats.mean_us(),
        }
    }

    pub(crate) fn write(&self, page: &mut Page) {
        for (name, help, counter) in [
            ("baton_shards_taken_total", "Shards that the server has taken.", &self.taken),
            (
                "baton_shards_lost_total",
                "Shards that the server has lost without giving them away.",
                &self.lost,
            ),
            (
                "baton_forward_failures_total",
                "Requests and WebSockets that the owner did not accept or answer.",
                &self.forward_failures,
            ),
        ] {
            page.one(name, "counter", help, counter.count());
        }
        let help = "Requests that wait for an owner of their workspace.";
        page.one("baton_owner_waiting", "gauge", help, self.owner_waiting.count());
        for (name, help, durations) in [
            (
                "baton_shard_take_seconds",
                "How long it takes until the requests of a shard that is taken are served.",
                &self.take_times,
            ),
            (
                "baton_failover_seconds",
                "From the last heartbeat of a lost server until one of its shards is served here.",
                &self.failovers,
            ),
            (
                "baton_heartbeat_seconds",
                "How long it takes until a heartbeat is stored in the shared log.",
                &self.heartbeats,
            ),
            (
                "baton_owner_wait_seconds",
                "How long requests wait for an owner of their workspace, of those that have to.",
                &self.owner_waits,
            ),
        ] {
            let counts: Vec<u64> = durations.counts.iter().map(Counter::count).collect();
            page.histogram(name, help, &BOUNDS_US, (&counts, durations.microseconds.count()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_under_the_first_bound_that_it_does_not_exceed() {
        let metrics = ClusterMetrics::default();
        for milliseconds in [0, 1, 10_000, 20_000] {
            metrics.take_times.record(Duration::from_millis(milliseconds));
        }
        metrics.failovers.record(Duration::from_millis(2_400));
        let mut page = Page::default();
        metrics.write(&mut page);
        for line in [
            "baton_shard_take_seconds_bucket{le=\"0.000500\"} 1",
            "baton_shard_take_seconds_bucket{le=\"0.001000\"} 2",
            "baton_shard_take_seconds_bucket{le=\"5.000000\"} 2",
            "baton_shard_take_seconds_bucket{le=\"10.000000\"} 3",
            "baton_shard_take_seconds_bucket{le=\"+Inf\"} 4",
            "baton_shard_take_seconds_sum 30.001000",
            "baton_failover_seconds_bucket{le=\"2.000000\"} 0",
            "baton_failover_seconds_bucket{le=\"5.000000\"} 1",
            "baton_heartbeat_seconds_count 0",
            "baton_shards_taken_total 0",
        ] {
            assert!(page.0.lines().any(|found| found == line), "{line} is not in {}", page.0);
        }
        let counters = metrics.counters(&Counter::default());
        assert_eq!((counters.take_ms_mean, counters.heartbeat_us_mean), (7_500, 0));
    }
}

//! Metrics of the engine, for operators.
//!
//! 1. Counting never delays a write for longer than it takes to count one workspace: the lock is
//!    released between two of them, so the sums are not of exactly one point in time.
//! 2. Only workspaces in memory are counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use baton_core::metrics::Sample;
use baton_log::Log;

use crate::shard::Shard;

/// Upper bounds of how long writes take, in microseconds, for the histogram.
pub const SYNC_BOUNDS_US: [u64; 14] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000,
];

/// How long writes of groups have taken, and when the last snapshot was written.
#[derive(Default)]
pub(crate) struct Metrics {
    /// One for each bound, and one for longer writes.
    syncs: [AtomicU64; SYNC_BOUNDS_US.len() + 1],
    sync_us: AtomicU64,
    snapshots: AtomicU64,
    snapshot_at_ms: AtomicU64,
}

impl Metrics {
    /// Records a durable group, and how long its write took.
    pub(crate) fn record_sync(&self, took: Duration) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = SYNC_BOUNDS_US.partition_point(|bound| *bound < took_us);
        self.syncs[bucket].fetch_add(1, Ordering::Relaxed);
        self.sync_us.fetch_add(took_us, Ordering::Relaxed);
    }

    /// A snapshot was written.
    pub(crate) fn record_snapshot(&self, now_ms: u64) {
        self.snapshots.fetch_add(1, Ordering::Relaxed);
        self.snapshot_at_ms.store(now_ms, Ordering::Relaxed);
    }
}

/// The metrics.
#[derive(Clone, Debug, Default)]
pub struct MetricsSnapshot {
    /// How many workspaces are in memory.
    pub workspaces: u64,
    /// Their gauges, added up.
    pub lines: Vec<Sample>,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of it that are in no snapshot yet, for workspaces in memory.
    pub unsnapshotted_bytes: u64,
    /// Free bytes on the disk, if known.
    pub free_bytes: Option<u64>,
    /// Whether writes are refused because the disk is nearly full.
    pub is_read_only: bool,
    /// Durable groups, by how long their writes took: one number for each of [`SYNC_BOUNDS_US`],
    /// and one for longer ones.
    pub syncs: Vec<u64>,
    /// The total duration of all of them, in microseconds.
    pub sync_us: u64,
    /// Snapshots written since the start.
    pub snapshots: u64,
    /// How long ago the last one was written; none if none was.
    pub snapshot_age_ms: Option<u64>,
}

impl MetricsSnapshot {
    /// Adds those of another engine in the same process.
    pub fn add(&mut self, other: &Self) {
        self.workspaces += other.workspaces;
        self.log_bytes += other.log_bytes;
        self.unsnapshotted_bytes += other.unsnapshotted_bytes;
        self.free_bytes = self.free_bytes.or(other.free_bytes);
        self.is_read_only |= other.is_read_only;
        self.sync_us += other.sync_us;
        self.snapshots += other.snapshots;
        self.snapshot_age_ms = match (self.snapshot_age_ms, other.snapshot_age_ms) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.syncs.resize(self.syncs.len().max(other.syncs.len()), 0);
        for (sum, count) in self.syncs.iter_mut().zip(&other.syncs) {
            *sum += count;
        }
        for line in &other.lines {
            let is_same = |known: &&mut Sample| {
                (known.family.name, known.label) == (line.family.name, line.label)
            };
            match self.lines.iter_mut().find(is_same) {
                Some(known) => known.value += line.value,
                None => self.lines.push(*line),
            }
        }
    }
}

impl<L: Log> Shard<L> {
    /// Collects all metrics. It visits every workspace in memory: call it where blocking is
    /// allowed.
    pub fn metrics(&self) -> MetricsSnapshot {
        let metrics = &self.metrics;
        let snapshot_at = metrics.snapshot_at_ms.load(Ordering::Relaxed);
        let mut snapshot = MetricsSnapshot {
            // Starts with those of an empty workspace, so that every sample exists from the
            // beginning.
            lines: baton_core::Space::default().gauges(),
            log_bytes: self.log.tail().0.saturating_sub(self.log.start().0),
            free_bytes: self.log.free_bytes(),
            is_read_only: self.check_disk_space().is_err(),
            syncs: metrics.syncs.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            sync_us: metrics.sync_us.load(Ordering::Relaxed),
            snapshots: metrics.snapshots.load(Ordering::Relaxed),
            snapshot_age_ms: (snapshot_at > 0)
                .then(|| self.clock.now().0.saturating_sub(snapshot_at)),
            ..MetricsSnapshot::default()
        };
        let names = self.machine().residents();
        for name in names {
            let mut machine = self.settled(&name);
            let Some(resident) = machine.resident(&name) else { continue };
            snapshot.workspaces += 1;
            snapshot.unsnapshotted_bytes += resident.bytes_since_snapshot;
            let lines = resident.space.gauges();
            drop(machine);
            for (sum, line) in snapshot.lines.iter_mut().zip(lines) {
                assert_eq!((sum.family.name, sum.label), (line.family.name, line.label));
                sum.value += line.value;
            }
        }
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_is_counted_under_the_first_bound_that_it_does_not_exceed() {
        let metrics = Metrics::default();
        for took_us in [0, 50, 51, 1_000_000, 1_000_001] {
            metrics.record_sync(Duration::from_micros(took_us));
        }
        let counts = metrics.syncs.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert_eq!((counts[0], counts[1], counts[13], counts[14]), (2, 1, 1, 1));
        assert_eq!(metrics.sync_us.load(Ordering::Relaxed), 2_000_102);
    }
}

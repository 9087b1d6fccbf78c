//! Histograms of durations.
//!
//! The width of a bucket grows with its values, so that any number of durations takes little
//! memory, and a percentile is exact to an eighth.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Statistics of durations. Percentiles are accurate to within an eighth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Durations {
    /// The number of durations.
    pub count: u64,
    /// Their sum in milliseconds.
    #[serde(default)]
    pub total_ms: u64,
    /// Their average in milliseconds.
    pub average_ms: f64,
    /// The median in milliseconds.
    pub p50_ms: u64,
    /// The 95th percentile in milliseconds.
    pub p95_ms: u64,
    /// The 99th percentile in milliseconds.
    pub p99_ms: u64,
    /// The minimum in milliseconds.
    #[serde(default)]
    pub min_ms: u64,
    /// The maximum in milliseconds.
    pub max_ms: u64,
}

/// A histogram of durations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    sum_ms: u64,
    max_ms: u64,
    #[serde(default)]
    min_ms: Option<u64>,
}

/// The minimum and the maximum before a duration was added.
#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    min_ms: Option<u64>,
    max_ms: u64,
}

impl Histogram {
    /// Adds a duration; returns the previous minimum and maximum.
    pub fn add(&mut self, spent_ms: u64) -> Extremes {
        let before = Extremes { min_ms: self.min_ms, max_ms: self.max_ms };
        *self.buckets.entry(bucket(spent_ms)).or_default() += 1;
        self.count += 1;
        self.sum_ms = self.sum_ms.wrapping_add(spent_ms);
        self.max_ms = self.max_ms.max(spent_ms);
        self.min_ms = Some(self.min_ms.map_or(spent_ms, |min_ms| min_ms.min(spent_ms)));
        before
    }

    /// Removes the duration that was added last.
    pub fn take_back(&mut self, spent_ms: u64, before: Extremes) {
        let place = bucket(spent_ms);
        let count = self.buckets.get_mut(&place).expect("it was counted");
        *count -= 1;
        if *count == 0 {
            self.buckets.remove(&place);
        }
        self.count -= 1;
        self.sum_ms = self.sum_ms.wrapping_sub(spent_ms);
        (self.min_ms, self.max_ms) = (before.min_ms, before.max_ms);
    }

    /// The duration that this percentage of all durations does not exceed.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100);
        let mut seen = 0;
        for (place, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return longest_in(*place).min(self.max_ms);
            }
        }
        self.max_ms
    }

    /// The summary that callers see.
    pub fn shown(&self) -> Durations {
        #[expect(clippy::cast_precision_loss, reason = "an average need not be exact")]
        let average_ms = if self.count == 0 { 0.0 } else { self.sum_ms as f64 / self.count as f64 };
        Durations {
            count: self.count,
            total_ms: self.sum_ms,
            average_ms,
            p50_ms: self.percentile(50),
            p95_ms: self.percentile(95),
            p99_ms: self.percentile(99),
            min_ms: self.min_ms.unwrap_or(0),
            max_ms: self.max_ms,
        }
    }
}

/// The number of buckets within each power of two, as a power of two.
const WITHIN: u32 = 3;

/// The bucket of a duration: short ones have one each, the others eight for each doubling.
fn bucket(spent_ms: u64) -> u16 {
    let bucket = match spent_ms.checked_ilog2().filter(|power| *power >= WITHIN) {
        None => spent_ms,
        Some(power) => {
            let within = (spent_ms >> (power - WITHIN)) & ((1 << WITHIN) - 1);
            (u64::from(power - WITHIN + 1) << WITHIN) + within
        }
    };
    u16::try_from(bucket).expect("there are some five hundred")
}

/// The longest duration in a bucket.
fn longest_in(bucket: u16) -> u64 {
    let (power, within) = (u32::from(bucket) >> WITHIN, u64::from(bucket) & ((1 << WITHIN) - 1));
    match power.checked_sub(1) {
        None => within,
        Some(shift) => (((1 << WITHIN) + within) << shift) + ((1 << shift) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, bucket, longest_in};

    #[test]
    fn a_bucket_holds_what_is_about_the_same() {
        let powers =
            (0..64).flat_map(|power: u32| [1_u64 << power, (1 << power) + 1, u64::MAX >> power]);
        for spent_ms in (0..10_000).chain(powers) {
            let longest = longest_in(bucket(spent_ms));
            assert!(longest >= spent_ms && longest - spent_ms <= spent_ms / 8, "{spent_ms}");
            assert_eq!(bucket(longest), bucket(spent_ms), "{spent_ms}");
            assert!(
                longest == u64::MAX || bucket(longest + 1) == bucket(longest) + 1,
                "{spent_ms}"
            );
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values_that_were_added_and_not_removed() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.shown().p99_ms, 0);
        for spent_ms in 1..=100 {
            histogram.add(spent_ms);
        }
        let before = histogram.clone();
        let before_it = histogram.add(1_000_000);
        assert_eq!(histogram.shown().max_ms, 1_000_000);
        histogram.take_back(1_000_000, before_it);
        assert_eq!(histogram, before);
        let shown = histogram.shown();
        assert_eq!((shown.count, shown.p50_ms, shown.max_ms), (100, 51, 100));
        assert_eq!((shown.p95_ms, shown.p99_ms), (95, 100));
        assert!((shown.average_ms - 50.5).abs() < f64::EPSILON);
    }
}

//! Latencies: counts in buckets whose width grows with the time.
//!
//! ```text
//!   bits of the time      1xxxxxx yyyyyyyy        the leading one selects the octave, the six bits
//!                          └────┘ └──────┘        after it one of 64 buckets in it, the rest is
//!                          bucket dropped         dropped: the error is at most 1/64
//! ```
//!
//! Adding costs a few nanoseconds and never allocates, so measuring does not affect the result.

use std::time::Duration;

use crate::resources::count;

/// The number of buckets per octave, as a power of two.
const BUCKET_BITS: u32 = 6;
/// Times are nanoseconds below 2^40, some eighteen minutes; longer ones count as that.
const TIME_BITS: u32 = 40;
const BUCKETS: usize = ((TIME_BITS - BUCKET_BITS + 1) as usize) << BUCKET_BITS;

/// Times of answers.
pub(crate) struct Latencies {
    counts: Vec<u64>,
    total: u64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }

    /// Discards everything so far, which was the warm-up.
    pub(crate) fn clear(&mut self) {
        self.counts.fill(0);
        self.total = 0;
    }

    pub(crate) fn add(&mut self, latency: Duration) {
        self.counts[bucket(latency)] += 1;
        self.total += 1;
    }

    /// The number of answers.
    pub(crate) fn total(&self) -> f64 {
        count(self.total)
    }

    /// The latency in microseconds that this fraction of the answers does not exceed; 0 if there
    /// are none.
    pub(crate) fn quantile_us(&self, part: f64) -> f64 {
        let wanted = part * count(self.total);
        let mut seen = 0;
        for (bucket, times) in self.counts.iter().enumerate() {
            seen += times;
            if *times > 0 && count(seen) >= wanted {
                return middle_ns(bucket) / 1e3;
            }
        }
        0.0
    }
}

fn bucket(latency: Duration) -> usize {
    let longest = (1_u64 << TIME_BITS) - 1;
    let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(longest).min(longest);
    let octave = (u64::BITS - nanoseconds.leading_zeros()).saturating_sub(BUCKET_BITS + 1);
    // From the second octave on the leading one adds 64, which is also the position of the octave.
    let within = usize::try_from(nanoseconds >> octave).expect("seven bits are left of the time");
    ((octave as usize) << BUCKET_BITS) + within
}

fn middle_ns(bucket: usize) -> f64 {
    let octave = (bucket >> BUCKET_BITS).saturating_sub(1);
    let within = (bucket - (octave << BUCKET_BITS)) as u64;
    (count(within) + 0.5) * count(1 << octave)
}

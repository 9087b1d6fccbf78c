//! A token bucket, represented by the time at which it will be full.
//!
//! ```text
//!   ├──── a second ────┤
//!   ▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░   what was taken is refilled until `full_at`
//!   now       full_at   │
//!                       └─ a bucket is empty when `full_at` is a second away, in debt beyond that
//! ```
//!
//! Its capacity is the amount that is refilled within a second.

use std::sync::atomic::{AtomicU64, Ordering};

/// How long it takes to fill an empty bucket.
const SECOND_NS: u64 = 1_000_000_000;

/// A bucket. Times are nanoseconds since the start of its owner.
#[derive(Debug, Default)]
pub(super) struct Bucket {
    full_at_ns: AtomicU64,
}

/// How long it takes to refill this much.
fn time_ns(amount: u64, per_s: u64) -> u64 {
    let time = u128::from(amount) * u128::from(SECOND_NS) / u128::from(per_s.max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}

impl Bucket {
    /// Whether one unit may be taken; if not, how long until then.
    pub(super) fn has_some(&self, per_s: u64, now_ns: u64) -> Result<(), u64> {
        let full_at = self.full_at_ns.load(Ordering::Relaxed).max(now_ns);
        let after = full_at.saturating_add(time_ns(1, per_s));
        match after.saturating_sub(now_ns.saturating_add(SECOND_NS)) {
            0 => Ok(()),
            wait_ns => Err(wait_ns),
        }
    }

    /// Takes this much, even if it is not available: the debt must be refilled first.
    pub(super) fn take(&self, amount: u64, per_s: u64, now_ns: u64) {
        let time_ns = time_ns(amount, per_s);
        let after = |full_at: u64| Some(full_at.max(now_ns).saturating_add(time_ns));
        let _ = self.full_at_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
    }

    /// Whether it is full.
    pub(super) fn is_full(&self, now_ns: u64) -> bool {
        self.full_at_ns.load(Ordering::Relaxed) <= now_ns
    }
}

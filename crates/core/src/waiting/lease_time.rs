//! Holds that expire unless they are renewed: locks, permits, leases of tasks.

use crate::limits;
use crate::refusal::{OutOfRange, within};
use crate::time::Timestamp;

/// The time to live of a hold or a permit.
pub(crate) fn ttl_ms(given: Option<u64>, usual: u64) -> Result<u64, OutOfRange> {
    within("ttl_ms", given, usual, (limits::HOLD_TTL_MS_MIN, limits::HOLD_TTL_MS_MAX))
}

/// Whether a renewal is recorded: it extends the time by a good part of the time to live, or
/// changes that. Otherwise frequent renewals cost nothing, and the answer has the recorded end.
pub(crate) fn is_worth_renewing(
    now: Timestamp,
    expires_at: Timestamp,
    before_ms: u64,
    after_ms: u64,
) -> bool {
    let gain_ms = now.after(after_ms).since(expires_at);
    gain_ms >= after_ms / limits::HEARTBEAT_FRACTION || after_ms != before_ms
}

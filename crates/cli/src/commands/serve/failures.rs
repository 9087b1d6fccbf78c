//! Shards that a server cannot open, and when it leaves them to others.
//!
//! ```text
//!   takes shards ── fails with one of them, again and again ──▶ rests: owns nothing, forwards
//!        ▲                                                        │
//!        └──────────── after a pause, or if nobody else is there ─┘
//! ```
//!
//! A server that lacks a permission, or is older than the data, would otherwise keep its shards
//! from others that can open them.

use std::collections::BTreeMap;

/// Failures in a row with one shard after which a server rests: fewer may be a moment of the
/// database.
const FAILURES_MAX: u32 = 3;
/// How long it rests the first time, and at most. Each attempt interrupts the shards that it takes,
/// so each rest is twice as long as the one before.
const REST_MS: u64 = 60_000;
const REST_MS_MAX: u64 = 16 * REST_MS;

/// The failures of a server with its shards.
#[derive(Default)]
pub(super) struct Failures {
    in_a_row: BTreeMap<u32, (u32, String)>,
    rests: u32,
    rest: Option<Rest>,
}

/// While it exists, the server takes no shard.
struct Rest {
    why: String,
    until_ms: u64,
}

impl Failures {
    /// A shard was opened.
    pub(super) fn opened(&mut self, shard: u32) {
        self.in_a_row.remove(&shard);
    }

    /// A shard could not be opened, and not because the log is away.
    pub(super) fn failed(&mut self, shard: u32, why: &str) {
        let known = self.in_a_row.entry(shard).or_default();
        *known = (known.0 + 1, why.to_owned());
    }

    /// The log is away, so failures are no evidence about shards.
    pub(super) fn forget(&mut self) {
        self.in_a_row.clear();
    }

    /// Whether the server should rest, if there are others.
    pub(super) fn are_too_many(&self) -> bool {
        self.in_a_row.values().any(|(count, _)| *count >= FAILURES_MAX)
    }

    /// Begins a rest. How long it takes.
    pub(super) fn rest(&mut self, now_ms: u64) -> u64 {
        let worst = self.in_a_row.iter().max_by_key(|(_, (count, _))| *count);
        let why =
            worst.map_or_else(String::new, |(shard, (_, why))| format!("shard {shard}: {why}"));
        let pause_ms = (REST_MS << self.rests.min(8)).min(REST_MS_MAX);
        self.rests += 1;
        self.rest = Some(Rest { why, until_ms: now_ms + pause_ms });
        self.in_a_row.clear();
        pause_ms
    }

    /// Why the server rests, if it does.
    pub(super) fn why(&self) -> Option<&str> {
        self.rest.as_ref().map(|rest| rest.why.as_str())
    }

    /// Ends a rest that was long enough, or during which no other server would serve the shards.
    /// Whether it has ended.
    pub(super) fn has_rested(&mut self, now_ms: u64, has_others: bool) -> bool {
        let is_over = |rest: &Rest| now_ms >= rest.until_ms || !has_others;
        let ended = self.rest.take_if(|rest| is_over(rest));
        ended.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_rests_after_failures_in_a_row_with_one_shard() {
        let mut failures = Failures::default();
        for shard in 0..8 {
            failures.failed(shard, "no");
            failures.failed(shard, "no");
        }
        assert!(!failures.are_too_many(), "two with each of several shards");
        failures.opened(3);
        failures.failed(3, "no");
        assert!(!failures.are_too_many(), "they are not in a row");
        failures.failed(4, "permission denied");
        assert!(failures.are_too_many());
        failures.forget();
        assert!(!failures.are_too_many(), "the log was away");
        for _ in 0..FAILURES_MAX {
            failures.failed(4, "permission denied");
        }
        assert!(failures.are_too_many());
        assert_eq!(failures.rest(1_000), REST_MS);
        assert_eq!(failures.why(), Some("shard 4: permission denied"));
        assert!(!failures.are_too_many(), "it begins anew");
        assert!(!failures.has_rested(1_000 + REST_MS - 1, true));
        assert!(failures.has_rested(1_000 + REST_MS, true));
        assert!(!failures.has_rested(1_000 + REST_MS, true), "it has ended");
        assert_eq!(failures.why(), None);
    }

    #[test]
    fn every_rest_is_longer_up_to_a_limit_and_ends_if_there_is_no_other_server() {
        let mut failures = Failures::default();
        let mut last = 0;
        for _ in 0..20 {
            let pause = failures.rest(0);
            assert!(pause > last || pause == REST_MS_MAX, "{pause}");
            last = pause;
            assert!(failures.has_rested(1, false));
        }
        assert_eq!(last, REST_MS_MAX);
    }
}

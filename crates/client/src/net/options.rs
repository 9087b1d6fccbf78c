//! Settings of a client, each with its reason.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The access token, for a server that requires one: `baton_…`.
    pub token: Option<String>,
    /// A PEM file with the trusted certificate authorities for `https://`; without it, those of the
    /// system are trusted.
    pub ca_file: Option<PathBuf>,
    /// The workspace that is used most. If there are several servers, the client connects to the
    /// one that owns it, which saves forwarding; if that is not one of the given URLs, to any.
    /// Other workspaces can be used as well.
    pub workspace: Option<String>,
    /// How long a call may take, over as many connections as it needs, in addition to its own
    /// `wait_ms`.
    pub request_timeout: Duration,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The wait before the first reconnect; it doubles with each attempt.
    pub backoff_min: Duration,
    /// The longest wait before a reconnect.
    pub backoff_max: Duration,
    /// A connection without any traffic for this long is closed, and the next server is used. The
    /// server is pinged three times in this period, so that it always has something to answer.
    pub silence_max: Duration,
    /// How long the server may make no progress on an upload or download: artifacts, secrets,
    /// exports, imports and backups. It is long, because the server may have much to do before it
    /// answers.
    pub stall_max: Duration,
    /// Adds an idempotency key to every command without one, so that it can be sent again when the
    /// connection breaks. Each key costs the workspace an answer that is kept for a day.
    pub automatic_keys: bool,
    /// Resumes a watch that the server ended because it fell behind or was interrupted. Otherwise
    /// the watch ends with the error, which contains the revision to resume from.
    pub resume_watches: bool,
    /// How many calls may wait to be sent. Further calls are refused.
    pub queue_max: usize,
    /// The total size of unanswered calls. Further calls are refused, except a single one.
    pub queue_bytes_max: usize,
    /// The size of one call. A server closes the connection for more, and a call that does that
    /// must not be repeated.
    pub request_bytes_max: usize,
    /// How many calls may be in flight. Calls that wait are not counted, because they may wait for
    /// the next call.
    pub in_flight_max: usize,
    /// How many watches one client may have.
    pub watches_max: usize,
    /// How many items may be queued for one watch. If there are more, the client ends the watch at
    /// the server and resumes it when the queue is empty.
    pub watch_queue_max: usize,
    /// The total size of the items queued for one watch, unless it is one item.
    pub watch_queue_bytes_max: usize,
    /// The largest frame that is accepted from the server.
    pub frame_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: None,
            ca_file: None,
            workspace: None,
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(5),
            // With attempts to connect to dead servers it is less than `request_timeout`, so that
            // a call survives them.
            silence_max: Duration::from_secs(8),
            stall_max: Duration::from_mins(5),
            automatic_keys: true,
            resume_watches: true,
            queue_max: 16_384,
            queue_bytes_max: 64 << 20,
            // The default limit of a server.
            request_bytes_max: 9 << 20,
            in_flight_max: 256,
            watches_max: 256,
            watch_queue_max: 1_024,
            watch_queue_bytes_max: 16 << 20,
            frame_bytes_max: 64 << 20,
        }
    }
}

impl Options {
    /// How long to wait after a number of failed attempts. `chance`, from 0 to 1, spreads the
    /// reconnects of clients that lost the server at the same time.
    pub(crate) fn backoff(&self, failures: u32, chance: f64) -> Duration {
        let doubled = self.backoff_min.saturating_mul(1 << failures.min(20));
        doubled.min(self.backoff_max).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_at_least_half_of_that() {
        let options = Options::default();
        let waits = |chance| [0, 1, 2, 30].map(|failures| options.backoff(failures, chance));
        assert_eq!(waits(1.0).map(|wait| wait.as_millis()), [50, 100, 200, 5_000]);
        assert_eq!(waits(0.0).map(|wait| wait.as_millis()), [25, 50, 100, 2_500]);
    }
}

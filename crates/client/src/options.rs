//! Settings of a client, each with its reason.

use std::path::PathBuf;
use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What is shown to a server that wants to know who calls: `baton_…`.
    pub token: Option<String>,
    /// The authorities to believe where the address begins with `https://`, as a file in PEM;
    /// those of the system if there is none.
    pub ca_file: Option<PathBuf>,
    /// How long a call may take, over as many connections as it needs; besides the time that it
    /// asks to wait.
    pub request_timeout: Duration,
    /// How long one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The first wait before connecting again; every further one is twice as long.
    pub backoff_min: Duration,
    /// The longest wait before connecting again.
    pub backoff_max: Duration,
    /// A connection on which nothing is heard for so long is given up. The server is pinged three
    /// times in it, so silence means that nobody is there.
    pub silence_max: Duration,
    /// How long nothing may move while it is the server's turn, where bytes go by themselves:
    /// artifacts, secrets, exports, imports and backups. It is long, since the server may have much
    /// to do before it answers.
    pub stall_max: Duration,
    /// Gives every command without an idempotency key one of its own, so that it can be sent again
    /// when the connection breaks. Each costs the workspace a kept answer for a day.
    pub automatic_keys: bool,
    /// Resumes a watch that the server ended because it fell behind or was interrupted. Otherwise
    /// the watch ends with the error, which says from where to resume.
    pub resume_watches: bool,
    /// How many calls may wait to be sent. More are refused.
    pub queue_max: usize,
    /// How many bytes unanswered calls may have together. More are refused, unless it is one call.
    pub queue_bytes_max: usize,
    /// How many bytes one call may have. A server hangs up on more, and what breaks a connection
    /// must not be repeated.
    pub request_bytes_max: usize,
    /// How many calls are sent without waiting for the answers of earlier ones. Those that ask to
    /// wait are not among them: what they wait for may be the next call.
    pub in_flight_max: usize,
    /// How many watches one client may have.
    pub watches_max: usize,
    /// How many items may wait for one watcher. When there are more, the client stops the watch at
    /// the server and resumes it when the watcher has caught up.
    pub watch_queue_max: usize,
    /// How many bytes of items may wait for one watcher, unless it is one item.
    pub watch_queue_bytes_max: usize,
    /// The largest frame that is taken from the server.
    pub frame_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            token: None,
            ca_file: None,
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(5),
            // Less than a call may take, so that a call outlives a connection that went dead.
            silence_max: Duration::from_secs(20),
            stall_max: Duration::from_mins(5),
            automatic_keys: true,
            resume_watches: true,
            queue_max: 16_384,
            queue_bytes_max: 64 << 20,
            // What a server takes, unless it is told otherwise.
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
    /// How long to wait before the attempt after so many failed ones. `chance` is from 0 to 1, so
    /// that those who lost a server together do not come back together.
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

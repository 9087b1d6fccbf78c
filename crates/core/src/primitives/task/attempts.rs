//! The rules for failed attempts and for retries of a task.

use serde::{Deserialize, Serialize};

use super::{Backoff, OnExhausted, Record};
use crate::names::{AgentId, TaskId};
use crate::time::Timestamp;

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The worker.
    Reported,
    /// The lease was not renewed.
    LeaseExpired,
    /// The worker's session ended.
    AgentGone,
    /// The task was not finished in time.
    Deadline,
    /// The receiver of a hand-off did not claim it.
    NotTakenUp,
    /// It was handed around in a loop.
    HandoffLoop,
}

/// The state of a task after a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is retried.
    Retry {
        /// When; at once if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// It has failed.
    Failed,
    /// A person decides.
    Review,
    /// Another agent gets it.
    Reassigned {
        /// The agent.
        to: AgentId,
    },
}

/// The state of a task after a failed attempt. A retry is delayed if `now` is given; after the loss
/// of a worker it is not, because the expiry took long enough.
pub fn outcome(record: &Record, retryable: bool, now: Option<Timestamp>) -> Outcome {
    let failures = record.retries + 1;
    #[cfg(feature = "planted")]
    let failures = failures.saturating_sub(crate::planted::is("task.one_try_more").into());
    if retryable && failures <= record.max_retries() {
        let delay_ms = |_| delay_ms(&record.backoff(), &record.id, failures);
        let pause = now.map(delay_ms).filter(|delay_ms| *delay_ms > 0);
        let not_before = now.zip(pause).map(|(now, delay_ms)| now.after(delay_ms));
        return Outcome::Retry { not_before };
    }
    match record.on_exhausted() {
        OnExhausted::Fail => Outcome::Failed,
        OnExhausted::Review => Outcome::Review,
        OnExhausted::Agent(to) => Outcome::Reassigned { to },
    }
}

/// The delay after this many failures. The jitter is derived from a hash of the task and the number
/// of failures: deterministic for one task, different for others.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the range of a day, and a pause need not be exact"
)]
fn delay_ms(backoff: &Backoff, task: &TaskId, failures: u64) -> u64 {
    let Backoff { initial_ms, multiplier, max_ms, jitter } = backoff;
    let exponent = i32::try_from(failures - 1).unwrap_or(i32::MAX);
    let plain = (*initial_ms as f64 * multiplier.powi(exponent)).min(*max_ms as f64);
    // From -1 to 1.
    let spread = (fingerprint(task, failures) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
    (plain * (1.0 + jitter * spread)).max(0.0).round() as u64
}

/// FNV-1a with a finalizer, so that the last bytes of an id affect the first bits.
fn fingerprint(task: &TaskId, failures: u64) -> u64 {
    let number = failures.to_le_bytes();
    let bytes = task.as_str().bytes().chain(number);
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, step);
    let stirred = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    stirred ^ (stirred >> 29)
}

#[cfg(test)]
mod tests {
    use super::delay_ms;
    use crate::names::TaskId;
    use crate::task::Backoff;

    fn task(number: u64) -> TaskId {
        TaskId::parse(&format!("t-{number:010}")).unwrap()
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let plain = Backoff { jitter: 0.0, ..Backoff::default() };
        let pauses: Vec<u64> =
            (1..9).map(|failures| delay_ms(&plain, &task(1), failures)).collect();
        assert_eq!(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(delay_ms(&plain, &task(1), u64::MAX), 60_000);
        let none = Backoff { initial_ms: 0, ..plain };
        assert_eq!(delay_ms(&none, &task(1), 5), 0);
    }

    #[test]
    fn attempts_that_fail_together_are_not_repeated_together() {
        let backoff = Backoff::default();
        let pauses: Vec<u64> =
            (0..1_000).map(|number| delay_ms(&backoff, &task(number), 1)).collect();
        assert!(pauses.iter().all(|pause| (800..=1_200).contains(pause)));
        for tenth in 0..10 {
            let range = 800 + 40 * tenth..840 + 40 * tenth;
            let count = pauses.iter().filter(|pause| range.contains(*pause)).count();
            assert!((50..=150).contains(&count), "{count} of 1000 in {range:?}");
        }
        assert_eq!(delay_ms(&backoff, &task(7), 1), delay_ms(&backoff, &task(7), 1));
        let most = Backoff { jitter: 1.0, ..backoff };
        assert!((0..1_000).all(|number| delay_ms(&most, &task(number), 1) <= 2_000));
    }
}

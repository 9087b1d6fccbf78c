//! The rules of ownership of a log that several servers share, without I/O.
//!
//! ```text
//!   standby: observe the owner's heartbeat ──unchanged for 2.0 s──▶ declare it gone ──▶ take
//!   owner:   heartbeat every 0.2 s ──succeeded──▶ licence for reads, 1.6 s from sending it
//!            append ──▶ inserted ───────────────────────────────▶ durable
//!              └──────▶ no answer ──▶ take over from oneself, look ──▶ durable, absent or fenced
//! ```
//!
//! The log in `PostgreSQL` and the one that the simulator runs on both decide by these rules, so
//! the findings of the simulator about them apply to both. Time is a number of milliseconds of the
//! machine's own clock, which also counts while the machine is suspended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::contract::Position;
use crate::error::AppendError;
use crate::planted;

/// The interval at which a server sends a heartbeat and reads those of the others, in milliseconds.
pub const BEAT_MS: u64 = 200;
/// How long a heartbeat must not have changed before its server may be declared gone.
pub const GONE_MS: u64 = 2_000;
/// How long an owner may answer from memory after it sent a heartbeat that succeeded. Less than
/// [`GONE_MS`], which begins later, by a fifth: clocks that differ more in speed are broken.
pub const LICENCE_MS: u64 = 1_600;
/// How long the outcome of an append is resolved before it is reported as unknown.
pub const RESOLVE_MS: u64 = 10_000;
/// How long a statement that may be repeated is repeated while connections break.
pub const REPEAT_MS: u64 = 10_000;
/// The pause before something is tried again.
pub const PAUSE_MS: u64 = 100;

/// Until when an owner may answer from memory.
#[derive(Debug, Default)]
pub struct Licence {
    until_ms: AtomicU64,
    is_lost: AtomicBool,
}

impl Licence {
    /// A heartbeat succeeded that was sent at this time. Others observe it later than it was sent,
    /// so that is the time from which the licence counts.
    pub fn renew(&self, sent_ms: u64) {
        self.until_ms.store(sent_ms + LICENCE_MS, Ordering::SeqCst);
    }

    /// Another server has taken over, or may do so.
    pub fn lose(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Whether another server has taken over, or may do so.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Whether reads may be answered from memory.
    pub fn is_valid(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms.load(Ordering::SeqCst) && !self.is_lost()
    }
}

/// The observation of the owner by a standby, on one connection.
#[derive(Debug)]
pub struct Observation<S> {
    /// The owner, its last heartbeat, and when that was first seen.
    since: Option<(S, i64, u64)>,
    is_alive: bool,
}

impl<S> Default for Observation<S> {
    fn default() -> Self {
        Self { since: None, is_alive: false }
    }
}

impl<S: PartialEq> Observation<S> {
    /// The connection is another one: after a crash of the database a heartbeat that was seen
    /// before may have been lost, so the observation begins again.
    pub fn reconnect(&mut self) {
        *self = Self::default();
    }

    /// This is the owner, and its last heartbeat.
    pub fn see(&mut self, owner: S, beat: i64, now_ms: u64) {
        let before = self.since.as_ref().map(|(known, beat, _)| (*known == owner, *beat));
        self.is_alive = before.is_some_and(|(is_same, seen)| is_same && seen != beat);
        if self.is_alive || before.is_none_or(|(is_same, _)| !is_same) {
            self.since = Some((owner, beat, now_ms));
        }
    }

    /// Whether the owner has sent a heartbeat since the look before the last one.
    pub fn is_alive(&self) -> bool {
        self.is_alive
    }

    /// Whether the owner may be declared gone.
    pub fn is_silent(&self, now_ms: u64) -> bool {
        self.since.as_ref().is_some_and(|(.., since)| now_ms >= since + GONE_MS)
    }
}

/// A record as an append sends it, and as the store shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The position after it.
    pub next: Position,
    /// The epoch of its writer.
    pub epoch: i64,
    /// Its checksum.
    pub crc: i64,
}

/// The result of a look-up after an append that had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A record is at the position.
    Record(Stored),
    /// None is there.
    Nothing {
        /// The oldest position that is kept.
        start: Position,
        /// The position of the next record.
        tail: Position,
    },
}

/// The outcome of an append that had no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The record is there.
    Durable,
    /// It is not there and never will be: it can be sent again.
    Absent,
    /// It is not there and never will be, and another server owns the log.
    Fenced,
    /// The store lost records that it had acknowledged. No record can be written after them.
    WentBack {
        /// The end of the acknowledged records.
        known: u64,
        /// The end of the store.
        found: u64,
    },
    /// Another server owns the log, and has truncated it beyond the record.
    Unknown,
}

/// Decides whether the record that was sent to this position was stored. Before the look-up, the
/// server took the log over from itself, so that the statement cannot be executed any more;
/// `is_mine` is whether that succeeded. If not, another server has done it, and the record may be
/// there all the same.
#[must_use]
pub fn resolve(position: Position, sent: &Stored, is_mine: bool, look: &Look) -> Resolved {
    if !is_mine && planted::is("shared.fenced_without_looking") {
        return Resolved::Fenced;
    }
    let went_back = |tail: &Position| Resolved::WentBack { known: position.0, found: tail.0 };
    match look {
        Look::Record(found) if found == sent => Resolved::Durable,
        // Everything before the position was acknowledged, whichever server owns the log now.
        Look::Nothing { tail, .. } if *tail < position => went_back(tail),
        // Also if it was taken from this server between taking it over from oneself and the look.
        Look::Nothing { start, .. } if *start > position => Resolved::Unknown,
        Look::Nothing { tail, .. } if is_mine && *tail == position => Resolved::Absent,
        Look::Nothing { tail, .. } if is_mine => went_back(tail),
        Look::Record(_) | Look::Nothing { .. } => Resolved::Fenced,
    }
}

/// The answer of the store to an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The record was inserted.
    Inserted,
    /// The statement was executed, and inserted nothing.
    NotInserted,
    /// There is no space. Nothing was executed.
    Full,
    /// Nothing was executed because of a lock or a timeout.
    Again(String),
    /// It may have been executed.
    Unknown(String),
}

/// The next step of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendStep {
    /// Send it.
    Send,
    /// Send it after a pause.
    PauseThenSend,
    /// Take the log over from oneself, and look.
    Look,
    /// The same after a pause.
    PauseThenLook,
    /// It has an outcome.
    Done(Result<(), AppendError>),
}

/// One append, from the first attempt to its outcome.
#[derive(Debug)]
pub struct AppendAttempt {
    position: Position,
    until_ms: u64,
    reason: String,
}

impl AppendAttempt {
    /// An append to this position begins.
    #[must_use]
    pub fn new(position: Position, now_ms: u64) -> Self {
        Self { position, until_ms: now_ms + RESOLVE_MS, reason: String::new() }
    }

    fn fenced(&self) -> AppendStep {
        let (expected, tail) = (self.position, self.position);
        AppendStep::Done(Err(AppendError::Fenced { expected, tail }))
    }

    /// The statement was sent.
    pub fn sent(&mut self, sent: Sent, now_ms: u64) -> AppendStep {
        self.reason = match sent {
            Sent::Inserted => return AppendStep::Done(Ok(())),
            Sent::Full => return AppendStep::Done(Err(AppendError::Full)),
            Sent::Again(_) if now_ms < self.until_ms => return AppendStep::PauseThenSend,
            Sent::NotInserted => "the database refused the position".to_owned(),
            Sent::Again(reason) | Sent::Unknown(reason) => reason,
        };
        AppendStep::Look
    }

    /// The log was read, or could not be read.
    pub fn looked(&mut self, looked: Result<Resolved, String>, now_ms: u64) -> AppendStep {
        let failed = |reason: &str| AppendStep::Done(Err(AppendError::Failed(reason.to_owned())));
        let is_late = now_ms >= self.until_ms;
        match looked {
            Ok(Resolved::Durable) => AppendStep::Done(Ok(())),
            Ok(Resolved::Absent) if !is_late => AppendStep::Send,
            Ok(Resolved::Absent) => failed(&self.reason),
            Ok(Resolved::Fenced) => self.fenced(),
            Ok(Resolved::WentBack { known, found }) => {
                AppendStep::Done(Err(AppendError::WentBack { known, found }))
            }
            Ok(Resolved::Unknown) => {
                failed("another server owns the log and has truncated it since")
            }
            Err(_) if !is_late => AppendStep::PauseThenLook,
            Err(_) if planted::is("shared.unknown_reported_as_lost") => self.fenced(),
            Err(unresolved) => failed(&format!("{}; {unresolved}", self.reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_counts_from_sending_and_ends_before_a_standby_may_judge() {
        let licence = Licence::default();
        assert!(!licence.is_valid(0), "no heartbeat has succeeded");
        licence.renew(1_000);
        assert!(licence.is_valid(2_599) && !licence.is_valid(2_600));
        licence.lose();
        assert!(!licence.is_valid(1_001));
    }

    #[test]
    fn an_owner_is_silent_after_two_seconds_on_one_connection() {
        let mut seen = Observation::default();
        seen.see("a", 7, 100);
        assert!(!seen.is_alive() && !seen.is_silent(2_099) && seen.is_silent(2_100));
        seen.see("a", 8, 2_000);
        assert!(seen.is_alive() && !seen.is_silent(3_999));
        seen.see("b", 8, 3_000);
        assert!(!seen.is_alive() && !seen.is_silent(4_999), "another owner is another observation");
        seen.reconnect();
        assert!(!seen.is_silent(u64::MAX));
        seen.see("b", 8, 9_000);
        assert!(!seen.is_silent(10_999) && seen.is_silent(11_000));
    }

    #[test]
    fn an_unknown_outcome_is_resolved_by_reading_the_log() {
        let (position, sent) = (Position(10), Stored { next: Position(15), epoch: 3, crc: 77 });
        let nothing = |start, tail| Look::Nothing { start: Position(start), tail: Position(tail) };
        let other = Look::Record(Stored { epoch: 4, ..sent });
        for (is_mine, look, expected) in [
            (true, Look::Record(sent), Resolved::Durable),
            (false, Look::Record(sent), Resolved::Durable),
            (false, other, Resolved::Fenced),
            (true, nothing(0, 10), Resolved::Absent),
            (true, nothing(0, 5), Resolved::WentBack { known: 10, found: 5 }),
            (false, nothing(0, 5), Resolved::WentBack { known: 10, found: 5 }),
            (true, nothing(0, 25), Resolved::WentBack { known: 10, found: 25 }),
            (false, nothing(0, 10), Resolved::Fenced),
            (false, nothing(15, 15), Resolved::Unknown),
            (true, nothing(15, 25), Resolved::Unknown),
        ] {
            assert_eq!(resolve(position, &sent, is_mine, &look), expected, "{is_mine} {look:?}");
        }
    }

    #[test]
    fn an_append_is_given_up_as_unknown_and_never_as_lost() {
        let mut attempt = AppendAttempt::new(Position(10), 0);
        let broken = || Sent::Unknown("the connection broke".to_owned());
        assert_eq!(attempt.sent(Sent::Again(String::new()), 0), AppendStep::PauseThenSend);
        assert_eq!(attempt.sent(broken(), 5), AppendStep::Look);
        let away = || Err("no connection".to_owned());
        assert_eq!(attempt.looked(away(), 9_999), AppendStep::PauseThenLook);
        assert_eq!(attempt.looked(Ok(Resolved::Absent), 9_999), AppendStep::Send);
        let unknown = AppendError::Failed("the connection broke; no connection".to_owned());
        assert_eq!(attempt.looked(away(), 10_000), AppendStep::Done(Err(unknown)));
        assert_eq!(attempt.sent(Sent::Full, 1), AppendStep::Done(Err(AppendError::Full)));
    }

    #[test]
    fn a_store_that_lost_records_is_not_reported_as_one_of_another_server() {
        let mut attempt = AppendAttempt::new(Position(10), 0);
        assert_eq!(attempt.sent(Sent::NotInserted, 0), AppendStep::Look);
        let step = attempt.looked(Ok(Resolved::WentBack { known: 10, found: 5 }), 1);
        let went_back = AppendError::WentBack { known: 10, found: 5 };
        assert_eq!(step, AppendStep::Done(Err(went_back)));
    }
}

//! What the table of tasks is made of.
//!
//! | part | is |
//! |---|---|
//! | [`Task`] | a task as callers see it |
//! | [`Record`] | the same as the table keeps it: small, since there may be a million |
//! | [`Queues`] | which task is next, for any claim |
//! | [`Claims`] | who waits for one, in order of arrival |
//! | [`Tally`] | how many there are, how long they took, why they failed |
//! | [`Why`] | why a task is not running, as a sentence |
//!
//! None of it decides anything: the rules stand in [`task`](crate::task).

mod statistics;
mod task;
mod why;
mod wishes;

pub use statistics::{Counts, Durations, Failure, Statistics, TimeInState};
pub use task::{Backoff, Lease, OnExhausted, Progress, Status, Task};
pub use why::{Fact, Why};
pub use wishes::{
    Claim, Complete, Create, Fail, Heartbeat, List, Next, Release, Report, Review, Transition,
    Update, Verdict,
};

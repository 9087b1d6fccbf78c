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
//! The rules stand in [`task`](crate::task); those that would make its `decide.rs` too long for one
//! file are here: [`creating`], [`checks`], what follows a failed try, and how to explain it all.

pub mod checks;
mod claims;
mod created;
pub mod creating;
pub mod explain;
mod facts;
mod links;
mod queues;
mod record;
mod statistics;
mod tally;
mod task;
mod timers;
mod trying;
mod why;
mod wishes;

pub use claims::{Claims, Waiting};
pub use created::Created;
pub use facts::Facts;
pub use links::Links;
pub use queues::Queues;
pub use record::{Course, Needs, Place, Record, Terms};
pub use statistics::{Counts, Durations, Failure, Statistics, TimeInState};
pub use tally::{Added, Past, Stage, Tally};
pub use task::{Backoff, Lease, OnExhausted, Progress, Status, Task};
pub use timers::Timers;
pub use trying::outcome;
pub use why::{Fact, Why};
pub use wishes::{
    Claim, Complete, Create, Fail, Heartbeat, List, Next, Release, Report, Review, Transition,
    Update, Verdict,
};

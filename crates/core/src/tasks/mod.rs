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
mod ended;
pub mod explain;
mod facts;
mod leases;
mod links;
pub mod listing;
pub mod passing;
mod queues;
mod record;
mod statistics;
mod tally;
mod task;
mod timers;
mod trying;
mod weight;
mod why;
mod wishes;

pub use crate::histogram::Durations;
pub use claims::{Claims, Waiting};
pub use created::Created;
pub use ended::ending;
pub use facts::Facts;
pub use leases::Leases;
pub use links::Links;
pub use passing::Passing;
pub use queues::Queues;
pub use record::{Course, Needs, Place, Record, Returns, Terms};
pub use statistics::{Counts, Failure, Statistics, TimeInState};
pub use tally::{Added, Past, Stage, Tally};
pub use task::{Backoff, Lease, OnExhausted, Progress, Status, Task};
pub use timers::Timers;
pub use trying::{Cause, Outcome, outcome};
pub use weight::load;
pub use why::{Fact, Why};
pub use wishes::{
    Claim, Complete, Create, Fail, Heartbeat, List, Next, Release, Report, Review, Transition,
    Update, Verdict,
};

//! Tasks: what is to be done, and who does it.
//!
//! ```text
//!              ┌─ waits for another task, or for its time
//!   create ──▶ pending ◀────────── release, fail, lease over, agent gone ────────┐
//!              └─ ready ────────── claim: a lease with a token ────────▶ in progress
//!                   ▲                                                    │    │    │
//!                   │ retry                        failed too often      │    │    │ complete
//!                   └───────────── waiting for review ◀──────────────────┘    │    ▼
//!                                     │ fail      │ complete ────────────────────▶ completed
//!                                     ▼           deadline, failed too often  │
//!   cancel: anything unfinished,    failed ◀──────────────────────────────────┘
//!   with all that belongs to it ──▶ cancelled
//! ```
//!
//! A lease is the right to work on a task. It has a token that only grows, and every call about the
//! work must carry it: whoever comes with an older one has lost the task, and is told who has it. A
//! lease ends by itself unless it is renewed. That counts as a failed try, since a task that kills
//! its workers must not go round for ever; letting it go on purpose does not.
//!
//! Among ready tasks the one with the higher priority comes first, and among equals the older one.
//! A point of priority is worth a minute of age, so that whatever waits long enough comes first.
//! Among claims that wait, whoever came first is served first. A task that becomes ready while
//! somebody waits for it is theirs in the same commit, by policy.
//!
//! What one task means for others: what depends on it becomes ready when it is completed, and is
//! cancelled when it can never be; what belongs to it is cancelled with it. Each commit does as
//! much of that as fits well; the rest is due at once and follows by itself. So does a task whose
//! try has failed: it is ready one commit later, so that the death of an agent with a thousand
//! tasks does not have to give them all to others at once.
//!
//! | part | is |
//! |---|---|
//! | [`Task`] | a task as callers see it |
//! | [`Record`] | the same as the table keeps it: small, because there may be a million |
//! | [`Queues`] | which task is next, for any claim |
//! | [`Claims`] | the claims that wait, in order of arrival |
//! | [`Counters`] | how many tasks there are, how long they took, why they failed |
//! | [`Why`] | why a task is not running, as a sentence |
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. Exactly the tasks in progress have a lease, each its own, and no two have the same token.
//! 2. The token of a task's lease is larger than that of any lease before.
//! 3. A finished task never changes. It is forgotten only when nothing depends on it any more.
//! 4. What is ready is in line, once, and waits for nothing.
//! 5. Nobody waits for a task that is ready.
//!
//! Deliberately absent: the past, which the engine answers from the log; and what tasks produce
//! beyond a megabyte, which belongs into artifacts.

mod attempts;
pub mod checks;
mod claims;
mod counters;
mod created;
pub mod creation;
mod decide;
mod endings;
pub mod explanation;
mod facts;
mod leases;
mod links;
pub mod lists;
pub(crate) mod operations;
mod payloads;
mod queues;
pub mod reassignment;
mod record;
mod refusals;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod timers;
mod view;
mod vocabulary;
mod weight;
mod why;

pub use crate::histogram::Durations;
pub use attempts::{Cause, Outcome, outcome};
pub use claims::{Claims, Waiting};
pub use counters::{Added, Counters, Past, Stage};
pub use created::Created;
pub use decide::{Decided, ReplyPlan, View, decide, query};
pub use endings::ending;
pub use facts::Facts;
pub use leases::Leases;
pub use links::Links;
pub use payloads::{
    Claim, Complete, Create, Fail, Heartbeat, List, Next, Release, Report, Review, Transition,
    Update, Verdict,
};
pub use queues::Queues;
pub use reassignment::Reassignment;
pub use record::{Execution, Needs, QueuePosition, Record, Returns, Terms};
pub use refusals::Rejection;
pub use statistics::{Counts, Failure, Statistics, TimeInState};
pub use table::{Due, Table, Undo};
pub use timers::Timers;
pub use view::{Backoff, Lease, OnExhausted, Progress, Status, Task};
pub use vocabulary::{Command, Event, Query, Reply, Warning};
pub use weight::load;
pub use why::{Fact, Why};

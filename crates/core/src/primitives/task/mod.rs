//! Tasks: units of work, and the leases under which agents do them.
//!
//! ```text
//!              ┌─ waits for another task, or for its start time
//!   create ──▶ pending ◀────────── release, fail, lease expired, agent lost ─────┐
//!              └─ ready ────────── claim: a lease with a token ────────▶ in progress
//!                   ▲                                                    │    │    │
//!                   │ retry              failed too often, or submitted  │    │    │ complete
//!                   └───────────── waiting for review ◀──────────────────┘    │    ▼
//!                                     │ fail      │ complete ────────────────────▶ completed
//!                                     ▼           deadline, failed too often  │
//!   cancel: anything unfinished,    failed ◀──────────────────────────────────┘
//!   with all its subtasks ────────▶ cancelled
//! ```
//!
//! A lease is the right to work on a task. Its token only grows, and every call about the work must
//! carry it: a call with an older token is refused with the current holder. A lease expires unless
//! it is renewed. This counts as a failed attempt, since a task that kills its workers must not be
//! retried for ever; releasing it does not.
//!
//! A failed task can be retried under its own id. The tasks that were cancelled because they
//! depended on it are restored in the same commit, and so are those cancelled because of them, as
//! far as nothing else prevents them. Its tokens keep growing and its failures are counted anew.
//! Joins keep the outcome that they recorded; the task of a pipeline's stage is retried with its
//! stage.
//!
//! The result of a task with `review` is submitted by its worker, and another agent accepts it or
//! returns the task to its queue. Only then is the task completed, and its dependents, joins and
//! pipeline continue.
//!
//! Among ready tasks the one with the higher priority is claimed first, and among equals the older
//! one. One point of priority is worth one minute of age, so that no task starves. Waiting claims
//! are served in the order of arrival. A task that becomes ready while a claim waits for it is
//! assigned in the same commit, by policy.
//!
//! Consequences for other tasks: a dependent task becomes ready when its dependencies are
//! completed, and is cancelled when they never will be; subtasks are cancelled with their parent.
//! Each commit includes as many of these as fit; the rest is due immediately and follows in later
//! commits. The same holds for a task whose attempt has failed: it is ready one commit later, so
//! that the loss of an agent with a thousand tasks does not have to assign them all at once.
//!
//! | part | is |
//! |---|---|
//! | [`Task`] | a task as clients see it |
//! | [`Record`] | the same as the table stores it: small, because there may be a million |
//! | [`Queues`] | the next task for any claim |
//! | [`Claims`] | the waiting claims, in order of arrival |
//! | [`Counters`] | counts, durations and failure reasons |
//! | [`Why`] | why a task is not running, as a sentence |
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. Exactly the tasks in progress have a lease, each its own, and no two have the same token.
//! 2. The token of a lease is larger than that of any earlier lease of the task.
//! 3. A finished task changes only when it is retried: a failed one, with those that were cancelled
//!    because of it. It is removed only when nothing depends on it that could still run.
//! 4. A ready task is in the queue, once, and waits for nothing.
//! 5. No claim waits for a task that is ready.
//!
//! Deliberately absent: the past, which the engine answers from the log; and results larger than a
//! megabyte, for which there are artifacts.

mod attempts;
pub mod budgets;
pub mod checks;
mod claiming;
mod claims;
mod completion;
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
mod retry;
mod reviewers;
mod statistics;
mod subtree;
mod table;
mod terms;
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
pub(crate) use decide::{Decided, decide};
pub use decide::{View, query};
pub use endings::ending;
pub use facts::Facts;
pub use leases::Leases;
pub use links::Links;
pub use payloads::{
    Claim, Complete, Create, Fail, Heartbeat, List, Next, Release, Report, Retry, Review,
    Transition, Update, Verdict,
};
pub use queues::Queues;
pub use reassignment::Reassignment;
pub use record::{Execution, QueuePosition, Record, Returns};
pub use refusals::Rejection;
pub use reviewers::Reviewers;
pub use statistics::{Counts, Failure, Statistics, TimeInState};
pub use table::{Due, Table, Undo};
pub use terms::{Needs, Terms};
pub use timers::Timers;
pub use view::{Backoff, Lease, OnExhausted, Progress, Status, Task};
pub use vocabulary::{Command, Event, Query, Reply, Signal, Warning};
pub use weight::load;
pub use why::{Fact, Why};

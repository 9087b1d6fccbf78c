//! Joins: wait until several tasks have finished.
//!
//! ```text
//!                 every task has finished, or as many as needed are completed
//!   create ──▶ waiting ──────────────────────────────────────────────────────▶ open
//!                 ├──── as many as needed can never be completed ────────────▶ failed
//!                 └──── its deadline has passed ─────────────────────────────▶ expired
//! ```
//!
//! A join is about tasks that are named when it is created, or about a group; tasks that are added
//! to the group later belong to it until it has settled. It waits until all of them have finished,
//! with any outcome, or until a number of them is completed. The result of each is kept with the
//! join, in order, so that it can be read after the tasks are forgotten; results of tasks that
//! finish after it has settled are kept too, and marked as late.
//!
//! A join learns about tasks from their own events ([`Table::finish`], [`Table::grow`]); there is
//! no event for each arrival. A task that is in many joins, or an agent that is lost with a
//! thousand tasks, therefore makes no batch too large. A policy settles a join, with an event, in
//! the commit that finished its last task; if too many settle at once, the others are due
//! immediately and settle in later commits.
//!
//! Results are copied up to a limit for each join and for all; beyond that the member is marked as
//! omitted, and the result is in the task.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. A join settles once, and its outcome never changes.
//! 2. No call waits for a join that has settled.
//! 3. Every member that has not finished is found by its task.
//! 4. Copied results stay within their limits.
//!
//! Deliberately absent: cancelling a join, which costs nothing if no call waits for it; and joins
//! of joins, for which a task can wait for one and then be completed.

mod decide;
pub(crate) mod operations;
mod record;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{View, ending, query};
pub use record::{Member, Outcome, Record};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo, Waiter};
pub use vocabulary::{
    Command, Create, Event, Every, Join, Need, Part, Query, Reply, Signal, Status,
};

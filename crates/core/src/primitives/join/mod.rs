//! Joins: going on when so many tasks have finished.
//!
//! ```text
//!                 every task has finished, or as many as needed are completed
//!   create ──▶ waiting ──────────────────────────────────────────────────────▶ open
//!                 ├──── as many as needed can never be completed ────────────▶ failed
//!                 └──── its deadline has passed ─────────────────────────────▶ expired
//! ```
//!
//! A join is about tasks that are named when it is created, or about a group; whoever is created in
//! the group later belongs to it until it has settled. It waits until all of them have finished,
//! however that was, or until a number of them is completed. What came of each is kept with the
//! join, in order, so that it can be read after the tasks are forgotten; what finishes after it has
//! settled is kept too, and marked as late.
//!
//! What a join knows of tasks it learns from their own events ([`Table::finish`], [`Table::grow`]);
//! there is no event for each arrival. A task that is in many joins, or an agent that dies with a
//! thousand tasks, therefore makes no batch too large. That a join has settled is an event, by
//! policy in the commit that finished its last task; unless too many settle at once, then the rest
//! is due at once and follows by itself.
//!
//! Results are copied up to a limit for each join and for all; beyond that the member says that its
//! result was left out, and the task itself has it.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. A join settles once, and what it settled as never changes.
//! 2. Nobody waits for a join that has settled.
//! 3. Every member that has not finished is found by its task.
//! 4. Copied results stay within their limits.
//!
//! Deliberately absent: cancelling a join, which costs nothing if nobody waits for it; and joins of
//! joins, for which a task can wait for one and then be completed.

mod decide;
pub(crate) mod operations;
mod record;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, View, answer, decide, ending, query};
pub use record::{Member, Outcome, Record};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo, Waiter};
pub use vocabulary::{Command, Create, Event, Every, Join, Need, Part, Query, Reply, Status};

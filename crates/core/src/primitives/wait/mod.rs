//! Waits for a status: a call returns when a task or a hand-off has reached it. It also handles the
//! next work of an agent, of any kind ([`Next`]): such a call waits in the queues of hand-offs,
//! messages and tasks, not here.
//!
//! ```text
//!   call ──▶ queued ──┬── the status is reached, or any final one ──▶ answered
//!                     ├── timed out ────────────────────────────────▶ answered: null
//!                     ├── the caller is gone ───────────────────────▶ no answer
//!                     └── the caller's session has ended ───────────▶ refused
//! ```
//!
//! A call names statuses. It returns when the task or hand-off has one of them, and in any case
//! when it has a final one, since no other can follow. The commit that changes the status answers
//! it; if many calls are to be answered at once, the others are due immediately and are answered
//! in later commits, unless the status has changed again by then.
//!
//! The table learns about statuses from the events of tasks and hand-offs ([`Table::note`]); it
//! stores no copy of them.
//!
//! Invariants, checked by `Table::check` and by the space:
//!
//! 1. Every waiting call is listed once, with the status that it waits for.
//! 2. Exactly the calls whose status is reached are due.
//!
//! Deliberately absent: waiting for several tasks, for which there are joins.

mod decide;
mod goal;
mod next;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use goal::{Goal, Present, Target};
pub(crate) use next::as_next;
pub use next::{Next, Work, WorkKind};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo, Waiter};
pub use vocabulary::{Command, Event, Query, Reply, Signal};

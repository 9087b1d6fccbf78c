//! Locks: one holder at a time, and a wait queue.
//!
//! ```text
//!            acquire                      release, expiry, end of session
//!    free ──────────────▶ held ───────────────────────────────────────────▶ free
//!                         ▲  │                                               │
//!                  renew  └──┘       with waiters: held by the first, in the same commit
//! ```
//!
//! A lock exists as soon as it is named; a free lock takes no memory. A hold ends when its time to
//! live elapses without a renewal, and with the session of its holder if it has one. Each hold has
//! a token, and tokens only grow: a call or a write with the token of a replaced hold is refused.
//!
//! A renewal is recorded only if it extends the hold by a quarter of the time to live, like a
//! heartbeat; the answer always contains the recorded end.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. A lock has at most one hold, and no two holds have the same token.
//! 2. No call waits for a free lock.
//! 3. Waiting calls are served in the order of arrival.
//!
//! Deliberately absent: reentrant locks. An agent may be several threads; the second of them waits
//! like any other caller.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{ending, query};
pub use refusals::Rejection;
pub use table::{Table, Undo, Waiter};
pub use vocabulary::{Acquire, Command, Event, Hold, Link, Lock, Query, Reply, Signal, Status};

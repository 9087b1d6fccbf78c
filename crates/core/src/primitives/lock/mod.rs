//! Locks: one holder at a time, and everyone else in line.
//!
//! ```text
//!            acquire                      release, time over, session ended
//!    free ──────────────▶ held ───────────────────────────────────────────▶ free
//!                         ▲  │                                               │
//!                  renew  └──┘       somebody waits: held by the first in line, same commit
//! ```
//!
//! A lock is there as soon as it is named; one that nobody holds is free and costs nothing. A hold
//! ends by itself after its time to live unless it is renewed, and with the holder's session if it
//! has one. Each comes with a token that only grows: whoever was replaced is refused, here and on
//! every write that carries the token.
//!
//! A renewal is written down only when it moves the end by a good part of the time to live, as a
//! heartbeat is; the answer always tells the end that stands.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. A lock has at most one hold, and no two holds have the same token.
//! 2. Nobody waits for a free lock.
//! 3. Whoever waits stands in the order of arrival, and nobody is passed over.
//!
//! Deliberately absent: holding the same lock twice. An agent may be many threads; the second of
//! them waits like anyone else.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, decide, ending, query};
pub use refusals::Rejection;
pub use table::{Table, Undo, Waiter};
pub use vocabulary::{Acquire, Command, Event, Hold, Link, Lock, Query, Reply, Status};

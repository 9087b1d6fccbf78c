//! Semaphores: so many holders at a time, and everyone else in line.
//!
//! ```text
//!   permits: 3        acquire                    release, time over, session ended
//!   free 3  ──────────────────▶ free 2 ▸ 1 ▸ 0 ──────────────────────────────────▶ free + 1
//!                                            │                                      │
//!                 acquire with wait_ms: in line ◀── its first have them, same commit ┘
//! ```
//!
//! Whoever uses a semaphore first says how many permits it has, and that stays. Every permit is
//! held under a token of its own, ends by itself after its time to live unless it is renewed, and
//! with the holder's session if it has one. An agent may hold several.
//!
//! The number of permits is a fact that must outlast the holders, so a semaphore stays when nobody
//! holds a permit. When there are too many, the one that has been idle longest is forgotten;
//! whoever comes back says again how many permits it has.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. There are never more holders than permits, and no two hold under the same token.
//! 2. Nobody waits while a permit is free.
//! 3. Whoever waits stands in the order of arrival, and nobody is passed over.
//!
//! Deliberately absent: taking several permits in one call, which could wait for ever behind others
//! that take one each; and changing the number of permits, for which another name will do.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, decide, ending, query};
pub use refusals::Rejection;
pub use table::{Record, Table, Undo, Waiter};
pub use vocabulary::{Acquire, Command, Event, Permit, Query, Reply, Semaphore};

//! Semaphores: a number of holders at a time, and a wait queue.
//!
//! ```text
//!   permits: 3        acquire                    release, expiry, end of session
//!   free 3  ──────────────────▶ free 2 ▸ 1 ▸ 0 ──────────────────────────────────▶ free + 1
//!                                            │                                      │
//!                 acquire with wait_ms: queued ◀── the first get them, same commit ─┘
//! ```
//!
//! The first call for a name defines the number of permits, which never changes. Every permit has
//! its own token and ends when its time to live elapses without a renewal, and with the session of
//! its holder if it has one. An agent may hold several.
//!
//! The number of permits must outlast the holders, so a semaphore stays when no permit is held.
//! When there are too many semaphores, the one that has been idle longest is forgotten; the next
//! call for its name defines the number of permits again.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. There are never more holders than permits, and no two hold under the same token.
//! 2. No call waits while a permit is free.
//! 3. Waiting calls are served in the order of arrival.
//!
//! Deliberately absent: taking several permits in one call, which could starve behind calls that
//! take one each; and changing the number of permits, for which another name can be used.

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

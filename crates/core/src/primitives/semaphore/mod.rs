//! Semaphores: a number of holders at a time, and a wait queue.
//!
//! ```text
//!   permits: 3        acquire                    release, expiry, end of session, resize
//!   free 3  ──────────────────▶ free 2 ▸ 1 ▸ 0 ──────────────────────────────────▶ free + weight
//!                                            │                                      │
//!                 acquire with wait_ms: queued ◀── the first get them, same commit ─┘
//! ```
//!
//! The first call for a name defines the number of permits; `resize` changes it. A holder takes as
//! many permits as its weight, one unless it asks for more, under one token. It loses them when its
//! time to live elapses without a renewal, and with its session if it has one. An agent may hold
//! several times.
//!
//! A call that needs more permits than are free waits at the head of the queue until enough are
//! returned. Calls behind it wait too, although there may be enough for them: otherwise a stream of
//! light calls could keep a heavy one waiting forever.
//!
//! When a semaphore is made smaller, no holder loses anything. Nothing is granted until the weight
//! of the holders and of the first waiter is within the new number. After a resize, the number that
//! a caller gives in `permits` is no longer compared: programs that still pass the previous number
//! continue to work.
//!
//! The number of permits must outlast the holders, so a semaphore stays when no permit is held.
//! When there are too many semaphores, the one that has been idle longest is forgotten; the next
//! call for its name defines the number of permits again.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. Nothing is granted beyond the number of permits, and no two hold under the same token.
//! 2. The first call in the queue needs more permits than are free.
//! 3. Waiting calls are served in the order of arrival.
//! 4. No call waits for more permits than there are.
//!
//! Deliberately absent: returning some of the permits of a holder, who can hold several times.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{ending, query};
pub use refusals::Rejection;
pub use table::{Record, Table, Undo, Waiter};
pub use vocabulary::{
    Acquire, Command, Event, Permit, PermitWait, Query, Reply, Semaphore, Signal,
};

//! Barriers: agents wait until a given number of them has arrived.
//!
//! ```text
//!                  arrive                       the last of them arrives
//!   generation 7 ──────────▶ 1 of 3 ▸ 2 of 3 ────────────────────────────▶ open, all are answered
//!        ▲                      │                                           │
//!        │     withdrawn: the wait timed out, the caller is gone,           ▼
//!        └──── or the session has ended                       generation 8, without arrivals
//! ```
//!
//! A barrier exists as soon as it is named. The first arrival defines how many arrivals open it,
//! and the others of that generation must give the same number. The last arrival opens it: in the
//! same commit all waiting calls are answered, and the next arrival starts another generation.
//!
//! An arrival whose wait ends is withdrawn, so that a barrier never opens for an agent that is
//! gone. An arrival without a wait stays until the barrier opens or is reset, or the session ends.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. An agent arrives at most once in a generation, and a generation opens at most once.
//! 2. There are always fewer arrivals than needed: the last one opens the barrier.
//! 3. Generations of a name only grow, even after the barrier was forgotten: it starts again above
//!    every generation that was ever forgotten.
//!
//! Deliberately absent: a time to live of arrivals without a waiting call. They end with the
//! session of the agent; if it has none, the barrier can be reset.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{ending, query};
pub use refusals::Rejection;
pub use table::{Party, Record, Table, Undo};
pub use vocabulary::{Arrival, Arrive, Barrier, Command, Event, Query, Reply, Signal};

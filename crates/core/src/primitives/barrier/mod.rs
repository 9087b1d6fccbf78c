//! Barriers: nobody goes on before so many have arrived.
//!
//! ```text
//!                  arrive                       the last of them arrives
//!   generation 7 ──────────▶ 1 of 3 ▸ 2 of 3 ────────────────────────────▶ open, all are told
//!        ▲                      │                                           │
//!        │     withdrawn: its time is over, its caller is gone,             ▼
//!        └──── its session has ended                        generation 8, nobody there
//! ```
//!
//! A barrier is there as soon as it is named. Whoever arrives first says how many it takes, and as
//! long as anyone is there the others must say the same. The last to arrive opens it in the same
//! commit, everybody who waits is answered, and the next to arrive begins another generation.
//!
//! Whoever waits and stops waiting has not arrived: a barrier never opens for somebody who is no
//! longer there. Whoever arrives without waiting stays until it opens, it is reset, or the session
//! ends.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. An agent arrives at most once in a generation, and a generation opens at most once.
//! 2. There are always fewer there than it takes: the last to arrive opens it.
//! 3. Generations of a name only grow, even after the barrier was forgotten: it begins again above
//!    every generation that was ever forgotten.
//!
//! Deliberately absent: a time to live of arrivals that nobody waits behind. They end with the
//! session of who arrived, and whoever has none can reset the barrier.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, decide, ending, query};
pub use refusals::Rejection;
pub use table::{Party, Record, Table, Undo};
pub use vocabulary::{Arrival, Arrive, Barrier, Command, Event, Query, Reply};

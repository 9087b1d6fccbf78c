//! Agents: who takes part, what they can do, and whether they are alive.
//!
//! ```text
//!              register                leave
//!   unknown ──────────────▶ active ────────────▶ left ──┐
//!                           ▲ │  │  silence             │ register: a new session
//!                           │ │  └───────────▶ lost ────┤
//!                 heartbeat └─┘                         │
//!                           ▲───────────────────────────┘
//! ```
//!
//! A session begins with `register` and carries a token that only grows. Whoever comes later with
//! an older one is refused: it has been replaced.
//!
//! A heartbeat is written down only when a good part of the time to live has passed since the
//! last one that was, so that beating often costs nothing. The price is that silence is noticed
//! up to a quarter later, and never earlier than the agent asked for.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. Tokens only grow, across all sessions of an agent.
//! 2. Exactly the active agents have a deadline.
//!
//! Deliberately absent: what an agent holds. A session's end is a fact; the policies make every
//! other primitive let go.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, decide, query};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Agent, Command, Event, Query, Register, Reply, Status};

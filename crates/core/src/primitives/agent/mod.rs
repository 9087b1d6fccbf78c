//! Agents: who takes part, with which capabilities, and whether they are alive.
//!
//! ```text
//!              register                leave
//!   unknown ──────────────▶ active ────────────▶ left ──┐
//!                           ▲ │  │  no heartbeat        │ register: a new session
//!                           │ │  └───────────▶ lost ────┤
//!                 heartbeat └─┘                         │
//!                           ▲───────────────────────────┘
//! ```
//!
//! A session starts with `register` and has a token, which only grows. A call with an older token
//! is refused: its session has been replaced.
//!
//! Every accepted command counts as a heartbeat of the agent that sent it, and so does a call that
//! changes nothing, which is noted in memory. The exception is a read about the agent itself:
//! reading an agent must not keep it alive. A heartbeat is recorded only when a quarter of the time
//! to live has passed since the last recorded one, so that frequent calls cost nothing. In return,
//! a lost agent is noticed up to a quarter later than its time to live, and never earlier.
//!
//! An agent counts as alive for as long as a call of it waits, and once more when the wait ends, in
//! whichever way: see `space/signs_of_life.rs`.
//!
//! An agent may have a parent: its supervisor. When the session of the supervisor ends, in
//! whichever way, the sessions of all agents below it end in the same commit, as lost. They may
//! register again.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. Tokens only grow, across all sessions of an agent.
//! 2. Exactly the active agents have a deadline.
//! 3. An active agent whose supervisor's session has ended is due to be lost.
//!
//! Deliberately absent: the holds of an agent. The end of a session is an event; the policies make
//! the other primitives release what it held.

mod decide;
pub(crate) mod operations;
mod refusals;
mod supervision;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::query;
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Agent, Command, Event, Query, Register, Reply, Signal, Status};

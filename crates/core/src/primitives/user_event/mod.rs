//! The event bus: agents say that something has happened, and everyone learns of it as of anything
//! else.
//!
//! ```text
//!   event.emit ──▶ one fact in the log ──▶ watch, history, reactions
//!                  type     as given
//!                  subject  events/TYPE
//! ```
//!
//! There is no second system of events. What an agent emits stands in the same log as what the
//! rules decide, in the same order, and is told, kept and asked for in the same way:
//! `event.history` speaks about all of them.
//!
//! Invariants:
//!
//! 1. Nobody can pretend that something happened to a task or a key: the first word of a type is
//!    none of [`RESERVED`].
//! 2. An emitted event changes nothing but the history. There is no table, and nothing to undo.
//! 3. A type that was written down can be read for ever, also if its first word is reserved later:
//!    that is asked when it is emitted, not when it is read.
//!
//! Deliberately absent: delivery to somebody in particular, which is what messages are for; and a
//! list of types that have to be declared first.

mod history;
pub(crate) mod operations;
mod refusals;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use history::{History, Order, Page, PageStart};
pub use refusals::Rejection;
pub use vocabulary::{Command, Emit, Event, Query, RESERVED, Reply, emit};

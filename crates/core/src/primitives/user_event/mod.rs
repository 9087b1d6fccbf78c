//! The event bus: events that agents emit, handled like all others.
//!
//! ```text
//!   event.emit ──▶ one event in the log ──▶ watch, history, reactions
//!                  type     as given
//!                  subject  events/TYPE
//! ```
//!
//! There is no second system of events. An emitted event is in the same log as those of the rules,
//! in the same order, and is delivered, stored and queried in the same way: `event.history` covers
//! all of them.
//!
//! Invariants:
//!
//! 1. An agent cannot forge an event of Baton: the first word of a type is none of [`RESERVED`].
//! 2. An emitted event changes nothing but the history. Its table is empty, and there is
//!    nothing to undo.
//! 3. A recorded type can always be read, even if its first word is reserved later: that is checked
//!    when it is emitted, not when it is read.
//!
//! Deliberately absent: delivery to one agent, for which there are messages; and a list of types
//! that have to be declared first.

mod decide;
mod history;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use history::{History, Order, Page, PageStart};
pub use refusals::Rejection;
pub use table::Table;
pub use vocabulary::{Command, Emit, Event, Query, RESERVED, Reply, Signal};

//! Topics: what is said to whoever listens.
//!
//! ```text
//!   publish ──▶ durable:  an event of the workspace ──▶ watchers, from any revision on
//!           └─▶ live:     not written down ───────────▶ whoever watches now
//! ```
//!
//! Whoever wants to hear a topic watches the subject `topics/NAME`, or a pattern of them; names
//! have segments. There is no list of subscribers here and no second way to be told: a post is an
//! event like any other, with its place among all others of the workspace.
//!
//! A live post takes no room and no time on disk, and leaves no trace. It arrives in order with the
//! commits around it and carries the revision of the one before; a watcher that falls behind, or
//! comes later, does not get it.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. What is counted is what was written down.
//! 2. The topics that are known are those that were last posted to.
//!
//! Deliberately absent: topics that are created or deleted. A topic is there as soon as it is
//! named.

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
pub use vocabulary::{Command, Event, Published, Query, Reply, Topic};

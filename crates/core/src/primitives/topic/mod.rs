//! Topics: publish messages to watches.
//!
//! ```text
//!   publish ──▶ durable:  an event of the workspace ──▶ watches, from any revision on
//!           └─▶ live:     not recorded ───────────────▶ current watches only
//! ```
//!
//! A subscriber watches the subject `topics/NAME`, or a pattern; names have segments. There is no
//! list of subscribers here and no second kind of delivery: a message is an event like any other,
//! ordered among all events of the workspace.
//!
//! A live message takes no space and no time on disk, and leaves no trace. It is delivered in order
//! with the commits around it, with the revision of the one before; a watch that falls behind, or
//! starts later, does not get it.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. Only recorded messages are counted.
//! 2. The known topics are those with the latest messages.
//!
//! Deliberately absent: creating and deleting topics. A topic exists as soon as it is named.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::query;
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Published, Query, Reply, Signal, Topic};

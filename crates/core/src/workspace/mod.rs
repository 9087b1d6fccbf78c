//! The workspace about itself: how much of its past it keeps.
//!
//! ```text
//!   defaults ──configure──▶ configured ──configure──▶ …
//! ```
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. At least one revision of history is kept, for at least a moment.
//!
//! Deliberately absent: the keeping. The engine drops what is older than asked for, whole runs of
//! revisions at a time, and answers questions about it with the oldest revision there is.

mod decide;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{decide, query};
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Query, Rejection, Reply, Retention};

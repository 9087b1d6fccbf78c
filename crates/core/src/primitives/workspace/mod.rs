//! The workspace about itself: how much of its past it keeps, and where it came from.
//!
//! ```text
//!   empty ──(first change)──▶ defaults ──configure──▶ configured ──configure──▶ …
//!   another's content ──found──▶ as there
//! ```
//!
//! A workspace begins empty, or as another was at some revision: forked, or read from a file. Then
//! it is founded, which is written down with its origin, and from there on it has nothing to do
//! with that one any more. It keeps counting revisions where the other was, so that what is known
//! about its entries stays true.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. At least one revision of history is kept, for at least a moment.
//! 2. An origin never changes.
//!
//! Deliberately absent: answers about the past and about other workspaces, which the engine gives
//! in these words; and the keeping. The engine drops what is older than asked for, whole runs of
//! revisions at a time, and answers questions about it with the oldest revision there is.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{about, decide};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Diff, Differences, Event, Forked, Listed, Query, Reply, Retention};

//! The workspace itself: its retention of history, and its origin.
//!
//! ```text
//!   empty ──(first change)──▶ defaults ──configure──▶ configured ──configure──▶ …
//!   content of another ──found──▶ as there
//!   changes of another copy ──sync──▶ taken in
//! ```
//!
//! A workspace starts empty, or with the state of another at some revision: forked, or imported
//! from a file. Its origin is recorded, and from then on it is independent of the other. It
//! continues the revision numbers of its origin, so that recorded revisions of its entries stay
//! valid.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. At least one revision of history is kept, for at least a millisecond.
//! 2. An origin never changes.
//! 3. The revisions of other copies that are included only grow.
//!
//! Deliberately absent: answers about the past and about other workspaces, which the engine gives
//! in the types defined here; and retention itself. The engine removes older history, whole runs of
//! revisions at a time, and answers queries about it with the oldest revision that is kept.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{about, decide};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo};
pub use vocabulary::{
    Command, Diff, Differences, Event, Forked, Founding, Listed, Query, Reply, Retention, Signal,
    Synced,
};

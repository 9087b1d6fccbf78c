//! Shared state: versioned JSON values under keys, in namespaces.
//!
//! ```text
//!            set, patch, transfer in                 delete, expire, let go, transfer out
//!   absent ───────────────────────────▶ version n ───────────────────────────────────────▶ absent
//!                                       │       ▲
//!                                       └───────┘ set, patch: version n + 1
//! ```
//!
//! A loser of a race gets a conflict that carries the winning entry, so it can decide without
//! another read. Values stay the bytes that were received: a rule that needs to look inside
//! parses them, nobody re-encodes them.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. An entry's version is at least 1 and its revision at most the workspace's.
//! 2. What expires is listed once, at its time, and is there; nothing else is listed.
//! 3. What is ephemeral is listed under the agent that wrote it, and is there.
//!
//! Deliberately absent: the past. The table knows the present only; history and reads at a past
//! revision are answered by the engine from the log. A deleted key leaves no trace here, so its
//! version begins at 1 again when it comes back.

mod decide;
pub(crate) mod entry;
pub mod merge;
pub(crate) mod operations;
pub(crate) mod patch;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Answer, View, cursor_of_place, decide, page_limit, place_of_cursor, query};
pub use entry::{Entry, Warning};
pub use patch::PatchEntry;
pub use refusals::Rejection;
pub use table::{Before, Ending, Table, Undo};
pub use vocabulary::{
    Change, Command, Delete, Diff, Event, Get, History, List, Operation, Page, Query, Removal,
    Reply, Set, Snapshot, Source, Transfer,
};

//! Shared state: versioned JSON values under keys, in namespaces.
//!
//! ```text
//!            set, patch, transfer in                 delete, expire, let go, transfer out
//!   absent ───────────────────────────▶ version n ───────────────────────────────────────▶ absent
//!                                       │       ▲
//!                                       └───────┘ set, patch: version n + 1
//! ```
//!
//! A write that loses a race gets a conflict with the winning entry, so that the caller can decide
//! without another read. Values stay the bytes that were received: a rule that needs to look inside
//! parses them, and they are never encoded again.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. The version of an entry is at least 1, and its revision at most that of the workspace.
//! 2. Exactly the entries with a time to live are listed by their expiry, each once.
//! 3. Exactly the ephemeral entries are listed under the agent that wrote them.
//! 4. No version of a key is used twice: the last version of a deleted key is kept, and the key
//!    continues after it when it is created again.
//!
//! Deliberately absent: the past. The table contains the present only; history and reads at a past
//! revision are answered by the engine from the log.

mod decide;
pub(crate) mod entry;
pub mod merge;
pub(crate) mod operations;
pub(crate) mod patch;
mod queries;
mod refusals;
mod retired;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{View, WritePlan, decide};
pub use entry::{Entry, Warning};
pub use patch::PatchEntry;
pub use queries::{page_limit, snapshot_cursor};
pub use refusals::Rejection;
pub use retired::RetiredVersions;
pub use table::{Before, Ending, Facts, Table, Undo};
pub use vocabulary::{
    Change, Command, Delete, Diff, Event, Get, History, List, Operation, Page, Query, Removal,
    Reply, Set, Signal, Snapshot, Source, Transfer,
};

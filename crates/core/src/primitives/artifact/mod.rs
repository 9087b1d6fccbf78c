//! Artifacts: files, stored outside the log and identified by their content.
//!
//! ```text
//!   bytes ──▶ blob, durable ──▶ put ──▶ free ─────── referenced by a record ──────▶ held
//!                                        ▲  │                                        │
//!                                        │  └─ not referenced for `keep_ms` ─▶ expired
//!                                        └──────── the last reference is removed ────┘
//! ```
//!
//! The id of an artifact is the SHA-256 of its bytes, so the same content is the same artifact, and
//! a reader can verify what it gets. The rules know ids, sizes and names; the bytes are in a blob
//! that the engine has made durable before it sends [`Command::Put`], and deletes after the
//! artifact is gone. Every upload has its own blob, at a place that is never used again, so that
//! deleting an expired artifact cannot delete a new upload of the same content.
//!
//! An artifact is kept while an entry, a task, a hand-off, a checkpoint or a message references it.
//! Without a reference it is kept for its `keep_ms`. A command that references an artifact that
//! does not exist is refused, so that no record has a dangling reference.
//!
//! A string that is the id of an artifact, anywhere in a value, is a reference as long as the value
//! exists ([`References`]). The search for such strings is one pass over the text without parsing,
//! because an id needs no escapes in JSON; an id that was written with escapes is not found.
//!
//! Counting is generous, refusing is strict: a command is refused for a missing artifact only if it
//! references one explicitly, in the field `artifact` or in a list `artifacts`. Digests of other
//! things look the same.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. A held artifact does not expire; a free one does, and is gone when its time has passed.
//! 2. No two artifacts have the same blob.
//! 3. The total size of all artifacts is counted.
//!
//! Deliberately absent: changing an artifact, which would be another one; folders and versions, for
//! which shared state exists; and references by pipelines and joins, which pass on those of tasks.

mod decide;
mod holder;
mod mention;
pub(crate) mod operations;
mod references;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{check_bytes, query};
pub use holder::Holder;
pub use mention::{Mention, in_list, is_any_in, mentioned, mentions};
pub use references::References;
pub use refusals::Rejection;
pub use table::{Facts, Record, Table, Undo};
pub use vocabulary::{Artifact, Command, Event, List, Put, Query, Reply, Signal};

//! Artifacts: files that work makes, kept beside the log and found by what is in them.
//!
//! ```text
//!   bytes ──▶ blob, durable ──▶ put ──▶ free ──────── named by a record ───────▶ held
//!                                        ▲  │                                     │
//!                                        │  └── nobody names it for `keep_ms` ─▶ expired
//!                                        └──────── the last record lets go ───────┘
//! ```
//!
//! The id of an artifact is the SHA-256 of its bytes, so the same content is the same artifact, and
//! whoever has an id can check what they get. The rules know ids, sizes and names; the bytes lie in
//! a blob that the engine has made durable before it sends [`Command::Put`], and removes after the
//! artifact is gone. Every upload has a blob of its own, at a place that is never used again: what
//! is removed because an artifact expired can not be what somebody has just put again.
//!
//! An artifact stays while an entry, a task, a hand-off, a checkpoint or a message names it
//! ([`artifacts`](crate::artifact) says how). After that, and before the first does, it stays for
//! its `keep_ms`. Whoever names one that is not there is refused, so that no record points into
//! nothing.
//!
//! A string that is the id of an artifact, anywhere in a value, keeps the artifact while the value
//! is there ([`References`]). The search for such strings is one pass over the text without
//! parsing, because an id needs no escapes in JSON; an id that was written with escapes is not
//! found.
//!
//! Counting is generous, refusing is strict: a command is refused for a missing artifact only if it
//! names one on purpose, by the field `artifact` or in a list called `artifacts`. Digests of other
//! things look the same.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. An artifact that is held has no end; one that is free has, and is gone when it has passed.
//! 2. No two artifacts have the same blob.
//! 3. The bytes of all artifacts are counted.
//!
//! Deliberately absent: changing an artifact, which would be another one; folders and versions,
//! for which shared state is the place; and a hold by pipelines and joins, which pass on what tasks
//! hold.

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

pub use decide::{Decided, ReplyPlan, check_bytes, decide, query};
pub use holder::Holder;
pub use mention::{Mention, in_list, is_any_in, mentioned, mentions};
pub use references::References;
pub use refusals::Rejection;
pub use table::{Facts, Record, Table, Undo};
pub use vocabulary::{Artifact, Command, Event, List, Put, Query, Reply};

//! Baton's durable storage: one ordered sequence of opaque records, and named blobs.
//!
//! ```text
//!              start                                     tail
//!                │                                         │
//!    truncated   ▼   record    record          record      ▼
//!   ─ ─ ─ ─ ─ ─ ─┬─────────┬─────────────┬──────────────┬─ ─ ─ ─▶ positions only grow
//!                                                       ▲
//!                              append(expected = tail) ─┘
//! ```
//!
//! All durable data of Baton is stored through the trait [`Log`]. Its contract is documented on the
//! trait as numbered laws and checked by the `conformance` module, which every backend runs.
//!
//! | module | part |
//! |---|---|
//! | `contract` | [`Log`], [`Blob`], [`BlobWriter`], [`Position`], [`Record`] |
//! | `error` | errors, each with a stable code |
//! | `memory` | [`MemoryLog`]: for tests and for work that may be lost |
//! | [`mod@file`] | [`FileLog`]: segments in a folder, the default |
//! | [`disk`] | the few file operations [`FileLog`] needs, and the system's |
//! | [`faulty`] | the same operations with torn writes, full disks, flipped bits and power cuts |
//! | [`ownership`] | who may write to a log that several servers share, as rules without I/O |
//! | [`shared`] | a log in memory that several servers share, with connections that fail |
//! | [`planted`] | known bugs that tests switch on to prove that they are found |
//!
//! Deliberately absent: the meaning of a record. The log does not know workspaces, events or
//! snapshots; it stores bytes in order, and fails with an error when it cannot.

pub mod disk;
pub mod faulty;
pub mod file;
pub mod ownership;
pub mod planted;
pub mod shared;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "conformance"))]
pub mod shared_conformance;

mod blob_name;
mod contract;
mod error;
mod forward;
mod memory;
mod refusals;

pub use blob_name::{check as check_blob_name, check_prefix as check_blob_prefix};
pub use contract::{Blob, BlobWriter, Log, Position, RECORD_BYTES_MAX, Record};
pub use error::{AppendError, BlobError, OpenError, ReadError, TruncateError};
pub use file::{
    Damage, FileLog, Options, Prepare, Report, ShardsLock, SyncMethod, open_shards, repair,
    shard_folders, verify, visit,
};
pub use memory::{MemoryBlob, MemoryLog};
pub use refusals::Refusal;

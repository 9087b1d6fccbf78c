//! Secrets: values that are stored in separate blobs and nowhere else.
//!
//! ```text
//!   value ──▶ blob, durable ──▶ put ──▶ {"secret": "secret:5d1c…"} in any value, event or text
//!                                │
//!                  reveal ───────┤  returns the value, and records who read it
//!               delete, expiry ──┴─▶ gone, and the blob with it
//! ```
//!
//! A password, a key or personal data is stored once and known by a reference from then on. The
//! reference is random and reveals nothing about the value; storing the same value twice gives two
//! references. Commands, events, answers, history, watches, snapshots, exports and logs contain the
//! reference and never the value; the rules here never see it. Reading the value is a separate
//! call, which is recorded.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. No two secrets have the same reference.
//! 2. A secret with a time to live is gone when that has elapsed.
//!
//! Deliberately absent: who may read a secret, which is a matter of access control; changing a
//! secret, which creates a new one; and counting references, since a secret must be deleted on
//! request, whatever still refers to it.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{check_bytes, query};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Put, Query, Reply, Secret, Signal};

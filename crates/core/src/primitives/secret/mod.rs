//! Secrets: values that stand nowhere but in a blob of their own.
//!
//! ```text
//!   value ──▶ blob, durable ──▶ put ──▶ {"secret": "secret:5d1c…"} in any value, event or text
//!                                │
//!                  reveal ───────┤  the value, to whoever asks, and a fact that they did
//!                  delete, time ─┴─▶ gone, and the blob with it
//! ```
//!
//! A password, a key or the data of a person is handed in once and known by a reference from then
//! on. The reference says nothing about the value: it is drawn by chance, and the same value twice
//! has two of them. Commands, events, answers, history, watches, snapshots, exports and logs have
//! the reference and never the value; the rules here have never seen it. Whoever needs it asks for
//! it, and that they did is written down.
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. No two secrets have the same reference.
//! 2. A secret that was given a time is gone when it has passed.
//!
//! Deliberately absent: who may ask, which is a matter of the door that one comes in by; changing a
//! secret, which is a new one; and counting who names it, since a secret must go when it is told
//! to, whatever still names it.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, check_bytes, decide, query};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Put, Query, Reply, Secret};

//! Namespaces: named sets of keys, each with its own rules.
//!
//! ```text
//!            create                  configure
//!   absent ──────────▶ present ◀───────────────┐
//!      ▲                 │  └──────────────────┘
//!      └─────────────────┘ delete
//! ```
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. `shared` always exists.
//! 2. The rules of a namespace are valid.
//!
//! Deliberately absent: the entries. They are part of shared state and are deleted with their
//! namespace; watches of its keys receive `namespace.deleted`. New rules do not apply to existing
//! entries, only to later writes.

mod decide;
pub(crate) mod operations;
mod refusals;
pub mod rules;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{ensure, query};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Namespace, Query, Reply, Signal};

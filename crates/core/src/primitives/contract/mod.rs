//! Contracts: the keys that a receiver depends on, and its expectations of them.
//!
//! ```text
//!            declare                 declare, by its owner
//!   absent ──────────▶ declared ◀──────────────┐
//!      ▲                 │  └──────────────────┘
//!      └─────────────────┘ delete, by its owner or with `force`
//! ```
//!
//! A contract lists keys or patterns of keys, each with terms: a type, fields inside of the value,
//! a JSON Schema, and whether the entry may be absent. The events of every command are compared
//! with the contracts before they are applied, whichever command they come from:
//!
//! | event | breaks a contract if |
//! |---|---|
//! | an entry is written, by any path | the new value does not satisfy the terms |
//! | an entry is deleted or moved away | it is not optional |
//! | a namespace is deleted | it has such an entry |
//! | a namespace gets other rules | the schema excludes or no longer guarantees what is expected |
//!
//! A contract with `on_break: refuse` refuses the command. With `warn` the command is executed, the
//! reply of a write or deletion carries a warning, and `contract.broken` is recorded. Entries that
//! expire or end with a session cannot be refused: that is recorded too.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. There are at most [`CONTRACTS_MAX`](crate::limits::CONTRACTS_MAX) contracts and
//!    [`CONTRACT_PATTERNS_MAX`](crate::limits::CONTRACT_PATTERNS_MAX) patterns in them: every
//!    pattern is matched on every write.
//! 2. The index contains exactly the terms of the contracts.
//!
//! Deliberately absent: an expiry, since a contract ends when its owner deletes it; and exceptions
//! for the owner, which can delete the contract first. Each command of a transaction is checked by
//! itself, as the schema of a namespace is.
//!
//! Dependencies that are recorded but not declared are found by [`contracts`](crate::contracts).

mod decide;
pub(crate) mod operations;
mod refusals;
mod rules_change;
mod table;
mod terms;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use refusals::Rejection;
pub(crate) use rules_change::SchemaChange;
pub use table::{Table, Undo};
pub(crate) use terms::Candidate;
pub use terms::{Breach, Terms};
pub use vocabulary::{Command, Declaration, Declare, Event, OnBreak, Query, Reply, Signal};

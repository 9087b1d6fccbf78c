//! Namespaces: rooms for keys, each with its own rules.
//!
//! ```text
//!            create                  configure
//!   absent ──────────▶ present ◀───────────────┐
//!      ▲                 │  └──────────────────┘
//!      └─────────────────┘ delete
//! ```
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. `shared` is always there.
//! 2. A namespace's rules make sense: they have no fault.
//!
//! Deliberately absent: the entries. They live in shared state and go when their namespace goes;
//! whoever watches keys of a namespace is told by `namespace.deleted`. Changing rules does not
//! look at what is already there: rules speak about what is written from then on.

mod decide;
pub(crate) mod operations;
mod refusals;
pub mod rules;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, decide, query};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Command, Event, Namespace, Query, Reply};

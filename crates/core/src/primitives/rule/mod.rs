//! Rules: the conditions that must hold before work changes hands.
//!
//! ```text
//!            add                     add, under the same name
//!   absent ──────────▶ present ◀───────────────┐
//!      ▲                 │  └──────────────────┘
//!      └─────────────────┘ remove
//! ```
//!
//! A rule defines when it applies (`on`), what it requires (`check`, exactly one) and how serious a
//! violation is. It is validated and compiled when it is added, kept compiled, and stored as its
//! source. `Table::judge` evaluates every rule that applies; see `judgement`.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. There are at most [`RULES_MAX`](crate::limits::RULES_MAX) rules: all of them may be evaluated
//!    for one hand-off, while no other request is served.
//! 2. Every stored rule can be evaluated. Evaluation may still fail for a proposal, which is a
//!    finding.
//!
//! Deliberately absent: rules for earlier hand-offs, since a rule applies from then on; and an
//! order: every rule that applies is evaluated, whatever the others find.

mod decide;
mod judgement;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::query;
pub(crate) use judgement::Case;
pub use judgement::{
    Check, CheckError, CheckSpec, Finding, Judgement, Objection, Proposal, Receiver,
};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Add, Command, Event, On, Query, Reply, Rule, Severity, Signal};

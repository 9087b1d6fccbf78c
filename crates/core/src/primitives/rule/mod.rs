//! Rules: what must hold before work changes hands.
//!
//! ```text
//!            add                     add, under the same name
//!   absent ──────────▶ present ◀───────────────┐
//!      ▲                 │  └──────────────────┘
//!      └─────────────────┘ remove
//! ```
//!
//! A rule says when it applies (`on`), what it demands (`check`, exactly one) and how serious it
//! is. It is checked and compiled when it is added, kept compiled, and written down as its text.
//! [`Table::judge`] asks every rule that applies; the story of that is told by
//! [`judging`](crate::rule).
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. There are at most [`RULES_MAX`](crate::limits::RULES_MAX) rules: all of them may be asked
//!    about one hand-off, while nobody else is served.
//! 2. A rule that is there can be run. That it may still fail on a proposal is part of judging.
//!
//! Deliberately absent: rules for what has been handed over already. A rule speaks about what
//! happens from then on. And an order: every rule that applies is asked, whatever others say.

mod decide;
mod judgement;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use decide::{Decided, decide, query};
pub(crate) use judgement::Case;
pub use judgement::{
    Check, CheckError, CheckSpec, Finding, Judgement, Objection, Proposal, Receiver,
};
pub use refusals::Rejection;
pub use table::{Table, Undo};
pub use vocabulary::{Add, Command, Event, On, Query, Reply, Rule, Severity};

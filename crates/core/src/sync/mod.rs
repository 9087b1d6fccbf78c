//! Synchronizing copies of a workspace that have changed independently.
//!
//! ```text
//!   research ──fork, import──▶ copy        the copy has seen `research` up to revision 42
//!      │ 43, 44, 45              │ 43, 44
//!      │                         │
//!      └──── changes since ───┬──┘
//!                             ▼
//!            plan(ours, theirs) ──▶ one commit: entries, namespaces, `workspace.synced`
//! ```
//!
//! A *copy* is a workspace that shares its beginning with others. It knows how far it includes each
//! of the others ([`Seen`]), and every write is identified by the copy and the revision that made
//! it ([`Dot`]). So for two different values of a key there are three cases: the other copy has
//! seen our write, and theirs replaces it; we have seen theirs, and ours stays; or neither has seen
//! the other, which is a conflict. Clocks decide nothing but conflicts.
//!
//! | rule of the namespace | a conflict results in |
//! |---|---|
//! | none, `last_write_wins` | the later write; at the same time, that of the larger copy id |
//! | `max` | the larger number |
//! | `counter` | both differences to the common value |
//! | `union`, `append` | the common elements, then those of both, the earlier write first |
//! | `json_merge` | the members that changed on each side; the later write for the same member |
//! | `reject`, or append-only without `append` and `union` | a refusal that lists it |
//!
//! A deletion and a write of the same key, and values that a rule cannot combine, are decided by
//! the last write.
//!
//! Invariants:
//!
//! 1. Pure: the plan is a function of the two documents and the decisions.
//! 2. Symmetric: both copies decide a conflict in the same way, so that they have the same values
//!    after each has taken in the other, in whatever order.
//! 3. Idempotent: changes that were taken are seen, and are not part of the next document.
//! 4. Nothing is lost silently: the losing value of a conflict is in the report.
//!
//! Deliberately absent: tasks, locks, leases, messages and everything else that has an owner, which
//! would have two; and entries that are bound to a session. The documents count them.

mod apply;
mod combine;
mod document;
mod plan;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use apply::decide;
pub use document::{
    ChangesQuery, CopyChanges, Dot, EntryChange, Known, NamespaceChange, OtherChanges, Seen, Sync,
    TakenChange, Written, reach,
};
pub use plan::{EntryStep, NamespaceStep, SyncPlan, plan};
pub use report::{Choice, Conflict, Decision, How, SyncOutcome, SyncReport, Won};

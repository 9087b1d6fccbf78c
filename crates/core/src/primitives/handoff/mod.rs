//! Hand-offs: a durable contract about work that changes hands.
//!
//! ```text
//!            approve            receive                accept             complete, task done
//!   offered ────────▶ approved ─────────▶ delivered ──────────▶ accepted ──────────▶ completed
//!     │ └───────────────┴──────┬──────────────┘ ▲                  └───────────────▶ failed
//!     │                        │                └ not answered: delivered again
//!     └▶ failed                ├▶ rejected    the receiver, or who should approve, says no
//!        by a rule, a brake    ├▶ expired     nobody took it in time
//!        or a conflict         └▶ cancelled   the giver says no, or the task has ended
//! ```
//!
//! Until it is accepted the giver holds the task: its lease does not end while the offer stands,
//! so nothing is lost when the giver, the receiver or the server dies. Acceptance moves lease,
//! token and the giver's own keys in one commit; from then on the giver's token is stale. Whatever
//! ends an offer otherwise gives the lease back to the giver, as long as it was.
//!
//! A coordinated hand-off ([`Command::Execute`]) does all of that without asking: it checks, moves
//! the keys and hands the task to an agent that takes it up by claiming it. What stops it is
//! written down as a failed hand-off with its step and error, and nothing has moved.
//!
//! | part | is |
//! |---|---|
//! | [`Handoff`] | a hand-off, as the table keeps it and callers see it |
//! | [`Offer`] | what a giver says; also what is checked without being written |
//! | [`Receiver`], [`Selected`] | to whom, and which keys go along |
//! | [`Approval`] | who may let it pass, and who has |
//! | [`Receipt`] | what the receiver got, and what was left out |
//! | [`loop_guard`] | whether a task is handed round in a loop |
//! | [`Counters`] | how many there were, how they ended, how long they took |
//! | [`TransferContext`] | the same for other systems |
//!
//! Invariants, checked by [`Table::check`] and by the space:
//!
//! 1. A task is offered by at most one hand-off, which is open, and its lease names it.
//! 2. Only the named receiver accepts, or whoever has the capability; the first wins.
//! 3. An approval is used once, for exactly what was proposed.
//! 4. What has ended never changes again.
//!
//! Deliberately absent: handing one task to several at once. That is a fan-out, for which there are
//! tasks and joins.

mod counters;
mod decide;
mod digest;
mod facts;
pub mod loop_guard;
mod offer;
pub mod offer_checks;
pub(crate) mod operations;
mod receiver;
mod record;
mod refusals;
mod selection;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
pub mod transfer;
mod transfer_context;
mod vocabulary;

pub use counters::{Added, Counters};
pub use decide::{Decided, Moved, ReplyPlan, View, decide, decided, query};
pub use digest::{content, fingerprint};
pub use facts::Facts;
pub use offer::{Accept, Complete, List, Offer, OnLoop};
pub use receiver::Receiver;
pub use record::{
    Approval, ApprovalWanted, Delivery, Handoff, LeftOut, Receipt, Status, Step, StepStatus, Taken,
};
pub use refusals::Rejection;
pub use selection::Selected;
pub use statistics::{Pair, Statistics};
pub use table::{Table, Undo, Waiter, ending};
pub use transfer_context::TransferContext;
pub use vocabulary::{Command, Event, Followed, Query, Reply};

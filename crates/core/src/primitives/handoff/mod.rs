//! Hand-offs: a durable protocol by which work changes hands.
//!
//! ```text
//!            approve            receive                accept             complete, task done
//!   offered ────────▶ approved ─────────▶ delivered ──────────▶ accepted ──────────▶ completed
//!     │ └───────────────┴──────┬──────────────┘ ▲                  └───────────────▶ failed
//!     │                        │                └ not answered: delivered again
//!     └▶ failed                ├▶ rejected    by the receiver or an approver
//!        by a rule, a loop     ├▶ expired     not accepted in time
//!        or a conflict         └▶ cancelled   by the giver, or because the task has ended
//! ```
//!
//! Until it is accepted the giver holds the task, and its lease does not expire while the offer is
//! open, so nothing is lost when the giver, the receiver or the server fails. Acceptance moves the
//! lease, the token and the giver's own keys in one commit; from then on the giver's token is
//! stale. If an offer ends in any other way, the giver gets its lease back with its full length. If
//! the session of the giver has ended by then, its token is void already, and the task is released.
//!
//! A coordinated hand-off ([`Command::Execute`]) does all of that without acceptance: it checks,
//! moves the keys and assigns the task to an agent that has to claim it. If a check fails, a failed
//! hand-off with its step and error is recorded, and nothing is moved. [`Command::ExecuteAll`]
//! does so for everything that an agent holds, with one record for its keys and one for each task;
//! if a check of one of them fails, nothing is recorded either.
//!
//! When a stage of a pipeline is started by another agent than the one that worked on the stage
//! before it, a policy records a hand-off between the two ([`Signal::Pass`]). It is completed from
//! the beginning, contains the output, and moves nothing: the pipeline has done that.
//!
//! A pattern is resolved whenever the keys are read: for the rules and the digest of an offer, and
//! for the move itself. It may select nothing, which moves nothing. With `copy` the receiver gets
//! copies of the giver's own keys, and the giver keeps them.
//!
//! | part | is |
//! |---|---|
//! | [`Handoff`] | a hand-off, as the table stores it and clients see it |
//! | [`Offer`] | what a giver sends; it can also be checked without being made |
//! | [`Receiver`], [`Selected`] | the receiver, and the keys or patterns of keys to hand over |
//! | [`ExecuteAll`] | all tasks and keys of an agent, in one commit |
//! | [`Approval`] | who may approve it, and who has |
//! | [`Receipt`] | what the receiver got, and what was left out |
//! | [`Passing`], [`Passage`] | the output of a stage of a pipeline that goes to the next agent |
//! | [`loop_guard`] | whether a task is handed around in a loop |
//! | [`Counters`] | counts, outcomes and durations |
//! | [`TransferContext`], [`Import`] | the portable form for other systems, and an offer of it |
//!
//! Invariants, checked by `Table::check` and by the space:
//!
//! 1. A task is offered by at most one hand-off, which is open, and its lease names it.
//! 2. Only the named receiver accepts, or an agent with the capability; the first one wins.
//! 3. An approval is used once, for exactly the proposal that was approved.
//! 4. A hand-off that has ended never changes again.
//!
//! Deliberately absent: handing one task to several agents at once. Use tasks and joins for such a
//! fan-out.

mod counters;
mod decide;
mod digest;
mod endings;
mod execute_all;
mod facts;
pub mod loop_guard;
mod offer;
pub mod offer_checks;
pub(crate) mod operations;
mod passing;
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
pub(crate) use decide::{Decided, decide};
pub use decide::{Moved, View, query};
pub use digest::{content, fingerprint};
pub use facts::Facts;
pub use offer::{Accept, Complete, ExecuteAll, Import, List, Offer, OnLoop};
pub use passing::Passing;
pub use receiver::Receiver;
pub use record::{
    Approval, ApprovalWanted, Delivery, Handoff, LeftOut, Passage, Receipt, Status, Step,
    StepStatus, Taken,
};
pub use refusals::Rejection;
pub use selection::{Chosen, Selected};
pub use statistics::{Pair, Statistics};
pub use table::{Table, Undo, Waiter};
pub use transfer_context::TransferContext;
pub use vocabulary::{Command, Event, Followed, Query, Reply, Signal};

//! Pipelines: stages of work in a fixed order.
//!
//! ```text
//!   a stage:      the stages before it are finished   start            complete
//!      pending ─────────────────────────▶ ready ────────▶ running ───────────▶ completed
//!         ▲  └──────────── skip ────────────┴──▶ skipped     │ fail
//!         │                                        ▲         ▼
//!         └──────────────── retry ─────────────────┼────── failed
//!                                                  └─ skip ──┘
//!   a stage with `review`:  running ── complete ──▶ waiting for review ── accepted ──▶ completed
//!                                                   returned: ready, rejected: failed
//!   a manual stage:  running ── the session of its worker ends ──▶ ready
//!   a pipeline:   created ──▶ running ──▶ completed
//!                    │           ├◀─────▶ failed: a stage has failed, and no other is running
//!                    └───────────┴──────▶ aborted
//! ```
//!
//! A stage follows the one before it in the list, or the stages that it names: stages may run in
//! parallel, and one may follow several. Its input is the output of the stage before it, a map of
//! outputs by name if there are several, or the input of the pipeline if there is none. A skipped
//! stage has the output `null`, does not let later stages start early, and passes on its own input.
//!
//! Manually, an agent starts a stage and reports its outcome. If its session ends before that, the
//! stage can be started again. If the stage has `review`, its output
//! is submitted, and an agent that neither started nor submitted it accepts it or returns it.
//!
//! An automatic pipeline creates a task for every stage that becomes ready, in the same commit, by
//! policy; or one for each element of a list. The stage is running when one of its tasks is
//! claimed, and completed when all of them are. If one of them ends in any other way the stage
//! fails, and the others are cancelled. A stage learns about its tasks from their own events
//! ([`Table::observe_task`]).
//!
//! The start of a stage by another agent than the one of the stage before it is recorded as a
//! hand-off between the two, by policy.
//!
//! Each commit includes the consequences that fit beside their cause; the rest is due immediately
//! and follows in later commits. This only happens with very large outputs and very many tasks. If
//! an output cannot be passed on, because it is too large or not a list, the stage that would
//! receive it fails.
//!
//! | part | is |
//! |---|---|
//! | [`Create`], [`Design`] | a pipeline and its stages as requested |
//! | [`Pipeline`], [`Stage`], [`Summary`] | the same as clients see them |
//! | [`Record`], [`StageState`] | the same as the table stores them |
//! | [`graph`] | the order of the stages, and whether it is valid |
//! | [`flow`] | what follows from the state of a pipeline |
//! | [`Following`] | applies that, as much as fits into a commit |
//! | [`outputs`] | the input of a stage, and the tasks for it |
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. A stage is ready, running or completed only if all stages before it are finished.
//! 2. Nothing is running in a pipeline that is completed, failed or aborted.
//! 3. Exactly the tasks of stages that are ready or running are found by their id.
//! 4. Consequences that are still to come are known to be due.
//! 5. Stored outputs stay within their limits.
//!
//! Deliberately absent: a lease on a stage of a manual pipeline, since tasks of automatic pipelines
//! have one; and loops, for which a stage can create another pipeline.

mod decide;
pub mod flow;
pub mod graph;
pub(crate) mod operations;
pub mod outputs;
mod payloads;
mod progress;
mod record;
mod refusals;
mod review;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod vocabulary;

pub use decide::{View, query};
pub use flow::Step;
pub use outputs::Misfit;
pub use payloads::{Create, Design, List, ReviewStage};
pub use progress::{Following, StepBudget};
pub use record::{Member, Outcome, Plan, Record, StageState, TaskState};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo};
pub use view::{Moved, Output, Pipeline, Stage, StageStatus, Status, Summary};
pub use vocabulary::{Command, Created, Event, Query, Reply, Signal};

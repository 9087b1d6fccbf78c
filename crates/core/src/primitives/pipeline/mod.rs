//! Pipelines: stages of work that come after one another.
//!
//! ```text
//!   a stage:      what it comes after is done      start             complete
//!      pending ─────────────────────────▶ ready ────────▶ running ───────────▶ completed
//!         ▲  └──────────── skip ────────────┴──▶ skipped     │ fail
//!         │                                        ▲         ▼
//!         └──────────────── retry ─────────────────┼────── failed
//!                                                  └─ skip ──┘
//!   a pipeline:   created ──▶ running ──▶ completed
//!                    │           ├◀─────▶ failed: a stage has, and nothing is under way beside it
//!                    └───────────┴──────▶ aborted
//! ```
//!
//! A stage comes after the one before it in the list, or after those that it names: stages may run
//! side by side, and one may come after several. It is given the output of the stage before, a map
//! of outputs by name if there are several, or what the pipeline was given if there is none. A
//! stage that is left out has the output `null`, lets nothing overtake, and passes on what it would
//! have been given.
//!
//! By hand, whoever works on a stage starts it and says what came of it. An automatic pipeline
//! makes a task for every stage that becomes ready, in the same commit, by policy; or one for each
//! element of a list. The stage runs when a task of it is claimed and is completed when all of them
//! are. One that ends otherwise makes it fail, and the others are cancelled. What a stage knows of
//! its tasks it learns from their own events ([`Table::observe_task`]).
//!
//! Each commit does as much of what follows as fits well beside what caused it; the rest is due at
//! once and follows by itself. That is so with very large outputs and with very many tasks only.
//! What cannot be passed on, since it is too large or no list, makes the stage fail that it is for.
//!
//! | part | is |
//! |---|---|
//! | [`Create`], [`Design`] | a pipeline and its stages as requested |
//! | [`Pipeline`], [`Stage`], [`Summary`] | the same as callers see them |
//! | [`Record`], [`StageState`] | the same as the table keeps them |
//! | [`graph`] | the order of the stages, and whether it is valid |
//! | [`flow`] | what follows from the state of a pipeline |
//! | [`Following`] | applies that, as much as fits into a commit |
//! | [`outputs`] | the input of a stage, and what its tasks shall do |
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. A stage is ready, running or completed only if all that it comes after is done.
//! 2. Nothing is under way in a pipeline that is completed, failed or aborted.
//! 3. The tasks of stages that are ready or running are found by their id, and no others.
//! 4. What must happen by itself is known to be due.
//! 5. What is kept of outputs stays within its limits.
//!
//! Deliberately absent: a lease on a stage that is worked on by hand, since that is what the tasks
//! of automatic pipelines have; and loops, for which a stage can create another pipeline.

mod decide;
pub mod flow;
pub mod graph;
pub(crate) mod operations;
pub mod outputs;
mod payloads;
mod progress;
mod record;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod vocabulary;

pub use decide::{Decided, ReplyPlan, View, decide, query};
pub use flow::Step;
pub use outputs::Misfit;
pub use payloads::{Create, Design, List};
pub use progress::{Budget, Following};
pub use record::{Member, Outcome, Plan, Record, StageState, TaskState};
pub use refusals::Rejection;
pub use table::{Facts, Table, Undo};
pub use view::{Moved, Output, Pipeline, Stage, StageStatus, Status, Summary};
pub use vocabulary::{Command, Created, Event, Query, Reply};

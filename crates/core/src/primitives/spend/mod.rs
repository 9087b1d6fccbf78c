//! Spending: the tokens, money and calls that tasks and agents cost, and their budgets.
//!
//! ```text
//!   spend.record ──▶ task ──▶ task above ──▶ … ──┐
//!                ├─▶ agent                       ├──▶ is a limit reached?
//!                └─▶ workspace ──────────────────┘       │ once per crossing
//!                                                        ▼
//!   spend.limit: a larger budget ◀────────────────── spend.exhausted
//! ```
//!
//! Spending is always recorded, since the call has already been made: a record may exceed a budget.
//! A record with `strict` is for a call that has not been made yet, and is refused unless it fits
//! into every budget. It is charged immediately, so that two agents cannot both use the remaining
//! amount.
//!
//! A task inherits the budgets of the tasks above it, because its spending is charged to them. The
//! agent that holds a task is charged too, so a hand-off changes which agent pays and not which
//! task. While a budget is used up, nothing new starts under it: the task and its subtasks cannot
//! be claimed, it gets no more subtasks, and an agent or workspace claims nothing. Work that has
//! started can continue: it can be renewed, handed off, and finished.
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. The total of the workspace is the sum of all records, and no other total is larger.
//! 2. Exactly the tasks whose budget is used up are listed as such.
//! 3. Records are numbered without gaps.
//!
//! Deliberately absent: prices. Agents report what a call cost. Only the latest records are kept
//! here; totals include those that are gone, and the history has their events as long as it is
//! kept. Totals of a task are removed with the task, and those of agents without a budget when too
//! many other agents have spent something since.

mod decide;
pub(crate) mod operations;
mod refusals;
mod table;
#[cfg(test)]
mod tests;
mod vocabulary;

pub use crate::spending::{Amounts, Budget, Payer, Unit, UsedUp};
pub use decide::View;
pub use refusals::Rejection;
pub use table::{Facts, Ledger, Table, Undo};
pub use vocabulary::{
    Account, Command, Event, List, Query, Record, Recorded, Reply, Signal, Spent, Total,
};

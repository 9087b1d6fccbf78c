//! The reasons to refuse commands and queries of spending.

use serde::Serialize;
use thiserror::Error;

use crate::names::TaskId;
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};
use crate::spending::{Payer, Unit};

crate::refusals! {
    /// Why a command about spending was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The amount does not fit into a budget.
        #[error("{asked} {unit} do not fit into the budget of {of}: {used} of {limit} are used")]
        Exhausted {
            /// The owner of the budget.
            of: Payer,
            /// The unit.
            unit: Unit,
            /// The limit.
            limit: u64,
            /// The used amount.
            used: u64,
            /// The requested amount.
            asked: u64,
        } => {
            code: "spend.exhausted",
            kind: Exhausted,
            hint: "do not make the call; finish with what there is, or ask for a larger budget",
            cause: "The request is `strict`, and the budget of the task, of a task above it, of \
                the agent or of the workspace has less left. The facts name that budget, its \
                limit, the amount used and the amount requested.",
            remedy: "Do not make the call whose cost you tried to record. Complete, release or \
                hand off the task; or have the budget raised with `spend.limit`. What was already \
                spent is recorded without `strict`.",
        }
        /// The task does not exist.
        #[error("there is no task `{task}`")]
        UnknownTask {
            /// The task.
            task: TaskId,
        } => {
            code: "spend.unknown_task",
            kind: NotFound,
            hint: "list the tasks with task.list, or record it without a task",
            cause: "It was never created, or it finished so long ago that it was removed.",
            remedy: "List the tasks. Without a task, the amount is charged to the agent and the \
                workspace.",
        }
        /// A field of the request is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "spend.bad_field",
            kind: Invalid,
            hint: "correct the field that the detail names, then send the command again",
            cause: "All amounts of a record are 0, or a query names both a task and an agent.",
            remedy: "Correct the field that the response names.",
        }
        /// A number is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "spend.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "An amount or a limit is too large, the total of the workspace would exceed \
                2^53 - 1, or `limit` is not a valid page size.",
            remedy: "Use a number within the range in the response.",
        }
        /// A text is too long.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "spend.too_large",
            kind: TooLarge,
            hint: "shorten it",
            cause: "`model` exceeds 256 bytes, or `note` 4 KiB.",
        }
        /// There are too many agents with a budget.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "spend.too_many",
            kind: Exhausted,
            hint: "remove the budgets of agents that are gone",
            cause: "10,000 agents of the workspace have a budget.",
        }
    }
}

//! The reasons to refuse commands and queries of joins.

use serde::Serialize;
use thiserror::Error;

use crate::names::{AgentId, JoinId, TaskId};
use crate::refusal::{OutOfRange, TooMany};

crate::refusals! {
    /// Why a join command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No join has this id.
        #[error("there is no join `{join}`")]
        NotFound {
            /// The join.
            join: JoinId,
        } => {
            code: "join.not_found",
            kind: NotFound,
            hint: "create it first, or look at the history of its tasks",
            cause: "It was never created, or it settled so long ago that it was evicted.",
            remedy: "Create it. The history of its tasks shows what happened to them.",
        }
        /// A join with this id already exists.
        #[error("join `{join}` already exists")]
        Exists {
            /// The join.
            join: JoinId,
        } => {
            code: "join.exists",
            kind: Conflict,
            hint: "read it, or choose another id",
            cause: "It was created before, perhaps by an earlier attempt of the same call.",
            remedy: "Read it, or choose another id. Repeating a call with the same idempotency \
                key returns the same response.",
        }
        /// The join names a task that does not exist.
        #[error("there is no task `{task}`")]
        UnknownTask {
            /// The task.
            task: TaskId,
        } => {
            code: "join.unknown_task",
            kind: NotFound,
            hint: "create the task first, or join a group",
            cause: "The task was never created, or it finished so long ago that it was removed.",
            remedy: "Create the task first. To join tasks that do not exist yet, name a group.",
        }
        /// The members of the join are invalid.
        #[error("the members of the join are invalid: {reason}")]
        BadMembers {
            /// The reason.
            reason: String,
        } => {
            code: "join.bad_members",
            kind: Invalid,
            hint: "name a group or some tasks, each once",
            cause: "It names neither a group nor tasks, or both; no task at all, one twice, or \
                more than 1,000.",
            remedy: "Name a group or some tasks, each once. Join more than 1,000 tasks in parts.",
        }
        /// A number in a join command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "join.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`need` is 0 or more than the number of tasks, `deadline_ms` is 0 or more than \
                ten years, or `wait_ms` is more than one hour.",
            remedy: "Use a number within the range in the detail. To wait longer, repeat the call.",
        }
        /// There are too many joins, or calls waiting for one.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "join.too_many",
            kind: Exhausted,
            hint: "wait until some have settled, or use another workspace",
            cause: "A task or a group is in 16 unsettled joins, 80 calls wait for one join or \
                belong to one agent, or the workspace has 10,000 unsettled joins with 2,000,000 \
                tasks, or 10,000 waiting calls.",
            remedy: "Share a join instead of creating another over the same tasks, or wait until \
                some have settled.",
        }
        /// The caller's session ended while it waited for the join.
        #[error("the session of agent `{agent}` ended while it waited for join `{join}`")]
        SessionEnded {
            /// The join.
            join: JoinId,
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "join.session_ended",
            kind: Stale,
            hint: "register again, then wait again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
            remedy: "Register again, then wait again. The join continues without waiting calls.",
        }
    }
}

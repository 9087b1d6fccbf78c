//! The reasons to refuse commands and queries of tasks.

use serde::Serialize;
use std::collections::BTreeSet;
use thiserror::Error;

use super::{Lease, Reviewers, Status, Task};
use crate::names::{AgentId, PipelineName, StageName, TaskId};
use crate::numbers::Token;
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};
use crate::spending::UsedUp;

crate::refusals! {
    /// Why a task command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The task does not exist.
        #[error("there is no task `{task}`")]
        NotFound {
            /// The task.
            task: TaskId,
        } => {
            code: "task.not_found",
            kind: NotFound,
            hint: "list the tasks with task.list; finished ones are eventually removed",
            cause: "It was never created, or it finished long ago: the latest 100,000 finished \
                tasks are kept, fewer if they take more than 256 MiB.",
            remedy: "List the tasks. The history of a removed task is still available for a while.",
        }
        /// A task with this id already exists.
        #[error("task `{}` already exists and {}", .task.id, .task.status.clause())]
        Exists {
            /// The existing task.
            task: Box<Task>,
        } => {
            code: "task.exists",
            kind: Conflict,
            hint: "use the task in this response, or choose another id",
            cause: "`id` names an existing task, finished or not. The facts contain it.",
            remedy: "Use that task, or choose another id. If you omit `id`, one is generated.",
        }
        /// The task has finished and can no longer change.
        #[error("task `{task}` {} and can no longer change", .status.clause())]
        Finished {
            /// The task.
            task: TaskId,
            /// How it finished.
            #[serde(rename = "task_status")]
            status: Status,
        } => {
            code: "task.finished",
            kind: Conflict,
            hint: "create another task if there is more to do",
            cause: "It was completed, failed or cancelled. Repeating the call that finished it, \
                without an idempotency key, also returns this error.",
            remedy: "Read the task. Create another if there is more to do.",
        }
        /// The token belongs to a lease that has ended.
        #[error("token {given} of task `{task}` is stale: {}", now_held(*status, lease.as_ref()))]
        StaleToken {
            /// The task.
            task: TaskId,
            /// The given value.
            given: Token,
            /// The status of the task.
            #[serde(rename = "task_status")]
            status: Status,
            /// The current lease, if any.
            lease: Option<Lease>,
        } => {
            code: "task.stale_token",
            kind: Stale,
            hint: "stop working on the task at once and discard the work; claim it again to \
                continue",
            cause: "The lease expired, its holder's session ended, or the task was released, \
                finished or cancelled. The facts name the current holder and its expiry, if \
                any.",
            remedy: "Stop working on the task at once and discard what was done. Claim it again \
                to continue: the new token is larger, and writes that carry the old one are \
                rejected.",
        }
        /// The named task cannot be claimed now.
        #[error("task `{task}` cannot be claimed: {reason}")]
        NotClaimable {
            /// The task.
            task: TaskId,
            /// Its status.
            #[serde(rename = "task_status")]
            status: Status,
            /// The current lease, if any.
            lease: Option<Lease>,
            /// The reason.
            reason: String,
        } => {
            code: "task.not_claimable",
            kind: Conflict,
            hint: "set `wait_ms` to wait for it, or claim another task",
            cause: "`task` names a task that another agent holds, that waits for another task, a \
                time or a review, that is assigned to another agent, has another type, or needs \
                capabilities that the caller lacks.",
            remedy: "Set `wait_ms` to wait for it, unless waiting cannot change the reason; or \
                claim another task. `task.why` says more.",
        }
        /// A budget is used up, so no work under it can start.
        #[error(transparent)]
        BudgetExhausted(#[from] UsedUp) => {
            code: "task.budget_exhausted",
            kind: Exhausted,
            hint: "finish what has started, or have the budget raised with spend.limit",
            cause: "The budget of the task, of a task above it, of the agent or of the workspace \
                is used up. The facts name that budget, its limit and what is used. Tasks under \
                it cannot be claimed and get no more subtasks; what has started can be finished.",
            remedy: "Finish what has started. To start more, have the budget raised with \
                `spend.limit`, or let an agent whose budget is not used up claim the task.",
        }
        /// An agent cannot accept its own result.
        #[error("`{agent}` did the work on task `{task}`, so another agent must accept it")]
        OwnWork {
            /// The task.
            task: TaskId,
            /// The agent that submitted the result.
            agent: AgentId,
        } => {
            code: "task.own_work",
            kind: Denied,
            hint: "leave the review to another agent",
            cause: "The task has `review`, and the agent that submitted its result tried to accept \
                it.",
            remedy: "Let another agent, or a person, call `task.review`. The worker may return the \
                task with the verdict `retry`.",
        }
        /// Other agents were chosen to review the task.
        #[error("`{agent}` cannot accept task `{task}`: {} must", .reviewers.phrase())]
        NotReviewer {
            /// The task.
            task: TaskId,
            /// The agent that tried to accept it.
            agent: AgentId,
            /// The agents that may accept it.
            reviewers: Reviewers,
        } => {
            code: "task.not_reviewer",
            kind: Denied,
            hint: "leave the review to one of the reviewers",
            cause: "The task has `reviewers`, and the agent is not named there and has no session \
                with their capability.",
            remedy: "Let one of the reviewers call `task.review`. Any agent may return the task \
                with the verdict `retry`.",
        }
        /// No agent could accept the result of this agent.
        #[error("only `{agent}` may accept task `{task}`, so it cannot submit a result itself")]
        NoReviewer {
            /// The task.
            task: TaskId,
            /// The agent that did the work.
            agent: AgentId,
            /// The agents that may accept it.
            reviewers: Reviewers,
        } => {
            code: "task.no_reviewer",
            kind: Conflict,
            hint: "release the task or hand it off, so that another agent completes it",
            cause: "The agent that holds the task is its only reviewer.",
            remedy: "Release the task, or hand it off to another agent; then accept its result.",
        }
        /// Another attempt waits for review.
        #[error("attempt {given} of task `{task}` was reviewed, but attempt {attempts} waits")]
        OtherAttempt {
            /// The task.
            task: TaskId,
            /// The attempt that was reviewed.
            given: u64,
            /// The attempt that waits for review.
            attempts: u64,
        } => {
            code: "task.other_attempt",
            kind: Conflict,
            hint: "get the task, and review the result that waits now",
            cause: "The task was returned and submitted again after the reviewer read it.",
            remedy: "Read the task again, and decide on its current result.",
        }
        /// The task is not waiting for a review.
        #[error("task `{task}` {}, not waiting for review", .status.clause())]
        NotInReview {
            /// The task.
            task: TaskId,
            /// Its status.
            #[serde(rename = "task_status")]
            status: Status,
        } => {
            code: "task.not_in_review",
            kind: Conflict,
            hint: "read the task: it may already have been decided",
            cause: "The task is pending or in progress.",
            remedy: "Read the task: it may already have been approved or rejected.",
        }
        /// The task depends on a task that does not exist.
        #[error("the task cannot depend on `{dependency}`: there is no such task")]
        UnknownDependency {
            /// The dependency.
            dependency: TaskId,
        } => {
            code: "task.unknown_dependency",
            kind: NotFound,
            hint: "create it first, in the same transaction if needed",
            cause: "`depends_on` names a task that was never created, or that finished so long \
                ago that it was removed.",
        }
        /// The task depends on a task that will never be completed.
        #[error("the task cannot depend on `{dependency}`, which {}", .status.clause())]
        DeadDependency {
            /// The dependency.
            dependency: TaskId,
            /// How that ended.
            #[serde(rename = "task_status")]
            status: Status,
        } => {
            code: "task.dead_dependency",
            kind: Conflict,
            hint: "create the dependency again",
            cause: "`depends_on` names a task that failed or was cancelled.",
            remedy: "Create the dependency again, and name the new task.",
        }
        /// The parent task does not exist.
        #[error("the task cannot be a subtask of `{parent}`: there is no such task")]
        UnknownParent {
            /// The parent.
            parent: TaskId,
        } => {
            code: "task.unknown_parent",
            kind: NotFound,
            hint: "create the parent first",
            cause: "`parent` names an unknown task.",
        }
        /// The parent task has already finished.
        #[error("the task cannot be a subtask of `{parent}`, which {}", .status.clause())]
        ParentFinished {
            /// The parent.
            parent: TaskId,
            /// How that ended.
            #[serde(rename = "task_status")]
            status: Status,
        } => {
            code: "task.parent_finished",
            kind: Conflict,
            hint: "name an unfinished parent, or none",
            cause: "`parent` names a task that was completed, failed or cancelled.",
        }
        /// The tasks are nested too deeply.
        #[error("the task cannot be a subtask of `{parent}`, which is already at level {max}")]
        TooDeep {
            /// The parent.
            parent: TaskId,
            /// The maximum number of levels.
            max: usize,
        } => {
            code: "task.too_deep",
            kind: Exhausted,
            hint: "do the work in the parent task, or name a parent further up",
            cause: "Tasks that are split into subtasks, and those again, have reached 16 levels.",
            remedy: "Do the work in the parent task, or name a parent further up. If agents split \
                their work without end, cancel the topmost task.",
        }
        /// No active agent is capable of the task.
        #[error("no active agent is capable: {reason}")]
        NoCapableAgent {
            /// The required capabilities.
            capabilities: BTreeSet<String>,
            /// The assigned agent, if any.
            assigned_agent: Option<AgentId>,
            /// The reason.
            reason: String,
        } => {
            code: "task.no_capable_agent",
            kind: NotFound,
            hint: "start a capable agent, or create the task without `if_capable`",
            cause: "`if_capable` was set, and no agent with a session has all `capabilities`, or \
                the `assigned_agent` has no session or lacks one of them. Without `if_capable` \
                the task is created, and the response carries this code as a warning.",
        }
        /// A number in a task command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "task.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`lease_ms` is not between 100 milliseconds and one day, `wait_ms` is more \
                than one hour, `delay_ms` or `deadline_ms` is more than ten years, the deadline \
                is not after the delay, there are more than 1,000 retries, or `limit` is not a \
                valid page size.",
            remedy: "Use a number within the range in the detail.",
        }
        /// A field of a task command is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "task.bad_field",
            kind: Invalid,
            hint: "correct the field that the detail names, then send the command again",
            cause: "`priority` is not between -100 and 100, a fraction is not between 0 and 1, \
                `metadata` is not an object, `artifacts` is not a list, `types` is empty, a \
                capability is too long, or `fields` names something that a worker cannot change.",
            remedy: "Correct the field named in the detail.",
        }
        /// A field of a task command is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "task.too_large",
            kind: TooLarge,
            hint: "store it as an artifact, and refer to the id of that",
            cause: "Definitions and results are limited to 1 MiB; errors, artifacts and metadata \
                to 64 KiB; descriptions to 16 KiB; notes and reasons to 4 KiB.",
        }
        /// There are too many tasks, leases or waiting claims.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "task.too_many",
            kind: Exhausted,
            hint: "wait until some are finished, or use another workspace",
            cause: "The workspace has 2,000,000 unfinished tasks or 10,000 waiting claims, the \
                agent holds or waits for 1,000 tasks, or 10,000 tasks depend on one.",
        }
        /// Cancelling the task would cancel more tasks than fit in one commit.
        #[error("task `{task}` has more than {max} unfinished tasks below it")]
        SubtreeTooLarge {
            /// The task.
            task: TaskId,
            /// The limit.
            max: usize,
        } => {
            code: "task.subtree_too_large",
            kind: TooLarge,
            hint: "cancel its subtasks one by one first",
            cause: "The cancelled task has more than 5,000 unfinished descendants.",
            remedy: "Cancel its subtasks one by one, then the task itself.",
        }
        /// Only a failed task can be retried.
        #[error("task `{task}` {}, and only a failed task can be retried", .status.clause())]
        NotFailed {
            /// The task.
            task: TaskId,
            /// Its status.
            #[serde(rename = "task_status")]
            status: Status,
            /// The task because of which it was cancelled.
            #[serde(skip_serializing_if = "Option::is_none")]
            because: Option<TaskId>,
        } => {
            code: "task.not_failed",
            kind: Conflict,
            hint: "read the task; retry the one named in `because`, if there is one",
            cause: "The task is unfinished, completed or cancelled. A task that was cancelled \
                because of another one is restored when that one is retried.",
            remedy: "Retry the task named in `because`. To run a cancelled task after all, create \
                a new one.",
        }
        /// A dependency or the parent of the task has also failed or was cancelled.
        #[error("task `{task}` needs task `{needs}`, which {}", .status.clause())]
        NeedsRetry {
            /// The task.
            task: TaskId,
            /// The dependency or parent that keeps it from running.
            needs: TaskId,
            /// The status of that one.
            #[serde(rename = "task_status")]
            status: Status,
        } => {
            code: "task.needs_retry",
            kind: Conflict,
            hint: "retry the task named in `needs` first",
            cause: "A dependency of the task failed or was cancelled, or its parent was cancelled, \
                so that it could not run.",
            remedy: "Retry the task named in `needs`, then this one.",
        }
        /// A task of a pipeline stage can only be retried with its stage.
        #[error("task `{task}` belongs to stage `{stage}` of pipeline `{pipeline}`")]
        OfAStage {
            /// The task.
            task: TaskId,
            /// Its pipeline.
            pipeline: PipelineName,
            /// Its stage.
            stage: StageName,
        } => {
            code: "task.of_a_stage",
            kind: Conflict,
            hint: "retry the stage with `pipeline.retry_stage`",
            cause: "The pipeline already reacted when the task failed.",
            remedy: "Retry the stage: that creates new tasks for it.",
        }
        /// Retrying the task would restore more tasks than fit in one commit.
        #[error("more than {max} tasks were cancelled because of task `{task}`")]
        TooManyDependents {
            /// The task.
            task: TaskId,
            /// The limit.
            max: usize,
        } => {
            code: "task.too_many_dependents",
            kind: TooLarge,
            hint: "create the tasks again",
            cause: "More than 5,000 tasks were cancelled because the task failed.",
            remedy: "Create a new task, and new tasks that depend on it.",
        }
        /// The caller's session ended while it waited for a task.
        #[error("the session of agent `{agent}` ended while it waited for a task")]
        SessionEnded {
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "task.session_ended",
            kind: Stale,
            hint: "register again, then claim again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while its claim was waiting.",
        }
    }
}

fn now_held(status: Status, lease: Option<&Lease>) -> String {
    match lease {
        Some(Lease { holder, abandoned: true, .. }) => {
            format!("the session of `{holder}`, which offers the task, has ended")
        }
        Some(Lease { holder, expires_at, .. }) => {
            format!("`{holder}` holds it under another until {expires_at}")
        }
        None => format!("it {} and no agent holds it", status.clause()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn a_stale_token_of_an_agent_that_is_gone_is_not_said_to_be_replaced() {
        let lease = |abandoned| Lease {
            holder: AgentId::parse("gil").unwrap(),
            token: Token(10),
            claimed_at: Timestamp(0),
            expires_at: Timestamp(1_000),
            lease_ms: 1_000,
            handoff: None,
            abandoned,
        };
        let said = |abandoned| now_held(Status::InProgress, Some(&lease(abandoned)));
        assert_eq!(said(true), "the session of `gil`, which offers the task, has ended");
        assert_eq!(said(false), "`gil` holds it under another until 1970-01-01T00:00:01.000Z");
    }
}

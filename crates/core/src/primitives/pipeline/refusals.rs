//! The reasons to refuse commands and queries of pipelines.

use serde::Serialize;
use thiserror::Error;

use super::{Pipeline, StageStatus, Status};
use crate::names::{AgentId, PipelineName, StageName, TaskId};
use crate::refusal::{OutOfRange, TooLarge, TooMany};
use crate::task::Reviewers;

crate::refusals! {
    /// Why a pipeline command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No pipeline has this name.
        #[error("there is no pipeline `{pipeline}`")]
        NotFound {
            /// The pipeline.
            pipeline: PipelineName,
        } => {
            code: "pipeline.not_found",
            kind: NotFound,
            hint: "create it first; finished pipelines are eventually removed",
            cause: "It was never created, was deleted, or finished so long ago that it was \
                evicted.",
            remedy: "Create it. The workspace history shows what happened to its stages.",
        }
        /// A pipeline with this name already exists; the response contains it as `pipeline`.
        #[error("pipeline `{}` already exists and {}", .pipeline.name, .pipeline.status.clause())]
        Exists {
            /// The existing pipeline.
            pipeline: Box<Pipeline>,
        } => {
            code: "pipeline.exists",
            kind: Conflict,
            hint: "use the pipeline in this response, or choose another name",
            cause: "It was created before, perhaps by an earlier attempt of the same call.",
            remedy: "Use it, choose another name, or delete it if it has finished.",
        }
        /// The stages do not form a valid pipeline; `stage` names the faulty one, if there is one.
        #[error("the stages do not form a pipeline{}: {reason}", of_stage(stage.as_ref()))]
        BadStages {
            /// The stage that is wrong, if it is one.
            stage: Option<StageName>,
            /// The reason.
            reason: String,
        } => {
            code: "pipeline.bad_stages",
            kind: Invalid,
            hint: "correct the stages: names must be unique, without cycles",
            cause: "There are no stages or more than 100, two have the same name, one follows a \
                stage that does not exist, follows the same stage twice, or follows itself \
                directly or indirectly; `each` is used in a pipeline that is not automatic; a \
                stage field is invalid for a task; or `metadata` is not an object. Also: the \
                outputs that a started stage would receive nest too deeply to be combined.",
            remedy: "Correct the stage named in the detail. Give a stage its own `input` if the \
                outputs before it cannot be combined.",
        }
        /// The pipeline has no such stage; `stages` lists the existing ones.
        #[error("pipeline `{pipeline}` has no stage `{stage}`; its stages are {}", listed(stages))]
        UnknownStage {
            /// The pipeline.
            pipeline: PipelineName,
            /// The requested stage.
            stage: StageName,
            /// The stages it has.
            stages: Vec<StageName>,
        } => {
            code: "pipeline.unknown_stage",
            kind: NotFound,
            hint: "use one of the listed stages",
            cause: "The name is misspelled, or belongs to another pipeline.",
            remedy: "Use one of the listed stages. The stages of a pipeline do not change after \
                it is created.",
        }
        /// The stage's current status does not allow the operation.
        #[error(
            "stage `{stage}` of pipeline `{pipeline}` {}, so it cannot be {wish}: {}",
            .stage_status.clause(),
            allowed(*pipeline_status, [can_start, can_complete, can_review, can_retry])
        )]
        WrongOrder {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The refused action, as a participle.
            wish: &'static str,
            /// The status of the stage.
            stage_status: StageStatus,
            /// The status of the pipeline.
            pipeline_status: Status,
            /// The stages that can be started now.
            can_start: Vec<StageName>,
            /// The stages that can be completed now, or fail.
            can_complete: Vec<StageName>,
            /// The stages whose output waits for review.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            can_review: Vec<StageName>,
            /// The stages that can be retried now.
            can_retry: Vec<StageName>,
        } => {
            code: "pipeline.wrong_order",
            kind: Conflict,
            hint: "do what is possible now, or read the pipeline again",
            cause: "The stage was started before its predecessors finished, or twice; completed \
                or failed without being started, or twice; reviewed without a submitted output; \
                retried without having failed; or the pipeline is completed or aborted. The \
                response contains the statuses (`stage_status`, `pipeline_status`) and what is \
                possible now (`can_start`, `can_complete`, `can_review`, `can_retry`).",
            remedy: "Use one of the operations that are possible now. If another agent has already \
                done it, nothing is left to do.",
        }
        /// The stage is assigned to another agent, named in `agent`.
        #[error(
            "stage `{stage}` of pipeline `{pipeline}` is for agent `{agent}`, not for `{given}`"
        )]
        WrongAgent {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The owner.
            agent: AgentId,
            /// The caller.
            given: AgentId,
        } => {
            code: "pipeline.wrong_agent",
            kind: Denied,
            hint: "leave it to that agent",
            cause: "The stage names an agent, and a different one tried to start or complete it.",
            remedy: "Leave it to that agent. If it is gone, any agent may fail or skip the stage.",
        }
        /// The stage is driven by its tasks, listed in `tasks`, and cannot be changed directly.
        #[error("pipeline `{pipeline}` is automatic: stage `{stage}` follows its tasks")]
        Automatic {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// Its tasks.
            tasks: Vec<TaskId>,
        } => {
            code: "pipeline.automatic",
            kind: Conflict,
            hint: "claim and complete the stage's tasks instead",
            cause: "The pipeline is automatic: its stages follow the tasks that are created for \
                them.",
            remedy: "Claim the stage's tasks and complete or fail them.",
        }
        /// An agent cannot accept its own output.
        #[error("`{agent}` worked on stage `{stage}` of pipeline `{pipeline}`, so another agent \
            must accept it")]
        OwnWork {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The agent that started it, or submitted its output.
            agent: AgentId,
        } => {
            code: "pipeline.own_work",
            kind: Denied,
            hint: "leave the review to another agent",
            cause: "The stage has `review`, and the agent that started it or submitted its output \
                tried to accept it.",
            remedy: "Let another agent, or a person, call `pipeline.review_stage`. The worker may \
                return the stage with the verdict `retry`.",
        }
        /// Other agents were chosen to review the stage.
        #[error("`{agent}` cannot accept stage `{stage}` of pipeline `{pipeline}`: {} must",
            .reviewers.phrase())]
        NotReviewer {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The agent that tried to accept it.
            agent: AgentId,
            /// The agents that may accept it.
            reviewers: Reviewers,
        } => {
            code: "pipeline.not_reviewer",
            kind: Denied,
            hint: "leave the review to one of the reviewers",
            cause: "The stage has `reviewers`, and the agent is not named there and has no \
                session with their capability.",
            remedy: "Let one of the reviewers call `pipeline.review_stage`. Any agent may return \
                the stage with the verdict `retry`.",
        }
        /// No agent could accept the output of this agent.
        #[error("only its workers may accept stage `{stage}` of pipeline `{pipeline}`, so \
            `{agent}` cannot submit its output")]
        NoReviewer {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The agent that tried to submit the output.
            agent: AgentId,
            /// The agents that may accept it.
            reviewers: Reviewers,
        } => {
            code: "pipeline.no_reviewer",
            kind: Conflict,
            hint: "fail and retry the stage, so that another agent works on it",
            cause: "The agents that started and submitted the stage are its only reviewers.",
            remedy: "Fail the stage and retry it; then let another agent start it, and accept its \
                output.",
        }
        /// Another attempt waits for review.
        #[error("attempt {given} of stage `{stage}` of pipeline `{pipeline}` was reviewed, but \
            attempt {attempts} waits")]
        OtherAttempt {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The attempt that was reviewed.
            given: u64,
            /// The attempt that waits for review.
            attempts: u64,
        } => {
            code: "pipeline.other_attempt",
            kind: Conflict,
            hint: "get the pipeline, and review the output that waits now",
            cause: "The stage was returned and submitted again after the reviewer read it.",
            remedy: "Read the pipeline again, and decide on the current output.",
        }
        /// The stage has no retries left.
        #[error(
            "stage `{stage}` of pipeline `{pipeline}` was retried {retries} times (limit {max})"
        )]
        RetriesExhausted {
            /// The pipeline.
            pipeline: PipelineName,
            /// The stage.
            stage: StageName,
            /// The number of retries.
            retries: u64,
            /// The maximum number of retries.
            max: u64,
        } => {
            code: "pipeline.retries_exhausted",
            kind: Conflict,
            hint: "skip the stage, or abort the pipeline",
            cause: "The stage has a `max_retries`, and has failed after the last retry.",
        }
        /// The pipeline is completed or aborted, and can no longer change.
        #[error("pipeline `{pipeline}` {} and can no longer change", .pipeline_status.clause())]
        Finished {
            /// The pipeline.
            pipeline: PipelineName,
            /// How it ended.
            pipeline_status: Status,
        } => {
            code: "pipeline.finished",
            kind: Conflict,
            hint: "create another pipeline if there is more to do",
            cause: "The pipeline to abort has already finished.",
            remedy: "Nothing needs to be done. Create another pipeline if there is more to do.",
        }
        /// The pipeline cannot be deleted before it finishes.
        #[error("pipeline `{pipeline}` {}, so it cannot be deleted", .pipeline_status.clause())]
        Unfinished {
            /// The pipeline.
            pipeline: PipelineName,
            /// Its status.
            pipeline_status: Status,
        } => {
            code: "pipeline.unfinished",
            kind: Conflict,
            hint: "abort it first, or wait until it finishes",
            cause: "Some stages are in progress or ready to start.",
            remedy: "Abort it first, or wait until it is completed or has failed.",
        }
        /// A number in a pipeline query is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "pipeline.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`limit` is 0 or more than 10,000.",
            remedy: "Use a number within the range in the detail.",
        }
        /// Part of the pipeline is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "pipeline.too_large",
            kind: TooLarge,
            hint: "store it as an artifact, and refer to the id of that",
            cause: "An input, an output or all stages together exceed 1 MiB, metadata or an error \
                exceeds 64 KiB, or a reason exceeds 4 KiB; or the pipeline, limited to 4 MiB with \
                all its outputs, is full; or the outputs that a stage receives do not fit in one \
                input.",
            remedy: "Store it elsewhere, and refer to it. Give a stage its own `input` if its \
                inputs do not fit.",
        }
        /// There are too many pipelines.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "pipeline.too_many",
            kind: Exhausted,
            hint: "wait until some are finished, or use another workspace",
            cause: "The workspace has 10,000 unfinished pipelines, or they use 64 MiB.",
            remedy: "Complete or abort some, or use another workspace.",
        }
    }
}

fn of_stage(stage: Option<&StageName>) -> String {
    stage.map_or(String::new(), |stage| format!(" (stage `{stage}`)"))
}

fn listed(stages: &[StageName]) -> String {
    const SHOWN_MAX: usize = 10;
    let names = stages.iter().take(SHOWN_MAX).map(|stage| format!("`{stage}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    let more = stages.len().saturating_sub(SHOWN_MAX);
    if more > 0 { format!("{names} and {more} more") } else { names }
}

/// The possible actions, as part of a sentence.
fn allowed(status: Status, can: [&Vec<StageName>; 4]) -> String {
    let words = ["be started", "be completed", "be reviewed", "be retried"];
    let parts = can.into_iter().zip(words).filter(|(stages, _)| !stages.is_empty());
    let parts: Vec<String> =
        parts.map(|(stages, what)| format!("{} can {what}", listed(stages))).collect();
    if parts.is_empty() {
        return format!("the pipeline {} and has no stage to act on now", status.clause());
    }
    parts.join(", ")
}

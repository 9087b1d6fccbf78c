//! The reasons to refuse commands and queries of checkpoints.

use serde::Serialize;
use thiserror::Error;

use crate::names::{CheckpointId, TaskId};
use crate::numbers::Token;
use crate::refusal::{OutOfRange, TooLarge, TooMany};
use crate::task::Lease;

crate::refusals! {
    /// Why a checkpoint command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No checkpoint has this id.
        #[error("there is no checkpoint `{checkpoint}`")]
        NotFound {
            /// The checkpoint.
            checkpoint: CheckpointId,
        } => {
            code: "checkpoint.not_found",
            kind: NotFound,
            hint: "list those of the task with checkpoint.list; this one may have been pruned",
            cause: "It was never saved, or it was pruned by a call or by a retention rule. \
                Repeating a restore with its idempotency key fails in the same way if the \
                checkpoint has since been pruned.",
            remedy: "List the checkpoints of the task. Label the checkpoints that must be kept.",
        }
        /// Only the holder of a task can save and restore its checkpoints.
        #[error("{}", now_held(task, *given, lease.as_ref()))]
        StaleToken {
            /// The task.
            task: TaskId,
            /// The given value.
            given: Option<Token>,
            /// The current lease, if any.
            lease: Option<Lease>,
        } => {
            code: "checkpoint.stale_token",
            kind: Stale,
            hint: "stop working on the task, or claim it and use the token of its lease",
            cause: "The task belongs to this workspace, and the token is missing or is not that \
                of its lease; or the token given for another thread of work is no longer valid. \
                The fact `lease` names the current holder.",
            remedy: "Stop: another agent may already be working on the task. Claim the task and \
                use the token of that lease.",
        }
        /// The parent is a checkpoint of another task.
        #[error("checkpoint `{parent}` belongs to task `{parent_task}`, not to `{task}`")]
        WrongParent {
            /// The parent that was given.
            parent: CheckpointId,
            /// The task of the parent.
            parent_task: TaskId,
            /// The task of the new checkpoint.
            task: TaskId,
        } => {
            code: "checkpoint.wrong_parent",
            kind: Invalid,
            hint: "name a checkpoint of the same task, or fork that one",
            cause: "The parent must be a checkpoint of the same task, or the one that the task \
                was forked from.",
            remedy: "Omit `parent`, or fork that checkpoint into the task first.",
        }
        /// The target task of the fork already has checkpoints.
        #[error("task `{task}` already has checkpoints; the latest is `{checkpoint}`")]
        Exists {
            /// The task.
            task: TaskId,
            /// Its head.
            checkpoint: CheckpointId,
        } => {
            code: "checkpoint.exists",
            kind: Conflict,
            hint: "fork into a task without checkpoints, or restore one of its own",
            cause: "A checkpoint was saved or forked there before, perhaps by an earlier attempt \
                of the same call.",
            remedy: "Read it, fork into another task, or restore one of its own checkpoints. \
                Repeating a call with the same idempotency key returns the same response.",
        }
        /// The checkpoint's metadata is not an object.
        #[error("the metadata of a checkpoint must be an object")]
        BadMetadata {} => {
            code: "checkpoint.bad_metadata",
            kind: Invalid,
            hint: "send an object, such as {\"step\": 3}",
            cause: "It is a list, a string, a number or a boolean, which cannot be searched by \
                name.",
        }
        /// The source of a copy has no checkpoints.
        #[error("task `{task}` has no checkpoints")]
        NoCheckpoints {
            /// The task.
            task: TaskId,
        } => {
            code: "checkpoint.none",
            kind: NotFound,
            hint: "name a task that has checkpoints",
            cause: "Nothing was saved under this name, or everything was pruned.",
            remedy: "List the checkpoints of the workspace, which name their tasks.",
        }
        /// A state or value with a type is not Base64.
        #[error("`{what}` has a `content_type` but is not Base64")]
        BadBase64 {
            /// The field.
            what: &'static str,
        } => {
            code: "checkpoint.bad_base64",
            kind: Invalid,
            hint: "encode the bytes in Base64 with padding, or omit `content_type` to store JSON",
            cause: "`content_type` says that the value is bytes, which are sent as a string in \
                Base64: the standard alphabet, with padding.",
            remedy: "Encode the bytes, or omit `content_type` to store the value as JSON.",
        }
        /// The call does not say which checkpoints to prune.
        #[error("the call does not say which checkpoints to prune")]
        NoBound {} => {
            code: "checkpoint.no_bound",
            kind: Invalid,
            hint: "set `keep`, `older_than_ms`, `metadata`, `keys` or `all`",
            cause: "None of `keep`, `older_than_ms`, `metadata`, `keys` and `all` was given.",
            remedy: "Say how many to keep, how old they must be to be pruned, what their metadata \
                must contain or what their keys are, or prune all.",
        }
        /// A number in a checkpoint command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "checkpoint.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`limit` is 0 or more than 10,000, `keep` of a rule is 0, `max_age_ms` is 0 or \
                more than ten years, or `writer` is empty.",
            remedy: "Use a number within the range in the detail.",
        }
        /// The state, description or metadata is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "checkpoint.too_large",
            kind: TooLarge,
            hint: "save less, and keep large data as artifacts",
            cause: "A state or the writes of one call exceed 4 MiB, a description 16 KiB, metadata \
                64 KiB, or a writer, a path or a channel 512 bytes.",
            remedy: "Save less, and keep large data elsewhere. Content that checkpoints share is \
                stored only once.",
        }
        /// There are too many checkpoints, bytes of checkpoints, or retention rules.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "checkpoint.too_many",
            kind: Exhausted,
            hint: "prune some, or set a retention rule",
            cause: "The task has 10,000 checkpoints, the workspace has 200,000, all of them with \
                their writes use 256 MiB of memory (shared content counts once), 10,000 writes \
                follow one checkpoint, or there are 64 rules.",
            remedy: "Prune some, or set a retention rule, which makes room in the commit that \
                needs it.",
        }
    }
}

fn now_held(task: &TaskId, given: Option<Token>, lease: Option<&Lease>) -> String {
    let given = match given {
        Some(given) => format!("token {given} for the checkpoints of `{task}` is stale"),
        None => format!("the checkpoints of `{task}` need the token of its lease"),
    };
    match lease {
        Some(Lease { holder, abandoned: true, .. }) => {
            format!("{given}: the session of agent `{holder}`, which offers it, has ended")
        }
        Some(Lease { holder, .. }) => format!("{given}: agent `{holder}` works on it"),
        None => format!("{given}: no agent works on it"),
    }
}

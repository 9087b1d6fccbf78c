//! All refusals, as a sum over the primitives.

use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use super::list::primitives;
use crate::handoff::Handoff;
use crate::names::{AgentId, IdempotencyKey, NameError};
use crate::numbers::{Revision, Token};
use crate::reply::Reply;
use crate::state::Entry;
use crate::transaction::Precondition;
use crate::{context, handoff, message, task};

// `transparent` is passed in because thiserror uses a variable of that name, and macro hygiene
// would make it another one.
macro_rules! rejection {
    (
        { $transparent:ident $($own:tt)* }
        $($(#[$doc:meta])* $module:ident: $variant:ident = $wire:literal $(, $facts:ident)?;)*
    ) => {
        crate::refusals! {
            $($own)*
            $transparent {
                $(
                    $(#[$doc])*
                    $variant(crate::$module::Rejection),
                )*
                /// The context of an agent.
                Context(context::Rejection),
            }
        }
    };
}
primitives! { rejection {
    transparent
    /// A refusal by the rules. Refusals are answers, not failures: nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// One command of a transaction was rejected, so none was executed.
        #[error("command {index} of the transaction was rejected: {cause}")]
        InTransaction {
            /// Which command, counted from 0.
            index: usize,
            /// The cause's own code.
            cause_code: &'static str,
            /// Why.
            cause: Box<Rejection>,
        } => {
            code: "transaction.command_refused",
            of: cause,
        }
        /// A precondition does not hold, so nothing was done.
        #[error("precondition {index} of the transaction does not hold")]
        PreconditionFailed {
            /// Which, counted from 0.
            index: usize,
            /// The precondition.
            precondition: Box<Precondition>,
            /// The entry that is there, if it is about one.
            entry: Option<Box<Entry>>,
            /// The status of the task, if it is about one.
            #[serde(skip_serializing_if = "Option::is_none")]
            task_status: Option<task::Status>,
            /// The status of the hand-off, if it is about one.
            #[serde(skip_serializing_if = "Option::is_none")]
            handoff_status: Option<handoff::Status>,
            /// The agent that holds the task or lock, if it is about one.
            #[serde(skip_serializing_if = "Option::is_none")]
            holder: Option<AgentId>,
            /// The workspace's revision.
            revision: Revision,
        } => {
            code: "transaction.precondition_failed",
            kind: Conflict,
            hint: "read again, decide again, then retry",
            cause: "The condition at `index` does not hold. The response contains the current \
                `entry`, or the `task_status`, `handoff_status` and `holder` of a task, hand-off \
                or lock.",
        }
        /// The transaction has no commands.
        #[error("the transaction has no commands")]
        EmptyTransaction {} => {
            code: "transaction.empty",
            kind: Invalid,
            hint: "send at least one command",
            cause: "`commands` is an empty list.",
        }
        /// The write carried a token that is no longer valid.
        #[error("no lease, hold, permit or session has token {given} any more")]
        StaleToken {
            /// The given value.
            given: Token,
        } => {
            code: "request.stale_token",
            kind: Stale,
            hint: "stop the work started under it: it has ended, or another agent holds it",
            cause: "The lease, hold, permit or session that the token belongs to has ended.",
            remedy: "Stop the work that was started under it: another agent may already be doing \
                it.",
        }
        /// The token belongs to another agent.
        #[error("token {given} belongs to `{holder}`, not to `{caller}`")]
        NotHolder {
            /// The given value.
            given: Token,
            /// The agent whose lease, hold, permit or session it is.
            holder: AgentId,
            /// The agent that called.
            caller: AgentId,
        } => {
            code: "request.not_holder",
            kind: Denied,
            hint: "act only under your own tokens: claim the task or acquire the lock yourself",
            cause: "The call names the token of a lease, a hold, a permit or a session of another \
                agent. Knowing a token is not enough: only its holder can use it.",
            remedy: "Claim the task, or acquire the lock or the permit, as the agent that acts. To \
                end the hold of another agent, an operator acts as that agent.",
        }
        /// A command of a transaction had no effect.
        #[error("`{command}` had no effect")]
        CameToNothing {
            /// The name of the command.
            command: &'static str,
            /// The hand-off that failed, if it was one. It is not recorded.
            #[serde(skip_serializing_if = "Option::is_none")]
            handoff: Option<Arc<Handoff>>,
        } => {
            code: "transaction.came_to_nothing",
            kind: Conflict,
            hint: "retry later, or send the command with `optional: true`",
            cause: "The lock or permit was not free, no task could be claimed, there was nothing \
                to receive, the join had not settled, or the hand-off failed; the fact `handoff` \
                contains the failed hand-off. The other commands may depend on it, so none was \
                executed.",
            remedy: "Retry later. If the other commands do not depend on it, add `optional: true` \
                to the command: then its result is `null`, empty or `failed`, and the others are \
                executed.",
        }
        /// A command of a transaction would have to wait.
        #[error("a command of a transaction cannot wait")]
        CannotWait {} => {
            code: "transaction.cannot_wait",
            kind: Invalid,
            hint: "omit wait_ms, or send the command on its own",
            cause: "A transaction is executed at once and cannot wait for other agents, and what a \
                command requested was not available.",
        }
        /// The commit is too large.
        #[error("the commit would have {given} {what}; at most {max} are allowed")]
        TooLarge {
            /// The name of the limited quantity.
            what: &'static str,
            /// How much there is.
            given: usize,
            /// How much there may be.
            max: usize,
        } => {
            code: "transaction.too_large",
            kind: TooLarge,
            hint: "split it into several commits",
            cause: "It has more than 1000 commands or preconditions, or would produce more than \
                10000 events or 8 MiB; `what` says which. With an idempotency key the response \
                counts as well, since it is stored.",
        }
        /// The workspace would exceed its quota of entries.
        #[error("the workspace would have {given} entries; its quota is {max}")]
        TooManyEntries {
            /// How many it would have.
            given: u64,
            /// How many it may have.
            max: u64,
        } => {
            code: "quota.entries",
            kind: Exhausted,
            hint: "delete unused entries, or ask the server's operator for a larger quota",
            cause: "The `entries_max` of its quota is reached; `given` is the resulting number. \
                Nothing was written. Waiting does not help. Existing entries can still be changed \
                and deleted.",
        }
        /// The workspace would exceed its storage quota.
        #[error("the workspace would store {given} bytes; its quota is {max}")]
        TooManyBytes {
            /// How many it would hold.
            given: u64,
            /// How many it may hold.
            max: u64,
        } => {
            code: "quota.stored_bytes",
            kind: Exhausted,
            hint: "delete unused data, artifacts first, or ask the server's operator for a larger \
                quota",
            cause: "The `stored_bytes_max` of its quota is reached by entries, artifacts, stream \
                frames, checkpoints and open messages together. Nothing was written. Waiting does \
                not help.",
        }
        /// Policies or reactions trigger each other endlessly.
        #[error("policy loop: more than {max} rounds")]
        PolicyRounds {
            /// The limit.
            max: usize,
        } => {
            code: "policy.too_many_rounds",
            kind: Exhausted,
            hint: "look for policies or reactions that trigger each other",
            cause: "The command started a chain of more than 16 rounds of policies and reactions.",
            remedy: "Find the reactions that trigger each other, and break the loop.",
        }
        /// The idempotency key was already used for a different request.
        #[error("idempotency key `{key}` was already used for a different request")]
        KeyReused {
            /// The key.
            key: IdempotencyKey,
        } => {
            code: "idempotency.key_reused",
            kind: Conflict,
            hint: "use a new key for every new request",
            cause: "The same agent sent a different request with this key within the time that \
                responses are kept.",
            remedy: "Use a new key for every new request, and the old one only to repeat exactly \
                the same request.",
        }
        /// A name of a workspace, namespace, agent, key or idempotency key is invalid.
        #[error(transparent)]
        Name(#[from] NameError) => {
            code: "request.bad_name",
            kind: Invalid,
            hint: "choose a name that follows the rules in the detail",
            cause: "It is empty, too long, or has characters that are not allowed. Names of \
                workspaces, namespaces and agents begin with a letter or digit, followed by \
                letters, digits and a few signs; keys are any text of 1 to 512 bytes without \
                control characters.",
        }
        /// A value is not JSON, or nests too deeply.
        #[error("the value is not valid JSON: {0}")]
        Json(#[from] crate::json::JsonError) => {
            code: "request.bad_json",
            kind: Invalid,
            hint: "send one JSON value, nested at most 64 levels deep",
        }
        /// A pattern is invalid.
        #[error(transparent)]
        Pattern(#[from] crate::pattern::PatternError) => {
            code: "request.bad_pattern",
            kind: Invalid,
            hint: "use `*` within a segment and `**` for any number of segments",
            cause: "It is empty, longer than 512 bytes, has control characters, more than eight \
                wildcards, or three stars in a row.",
            remedy: "Use `*` within a segment and `**` for any number of segments; segments are \
                separated by `/` or `:`.",
        }
        /// A JSON Schema is invalid or not supported.
        #[error(transparent)]
        SchemaText(#[from] crate::schema::SchemaError) => {
            code: "request.bad_schema",
            kind: Invalid,
            hint: "send a self-contained JSON Schema",
            cause: "It is not a valid schema, is too large, refers to another document, or uses a \
                keyword that Baton does not support.",
            remedy: "Send a self-contained JSON Schema, preferably draft 2020-12; the detail \
                names the invalid part.",
        }
    }
} }

impl Rejection {
    /// The stored form, returned if the request is repeated; none if the request had no effect.
    pub(crate) fn kept(&self) -> Option<Reply> {
        let Self::Message(message::Rejection::HandlerFailed(failed)) = self else { return None };
        Some(Reply::Message(message::Reply::Failed(failed.clone())))
    }
}

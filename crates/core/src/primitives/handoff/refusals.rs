//! The reasons to refuse commands and queries of hand-offs.

use serde::Serialize;
use thiserror::Error;

use crate::handoff::loop_guard::Loop;
use crate::handoff::{Receiver, Status};
use crate::names::{AgentId, HandoffId, TaskId};
use crate::numbers::Token;
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};
use crate::rule::Finding;
use crate::space::RulesTooCostly;
use crate::state::Entry;
use crate::task::Lease;

crate::refusals! {
    /// Why a hand-off command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No hand-off has this id.
        #[error("there is no hand-off `{handoff}`")]
        NotFound {
            /// The hand-off.
            handoff: HandoffId,
        } => {
            code: "handoff.not_found",
            kind: NotFound,
            hint: "list the hand-offs with handoff.list; ended ones are eventually removed",
            cause: "It was never made, or it ended so long ago that it was evicted.",
            remedy: "List the hand-offs. The history shows what happened to old ones.",
        }
        /// The task to hand over does not exist.
        #[error("there is no task `{task}` to hand over")]
        UnknownTask {
            /// The task.
            task: TaskId,
        } => {
            code: "handoff.unknown_task",
            kind: NotFound,
            hint: "create and claim the task first",
            cause: "It was never created, or it finished so long ago that it was removed.",
        }
        /// The caller does not hold the task to hand over.
        #[error("`{giver}` cannot hand over task `{task}`: {}", now_held(lease.as_ref()))]
        NotHolder {
            /// The task.
            task: TaskId,
            /// The giver.
            giver: AgentId,
            /// The lease holder, if any.
            lease: Option<Lease>,
        } => {
            code: "handoff.not_holder",
            kind: Stale,
            hint: "only the holder of a task can hand it over: claim it first",
            cause: "No agent holds it, or another one does; the facts say which.",
            remedy: "Claim the task first. Only its holder can hand it over.",
        }
        /// The token does not belong to the task's current lease.
        #[error("token {given} of task `{task}` is stale: {}", now_held(lease.as_ref()))]
        StaleToken {
            /// The task.
            task: TaskId,
            /// The given value.
            given: Token,
            /// The lease holder, if any.
            lease: Option<Lease>,
        } => {
            code: "handoff.stale_token",
            kind: Stale,
            hint: "stop working on the task at once; claim it again before handing it over",
            cause: "The lease expired, or the task has changed hands; the facts name the current \
                holder.",
        }
        /// The task has already been offered.
        #[error("task `{task}` has already been offered by hand-off `{open}`")]
        AlreadyOffered {
            /// The task.
            task: TaskId,
            /// The hand-off that offers it.
            open: HandoffId,
        } => {
            code: "handoff.already_offered",
            kind: Conflict,
            hint: "wait for the answer, or cancel that offer first",
            cause: "Its holder made an offer that is still open; the facts name it.",
        }
        /// Rules forbid the hand-off.
        #[error("the hand-off is invalid: {}", sentence(errors))]
        Invalid {
            /// The errors.
            errors: Vec<Finding>,
            /// The warnings.
            warnings: Vec<Finding>,
        } => {
            code: "handoff.invalid",
            kind: Conflict,
            hint: "fix what the rules object to, then offer again",
            cause: "At least one rule of severity `error` objects, or a rule could not be \
                evaluated; the facts list every objection.",
            remedy: "Fix what the rules object to and offer again. `handoff.validate` checks the \
                rules without offering.",
        }
        /// The task is being handed over in a loop.
        #[error("the task is being handed over in a loop: {}", .found.detail)]
        Loop {
            /// The loop that was detected.
            #[serde(flatten)]
            found: Loop,
        } => {
            code: "handoff.loop",
            kind: Conflict,
            hint: "finish the task, or pass it to a person with on_loop: review",
            cause: "It has changed hands too often, the same two agents have exchanged it several \
                times within ten minutes, or nothing has changed since the receiver gave it away. \
                The facts name the check and the hand-offs.",
            remedy: "Finish the task, make progress on it first, or pass it to a person with \
                `on_loop: \"review\"`.",
        }
        /// The hand-off is addressed to another agent.
        #[error("hand-off `{handoff}` is for {to}, not for `{caller}`")]
        NotReceiver {
            /// The hand-off.
            handoff: HandoffId,
            /// The receiver.
            to: Receiver,
            /// The caller.
            caller: AgentId,
        } => {
            code: "handoff.not_receiver",
            kind: Denied,
            hint: "leave it to its receiver",
            cause: "It names another agent, or a capability that the caller's session does not \
                have; or the caller is its giver.",
        }
        /// The caller is not allowed to do this with the hand-off.
        #[error("`{caller}` is not allowed to {what} hand-off `{handoff}`")]
        NotAllowed {
            /// The hand-off.
            handoff: HandoffId,
            /// The caller.
            caller: AgentId,
            /// The refused action.
            what: &'static str,
        } => {
            code: "handoff.not_allowed",
            kind: Denied,
            hint: "leave it to its giver, or to an agent that may approve it",
            cause: "Only its giver can withdraw it. Only the agents that it names can approve it \
                or, if it names none, any agent except its giver and its receiver.",
        }
        /// The hand-off's current status does not allow the operation.
        #[error("hand-off `{handoff}` is {}: it cannot be {what}", .status.word())]
        WrongStatus {
            /// The hand-off.
            handoff: HandoffId,
            /// Its status.
            #[serde(rename = "handoff_status")]
            status: Status,
            /// The refused action.
            what: &'static str,
            /// The receiver, if any.
            receiver: Option<AgentId>,
        } => {
            code: "handoff.wrong_status",
            kind: Conflict,
            hint: "read the hand-off: it has been answered, or has ended",
            cause: "It has been answered, has expired, or was withdrawn; the facts contain its \
                status and its receiver.",
            remedy: "Read the hand-off. The giver may make another offer.",
        }
        /// The hand-off has no approval, or the approval has expired.
        #[error("hand-off `{handoff}` is not approved: {reason}")]
        NotApproved {
            /// The hand-off.
            handoff: HandoffId,
            /// The missing part.
            reason: String,
        } => {
            code: "handoff.not_approved",
            kind: Conflict,
            hint: "wait until it is approved",
            cause: "It needs an approval, and has none, or one that was valid only for a limited \
                time.",
        }
        /// The hand-off has already been approved.
        #[error("hand-off `{handoff}` has already been approved by `{by}`")]
        AlreadyApproved {
            /// The hand-off.
            handoff: HandoffId,
            /// The approver.
            by: AgentId,
        } => {
            code: "handoff.already_approved",
            kind: Conflict,
            hint: "nothing to do: the receiver can accept it now",
            cause: "Another agent, named in the facts, has already approved it, and the hand-off \
                has not changed since.",
        }
        /// The current proposal is not the one that was approved.
        #[error("the current proposal of hand-off `{handoff}` is not the one that was approved")]
        DigestMismatch {
            /// The hand-off.
            handoff: HandoffId,
            /// The current digest of the proposal.
            digest: String,
            /// The digest that was given, or approved.
            given: String,
        } => {
            code: "handoff.digest_mismatch",
            kind: Conflict,
            hint: "look at the current proposal, then decide again",
            cause: "The given digest does not match the proposal; or a selected key or the task \
                has changed since the approval.",
            remedy: "Read the current proposal, then approve it again with the digest in the \
                response, or reject it.",
        }
        /// A selected key cannot be handed over as it is.
        #[error("state conflict at `{key}`: {reason}")]
        StateConflict {
            /// The key, as `namespace/key`.
            key: String,
            /// The reason.
            reason: String,
            /// The entry that is there.
            entry: Option<Box<Entry>>,
        } => {
            code: "handoff.state_conflict",
            kind: Conflict,
            hint: "read the entry; then accept with `overwrite`, or move one of the two entries",
            cause: "It has a different version than the giver required, the receiver already has \
                a key of that name, or the rules of a namespace do not allow the key to be \
                removed or added. The facts contain the existing entry.",
        }
        /// A pattern of a hand-off cannot be resolved within the limits.
        #[error("pattern `{pattern}` cannot be resolved: more than {max} keys {what}")]
        TooManyKeys {
            /// The pattern, as `namespace/pattern`.
            pattern: String,
            /// The name of the limited quantity.
            what: &'static str,
            /// The limit.
            max: usize,
        } => {
            code: "handoff.too_many_keys",
            kind: TooLarge,
            hint: "select fewer keys: begin the pattern with the longest common prefix",
            cause: "One hand-off moves at most 1,000 keys, and at most 20,000 keys are compared \
                with its patterns: those that start with the part of a pattern before its first \
                `*`.",
            remedy: "Use a narrower pattern, or move the keys in several steps, for example with \
                `state.transfer`. If this happened when the hand-off was accepted, the giver can \
                remove keys or cancel the offer.",
        }
        /// The rules for hand-offs take too much work.
        #[error(transparent)]
        RulesTooCostly(#[from] RulesTooCostly) => {
            code: "handoff.rules_too_costly",
            kind: TooLarge,
            hint: "hand over less at a time: fewer keys, or fewer hand-offs in a request",
            cause: "The rules of all hand-offs in one request take at most 2,000,000 steps, and as \
                much work as the schemas of one write. They read at most 8 MiB: the state of the \
                hand-offs, the values of their keys and, if a rule is an expression, their tasks.",
            remedy: "Send the hand-offs in several requests, hand over fewer keys, or replace a \
                rule by one that reads less.",
        }
        /// A number in a hand-off command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "handoff.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "A deadline, a wait, a lease or a limit is too small or too large; the facts \
                name it and the allowed range.",
        }
        /// A field of a hand-off command is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "handoff.bad_field",
            kind: Invalid,
            hint: "correct the field that the detail names, then send the command again",
            cause: "The facts name the field and say what is wrong with it.",
        }
        /// A field of a hand-off command is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "handoff.too_large",
            kind: TooLarge,
            hint: "summarize it, or hand over keys or artifacts instead",
            cause: "The context of a hand-off is a summary, limited to 256 KiB in total; reasons \
                and trace parents are shorter.",
        }
        /// There are too many hand-offs.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "handoff.too_many",
            kind: Exhausted,
            hint: "answer, complete or cancel some first",
            cause: "The workspace has too many open hand-offs, or the agent has too many \
                unanswered ones.",
        }
        /// The caller's session ended while it waited for a hand-off.
        #[error("the session of agent `{agent}` ended while it waited for a hand-off")]
        SessionEnded {
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "handoff.session_ended",
            kind: Stale,
            hint: "register again, then receive again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while its call was waiting.",
        }
    }
}

fn now_held(lease: Option<&Lease>) -> String {
    match lease {
        Some(Lease { holder, abandoned: true, .. }) => {
            format!("the session of `{holder}`, which offers it, has ended")
        }
        Some(Lease { holder, .. }) => format!("`{holder}` holds it"),
        None => "no agent holds it".to_owned(),
    }
}

fn sentence(findings: &[Finding]) -> String {
    let details = findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.detail));
    details.collect::<Vec<_>>().join("; ")
}

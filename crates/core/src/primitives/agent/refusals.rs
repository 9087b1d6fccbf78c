//! The reasons to refuse commands and queries of agents.

use serde::Serialize;
use thiserror::Error;

use super::vocabulary::Status;
use crate::names::AgentId;
use crate::numbers::Token;
use crate::refusal::TooMany;

crate::refusals! {
    /// Why an agent command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No agent with this id is known.
        #[error("there is no agent `{agent}`")]
        NotFound {
            /// The id.
            agent: AgentId,
        } => {
            code: "agent.not_found",
            kind: NotFound,
            hint: "register the agent first with agent.register",
            cause: "The agent never registered, or was evicted to make room.",
            remedy: "Register it with `agent.register`.",
        }
        /// The session has ended.
        #[error("the session of agent `{agent}` has ended ({})", status.word())]
        Ended {
            /// The agent.
            agent: AgentId,
            /// How it ended.
            #[serde(rename = "session")]
            status: Status,
        } => {
            code: "agent.ended",
            kind: Stale,
            hint: "stop what was started under it, then register again",
            cause: "The agent left, or made no call within its time to live and was marked lost. \
                Everything its session held has been released.",
            remedy: "Stop the work that was started under the session, then register again.",
        }
        /// The token does not belong to the current session.
        #[error("token {given} of agent `{agent}` is stale: its current session has another one")]
        StaleToken {
            /// The agent.
            agent: AgentId,
            /// The given value.
            given: Token,
        } => {
            code: "agent.stale_token",
            kind: Stale,
            hint: "stop: another process has registered under this id",
            cause: "Another process has since registered under the same id.",
            remedy: "Stop acting under this id at once.",
        }
        /// The time to live is out of range.
        #[error("ttl_ms must be between {min} and {max}, not {given}")]
        TtlOutOfRange {
            /// The given value.
            given: u64,
            /// The minimum.
            min: u64,
            /// The maximum.
            max: u64,
        } => {
            code: "agent.ttl_out_of_range",
            kind: Invalid,
            hint: "use a time in milliseconds within the range",
            cause: "`ttl_ms` is less than 100 or more than one day.",
            remedy: "Use a time in milliseconds within the range in the response.",
        }
        /// The capabilities are invalid.
        #[error("the capabilities are invalid: {reason}")]
        BadCapabilities {
            /// The reason.
            reason: String,
        } => {
            code: "agent.bad_capabilities",
            kind: Invalid,
            hint: "use short names for what the agent can do",
            cause: "There are more than 64, or one is empty, longer than 128 bytes or contains \
                control characters.",
        }
        /// The metadata is too large.
        #[error("metadata has {bytes} bytes; the limit is {bytes_max}")]
        MetadataTooLarge {
            /// How large it is.
            bytes: usize,
            /// How large it may be.
            bytes_max: usize,
        } => {
            code: "agent.metadata_too_large",
            kind: TooLarge,
            hint: "keep large data in the agent's own namespace",
            cause: "It exceeds 64 KiB.",
            remedy: "Keep large data in the agent's own namespace, `agent:<id>`.",
        }
        /// The parent has no session.
        #[error("agent `{parent}` has no session, so it cannot supervise another agent")]
        NoParent {
            /// The parent.
            parent: AgentId,
        } => {
            code: "agent.no_parent",
            kind: Conflict,
            hint: "register the parent first, or register without a parent",
            cause: "`parent` names an agent that never registered, or whose session has ended.",
            remedy: "Register the parent first, or register the agent without a parent.",
        }
        /// The agent would be its own supervisor, directly or indirectly.
        #[error("agent `{parent}` cannot supervise `{agent}`, which supervises it")]
        Cycle {
            /// The agent.
            agent: AgentId,
            /// The parent.
            parent: AgentId,
        } => {
            code: "agent.cycle",
            kind: Conflict,
            hint: "name a parent that is not below the agent",
            cause: "`parent` is the agent itself, or an agent that it supervises, directly or \
                indirectly.",
            remedy: "Name another parent, or none.",
        }
        /// The agents are nested too deeply.
        #[error("agent `{parent}` already has the maximum of {max} agents above it")]
        TooDeep {
            /// The parent.
            parent: AgentId,
            /// The maximum number of levels.
            max: usize,
        } => {
            code: "agent.too_deep",
            kind: Exhausted,
            hint: "name a parent further up",
            cause: "The chain of supervisors has reached the maximum number of levels.",
            remedy: "Name a parent at a higher level. If agents keep starting further agents, stop \
                them.",
        }
        /// The workspace has too many active agents.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "agent.too_many",
            kind: Exhausted,
            hint: "let some agents leave, or use another workspace",
            cause: "There are 100,000 agents, all with an active session.",
        }
        /// The page size is out of range.
        #[error("limit must be between 1 and {max}, not {given}")]
        LimitOutOfRange {
            /// The given value.
            given: usize,
            /// The maximum.
            max: usize,
        } => {
            code: "agent.limit_out_of_range",
            kind: Invalid,
            hint: "use a page size within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a page size within the range, and continue with the `cursor`.",
        }
    }
}

//! The reasons to refuse a wait for a status. An unknown task or hand-off is refused as by the
//! commands about it.

use serde::Serialize;
use thiserror::Error;

use crate::names::AgentId;
use crate::refusal::{OutOfRange, TooMany};

crate::refusals! {
    /// Why a wait was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// A number is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "wait.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`wait_ms` is more than one hour.",
            remedy: "Use a number within the range in the detail. To wait longer, repeat the call.",
        }
        /// There are too many waiting calls.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "wait.too_many",
            kind: Exhausted,
            hint: "wait until some have ended, or watch the task or hand-off",
            cause: "64 calls wait for the same task or hand-off or belong to one agent, or \
                10,000 calls wait for a status in the workspace.",
            remedy: "Let one call wait and share its answer, or watch `tasks/**` or \
                `handoffs/**`.",
        }
        /// The caller's session ended while it waited.
        #[error("the session of agent `{agent}` ended while it waited")]
        SessionEnded {
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "wait.session_ended",
            kind: Stale,
            hint: "register again, then wait again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
            remedy: "Register again, then wait again. The task or hand-off continues without \
                waiting calls.",
        }
    }
}

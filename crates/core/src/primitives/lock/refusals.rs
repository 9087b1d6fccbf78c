//! The reasons to refuse commands and queries of locks.

use serde::Serialize;
use thiserror::Error;

use super::vocabulary::Hold;
use crate::names::{AgentId, LockName};
use crate::numbers::Token;
use crate::refusal::{OutOfRange, TooMany};

crate::refusals! {
    /// Why a lock command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The token belongs to a hold that has ended.
        #[error("token {given} of lock `{name}` is stale: {}", now_held(hold.as_deref()))]
        StaleToken {
            /// The lock.
            name: LockName,
            /// The given value.
            given: Token,
            /// The current hold, if any.
            hold: Option<Box<Hold>>,
        } => {
            code: "lock.stale_token",
            kind: Stale,
            hint: "stop what the lock protects, and acquire the lock again before you continue",
            cause: "The lock was released, its lease expired, its holder's session ended, or the \
                token never belonged to a hold. The facts name the current holder, if any.",
            remedy: "Stop the protected work at once. Acquire the lock again before you continue: \
                the new token is larger, and writes that carry the old one are rejected.",
        }
        /// A number in a lock command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "lock.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`ttl_ms` is not between 100 milliseconds and one day, `wait_ms` is more than \
                one hour, or `limit` is not a valid page size.",
            remedy: "Use a number within the range in the detail. To wait longer, repeat the call.",
        }
        /// There are too many locks, or too many calls waiting for one.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "lock.too_many",
            kind: Exhausted,
            hint: "release some first, or use another workspace",
            cause: "An agent holds or waits for 500 locks, or the workspace has 100,000 held \
                locks or 10,000 waiting calls.",
            remedy: "Release some locks first. Often one lock can protect many things.",
        }
        /// The caller's session ended while it waited for the lock.
        #[error("the session of agent `{agent}` ended while it waited for lock `{name}`")]
        SessionEnded {
            /// The lock.
            name: LockName,
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "lock.session_ended",
            kind: Stale,
            hint: "register again, then acquire again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
        }
    }
}

fn now_held(hold: Option<&Hold>) -> String {
    match hold {
        Some(hold) => format!("`{}` holds it until {}", hold.holder, hold.expires_at),
        None => "no agent holds it".to_owned(),
    }
}

//! The reasons to refuse commands and queries of semaphores.

use serde::Serialize;
use thiserror::Error;

use crate::names::{AgentId, SemaphoreName};
use crate::numbers::Token;
use crate::refusal::{OutOfRange, TooMany};

crate::refusals! {
    /// Why a semaphore command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No semaphore has this name.
        #[error("there is no semaphore `{name}`")]
        NotFound {
            /// The semaphore.
            name: SemaphoreName,
        } => {
            code: "semaphore.not_found",
            kind: NotFound,
            hint: "acquire it with `permits`: the first call sets how many there are",
            cause: "The number of permits has not been set yet, or the semaphore was unused for \
                so long that it was evicted.",
        }
        /// The semaphore has a different number of permits.
        #[error("the number of permits of semaphore `{name}` is {permits}, not {given}")]
        PermitsDiffer {
            /// The semaphore.
            name: SemaphoreName,
            /// The given value.
            given: u64,
            /// Its number of permits.
            permits: u64,
        } => {
            code: "semaphore.permits_differ",
            kind: Conflict,
            hint: "omit `permits` to use the existing number, or choose another name",
            cause: "The semaphore was created with the number in the facts.",
            remedy: "Omit `permits`, use another name, or change the number with \
                `semaphore.resize`.",
        }
        /// The weight is greater than the number of permits.
        #[error("semaphore `{name}` is limited to {permits}, a weight of {weight} can never fit")]
        TooHeavy {
            /// The semaphore.
            name: SemaphoreName,
            /// The requested weight.
            weight: u64,
            /// Its number of permits.
            permits: u64,
        } => {
            code: "semaphore.too_heavy",
            kind: Conflict,
            hint: "ask for a smaller weight, or make the semaphore larger",
            cause: "`weight` is greater than the number of permits of the semaphore, or \
                `semaphore.resize` made it smaller than that while the call waited.",
            remedy: "Acquire with a `weight` of at most the number of permits in the facts, or \
                change that number with `semaphore.resize`.",
        }
        /// The token belongs to a permit that has ended.
        #[error("token {given} of semaphore `{name}` is stale: {free} of its permits are free now")]
        StaleToken {
            /// The semaphore.
            name: SemaphoreName,
            /// The given value.
            given: Token,
            /// The number of free permits.
            free: u64,
        } => {
            code: "semaphore.stale_token",
            kind: Stale,
            hint: "stop what the permit was for, and acquire another before you continue",
            cause: "The permit was released, its lease expired, its holder's session ended, or \
                the token never belonged to a permit of this semaphore.",
            remedy: "Stop the work that needed the permit at once. Acquire another before you \
                continue.",
        }
        /// A number in a semaphore command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "semaphore.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`permits` or `weight` is not between 1 and 10,000, `ttl_ms` is not between 100 \
                milliseconds and one day, `wait_ms` is more than one hour, or `limit` is not a \
                valid page size.",
            remedy: "Use a number within the range in the detail. To wait longer, repeat the call.",
        }
        /// There are too many semaphores, permits, or calls waiting for one.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "semaphore.too_many",
            kind: Exhausted,
            hint: "release some first, or use another workspace",
            cause: "An agent holds or waits for 500 permits, or the workspace has 100,000 held \
                permits, 10,000 waiting calls, or 10,000 semaphores in use.",
        }
        /// The caller's session ended while it waited for a permit.
        #[error("the session of agent `{agent}` ended while it waited for semaphore `{name}`")]
        SessionEnded {
            /// The semaphore.
            name: SemaphoreName,
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "semaphore.session_ended",
            kind: Stale,
            hint: "register again, then acquire again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
        }
    }
}

//! The reasons to refuse commands and queries of barriers.

use serde::Serialize;
use thiserror::Error;

use crate::names::{AgentId, BarrierName};
use crate::numbers::Generation;
use crate::refusal::{OutOfRange, TooMany};

crate::refusals! {
    /// Why a barrier command was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The agents at the barrier are waiting for a different count.
        #[error(
            "generation {generation} of barrier `{name}` expects {count} arrivals, not {given}"
        )]
        CountDiffers {
            /// The barrier.
            name: BarrierName,
            /// The generation.
            generation: Generation,
            /// The given value.
            given: u64,
            /// The required number of arrivals.
            count: u64,
        } => {
            code: "barrier.count_differs",
            kind: Conflict,
            hint: "agree on one count, or reset the barrier",
            cause: "The first arrival of this generation set the count in the facts.",
            remedy: "Agree on one count. If the first one was wrong, reset the barrier and arrive \
                again.",
        }
        /// The agent has already arrived in this generation.
        #[error(
            "agent `{party}` has already arrived in generation {generation} of barrier `{name}`"
        )]
        AlreadyArrived {
            /// The barrier.
            name: BarrierName,
            /// The generation.
            generation: Generation,
            /// The agent.
            party: AgentId,
        } => {
            code: "barrier.already_arrived",
            kind: Conflict,
            hint: "read the barrier to see whether it has opened, or arrive as another agent",
            cause: "An agent counts once, however often it calls. It arrived earlier, and the \
                barrier has not opened since.",
            remedy: "Read the barrier: if its generation is larger than the one in the facts, \
                that generation has opened or was reset. To take over the waiting call, repeat it \
                with the same idempotency key.",
        }
        /// A number in a barrier command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "barrier.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`count` is not between 1 and 10,000, or `wait_ms` is more than one hour.",
            remedy: "Use a number within the range in the detail. To wait longer, repeat the call.",
        }
        /// There are too many barriers, arrivals, or calls waiting at one.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "barrier.too_many",
            kind: Exhausted,
            hint: "let some barriers open first, or reset them",
            cause: "An agent has arrived at 500 barriers that have not opened, or the workspace \
                has 100,000 such arrivals, 4,000 waiting calls, or 10,000 barriers with arrivals.",
            remedy: "Wait until some have opened, or reset them. If too many calls wait, arrive \
                without `wait_ms` and watch the barrier.",
        }
        /// The caller's session ended while it waited at the barrier.
        #[error("the session of agent `{agent}` ended while it waited at barrier `{name}`")]
        SessionEnded {
            /// The barrier.
            name: BarrierName,
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "barrier.session_ended",
            kind: Stale,
            hint: "register again, then arrive again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting. Its arrival was withdrawn.",
        }
    }
}

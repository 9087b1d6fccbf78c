//! The outcomes of submitting a request or a query.
//!
//! ```text
//!   submit ──▶ Answer: decided, opens when its group is durable
//!          ├─▶ Wait:   accepted, answered later
//!          └─▶ Retry:  not accepted, no effect; submit again after loading or a full group
//! ```
//!
//! The machine, the driver and the server use this one type; they differ in how they represent a
//! waiting call.

use baton_core::{Answer, Rejection, Revision};

use crate::machine::Held;

/// The answer to a request or a query, which opens when its group is durable.
pub type HeldAnswer = Held<Result<Answer, Rejection>>;

/// The outcomes of submitting a request or a query: `W` represents a waiting call, `R` is returned
/// if it must be submitted again.
#[must_use]
pub enum Admission<W, R, A = HeldAnswer> {
    /// It was decided.
    Answer(A),
    /// It was accepted and is answered later.
    Wait(W),
    /// It was not accepted and had no effect. Submit it again after this.
    Retry(R, RetryAfter),
}

/// A query that is not answered at once.
#[derive(Debug)]
#[must_use]
pub enum Deferred {
    /// It is about the past: it is to be answered from the history, as of this revision.
    Past(Held<Revision>),
    /// It takes long: it is to be answered by a reader that has the tables meanwhile.
    Long,
}

/// The condition under which a call can be submitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// The workspace must be loaded.
    Load,
    /// It must be looked for, and loaded if it is there.
    Find,
    /// A request that takes long must be finished.
    Settled,
    /// The open group is full: this group must be durable.
    Durable(u64),
}

impl<W, R, A> Admission<W, R, A> {
    /// The answer, if it was decided.
    pub fn answer(self) -> Option<A> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Wait(_) | Self::Retry(..) => None,
        }
    }

    /// Whether it has to be submitted again.
    pub fn is_retry(&self) -> bool {
        matches!(self, Self::Retry(..))
    }

    /// The same with another answer.
    pub fn map_answer<B>(self, map: impl FnOnce(A) -> B) -> Admission<W, R, B> {
        match self {
            Self::Answer(answer) => Admission::Answer(map(answer)),
            Self::Wait(wait) => Admission::Wait(wait),
            Self::Retry(request, after) => Admission::Retry(request, after),
        }
    }

    /// The same with another representation of the wait.
    pub fn map_wait<V>(self, map: impl FnOnce(W) -> V) -> Admission<V, R, A> {
        match self {
            Self::Answer(answer) => Admission::Answer(answer),
            Self::Wait(wait) => Admission::Wait(map(wait)),
            Self::Retry(request, after) => Admission::Retry(request, after),
        }
    }
}

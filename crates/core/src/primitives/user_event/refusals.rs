//! The reasons to refuse commands and queries of user events.

use serde::Serialize;
use thiserror::Error;

use crate::names::EventType;
use crate::refusal::{BadField, OutOfRange, TooLarge};

crate::refusals! {
    /// Why the bus refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The event type is reserved for Baton.
        #[error("type `{kind}` begins with `{word}`, which is reserved for Baton")]
        ReservedType {
            /// The given value.
            #[serde(rename = "event_type")]
            kind: EventType,
            /// The word in the way.
            word: String,
        } => {
            code: "event.reserved_type",
            kind: Invalid,
            hint: "begin the type with a word of your own",
            cause: "Its first word is the name of a primitive, such as `task` or `state`, or is \
                reserved for one. Otherwise an agent could pretend that a task was completed.",
            remedy: "Begin the type with a word of your own: `build.task_completed`.",
        }
        /// The event is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "event.too_large",
            kind: TooLarge,
            hint: "store the data in shared state and name the key",
            cause: "The payload exceeds 256 KiB; every watcher would receive it.",
            remedy: "Store the data in shared state and name the key in the payload.",
        }
        /// A number in a query about events is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "event.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "`limit` is 0 or more than 10000.",
            remedy: "Use a number within the range, and continue with the `cursor`.",
        }
        /// A field of a query about events is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "event.bad_field",
            kind: Invalid,
            hint: "start without a cursor, or use the one of the last page",
            cause: "The cursor was not returned by a page of events: it was made up, truncated, \
                or belongs to another list.",
            remedy: "Start without a cursor, or use the one of the last page.",
        }
    }
}

//! The reasons to refuse commands and queries of topics.

use serde::Serialize;
use thiserror::Error;

use crate::names::TopicName;
use crate::refusal::{OutOfRange, TooLarge};

crate::refusals! {
    /// Why a command about topics was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The topic is unknown.
        #[error("topic `{topic}` is unknown")]
        NotFound {
            /// The topic.
            topic: TopicName,
        } => {
            code: "topic.not_found",
            kind: NotFound,
            hint: "post something, or list the topics with topic.list",
            cause: "Nothing was posted there durably, or 10,000 other topics have been posted to \
                since.",
            remedy: "List the topics with `topic.list`. A topic can be watched before anything is \
                posted.",
        }
        /// A number in a topic command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "topic.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "A limit is outside the range in the detail.",
        }
        /// The post is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "topic.too_large",
            kind: TooLarge,
            hint: "store it as an artifact, and post the id of that",
            cause: "The body exceeds 1 MiB.",
        }
    }
}

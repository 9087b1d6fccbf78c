//! The reasons to refuse commands and queries of streams.

use serde::Serialize;
use thiserror::Error;

use super::vocabulary::Stream;
use crate::names::{AgentId, StreamName};
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};

crate::refusals! {
    /// Why a command about streams was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// The stream does not exist.
        #[error("there is no stream `{stream}`")]
        NotFound {
            /// The stream.
            stream: StreamName,
        } => {
            code: "stream.not_found",
            kind: NotFound,
            hint: "create it first, or list the streams with stream.list",
            cause: "It was never created, or was deleted.",
            remedy: "Create it with `stream.create`.",
        }
        /// A stream with this name already exists, with other settings or closed.
        #[error("stream `{}` already exists", .stream.name)]
        Exists {
            /// The existing stream.
            #[serde(rename = "present")]
            stream: Box<Stream>,
        } => {
            code: "stream.exists",
            kind: Conflict,
            hint: "send to that one, or choose another name",
            cause: "Creating the same stream twice is allowed, but this one differs. The facts \
                contain the existing stream.",
            remedy: "Send to that one, delete it, or choose another name.",
        }
        /// The stream is closed: nothing more can be sent.
        #[error("stream `{stream}` is closed")]
        Closed {
            /// The stream.
            stream: StreamName,
            /// Why it was closed.
            reason: Option<String>,
        } => {
            code: "stream.closed",
            kind: Conflict,
            hint: "create another stream: a closed one cannot be reopened",
            cause: "The stream was closed. The facts contain the reason, if one was given.",
        }
        /// The frame is no longer kept.
        #[error("offset {from} of stream `{stream}` is gone; the first one kept is {first}")]
        OffsetGone {
            /// The stream.
            stream: StreamName,
            /// The requested offset.
            from: u64,
            /// The first offset that is kept.
            first: u64,
        } => {
            code: "stream.offset_gone",
            kind: NotFound,
            hint: "continue from the first offset kept; the frames before it are lost",
            cause: "The stream keeps a limited number of frames and bytes, and the reader fell \
                behind. The facts contain the first offset that is kept.",
            remedy: "Continue from the first offset that is kept, accepting the gap; or create \
                streams with larger limits.",
        }
        /// The frames of this stream are not stored.
        #[error("the frames of stream `{stream}` are not stored")]
        NotKept {
            /// The stream.
            stream: StreamName,
        } => {
            code: "stream.not_kept",
            kind: Invalid,
            hint: "watch the subject `streams/NAME` instead",
            cause: "It was created with `kept: false`: frames are sent only to watchers.",
            remedy: "Watch the subject `streams/NAME`.",
        }
        /// A number in a stream command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "stream.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "A bound, a limit or a wait is outside the range in the detail, or the offset \
                is beyond the end of the stream.",
        }
        /// A field of a stream command is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "stream.bad_field",
            kind: Invalid,
            hint: "correct the field that the detail names, then send the command again",
            cause: "A send has no frames, or more than 10,000.",
            remedy: "Correct the field named in the detail.",
        }
        /// The frames or the reason are too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "stream.too_large",
            kind: TooLarge,
            hint: "send less at once, or send a reference",
            cause: "The frames of one send exceed 1 MiB in total, or a reason exceeds 4 KiB.",
        }
        /// There are too many streams, or calls waiting for them.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "stream.too_many",
            kind: Exhausted,
            hint: "delete streams that are no longer needed, or use fewer waiting calls",
            cause: "The workspace has 10,000 streams or 256 MiB of frames, a stream has 1,000 \
                waiting calls, or an agent has 32.",
        }
        /// The caller's session ended while it waited for the stream.
        #[error("the session of agent `{agent}` ended while it waited for stream `{stream}`")]
        SessionEnded {
            /// The stream.
            stream: StreamName,
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "stream.session_ended",
            kind: Stale,
            hint: "register again, then continue reading from the same offset",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
        }
    }
}

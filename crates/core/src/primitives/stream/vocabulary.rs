//! Commands, queries, replies and events of streams.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, StreamName};
use crate::numbers::WaitId;
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that change streams, or that may wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `stream.create`
    Create(Create),
    /// `stream.send`
    Send(Send),
    /// `stream.receive`
    Receive(Receive),
    /// `stream.close`
    Close {
        /// The stream.
        stream: StreamName,
        /// The reason, which is recorded. Default: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `stream.delete`
    Delete {
        /// The stream.
        stream: StreamName,
    },
}

/// Signals to streams.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when there are frames for waiting calls.
    Tell {
        /// The stream.
        stream: StreamName,
    },
}

/// Creates a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreateStream"))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// The name of the stream.
    pub stream: StreamName,
    /// Keep frames, so that readers can read them later. If `false`, frames are only delivered to
    /// current watches of `streams/NAME`.
    #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<bool>,
    /// The maximum number of frames to keep; the oldest are dropped first.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::STREAM_FRAMES_DEFAULT),
        range(min = 1, max = limits::STREAM_FRAMES_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_max: Option<u64>,
    /// The maximum size of the kept frames in bytes; the oldest are dropped first.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::STREAM_BYTES_DEFAULT),
        range(min = 1, max = limits::STREAM_BYTES_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// Appends one or several frames. `data`, `frames` or both are required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SendFrames"))]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The stream.
    pub stream: StreamName,
    /// One frame. If omitted, `frames` is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// Several frames, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Json>,
}

/// Reads frames, or waits for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReceiveFrames"))]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// The stream.
    pub stream: StreamName,
    /// The first offset to read. If omitted, the first that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The maximum number of frames.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How long to wait at the end of the stream for more, in milliseconds. If omitted, the call
    /// does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Queries about streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `stream.get`
    Get {
        /// The stream.
        stream: StreamName,
    },
    /// `stream.list`: a page of streams, by name.
    List {
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<StreamName>,
    },
}

/// The status of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StreamStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// More frames may follow.
    Open,
    /// No more frames follow.
    Closed,
}

impl Status {
    /// The value as text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// The name of the stream.
    #[serde(rename = "stream")]
    pub name: StreamName,
    /// The status.
    pub status: Status,
    /// Why it was closed. Absent if no reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether frames are kept.
    pub kept: bool,
    /// The first offset that is kept.
    pub first: u64,
    /// The offset of the next frame.
    pub next: u64,
    /// The size of the kept frames in bytes.
    pub bytes: u64,
    /// The maximum number of frames to keep.
    pub frames_max: u64,
    /// The maximum size of the kept frames in bytes.
    pub bytes_max: u64,
    /// The agent that created it.
    pub created_by: AgentId,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The number of waiting readers.
    pub readers_waiting: u64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StreamFrame"))]
pub struct Frame {
    /// The offset in the stream.
    pub offset: u64,
    /// The content.
    pub data: Json,
}

/// Frames that were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The stream.
    pub stream: StreamName,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The offset to read next.
    pub next: u64,
    /// Whether more frames may follow.
    pub status: Status,
}

/// The result of an append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// The stream.
    pub stream: StreamName,
    /// The offset of the first frame. Absent if frames are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The number of frames.
    pub frames: u64,
    /// The offset of the next frame.
    pub next: u64,
}

/// Replies about streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One stream.
    Stream(Stream),
    /// The result of an append.
    Sent(Sent),
    /// Frames that were read.
    Frames(Frames),
    /// A page of streams, by name.
    Streams {
        /// The results on this page.
        streams: Vec<Stream>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<StreamName>,
    },
}

/// Events of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A stream was created.
    Created {
        /// The stream.
        stream: StreamName,
        /// Whether frames are kept.
        kept: bool,
        /// The maximum number of frames to keep.
        frames_max: u64,
        /// The maximum size of the kept frames in bytes.
        bytes_max: u64,
    },
    /// Frames were appended.
    Sent {
        /// The stream.
        stream: StreamName,
        /// The offset of the first frame. Absent if frames are not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// The frames, in order.
        frames: Vec<Json>,
        /// Whether they were only delivered to watches and are in no log.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        live: bool,
    },
    /// It was closed.
    Closed {
        /// The stream.
        stream: StreamName,
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was deleted.
    Deleted {
        /// The stream.
        stream: StreamName,
    },
    /// A call waits for frames.
    Queued {
        /// The stream.
        stream: StreamName,
        /// The agent that waits.
        reader: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The offset that it waits for.
        from: u64,
        /// The maximum number of frames.
        limit: u64,
        /// When the wait times out.
        until: Timestamp,
    },
    /// A waiting call is answered.
    Told {
        /// The stream.
        stream: StreamName,
        /// The agent that waits.
        reader: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The first offset of the request.
        from: u64,
        /// The maximum number of frames of the request.
        limit: u64,
    },
    /// A call stopped waiting without a result.
    GaveUp {
        /// The stream.
        stream: StreamName,
        /// The agent that waited.
        reader: AgentId,
        /// The waiting call.
        wait: WaitId,
        /// The offset that it waited for.
        from: u64,
        /// The reason.
        left: Left,
    },
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        if let Self::Receive(receive) = self { receive.wait_ms } else { None }
    }
}

impl Event {
    /// The stream that it is about.
    pub fn stream(&self) -> &StreamName {
        match self {
            Self::Created { stream, .. }
            | Self::Sent { stream, .. }
            | Self::Closed { stream, .. }
            | Self::Deleted { stream }
            | Self::Queued { stream, .. }
            | Self::Told { stream, .. }
            | Self::GaveUp { stream, .. } => stream,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Created { .. } => "stream.created",
            Self::Sent { .. } => "stream.sent",
            Self::Closed { .. } => "stream.closed",
            Self::Deleted { .. } => "stream.deleted",
            Self::Queued { .. } => "stream.queued",
            Self::Told { .. } => "stream.told",
            Self::GaveUp { .. } => "stream.gave_up",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        let stream = self.stream().as_str();
        match self {
            Self::Created { .. }
            | Self::Sent { .. }
            | Self::Closed { .. }
            | Self::Deleted { .. } => ["streams/", stream, "", ""],
            Self::Queued { .. } | Self::Told { .. } | Self::GaveUp { .. } => {
                ["readers/", stream, "", ""]
            }
        }
    }

    fn load(&self) -> usize {
        match self {
            Self::Sent { frames, .. } => {
                frames.iter().map(|frame| frame.as_bytes().len() + 5).sum()
            }
            Self::Closed { reason, .. } => reason.as_ref().map_or(0, |reason| reason.len() + 8),
            Self::Queued { reader, .. }
            | Self::Told { reader, .. }
            | Self::GaveUp { reader, .. } => reader.as_str().len() + 16,
            Self::Created { .. } | Self::Deleted { .. } => 0,
        }
    }

    fn is_about_waiting(&self) -> bool {
        matches!(self, Self::Queued { .. } | Self::Told { .. } | Self::GaveUp { .. })
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Told { wait, .. } | Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            _ => None,
        }
    }

    fn is_live(&self) -> bool {
        matches!(self, Self::Sent { live: true, .. })
    }
}

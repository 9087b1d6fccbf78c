//! The words of streams.

use serde::{Deserialize, Serialize};

use crate::json::{Json, given};
use crate::names::{AgentId, StreamName};
use crate::numbers::WaitId;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// What one may ask of streams so that they change, or so that the call may wait.
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
        /// Which stream.
        stream: StreamName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// `stream.delete`
    Delete {
        /// Which stream.
        stream: StreamName,
    },
    /// Sent by the policies when there is something for those who wait.
    Tell {
        /// Which stream.
        stream: StreamName,
    },
    /// Sent by the policies when an agent's session has ended.
    LetGo {
        /// Whose.
        agent: AgentId,
    },
    /// Sent by the engine when a caller is gone.
    GiveUp {
        /// Which call.
        wait: WaitId,
    },
    /// Sent by the engine when [`Table::next_deadline`](super::Table::next_deadline) has passed.
    Expire,
}

/// Makes a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreateStream"))]
#[serde(deny_unknown_fields)]
pub struct Create {
    /// Its name.
    pub stream: StreamName,
    /// Whether frames are kept, as they are if not given; else they go to whoever watches now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<bool>,
    /// How many frames are kept at most; the oldest go first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_max: Option<u64>,
    /// How many bytes of frames are kept at most; the oldest go first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// Sends one frame, or several at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SendFrames"))]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// To which stream.
    pub stream: StreamName,
    /// One frame.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// Several, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Json>,
}

/// Reads frames, or waits for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReceiveFrames"))]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// Of which stream.
    pub stream: StreamName,
    /// From which offset on; from the first that is kept if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How long to wait at the end for more; not at all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// What one may ask of streams without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `stream.get`
    Get {
        /// Which stream.
        stream: StreamName,
    },
    /// `stream.list`: a page of them, by name.
    List {
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<StreamName>,
    },
}

/// Whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StreamStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// More may come.
    Open,
    /// Nothing comes any more.
    Closed,
}

impl Status {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// A stream as callers see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// Which.
    #[serde(rename = "stream")]
    pub name: StreamName,
    /// Whether more may come.
    pub status: Status,
    /// Why it was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether frames are kept.
    pub kept: bool,
    /// The first offset that is kept.
    pub first: u64,
    /// The offset that the next frame will have.
    pub next: u64,
    /// Bytes of the frames that are kept.
    pub bytes: u64,
    /// How many frames are kept at most.
    pub frames_max: u64,
    /// How many bytes of frames are kept at most.
    pub bytes_max: u64,
    /// Who made it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// When something last happened to it.
    pub updated_at: Timestamp,
    /// How many calls wait for more.
    pub readers_waiting: u64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "StreamFrame"))]
pub struct Frame {
    /// Its place in the stream.
    pub offset: u64,
    /// What was sent.
    pub data: Json,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// Of which stream.
    pub stream: StreamName,
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The offset to go on from.
    pub next: u64,
    /// Whether more may come.
    pub status: Status,
}

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// To which stream.
    pub stream: StreamName,
    /// The offset of the first frame; none if frames are not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// How many frames.
    pub frames: u64,
    /// The offset that the next frame will have.
    pub next: u64,
}

/// Answers of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One stream.
    Stream(Stream),
    /// What was sent.
    Sent(Sent),
    /// What was read.
    Frames(Frames),
    /// A page of streams, by name.
    Streams {
        /// The page.
        streams: Vec<Stream>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<StreamName>,
    },
    /// Nothing had to be done.
    Done,
}

/// Facts about streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is a new one.
    Created {
        /// Which.
        stream: StreamName,
        /// Whether frames are kept.
        kept: bool,
        /// How many at most.
        frames_max: u64,
        /// Of together how many bytes at most.
        bytes_max: u64,
    },
    /// There are frames.
    Sent {
        /// In which stream.
        stream: StreamName,
        /// The offset of the first; none if they are not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// What was sent, in order.
        frames: Vec<Json>,
        /// Whether they were only told to those who watched, and are in no log.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        live: bool,
    },
    /// Nothing comes any more.
    Closed {
        /// Which.
        stream: StreamName,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It is gone.
    Deleted {
        /// Which.
        stream: StreamName,
    },
    /// Somebody waits for more.
    Queued {
        /// Of which stream.
        stream: StreamName,
        /// Who.
        reader: AgentId,
        /// Which call.
        wait: WaitId,
        /// For which offset.
        from: u64,
        /// How many frames at most.
        limit: u64,
        /// Until when at most.
        until: Timestamp,
    },
    /// Somebody who waited was told.
    Told {
        /// Of which stream.
        stream: StreamName,
        /// Who.
        reader: AgentId,
        /// Which call.
        wait: WaitId,
        /// What was asked for: from which offset on.
        from: u64,
        /// And how many frames at most.
        limit: u64,
    },
    /// Somebody waits no longer.
    GaveUp {
        /// Of which stream.
        stream: StreamName,
        /// Who waited.
        reader: AgentId,
        /// Which call.
        wait: WaitId,
        /// For which offset.
        from: u64,
        /// Why.
        left: Left,
    },
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
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

    /// The stream it is about.
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

    /// The parts of its subject: `streams/` and which, or `readers/` and of which for what is about
    /// somebody who waits, so that whoever watches a stream sees the stream.
    pub fn subject_parts(&self) -> [&str; 4] {
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

    /// What it means for a call that waits. Reading changes nothing, so nothing is granted: whoever
    /// repeats the call reads again.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Queued { wait, .. } => Some(Step::Begins(*wait)),
            Self::Told { wait, .. } | Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Created { .. }
            | Self::Sent { .. }
            | Self::Closed { .. }
            | Self::Deleted { .. } => None,
        }
    }

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    pub(crate) fn load(&self) -> usize {
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
}

//! A message as it is kept and shown.

use serde::{Deserialize, Serialize};

use super::Address;
use crate::json::{Json, given};
use crate::names::{AgentId, IdempotencyKey, MessageId, Traceparent};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// Where a message is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessageStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits to be received.
    Waiting,
    /// Somebody has received it, and has not acknowledged it yet.
    Delivered,
    /// It was received so often without being acknowledged that it is not delivered any more.
    Dead,
    /// It was acknowledged.
    Acked,
    /// The request was answered.
    Replied,
    /// Its time to live was over.
    Expired,
    /// The request was not answered in time.
    TimedOut,
    /// Whoever had the request is gone, and nobody else handles it.
    Lost,
}

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 8] = [
        Self::Waiting,
        Self::Delivered,
        Self::Dead,
        Self::Acked,
        Self::Replied,
        Self::Expired,
        Self::TimedOut,
        Self::Lost,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Acked => "acked",
            Self::Replied => "replied",
            Self::Expired => "expired",
            Self::TimedOut => "timed_out",
            Self::Lost => "lost",
        }
    }

    /// Whether it may still be delivered without anybody asking for that.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Delivered)
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Which. Ids sort by time.
    pub id: MessageId,
    /// Who sent it.
    pub from: AgentId,
    /// In whose inbox it is.
    pub to: AgentId,
    /// What it says.
    pub body: Json,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// Where it is in its life.
    pub status: Status,
    /// The first message of the conversation it belongs to; itself if it began one.
    pub thread: MessageId,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// How often it was received.
    pub deliveries: u64,
    /// When it goes unless it is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The trace that it is a part of, as W3C Trace Context writes it: whoever acts on it goes on
    /// with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// When it is delivered again unless it is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_at: Option<Timestamp>,
    /// When it was last received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// When something last happened to it.
    #[serde(default)]
    pub updated_at: Timestamp,
    /// The revision that made it what it is.
    #[serde(default)]
    pub revision: Revision,
    /// When its life was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What else there is to know if somebody waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Asked>>,
}

/// What makes a message a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// To whom it was addressed.
    pub address: Address,
    /// Until when it can be answered.
    pub deadline: Timestamp,
    /// The requester's own name for it: whoever repeats it takes the place of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// What was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Given>,
}

/// The answer to a request: a body, or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Given {
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// Why nothing came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
}

impl Given {
    /// Bytes of what it says.
    pub fn bytes(&self) -> usize {
        [&self.body, &self.error].into_iter().flatten().map(|json| json.as_bytes().len()).sum()
    }
}

impl Message {
    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        const RECORD: usize = 512;
        let answer = self.request.as_ref().and_then(|asked| asked.answer.as_ref());
        RECORD + self.body.as_bytes().len() + answer.map_or(0, Given::bytes)
    }

    /// Whether it is too late for it, although nobody has noticed yet.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let deadline = self.request.as_ref().map(|asked| asked.deadline);
        let ends = [self.expires_at, deadline];
        ends.into_iter().flatten().any(|moment| moment <= now)
    }
}

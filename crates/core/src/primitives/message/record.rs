//! A message as it is stored and shown.

use serde::{Deserialize, Serialize};

use super::Address;
use crate::json::{Json, given};
use crate::names::{AgentId, IdempotencyKey, MessageId, Traceparent};
use crate::numbers::Revision;
use crate::time::Timestamp;

/// The status of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessageStatus"))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Waiting in its inbox.
    Waiting,
    /// Delivered, and not acknowledged yet.
    Delivered,
    /// Delivered too often without an acknowledgement; it is not delivered again.
    Dead,
    /// Acknowledged.
    Acked,
    /// The request was answered.
    Replied,
    /// Its time to live ended.
    Expired,
    /// The request was not answered in time.
    TimedOut,
    /// The agent that had the request is gone, and no other agent handles it.
    Lost,
}

impl Status {
    /// Every status, in the order of the life cycle.
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

    /// The value as text.
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

    /// Whether it may still be delivered without a further call.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Delivered)
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// The id of the message. Ids sort by time.
    pub id: MessageId,
    /// The sender.
    pub from: AgentId,
    /// The owner of the inbox.
    pub to: AgentId,
    /// The body.
    pub body: Json,
    /// When it was sent.
    pub sent_at: Timestamp,
    /// The status.
    pub status: Status,
    /// The first message of its conversation; its own id if it starts one.
    pub thread: MessageId,
    /// The message that it answers. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The number of deliveries.
    pub deliveries: u64,
    /// When it expires unless it is acknowledged. Absent if it does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// W3C trace context (`traceparent`), to be continued by the receiver. Absent if none was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// When it is delivered again unless it is acknowledged. Absent unless it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_at: Option<Timestamp>,
    /// When it was last delivered. Absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Timestamp,
    /// The revision of the last change.
    #[serde(default)]
    pub revision: Revision,
    /// When it was acknowledged, answered, expired or lost. Absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// Further fields of a request. Absent for other messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<Asked>>,
    /// `false` if it is a live request, which is only in memory. Absent for everything that is
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<bool>,
}

/// The further fields of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// The address of the request.
    pub address: Address,
    /// Until when it can be answered.
    pub deadline: Timestamp,
    /// The requester's idempotency key: a repeated request replaces the first. Absent if none was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// The reply. Absent before the request is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Given>,
}

/// The reply to a request: a body or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Given {
    /// The body. Absent if the reply is an error.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// The error. Absent if the reply has a body.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
}

impl Given {
    /// The size of the reply in bytes.
    pub fn bytes(&self) -> usize {
        [&self.body, &self.error].into_iter().flatten().map(|json| json.as_bytes().len()).sum()
    }
}

impl Message {
    /// Approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        const RECORD: usize = 512;
        let answer = self.request.as_ref().and_then(|asked| asked.answer.as_ref());
        RECORD + self.body.as_bytes().len() + answer.map_or(0, Given::bytes)
    }

    /// Whether its deadline or time to live has passed, even if that is not recorded yet.
    pub fn is_over(&self, now: Timestamp) -> bool {
        let deadline = self.request.as_ref().map(|asked| asked.deadline);
        let ends = [self.expires_at, deadline];
        ends.into_iter().flatten().any(|moment| moment <= now)
    }
}

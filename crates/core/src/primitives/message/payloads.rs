//! What one may ask of messages, where it has many fields.

use serde::{Deserialize, Serialize};

use super::{Address, Status};
use crate::json::{Json, given};
use crate::names::{AgentId, MessageId, Traceparent};

/// Sends a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// To whom. The agent need not be there yet: mail waits.
    pub to: AgentId,
    /// What it says.
    pub body: Json,
    /// The conversation it belongs to, by its first message; a new one if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The message it answers. It belongs to the same conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// After how long it goes unless it is acknowledged; it stays if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The trace that it is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// Sends a request, and waits for the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// To whom: an agent's id, `{"handler": name}` or `{"capability": name}`.
    pub to: Address,
    /// What is asked.
    pub body: Json,
    /// How long to wait for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The trace that it is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// Answers a request, with a body or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// Which request: the id of the message.
    pub request: MessageId,
    /// What came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// Why nothing came of it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
}

/// Receives mail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// Whose: the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// How long to wait if there is none; not at all if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How many messages at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// After how long they are delivered again unless they are acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
}

/// Acknowledges mail: it is never delivered again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// Whose: the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Which message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Which messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
}

/// Which messages to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListMessages"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// In whose inbox; in any if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Where in their life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Of which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MessageId>,
}

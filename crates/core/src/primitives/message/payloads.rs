//! Commands of messages with many fields.

use serde::{Deserialize, Serialize};

use super::{Address, Status};
use crate::json::{Json, given};
#[cfg(feature = "schema")]
use crate::limits;
use crate::names::{AgentId, MessageId, Traceparent};

/// Sends a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The receiving agent. It need not be registered yet.
    pub to: AgentId,
    /// The body: any JSON.
    pub body: Json,
    /// The first message of the conversation that it belongs to. If omitted, the conversation of
    /// `reply_to`, or a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The message that it answers, of the same conversation. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Time to live in milliseconds. If omitted, the message does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// W3C trace context (`traceparent`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

/// Sends a request, and waits for the reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The address: an agent id, `{"handler": name}` or `{"capability": name}`.
    pub to: Address,
    /// The body: any JSON.
    pub body: Json,
    /// How long to wait for the reply, in milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::REQUEST_MS_DEFAULT),
        range(min = 1, max = limits::WAIT_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Record the request and its reply. If `false`, the request is live: it is delivered at most
    /// once, its reply goes straight to the caller, and both are only in memory. It is lost with
    /// the server or the session of its handler, and has no idempotency key.
    #[cfg_attr(feature = "schema", schemars(extend("default" = true)))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<bool>,
    /// W3C trace context (`traceparent`). Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
}

impl Request {
    /// Whether it is only in memory.
    pub fn is_live(&self) -> bool {
        self.keep == Some(false)
    }
}

/// Replies to a request. Exactly one of `body` and `error` is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// The id of the request.
    pub request: MessageId,
    /// The body of the reply. If omitted, `error` is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// The error. If omitted, `body` is required.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub error: Option<Json>,
    /// Receive the next message in the same commit, and wait this long in milliseconds if the inbox
    /// is empty. The answer then contains the received message. If omitted, the call only replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How long after a delivery without an acknowledgement the received message is delivered
    /// again, in milliseconds. It requires `wait_ms`.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::REDELIVER_MS_DEFAULT),
        range(min = limits::REDELIVER_MS_MIN, max = limits::REDELIVER_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
}

impl Respond {
    /// A reply that receives nothing.
    pub fn new(request: MessageId, body: Option<Json>, error: Option<Json>) -> Self {
        Self { request, body, error, wait_ms: None, redeliver_ms: None }
    }

    /// What it receives after the reply, if it does.
    pub fn receive(&self) -> Option<Receive> {
        self.wait_ms?;
        let (agent, limit) = (None, Some(1));
        Some(Receive { agent, wait_ms: self.wait_ms, limit, redeliver_ms: self.redeliver_ms })
    }
}

/// Receives messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// The owner of the inbox, which must be the caller. If omitted, the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// How long to wait if the inbox is empty, in milliseconds. If omitted, the call does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The maximum number of messages.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::RECEIVED_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// How long after a delivery without an acknowledgement a message is delivered again, in
    /// milliseconds.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::REDELIVER_MS_DEFAULT),
        range(min = limits::REDELIVER_MS_MIN, max = limits::REDELIVER_MS_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redeliver_ms: Option<u64>,
}

/// Acknowledges messages, so that they are not delivered again. `message`, `messages` or both are
/// required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The owner of the inbox, which must be the caller. If omitted, the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// One message. If omitted, `messages` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Several messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
}

/// Which messages to list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ListMessages"))]
#[serde(deny_unknown_fields)]
pub struct List {
    /// The owner of the inbox. If omitted, all inboxes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Only messages with this status. If omitted, any status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Only messages of this conversation. If omitted, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The maximum number of results.
    #[cfg_attr(feature = "schema", schemars(
        extend("default" = limits::PAGE_DEFAULT),
        range(min = 1, max = limits::PAGE_MAX),
    ))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The `cursor` of the previous page. If omitted, the first page is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<MessageId>,
}

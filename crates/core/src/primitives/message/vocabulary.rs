//! Commands, queries, replies and events of messages.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::limits;
use crate::message::{
    Ack, Address, Given, Handler, List, Message, Receive, Request, Respond, Send,
};
use crate::names::{AgentId, HandlerName, IdempotencyKey, MessageId, Traceparent};
use crate::numbers::WaitId;
use crate::primitive;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// Commands that change messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `message.send`
    Send(Send),
    /// `message.request`: sends, and waits for the reply.
    Request(Request),
    /// `message.reply`: replies to a request.
    Reply(Respond),
    /// `inbox.receive`: the oldest messages of the caller.
    #[serde(rename = "inbox.receive")]
    Receive(Receive),
    /// `inbox.ack`
    #[serde(rename = "inbox.ack")]
    Ack(Ack),
    /// `inbox.requeue`: returns a dead message to its inbox.
    #[serde(rename = "inbox.requeue")]
    Requeue {
        /// The message.
        message: MessageId,
    },
    /// `handler.register`: the caller handles these requests while its session lasts.
    #[serde(rename = "handler.register")]
    Register {
        /// The handler.
        handler: HandlerName,
    },
    /// `handler.remove`: the caller no longer handles them.
    #[serde(rename = "handler.remove")]
    Remove {
        /// The handler.
        handler: HandlerName,
    },
}

/// Signals to messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// Sent by a policy when there is a message for a waiting call.
    Deliver {
        /// The receiving agent.
        to: AgentId,
    },
}

/// Queries about messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `message.get`
    Get {
        /// The message.
        message: MessageId,
    },
    /// `inbox.list`: a page of messages by id, which is by time.
    #[serde(rename = "inbox.list")]
    List(List),
    /// `handler.list`: a page of handlers.
    #[serde(rename = "handler.list")]
    Handlers {
        /// Only this handler. If omitted, all handlers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handler: Option<HandlerName>,
        /// The maximum number of results.
        #[cfg_attr(feature = "schema", schemars(
            extend("default" = limits::PAGE_DEFAULT),
            range(min = 1, max = limits::PAGE_MAX),
        ))]
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The `cursor` of the previous page. If omitted, the first page is returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answered {
    /// The request.
    pub request: MessageId,
    /// The body of the reply.
    pub body: Json,
    /// The agent that replied.
    pub from: AgentId,
}

/// Replies about messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One message.
    Message(Box<Message>),
    /// The received messages, oldest first. Empty if there were none in time.
    Received {
        /// The messages.
        messages: Vec<Message>,
    },
    /// A page of messages, by id.
    Messages {
        /// The results on this page.
        messages: Vec<Message>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<MessageId>,
    },
    /// The messages are acknowledged.
    Acked {
        /// Their ids.
        messages: Vec<MessageId>,
    },
    /// The reply to a request.
    Replied(Answered),
    /// An error reply, as it is stored for repeated requests.
    Failed(Failed),
    /// A registered handler.
    Handler(Handler),
    /// A page of handlers, by handler and agent.
    Handlers {
        /// The results on this page.
        handlers: Vec<Handler>,
        /// The cursor of the next page. Absent on the last page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// A request that was answered with an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failed {
    /// The request.
    pub request: MessageId,
    /// The agent that replied.
    pub handler: AgentId,
    /// The error.
    pub error: Json,
}

/// Events of messages. Each names the inbox, so that a watch of an inbox sees all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A message was sent.
    Sent(Box<Sent>),
    /// A message was delivered.
    Delivered {
        /// The message.
        message: MessageId,
        /// The receiving agent.
        to: AgentId,
        /// When it is delivered again unless it is acknowledged.
        until: Timestamp,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// An agent looked into its empty inbox, for the first time in its session. From now on it can
    /// receive requests.
    Polled {
        /// The owner of the inbox.
        receiver: AgentId,
    },
    /// It was not acknowledged in time, and waits in its inbox again.
    Returned {
        /// The message.
        message: MessageId,
        /// The owner of the inbox.
        to: AgentId,
    },
    /// It was acknowledged.
    Acked {
        /// The message.
        message: MessageId,
        /// The owner of the inbox.
        to: AgentId,
    },
    /// It was delivered too often without being acknowledged.
    Died {
        /// The message.
        message: MessageId,
        /// The owner of the inbox.
        to: AgentId,
    },
    /// Its time to live ended.
    Expired {
        /// The message.
        message: MessageId,
        /// The owner of the inbox.
        to: AgentId,
    },
    /// A dead message was returned to its inbox.
    Requeued {
        /// The message.
        message: MessageId,
        /// The owner of the inbox.
        to: AgentId,
    },
    /// The request was answered.
    Replied {
        /// The message.
        message: MessageId,
        /// The agent that replied.
        to: AgentId,
        /// The reply.
        answer: Given,
        /// Whether the reply may reference artifacts, which the message then holds. Earlier
        /// versions never did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        holds: bool,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The request was not answered in time.
    TimedOut {
        /// The message.
        message: MessageId,
        /// The agent that should have replied.
        to: AgentId,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The agent that had the request is gone, and no other agent handles it.
    Lost {
        /// The message.
        message: MessageId,
        /// The agent that had it.
        to: AgentId,
        /// The waiting call that this answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The agent that had the request is gone, and another agent has it now.
    Rerouted {
        /// The message.
        message: MessageId,
        /// The agent that had it.
        to: AgentId,
        /// The agent that has it now.
        next: AgentId,
    },
    /// The request was repeated and replaces the first waiting call.
    Rejoined {
        /// The message.
        message: MessageId,
        /// The agent that should reply.
        to: AgentId,
        /// The agent that waits.
        requester: AgentId,
        /// The waiting call.
        wait: WaitId,
    },
    /// A call waits for messages.
    Queued {
        /// The waiting call.
        wait: WaitId,
        /// The receiver.
        receiver: AgentId,
        /// When the wait times out.
        until: Timestamp,
        /// How long after a delivery without an acknowledgement it is delivered again, in
        /// milliseconds.
        redeliver_ms: u64,
    },
    /// A call stopped waiting for messages or for a reply.
    GaveUp {
        /// The waiting call.
        wait: WaitId,
        /// The agent that waited.
        receiver: AgentId,
        /// The reason.
        left: Left,
        /// The request whose reply it waited for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
    },
    /// An agent was registered for a handler.
    HandlerAdded {
        /// The handler.
        handler: HandlerName,
        /// The agent.
        holder: AgentId,
    },
    /// An agent was removed from a handler.
    HandlerRemoved {
        /// The handler.
        handler: HandlerName,
        /// The agent.
        holder: AgentId,
    },
    /// An agent was removed from all handlers because its session ended.
    HandlersGone {
        /// The agent.
        holder: AgentId,
    },
}

/// A message that was sent. Its sender is the author of the commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// The message.
    pub message: MessageId,
    /// The owner of the inbox.
    pub to: AgentId,
    /// The body.
    pub body: Json,
    /// Whether it may reference artifacts, which it then holds. Earlier versions never did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// The conversation that it belongs to, unless it starts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// When it expires unless it is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// W3C trace context (`traceparent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// Further fields of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Requested>,
}

/// The further fields of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// The address of the request.
    pub address: Address,
    /// Until when it can be answered.
    pub deadline: Timestamp,
    /// The call that waits for the reply.
    pub wait: WaitId,
    /// The requester's idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
}

impl primitive::Command for Command {
    fn wait_ms(&self) -> Option<u64> {
        match self {
            Self::Receive(receive) => receive.wait_ms,
            Self::Reply(respond) => respond.wait_ms,
            Self::Request(request) => {
                Some(request.timeout_ms.unwrap_or(limits::REQUEST_MS_DEFAULT))
            }
            _ => None,
        }
    }

    fn traceparent(&mut self) -> Option<&mut Option<Traceparent>> {
        match self {
            Self::Send(send) => Some(&mut send.traceparent),
            Self::Request(request) => Some(&mut request.traceparent),
            _ => None,
        }
    }

    fn named_agent(&self) -> Option<&AgentId> {
        match self {
            Self::Receive(receive) => receive.agent.as_ref(),
            Self::Ack(ack) => ack.agent.as_ref(),
            _ => None,
        }
    }
}

impl Event {
    /// The message that it is about and the owner of the inbox; none if it is about a waiting call
    /// or a handler.
    pub fn message(&self) -> Option<(&AgentId, &MessageId)> {
        match self {
            Self::Sent(sent) => Some((&sent.to, &sent.message)),
            Self::Delivered { message, to, .. }
            | Self::Returned { message, to }
            | Self::Acked { message, to }
            | Self::Died { message, to }
            | Self::Expired { message, to }
            | Self::Requeued { message, to }
            | Self::Replied { message, to, .. }
            | Self::TimedOut { message, to, .. }
            | Self::Lost { message, to, .. }
            | Self::Rerouted { message, to, .. }
            | Self::Rejoined { message, to, .. } => Some((to, message)),
            Self::Queued { .. }
            | Self::GaveUp { .. }
            | Self::Polled { .. }
            | Self::HandlerAdded { .. }
            | Self::HandlerRemoved { .. }
            | Self::HandlersGone { .. } => None,
        }
    }
}

impl primitive::Event for Event {
    fn kind(&self) -> &str {
        match self {
            Self::Sent(_) => "message.sent",
            Self::Delivered { .. } => "message.delivered",
            Self::Returned { .. } => "message.returned",
            Self::Acked { .. } => "message.acked",
            Self::Died { .. } => "message.died",
            Self::Expired { .. } => "message.expired",
            Self::Requeued { .. } => "message.requeued",
            Self::Replied { .. } => "message.replied",
            Self::TimedOut { .. } => "message.timed_out",
            Self::Lost { .. } => "message.lost",
            Self::Rerouted { .. } => "message.rerouted",
            Self::Rejoined { .. } => "message.rejoined",
            Self::Queued { .. } => "message.queued",
            Self::GaveUp { .. } => "message.gave_up",
            Self::Polled { .. } => "message.polled",
            Self::HandlerAdded { .. } => "message.handler_added",
            Self::HandlerRemoved { .. } => "message.handler_removed",
            Self::HandlersGone { .. } => "message.handlers_gone",
        }
    }

    fn subject_parts(&self) -> [&str; 4] {
        if let Some((to, message)) = self.message() {
            return ["inbox/", to.as_str(), "/", message.as_str()];
        }
        match self {
            Self::HandlerAdded { handler, .. } | Self::HandlerRemoved { handler, .. } => {
                ["handlers/", handler.as_str(), "", ""]
            }
            Self::HandlersGone { holder } => ["agents/", holder.as_str(), "/handlers", ""],
            Self::Queued { receiver, .. }
            | Self::GaveUp { receiver, .. }
            | Self::Polled { receiver } => ["inbox/", receiver.as_str(), "", ""],
            Self::Sent(_)
            | Self::Delivered { .. }
            | Self::Returned { .. }
            | Self::Acked { .. }
            | Self::Died { .. }
            | Self::Expired { .. }
            | Self::Requeued { .. }
            | Self::Replied { .. }
            | Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::Rerouted { .. }
            | Self::Rejoined { .. } => unreachable!("all of these are about a message"),
        }
    }

    fn load(&self) -> usize {
        let name = |name: &AgentId| name.as_str().len();
        match self {
            Self::Sent(sent) => {
                let Sent { body, thread, reply_to, traceparent, request, .. } = sent.as_ref();
                let ids = [thread, reply_to].into_iter().flatten();
                let ids: usize = ids.map(|id| id.as_str().len() + 16).sum();
                let asked = request.as_ref().map_or(0, |asked| {
                    let key = asked.key.as_ref().map_or(0, |key| key.as_str().len() + 8);
                    96 + asked.address.bytes() + key
                });
                let trace = traceparent.as_ref().map_or(0, Traceparent::bytes);
                body.as_bytes().len() + ids + asked + trace
            }
            Self::Replied { answer, .. } => answer.bytes() + 16,
            Self::Rerouted { next: other, .. }
            | Self::Rejoined { requester: other, .. }
            | Self::HandlerAdded { holder: other, .. }
            | Self::HandlerRemoved { holder: other, .. } => name(other),
            Self::GaveUp { message, .. } => message.as_ref().map_or(0, |id| id.as_str().len() + 16),
            Self::Delivered { .. }
            | Self::Returned { .. }
            | Self::Acked { .. }
            | Self::Died { .. }
            | Self::Expired { .. }
            | Self::Requeued { .. }
            | Self::TimedOut { .. }
            | Self::Lost { .. }
            | Self::Queued { .. }
            | Self::Polled { .. }
            | Self::HandlersGone { .. } => 0,
        }
    }

    fn is_about_waiting(&self) -> bool {
        matches!(
            self,
            Self::Queued { .. } | Self::GaveUp { .. } | Self::Polled { .. } | Self::Rejoined { .. }
        )
    }

    fn wait(&self) -> Option<Step> {
        match self {
            Self::Sent(sent) => sent.request.as_ref().map(|asked| Step::Begins(asked.wait)),
            Self::Queued { wait, .. } | Self::Rejoined { wait, .. } => Some(Step::Begins(*wait)),
            Self::Delivered { wait, .. } | Self::Replied { wait, .. } => wait.map(Step::Granted),
            Self::TimedOut { wait, .. } | Self::Lost { wait, .. } => wait.map(Step::Left),
            Self::GaveUp { left: Left::Elsewhere, .. } => None,
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            _ => None,
        }
    }
}

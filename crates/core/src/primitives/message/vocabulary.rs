//! The words of messages.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::message::{
    Ack, Address, Given, Handler, List, Message, Receive, Request, Respond, Send,
};
use crate::names::{AgentId, HandlerName, IdempotencyKey, MessageId, Traceparent};
use crate::numbers::WaitId;
use crate::time::Timestamp;
use crate::waiting::wait::{Left, Step};

/// What one may ask of messages so that they change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// `message.send`
    Send(Send),
    /// `message.request`: sends, and waits for the answer.
    Request(Request),
    /// `message.reply`: answers a request.
    Reply(Respond),
    /// `inbox.receive`: the caller's oldest mail, to be acknowledged.
    #[serde(rename = "inbox.receive")]
    Receive(Receive),
    /// `inbox.ack`
    #[serde(rename = "inbox.ack")]
    Ack(Ack),
    /// `inbox.requeue`: a dead message is delivered again.
    #[serde(rename = "inbox.requeue")]
    Requeue {
        /// Which.
        message: MessageId,
    },
    /// `handler.register`: the caller answers requests for it, as long as its session lasts.
    #[serde(rename = "handler.register")]
    Register {
        /// Which.
        handler: HandlerName,
    },
    /// `handler.remove`: it does not any more.
    #[serde(rename = "handler.remove")]
    Remove {
        /// Which.
        handler: HandlerName,
    },
    /// Sent by the policies when there is mail for somebody who waits.
    Deliver {
        /// For whom.
        to: AgentId,
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

/// What one may ask of messages without changing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Query {
    /// `message.get`
    Get {
        /// Which message.
        message: MessageId,
    },
    /// `inbox.list`: a page of messages, by id, which is by time.
    #[serde(rename = "inbox.list")]
    List(List),
    /// `handler.list`: a page of those who answer requests.
    #[serde(rename = "handler.list")]
    Handlers {
        /// For which handler; for all if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handler: Option<HandlerName>,
        /// How many at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where the page before ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answered {
    /// To which request.
    pub request: MessageId,
    /// What came of it.
    pub body: Json,
    /// Who answered.
    pub from: AgentId,
}

/// Answers of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One message.
    Message(Box<Message>),
    /// Mail, the oldest first; none if there was none in time.
    Received {
        /// The messages.
        messages: Vec<Message>,
    },
    /// A page of messages, by id.
    Messages {
        /// The page.
        messages: Vec<Message>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<MessageId>,
    },
    /// These are acknowledged.
    Acked {
        /// Which.
        messages: Vec<MessageId>,
    },
    /// The answer to a request.
    Replied(Answered),
    /// A handler's error, as it is kept for whoever repeats the request.
    Failed(Failed),
    /// Somebody who answers requests.
    Handler(Handler),
    /// A page of them, by handler and agent.
    Handlers {
        /// The page.
        handlers: Vec<Handler>,
        /// Where to go on, if there is more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// Nothing had to be done.
    Done,
}

/// A request that was answered with an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failed {
    /// Which request.
    pub request: MessageId,
    /// Who answered.
    pub handler: AgentId,
    /// With what.
    pub error: Json,
}

/// Facts about messages. Each names the inbox, so that whoever watches one sees all of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// There is mail.
    Sent(Box<Sent>),
    /// Somebody has received it.
    Delivered {
        /// Which.
        message: MessageId,
        /// Who.
        to: AgentId,
        /// When it is delivered again unless it is acknowledged.
        until: Timestamp,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// It was not acknowledged in time, and waits again.
    Returned {
        /// Which.
        message: MessageId,
        /// In whose inbox.
        to: AgentId,
    },
    /// It was acknowledged.
    Acked {
        /// Which.
        message: MessageId,
        /// In whose inbox.
        to: AgentId,
    },
    /// It was not acknowledged often enough.
    Died {
        /// Which.
        message: MessageId,
        /// In whose inbox.
        to: AgentId,
    },
    /// Its time to live was over.
    Expired {
        /// Which.
        message: MessageId,
        /// In whose inbox.
        to: AgentId,
    },
    /// It was dead, and is delivered again.
    Requeued {
        /// Which.
        message: MessageId,
        /// In whose inbox.
        to: AgentId,
    },
    /// The request was answered.
    Replied {
        /// Which.
        message: MessageId,
        /// Who answered.
        to: AgentId,
        /// With what.
        answer: Given,
        /// Whether the answer may name artifacts, which the message holds then. In earlier versions
        /// none did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        holds: bool,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// The request was not answered in time.
    TimedOut {
        /// Which.
        message: MessageId,
        /// Who should have answered.
        to: AgentId,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// Whoever had the request is gone, and nobody else handles it.
    Lost {
        /// Which.
        message: MessageId,
        /// Who had it.
        to: AgentId,
        /// The call that waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait: Option<WaitId>,
    },
    /// Whoever had the request is gone, and another has it now.
    Rerouted {
        /// Which.
        message: MessageId,
        /// Who had it.
        to: AgentId,
        /// Who has it now.
        next: AgentId,
    },
    /// The request was repeated, and waits in its place.
    Rejoined {
        /// Which.
        message: MessageId,
        /// Who should answer.
        to: AgentId,
        /// Who waits.
        requester: AgentId,
        /// Which call.
        wait: WaitId,
    },
    /// Somebody waits for mail.
    Queued {
        /// Which call.
        wait: WaitId,
        /// Who.
        receiver: AgentId,
        /// Until when at most.
        until: Timestamp,
        /// After how long it will be delivered again unless it is acknowledged.
        redeliver_ms: u64,
    },
    /// Somebody waits no longer, for mail or for an answer.
    GaveUp {
        /// Which call.
        wait: WaitId,
        /// Who waited.
        receiver: AgentId,
        /// Why.
        left: Left,
        /// For the answer to which request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
    },
    /// Somebody answers requests for a handler.
    HandlerAdded {
        /// Which.
        handler: HandlerName,
        /// Who.
        holder: AgentId,
    },
    /// Somebody does not any more.
    HandlerRemoved {
        /// Which.
        handler: HandlerName,
        /// Who.
        holder: AgentId,
    },
    /// Somebody answers no requests any more: the session has ended.
    HandlersGone {
        /// Who.
        holder: AgentId,
    },
}

/// A message that was sent. Who sent it is the author of the commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Which.
    pub message: MessageId,
    /// In whose inbox it is.
    pub to: AgentId,
    /// What it says.
    pub body: Json,
    /// Whether it may name artifacts, which it holds then. In earlier versions none did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// The conversation it belongs to, if it did not begin one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<MessageId>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// When it goes unless it is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The trace that it is a part of, as W3C Trace Context writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Traceparent>,
    /// What else there is to know if somebody waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Requested>,
}

/// What makes a message that was sent a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// To whom it was addressed.
    pub address: Address,
    /// Until when it can be answered.
    pub deadline: Timestamp,
    /// The call that waits for the answer.
    pub wait: WaitId,
    /// The requester's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
}

impl Event {
    /// The event's type, as watchers and history know it.
    pub fn kind(&self) -> &'static str {
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
            Self::HandlerAdded { .. } => "message.handler_added",
            Self::HandlerRemoved { .. } => "message.handler_removed",
            Self::HandlersGone { .. } => "message.handlers_gone",
        }
    }

    /// The message it is about, and whose inbox it is in; none if it is about somebody who waits or
    /// answers.
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
            | Self::HandlerAdded { .. }
            | Self::HandlerRemoved { .. }
            | Self::HandlersGone { .. } => None,
        }
    }

    /// The parts of its subject: `inbox/` and whose, and the message; `handlers/` and which; or
    /// `inbox/` and who waits.
    pub fn subject_parts(&self) -> [&str; 4] {
        if let Some((to, message)) = self.message() {
            return ["inbox/", to.as_str(), "/", message.as_str()];
        }
        match self {
            Self::HandlerAdded { handler, .. } | Self::HandlerRemoved { handler, .. } => {
                ["handlers/", handler.as_str(), "", ""]
            }
            Self::HandlersGone { holder } => ["agents/", holder.as_str(), "/handlers", ""],
            Self::Queued { receiver, .. } | Self::GaveUp { receiver, .. } => {
                ["inbox/", receiver.as_str(), "", ""]
            }
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

    /// What it means for a call that waits.
    pub fn wait(&self) -> Option<Step> {
        match self {
            Self::Sent(sent) => sent.request.as_ref().map(|asked| Step::Begins(asked.wait)),
            Self::Queued { wait, .. } | Self::Rejoined { wait, .. } => Some(Step::Begins(*wait)),
            Self::Delivered { wait, .. } | Self::Replied { wait, .. } => wait.map(Step::Granted),
            Self::TimedOut { wait, .. } | Self::Lost { wait, .. } => wait.map(Step::Left),
            Self::GaveUp { wait, .. } => Some(Step::Left(*wait)),
            Self::Returned { .. }
            | Self::Acked { .. }
            | Self::Died { .. }
            | Self::Expired { .. }
            | Self::Requeued { .. }
            | Self::Rerouted { .. }
            | Self::HandlerAdded { .. }
            | Self::HandlerRemoved { .. }
            | Self::HandlersGone { .. } => None,
        }
    }

    /// Bytes of what is neither bounded by the frame of an event nor part of the subject.
    pub(crate) fn load(&self) -> usize {
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
            | Self::HandlersGone { .. } => 0,
        }
    }
}

//! The reasons to refuse commands and queries of messages.

use serde::Serialize;
use thiserror::Error;

use super::vocabulary::Failed;
use crate::message::{Address, Status};
use crate::names::{AgentId, HandlerName, MessageId};
use crate::refusal::{BadField, OutOfRange, TooLarge, TooMany};

crate::refusals! {
    /// Why a command about messages was refused. Nothing was written.
    #[derive(Clone, Debug, PartialEq, Error, Serialize)]
    #[serde(untagged)]
    pub enum Rejection {
        /// No message with this id is known.
        #[error("there is no message `{message}`")]
        NotFound {
            /// The message.
            message: MessageId,
        } => {
            code: "message.not_found",
            kind: NotFound,
            hint: "list the inbox with inbox.list; ended messages are eventually removed",
            cause: "It was never sent, or it ended so long ago that it was removed: the latest \
                50,000 ended messages are kept.",
            remedy: "List the inbox with `inbox.list`. The history still has its events.",
        }
        /// The inbox, or the message in it, belongs to another agent.
        #[error("the inbox of `{owner}` does not belong to `{caller}`")]
        NotYours {
            /// The owner.
            owner: AgentId,
            /// The caller.
            caller: AgentId,
        } => {
            code: "message.not_yours",
            kind: Denied,
            hint: "act as the agent that owns the inbox",
            cause: "Only the agent itself can receive, acknowledge and answer its messages. A \
                request may since have moved to another handler.",
        }
        /// The inbox is full.
        #[error("the inbox of `{to}` is full: {messages} messages of {bytes} bytes")]
        InboxFull {
            /// The owner of the inbox.
            to: AgentId,
            /// How many messages are in it.
            messages: usize,
            /// Their total size in bytes.
            bytes: usize,
            /// The maximum number of messages.
            messages_max: usize,
            /// Their maximum total size in bytes.
            bytes_max: usize,
        } => {
            code: "message.inbox_full",
            kind: Exhausted,
            hint: "wait until its owner has received and acknowledged some messages",
            cause: "It holds 10,000 messages or 32 MiB that are not acknowledged, or the agent \
                has 64 requests or 1 MiB of requests to answer. The facts contain the current and \
                the maximum sizes.",
            remedy: "Wait until its owner has received and acknowledged some messages, or start \
                another handler.",
        }
        /// The message's current status does not allow the operation.
        #[error("message `{message}` is {}: it cannot be {what}", .status.word())]
        WrongStatus {
            /// The message.
            message: MessageId,
            /// Its status.
            #[serde(rename = "message_status")]
            status: Status,
            /// The refused action.
            what: &'static str,
        } => {
            code: "message.wrong_status",
            kind: Conflict,
            hint: "read the message: its status has changed",
            cause: "Only dead messages can be redelivered; only requests can be answered; and a \
                request is answered, not acknowledged.",
            remedy: "Read the message with `message.get`.",
        }
        /// No agent handles such requests now.
        #[error("no agent handles requests to {to} now")]
        NoHandler {
            /// The address.
            to: Address,
        } => {
            code: "message.no_handler",
            kind: NotFound,
            hint: "start a handler, or send a message, which waits until it is received",
            cause: "No agent with a session has registered that handler; or the agent, or every \
                agent with that capability, neither waits for messages nor has asked for any in \
                its current session.",
        }
        /// The handler answered with an error.
        #[error("`{}` answered request `{}` with an error", .0.handler, .0.request)]
        HandlerFailed(Failed) => {
            code: "message.handler_failed",
            kind: Conflict,
            hint: "check the error; retry if it is temporary",
            cause: "The facts contain the error, as the handler returned it.",
        }
        /// The request was not answered in time.
        #[error("request `{request}` was not answered by `{handler}` in time")]
        TimedOut {
            /// The request.
            request: MessageId,
            /// The agent that should have replied.
            handler: AgentId,
        } => {
            code: "message.timed_out",
            kind: Unavailable,
            hint: "retry with a longer timeout, or check the handler",
            cause: "The handler did not answer within `timeout_ms`. It may still be working; its \
                answer will be rejected.",
        }
        /// The handler's session ended before it answered.
        #[error("the session of `{handler}` ended before it answered request `{request}`")]
        HandlerLost {
            /// The request.
            request: MessageId,
            /// The agent that had it.
            handler: AgentId,
        } => {
            code: "message.handler_lost",
            kind: Unavailable,
            hint: "retry; the work may have been partly done",
            cause: "The handler left, was lost, or registered again, and no other agent handles \
                such requests.",
            remedy: "Retry once a handler is available. The work may have been partly done.",
        }
        /// The request has already been answered.
        #[error("request `{request}` has already been answered")]
        AlreadyReplied {
            /// The request.
            request: MessageId,
        } => {
            code: "message.already_replied",
            kind: Conflict,
            hint: "discard this answer, and receive the next message",
            cause: "A request has exactly one answer.",
        }
        /// The request no longer waits for an answer.
        #[error("request `{request}` is {}: it is too late to answer", .status.word())]
        TooLate {
            /// The request.
            request: MessageId,
            /// How it ended.
            #[serde(rename = "message_status")]
            status: Status,
        } => {
            code: "message.too_late",
            kind: Stale,
            hint: "discard the answer: nothing waits for it",
            cause: "The request timed out, or was abandoned when the handler's session ended.",
            remedy: "Discard the answer.",
        }
        /// A live request has ended, or was lost.
        #[error("live request `{request}` is over: it cannot be answered")]
        LiveOver {
            /// The request.
            request: MessageId,
        } => {
            code: "message.live_over",
            kind: Stale,
            hint: "discard the answer: nothing waits for it",
            cause: "The live request was answered, timed out, or its requester has gone; or it was \
                lost because the server was restarted or the workspace moved to another server.",
            remedy: "Discard the answer, and receive the next message.",
        }
        /// A live request is not remembered.
        #[error("a live request is not kept: {what}")]
        NotKept {
            /// What cannot be done.
            what: &'static str,
        } => {
            code: "message.not_kept",
            kind: Invalid,
            hint: "omit that, or send a request that is kept, which is the default",
            cause: "A live request (`keep: false`) is only in memory, so it has no idempotency \
                key; and neither it nor the reply to it can be part of a transaction.",
        }
        /// An agent needs a session to register a handler.
        #[error("agent `{caller}` has no session")]
        NoSession {
            /// The caller.
            caller: AgentId,
        } => {
            code: "message.no_session",
            kind: Conflict,
            hint: "register the agent first",
            cause: "The agent has not registered, or its session has ended. A handler ends with \
                the session, so that no request waits for a handler that is gone.",
            remedy: "Register with `agent.register`, then register the handler.",
        }
        /// The agent has not registered that handler.
        #[error("`{caller}` has not registered handler `{handler}`")]
        NoSuchHandler {
            /// The handler.
            handler: HandlerName,
            /// The caller.
            caller: AgentId,
        } => {
            code: "message.no_such_handler",
            kind: NotFound,
            hint: "list the handlers with handler.list",
            cause: "It never registered the handler, removed it, or its session has ended.",
            remedy: "List the handlers with `handler.list`.",
        }
        /// A number in a message command is out of range.
        #[error(transparent)]
        OutOfRange(#[from] OutOfRange) => {
            code: "message.out_of_range",
            kind: Invalid,
            hint: "use a number within the range",
            cause: "A time, a limit or a timeout is outside the range in the detail.",
        }
        /// A field of a message command is invalid.
        #[error(transparent)]
        BadField(#[from] BadField) => {
            code: "message.bad_field",
            kind: Invalid,
            hint: "correct the field that the detail names, then send the command again",
            cause: "A reply has neither a body nor an error, or both; an acknowledgement names no \
                messages, or too many; or a capability has no name.",
            remedy: "Correct the field named in the detail.",
        }
        /// The message is too large.
        #[error(transparent)]
        TooLarge(#[from] TooLarge) => {
            code: "message.too_large",
            kind: TooLarge,
            hint: "store it as an artifact, and send the id of that",
            cause: "A body or an error exceeds 1 MiB, or the body of a request exceeds 256 KiB.",
        }
        /// There are too many messages, handlers or waiting calls.
        #[error(transparent)]
        TooMany(#[from] TooMany) => {
            code: "message.too_many",
            kind: Exhausted,
            hint: "acknowledge or answer some first",
            cause: "An agent has 16 calls waiting for messages or 64 handlers, a handler has \
                1,000 agents, or the workspace has 200,000 messages, or 10,000 live requests or \
                64 MiB of them.",
            remedy: "Acknowledge some first, or use fewer waiting calls.",
        }
        /// The caller's session ended while it waited for messages.
        #[error("the session of agent `{agent}` ended while it waited for messages")]
        SessionEnded {
            /// The agent whose session ended.
            agent: AgentId,
        } => {
            code: "message.session_ended",
            kind: Stale,
            hint: "register again, then receive again",
            cause: "The agent left or registered again, or the session of its supervisor ended, \
                while one of its calls was waiting.",
            remedy: "Register again, then receive again. The messages are still in the inbox.",
        }
    }
}

//! The operations on messages, inboxes and request handlers.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Send = "message.send" -> "message", Post "/messages" Body, Work,
        side_effects("A waiting `inbox.receive` of the receiver is answered in the same commit."):
        "Send a message to an agent's inbox",
        {"to": "bob", "body": {"text": "the draft is there"}};
    Command::Request = "message.request" -> "replied", Post "/requests" Body, Work,
        waits("timeout_ms"),
        side_effects(
            "The request is delivered once, to an agent that listens. If that agent disappears, \
             another handler gets it."
        ):
        "Send a request and wait for the reply",
        {"to": {"handler": "sum"}, "body": [1, 2], "timeout_ms": 10000};
    Command::Reply = "message.reply" -> "message", Post "/requests/{request}/reply" Body, Work,
        waits("wait_ms"), other_reply(&["wait_ms", "redeliver_ms"], "`wait_ms`", "received"),
        side_effects(
            "Acknowledges the request and answers the waiting caller. With `wait_ms`, marks the \
             next message as delivered, as `inbox.receive` does."
        ):
        "Reply to a request, optionally receiving the next message",
        {"request": "m-0000000007", "body": 3, "wait_ms": 30000};
    Query::Get = "message.get" -> "message", Get "/messages/{message}" Query, Read:
        "Get a message", {"message": "m-0000000007"};
    Command::Receive = "inbox.receive" -> "received", Post "/inbox/{agent}/receive" Body, Work,
        names_agent, acts_as_agent, waits("wait_ms"),
        side_effects(
            "Marks the messages as delivered. Unless they are acknowledged within `redeliver_ms` \
             they are delivered again, and are dead after several deliveries."
        ):
        "Receive messages, optionally waiting for one",
        {"agent": "bob", "limit": 10, "wait_ms": 30000};
    Command::Ack = "inbox.ack" -> "acked", Post "/inbox/{agent}/ack" Body, Work, names_agent,
        acts_as_agent:
        "Acknowledge messages, so that they are not delivered again",
        {"agent": "bob", "messages": ["m-0000000007"]};
    Command::Requeue = "inbox.requeue" -> "message", Post "/messages/{message}/requeue" Body, Work,
        side_effects("A waiting `inbox.receive` of the receiver is answered in the same commit."):
        "Return a dead message to its inbox", {"message": "m-0000000007"};
    Query::List = "inbox.list" -> "messages", Get "/inbox/{agent}" Query, Read, names_agent:
        "List the messages of an inbox", {"agent": "bob", "status": "waiting", "limit": 10};
    Command::Register = "handler.register" -> "handler", Put "/handlers/{handler}" Body, Work,
        side_effects("The registration ends with the session of the caller."):
        "Register the caller for a handler", {"handler": "sum"};
    Command::Remove = "handler.remove" -> "handler", Delete "/handlers/{handler}" Query, Work:
        "Remove the caller from a handler", {"handler": "sum"};
    Query::Handlers = "handler.list" -> "handlers", Get "/handlers" Query, Read:
        "List handlers and the agents registered for them", {"limit": 10};
}

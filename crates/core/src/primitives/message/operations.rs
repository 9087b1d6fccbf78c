//! The operations on messages, inboxes and request handlers.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Send = "message.send" -> "message", Post "/messages" Body, Work:
        "Send a message, which waits for its receiver",
        {"to": "bob", "body": {"text": "the draft is there"}};
    Command::Request = "message.request" -> "replied", Post "/requests" Body, Work,
        waits("timeout_ms"):
        "Ask somebody, and wait for the answer",
        {"to": {"handler": "sum"}, "body": [1, 2], "timeout_ms": 10000};
    Command::Reply = "message.reply" -> "message", Post "/requests/{request}/reply" Body, Work:
        "Answer a request", {"request": "m-0000000007", "body": 3};
    Query::Get = "message.get" -> "message", Get "/messages/{message}" Query, Read:
        "Read a message", {"message": "m-0000000007"};
    Command::Receive = "inbox.receive" -> "received", Post "/inbox/{agent}/receive" Body, Work,
        names_agent, acts_as_agent, waits("wait_ms"):
        "Receive mail, or wait for it", {"agent": "bob", "limit": 10, "wait_ms": 30000};
    Command::Ack = "inbox.ack" -> "acked", Post "/inbox/{agent}/ack" Body, Work, names_agent,
        acts_as_agent:
        "Acknowledge mail: it never comes again", {"agent": "bob", "messages": ["m-0000000007"]};
    Command::Requeue = "inbox.requeue" -> "message", Post "/messages/{message}/requeue" Body, Work:
        "Deliver a dead message again", {"message": "m-0000000007"};
    Query::List = "inbox.list" -> "messages", Get "/inbox/{agent}" Query, Read, names_agent:
        "List the messages of an inbox", {"agent": "bob", "status": "waiting", "limit": 10};
    Command::Register = "handler.register" -> "handler", Put "/handlers/{handler}" Body, Work:
        "Answer requests for a handler", {"handler": "sum"};
    Command::Remove = "handler.remove" -> "handler", Delete "/handlers/{handler}" Query, Work:
        "Do not any more", {"handler": "sum"};
    Query::Handlers = "handler.list" -> "handlers", Get "/handlers" Query, Read:
        "List who answers which requests", {"limit": 10};
}

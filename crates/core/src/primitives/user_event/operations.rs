//! The operations on the event bus.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Emit = "event.emit" -> "emitted", Post "/events" Body, Work:
        "Say that something has happened", {"type": "deploy.finished", "payload": {"version": 7}};
    Query::History = "event.history" -> "events", Get "/events" Query, Read, is_about_the_past:
        "What happened, of any type", {"type": "task.*", "limit": 10};
}

//! The operations on the event bus.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Emit = "event.emit" -> "emitted", Post "/events" Body, Work,
        side_effects(
            "Delivered to watches of `events/TYPE`; matching reactions run in the same commit."
        ):
        "Emit an event of your own type", {"type": "deploy.finished", "payload": {"version": 7}};
    Query::History = "event.history" -> "events", Get "/events" Query, Read, is_about_the_past:
        "Query the event history", {"type": "task.*", "limit": 10};
}

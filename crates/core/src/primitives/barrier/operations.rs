//! The operations on barriers.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Arrive = "barrier.arrive" -> "arrival", Post "/barriers/{name}/arrive" Body, Work,
        waits("wait_ms"),
        side_effects(
            "The last arrival opens the barrier: all waiting calls are answered and the next \
             generation starts."
        ):
        "Arrive at a barrier, optionally waiting until it opens",
        {"name": "start", "count": 1, "wait_ms": 1000};
    Command::Reset = "barrier.reset" -> "barrier", Post "/barriers/{name}/reset" Body, Work,
        side_effects("Waiting calls are answered with `opened: false`."):
        "Discard all arrivals and start a new generation", {"name": "start"};
    Query::Get = "barrier.get" -> "barrier", Get "/barriers/{name}" Query, Read:
        "Get a barrier", {"name": "start"};
}

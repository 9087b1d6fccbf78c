//! The operations on barriers.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Arrive = "barrier.arrive" -> "arrival", Post "/barriers/{name}/arrive" Body, Work,
        waits("wait_ms"):
        "Arrive at a barrier, and wait for the others",
        {"name": "start", "count": 1, "wait_ms": 1000};
    Command::Reset = "barrier.reset" -> "barrier", Post "/barriers/{name}/reset" Body, Work:
        "Whoever has arrived has not", {"name": "start"};
    Query::Get = "barrier.get" -> "barrier", Get "/barriers/{name}" Query, Read:
        "Read a barrier", {"name": "start"};
}

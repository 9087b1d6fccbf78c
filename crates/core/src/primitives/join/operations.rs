//! The operations on joins.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "join.create" -> "join", Post "/joins" Body, Work:
        "Look after several tasks", {"group": "release", "need": "all", "deadline_ms": 3600000};
    Command::Wait = "join.wait" -> "settled", Post "/joins/{join}/wait" Body, Work,
        waits("wait_ms"):
        "Wait until enough of them have finished", {"join": "j-9", "wait_ms": 1000};
    Query::Get = "join.get" -> "join", Get "/joins/{join}" Query, Read:
        "Read a join", {"join": "j-9"};
}

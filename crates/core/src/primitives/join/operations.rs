//! The operations on joins.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "join.create" -> "join", Post "/joins" Body, Work:
        "Create a join over a group or a list of tasks",
        {"group": "release", "need": "all", "deadline_ms": 3600000};
    Command::Wait = "join.wait" -> "settled", Post "/joins/{join}/wait" Body, Work,
        waits("wait_ms"),
        null_when("the join did not settle within `wait_ms`"):
        "Wait until a join is settled", {"join": "j-9", "wait_ms": 1000};
    Query::Get = "join.get" -> "join", Get "/joins/{join}" Query, Read:
        "Get a join", {"join": "j-9"};
}

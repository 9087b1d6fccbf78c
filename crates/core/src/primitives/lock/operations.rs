//! The operations on locks.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Acquire = "lock.acquire" -> "hold", Post "/locks/{name}/acquire" Body, Work,
        waits("wait_ms"), gives_back("lock.release", &[("name", "/name"), ("token", "/token")]),
        side_effects(
            "The hold ends when `ttl_ms` elapses without `lock.renew`, or with the session of the \
             holder."
        ),
        null_when("the lock was not granted within `wait_ms`"):
        "Acquire a lock, optionally waiting for it",
        {"name": "release", "ttl_ms": 60000, "wait_ms": 1000};
    Command::Renew = "lock.renew" -> "hold", Post "/locks/{name}/renew" Body, Work, names_token,
        never_null:
        "Renew a lock", {"name": "release", "token": 42};
    Command::Release = "lock.release" -> "lock", Post "/locks/{name}/release" Body, Work,
        names_token,
        side_effects("The first call in the wait queue gets the lock in the same commit."):
        "Release a lock", {"name": "release", "token": 42};
    Query::Get = "lock.get" -> "lock", Get "/locks/{name}" Query, Read:
        "Get a lock", {"name": "release"};
    Query::List = "lock.list" -> "locks", Get "/locks" Query, Read:
        "List held locks, their wait queues and deadlocks", {"limit": 100};
}

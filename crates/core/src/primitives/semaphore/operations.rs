//! The operations on semaphores.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Acquire = "semaphore.acquire" -> "permit", Post "/semaphores/{name}/acquire" Body,
        Work, waits("wait_ms"), gives_back("semaphore.release", &[("name", "/name"),
        ("token", "/token")]),
        side_effects(
            "The first call for a name creates the semaphore. The permit ends when `ttl_ms` \
             elapses without `semaphore.renew`, or with the session of the holder."
        ),
        null_when("no permit was granted within `wait_ms`"):
        "Acquire a permit, optionally waiting for one",
        {"name": "models", "permits": 4, "ttl_ms": 60000, "wait_ms": 1000};
    Command::Renew = "semaphore.renew" -> "permit", Post "/semaphores/{name}/renew" Body, Work,
        names_token,
        never_null:
        "Renew a permit", {"name": "models", "token": 42};
    Command::Release = "semaphore.release" -> "semaphore", Post "/semaphores/{name}/release" Body,
        Work, names_token,
        side_effects("The first call in the wait queue gets the permit in the same commit."):
        "Release a permit", {"name": "models", "token": 42};
    Query::Get = "semaphore.get" -> "semaphore", Get "/semaphores/{name}" Query, Read:
        "Get a semaphore", {"name": "models"};
    Query::List = "semaphore.list" -> "semaphores", Get "/semaphores" Query, Read:
        "List semaphores with their holders and wait queues", {"limit": 100};
}

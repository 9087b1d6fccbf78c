//! The operations on semaphores.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Acquire = "semaphore.acquire" -> "permit", Post "/semaphores/{name}/acquire" Body,
        Work, waits("wait_ms"), gives_back("semaphore.release", &[("name", "/name"),
        ("token", "/token")]),
        side_effects(
            "The first call for a name creates the semaphore. Calls are served in order: a call \
             waits for all earlier calls, even if enough permits for it are free. The permit ends \
             when `ttl_ms` elapses without `semaphore.renew`, or with the session of the holder."
        ),
        null_when("no permit was granted within `wait_ms`"):
        "Acquire a permit, optionally waiting for one",
        {"name": "models", "permits": 4, "weight": 2, "ttl_ms": 60000, "wait_ms": 1000};
    Command::Renew = "semaphore.renew" -> "permit", Post "/semaphores/{name}/renew" Body, Work,
        names_token,
        never_null:
        "Renew a permit", {"name": "models", "token": 42};
    Command::Release = "semaphore.release" -> "semaphore", Post "/semaphores/{name}/release" Body,
        Work, names_token,
        side_effects(
            "The first calls in the wait queue get their permits in the same commit, as far as \
             enough are free."
        ):
        "Release a permit", {"name": "models", "token": 42};
    Command::Resize = "semaphore.resize" -> "semaphore", Post "/semaphores/{name}/resize" Body,
        SetUp,
        side_effects(
            "More permits go to the first calls in the wait queue in the same commit. With fewer, \
             holders keep their permits, nothing is granted until enough are returned, and \
             waiting calls with a greater `weight` are refused with `semaphore.too_heavy`."
        ):
        "Change the number of permits of a semaphore", {"name": "models", "permits": 8};
    Query::Get = "semaphore.get" -> "semaphore", Get "/semaphores/{name}" Query, Read:
        "Get a semaphore", {"name": "models"};
    Query::List = "semaphore.list" -> "semaphores", Get "/semaphores" Query, Read:
        "List semaphores with their holders and wait queues", {"limit": 100};
}

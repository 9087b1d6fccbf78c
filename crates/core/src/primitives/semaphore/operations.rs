//! The operations on semaphores.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Acquire = "semaphore.acquire" -> "permit", Post "/semaphores/{name}/acquire" Body,
        Work, waits("wait_ms"), gives_back("semaphore.release", &[("name", "/name"),
        ("token", "/token")]):
        "Take a permit, or wait for one",
        {"name": "models", "permits": 4, "ttl_ms": 60000, "wait_ms": 1000};
    Command::Renew = "semaphore.renew" -> "permit", Post "/semaphores/{name}/renew" Body, Work,
        names_token:
        "Keep a permit for longer", {"name": "models", "token": 42};
    Command::Release = "semaphore.release" -> "semaphore", Post "/semaphores/{name}/release" Body,
        Work, names_token:
        "Let go of a permit", {"name": "models", "token": 42};
    Query::Get = "semaphore.get" -> "semaphore", Get "/semaphores/{name}" Query, Read:
        "Read a semaphore", {"name": "models"};
    Query::List = "semaphore.list" -> "semaphores", Get "/semaphores" Query, Read:
        "List semaphores, who holds their permits, and who waits for one", {"limit": 100};
}

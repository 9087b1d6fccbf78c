//! The operations on locks.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Acquire = "lock.acquire" -> "hold", Post "/locks/{name}/acquire" Body, Work,
        waits("wait_ms"), gives_back("lock.release", &[("name", "/name"), ("token", "/token")]):
        "Take a lock, or wait for it", {"name": "release", "ttl_ms": 60000, "wait_ms": 1000};
    Command::Renew = "lock.renew" -> "hold", Post "/locks/{name}/renew" Body, Work, names_token:
        "Keep a lock for longer", {"name": "release", "token": 42};
    Command::Release = "lock.release" -> "lock", Post "/locks/{name}/release" Body, Work,
        names_token:
        "Let go of a lock", {"name": "release", "token": 42};
    Query::Get = "lock.get" -> "lock", Get "/locks/{name}" Query, Read:
        "Read a lock", {"name": "release"};
    Query::List = "lock.list" -> "locks", Get "/locks" Query, Read:
        "List the locks that are held, and who waits for them", {"limit": 100};
}

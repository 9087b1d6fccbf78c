//! The locks of a workspace.

use baton_core::lock::{Acquire, Command, Hold, Link, Lock, Query};
use baton_core::{LockName, Token};

use crate::request::request;
use crate::{Error, Locks};

/// The locks that are held, and the deadlocks among their waiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLocks {
    /// The locks that are held, by name.
    pub locks: Vec<Lock>,
    /// Cycles of waiters, each of which waits for the next.
    pub deadlocks: Vec<Vec<Link>>,
}

impl Locks {
    /// Acquires a lock; none if it could not be acquired in time.
    ///
    /// Dropping the call while it waits removes it from the queue. If the lock is granted at that
    /// time, it may stay held until it expires.
    pub fn acquire(&self, name: &str) -> Acquiring {
        let name = LockName::parse(name).map_err(Into::into);
        let acquire = name.map(|name| Acquire { name, ttl_ms: None, wait_ms: None });
        Acquiring::new(&self.workspace, acquire)
    }

    /// Renews a hold for its time to live.
    pub async fn renew(&self, name: &str, token: Token) -> Result<Hold, Error> {
        self.renew_for(name, token, None).await
    }

    /// Renews a hold and changes its time to live.
    pub async fn renew_for(
        &self,
        name: &str,
        token: Token,
        ttl_ms: impl Into<Option<u64>>,
    ) -> Result<Hold, Error> {
        let (name, ttl_ms) = (LockName::parse(name)?, ttl_ms.into());
        self.workspace.run(Command::Renew { name, token, ttl_ms }).await
    }

    /// Releases a lock. Returns it as it is afterwards, perhaps with its next holder.
    pub async fn release(&self, name: &str, token: Token) -> Result<Lock, Error> {
        self.workspace.run(Command::Release { name: LockName::parse(name)?, token }).await
    }

    /// Reads a lock. Every name has one; it is free unless it is held.
    pub async fn get(&self, name: &str) -> Result<Lock, Error> {
        self.workspace.query(Query::Get { name: LockName::parse(name)? }).await
    }

    /// Lists the locks that are held, with their waiters.
    pub async fn list(&self) -> Result<HeldLocks, Error> {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let list = Query::List { limit: None, cursor };
            let (HeldLocks { locks, deadlocks }, next) = self.workspace.query(list).await?;
            all.extend(locks);
            if next.is_none() {
                return Ok(HeldLocks { locks: all, deadlocks });
            }
            cursor = next;
        }
    }
}

request! {
    /// Acquires a lock when it is awaited.
    Acquiring(Acquire) -> Option<Hold>: |workspace, acquire|
        workspace.run(Command::Acquire(acquire));
    /// Sets how long the lock is held unless it is renewed.
    ttl_ms(milliseconds: u64) |acquire| acquire.ttl_ms = Some(milliseconds);
    /// Sets how long to wait for the lock.
    wait_ms(milliseconds: u64) |acquire| acquire.wait_ms = Some(milliseconds);
}

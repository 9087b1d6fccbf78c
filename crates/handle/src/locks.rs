//! Locks of a workspace.

use std::future::IntoFuture;

use baton_core::lock::{Acquire, Command, Hold, Link, Lock, Query, Reply as LockReply};
use baton_core::{LockName, Reply, Token};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Locks of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Locks<C> {
    workspace: Workspace<C>,
}

/// What is held, and who waits in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Every lock that somebody holds, by name.
    pub locks: Vec<Lock>,
    /// Circles in which everyone waits for the next, so that nobody goes on.
    pub deadlocks: Vec<Vec<Link>>,
}

impl<C: Carrier> Locks<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Takes a lock. How long to hold it and how long to wait for it may follow before this is
    /// awaited; it answers with nothing if there was none to get in time.
    ///
    /// Whoever drops it while it waits gives up. What is granted in that very moment may be held
    /// until its time is over.
    pub fn acquire(&self, name: &str) -> Acquiring<C> {
        let acquire = LockName::parse(name).map_err(Into::into).map(|name| Acquire {
            name,
            ttl_ms: None,
            wait_ms: None,
        });
        Acquiring { workspace: self.workspace.clone(), acquire }
    }

    /// Keeps a lock for as long again as before.
    pub async fn renew(&self, name: &str, token: Token) -> Result<Hold, C::Error> {
        self.renew_for(name, token, None).await
    }

    /// Keeps a lock for so long from now on, and for so long with every later renewal.
    pub async fn renew_for(
        &self,
        name: &str,
        token: Token,
        ttl_ms: impl Into<Option<u64>>,
    ) -> Result<Hold, C::Error> {
        let ttl_ms = ttl_ms.into();
        let command = Command::Renew { name: LockName::parse(name)?, token, ttl_ms };
        match self.workspace.execute(command).await?.reply {
            Reply::Lock(LockReply::Hold(Some(hold))) => Ok(hold),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Lets go of a lock; how it is afterwards, perhaps with another holder.
    pub async fn release(&self, name: &str, token: Token) -> Result<Lock, C::Error> {
        let command = Command::Release { name: LockName::parse(name)?, token };
        lock(self.workspace.execute(command).await?.reply)
    }

    /// One of them. A lock that nobody holds is free, whatever its name.
    pub async fn get(&self, name: &str) -> Result<Lock, C::Error> {
        let query = Query::Get { name: LockName::parse(name)? };
        lock(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// All that are held, and who waits for them.
    pub async fn list(&self) -> Result<Held, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::List { limit: None, cursor };
            match self.workspace.ask(baton_core::Query::from(query)).await?.reply {
                Reply::Lock(LockReply::Locks { locks, deadlocks, cursor: next }) => {
                    all.extend(locks);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(Held { locks: all, deadlocks }),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }
}

fn lock<F: Failure>(reply: Reply) -> Result<Lock, F> {
    match reply {
        Reply::Lock(LockReply::Lock(lock)) => Ok(lock),
        reply => Err(F::odd(&reply)),
    }
}

/// A lock that is taken when this is awaited.
#[must_use = "nothing is taken before this is awaited"]
pub struct Acquiring<C> {
    workspace: Workspace<C>,
    acquire: Prepared<Acquire>,
}

impl<C: Carrier> Acquiring<C> {
    fn with(mut self, change: impl FnOnce(&mut Acquire)) -> Self {
        self.acquire = self.acquire.map(|mut acquire| {
            change(&mut acquire);
            acquire
        });
        self
    }

    /// How long it is held unless it is renewed.
    pub fn ttl_ms(self, milliseconds: u64) -> Self {
        self.with(|acquire| acquire.ttl_ms = Some(milliseconds))
    }

    /// How long to wait for it at most.
    pub fn wait_ms(self, milliseconds: u64) -> Self {
        self.with(|acquire| acquire.wait_ms = Some(milliseconds))
    }
}

impl<C: Carrier> IntoFuture for Acquiring<C> {
    type Output = Result<Option<Hold>, C::Error>;
    type IntoFuture = Sent<Option<Hold>, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Acquire(self.acquire?)).await?.reply {
                Reply::Lock(LockReply::Hold(hold)) => Ok(hold),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

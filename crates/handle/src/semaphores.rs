//! Semaphores of a workspace.

use std::future::IntoFuture;

use baton_core::semaphore::{Acquire, Command, Permit, Query, Reply as SemaphoreReply, Semaphore};
use baton_core::{Reply, SemaphoreName, Token};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Semaphores of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Semaphores<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Semaphores<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Takes a permit. How many there are, how long to hold it and how long to wait for it may
    /// follow before this is awaited; it answers with nothing if there was none to get in time.
    ///
    /// Whoever drops it while it waits gives up. What is granted in that very moment may be held
    /// until its time is over.
    pub fn acquire(&self, name: &str) -> AcquiringPermit<C> {
        let acquire = SemaphoreName::parse(name).map_err(Into::into).map(|name| Acquire {
            name,
            permits: None,
            ttl_ms: None,
            wait_ms: None,
        });
        AcquiringPermit { workspace: self.workspace.clone(), acquire }
    }

    /// Keeps a permit for as long again as before.
    pub async fn renew(&self, name: &str, token: Token) -> Result<Permit, C::Error> {
        self.renew_for(name, token, None).await
    }

    /// Keeps a permit for so long from now on, and for so long with every later renewal.
    pub async fn renew_for(
        &self,
        name: &str,
        token: Token,
        ttl_ms: impl Into<Option<u64>>,
    ) -> Result<Permit, C::Error> {
        let ttl_ms = ttl_ms.into();
        let command = Command::Renew { name: SemaphoreName::parse(name)?, token, ttl_ms };
        match self.workspace.execute(command).await?.reply {
            Reply::Semaphore(SemaphoreReply::Permit(Some(permit))) => Ok(permit),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// Lets go of a permit; how the semaphore is afterwards.
    pub async fn release(&self, name: &str, token: Token) -> Result<Semaphore, C::Error> {
        let command = Command::Release { name: SemaphoreName::parse(name)?, token };
        semaphore(self.workspace.execute(command).await?.reply)
    }

    /// One of them.
    pub async fn get(&self, name: &str) -> Result<Semaphore, C::Error> {
        let query = Query::Get { name: SemaphoreName::parse(name)? };
        semaphore(self.workspace.ask(baton_core::Query::from(query)).await?.reply)
    }

    /// All of them, by name, with who holds permits and who waits for one.
    pub async fn list(&self) -> Result<Vec<Semaphore>, C::Error> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let query = Query::List { limit: None, cursor };
            match self.workspace.ask(baton_core::Query::from(query)).await?.reply {
                Reply::Semaphore(SemaphoreReply::Semaphores { semaphores, cursor: next }) => {
                    all.extend(semaphores);
                    match next {
                        Some(next) => cursor = Some(next),
                        None => return Ok(all),
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }
}

fn semaphore<F: Failure>(reply: Reply) -> Result<Semaphore, F> {
    match reply {
        Reply::Semaphore(SemaphoreReply::Semaphore(semaphore)) => Ok(semaphore),
        reply => Err(F::odd(&reply)),
    }
}

/// A permit that is taken when this is awaited.
#[must_use = "nothing is taken before this is awaited"]
pub struct AcquiringPermit<C> {
    workspace: Workspace<C>,
    acquire: Prepared<Acquire>,
}

impl<C: Carrier> AcquiringPermit<C> {
    fn with(mut self, change: impl FnOnce(&mut Acquire)) -> Self {
        self.acquire = self.acquire.map(|mut acquire| {
            change(&mut acquire);
            acquire
        });
        self
    }

    /// How many permits the semaphore has; whoever uses it first says so.
    pub fn permits(self, count: u64) -> Self {
        self.with(|acquire| acquire.permits = Some(count))
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

impl<C: Carrier> IntoFuture for AcquiringPermit<C> {
    type Output = Result<Option<Permit>, C::Error>;
    type IntoFuture = Sent<Option<Permit>, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Acquire(self.acquire?)).await?.reply {
                Reply::Semaphore(SemaphoreReply::Permit(permit)) => Ok(permit),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

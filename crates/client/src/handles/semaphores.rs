//! The semaphores of a workspace.

use baton_core::semaphore::{Acquire, Command, Permit, Query, Semaphore};
use baton_core::{SemaphoreName, Token};

use crate::request::request;
use crate::{Error, Semaphores};

impl Semaphores {
    /// Acquires a permit; none if there was none in time. Dropping the call while it waits has the
    /// same effect as for a [lock](crate::Locks::acquire).
    pub fn acquire(&self, name: &str) -> AcquiringPermit {
        let name = SemaphoreName::parse(name).map_err(Into::into);
        let (permits, weight, ttl_ms, wait_ms) = (None, None, None, None);
        let acquire = name.map(|name| Acquire { name, permits, weight, ttl_ms, wait_ms });
        AcquiringPermit::new(&self.workspace, acquire)
    }

    /// Renews a permit for its time to live.
    pub async fn renew(&self, name: &str, token: Token) -> Result<Permit, Error> {
        self.renew_for(name, token, None).await
    }

    /// Renews a permit and changes its time to live.
    pub async fn renew_for(
        &self,
        name: &str,
        token: Token,
        ttl_ms: impl Into<Option<u64>>,
    ) -> Result<Permit, Error> {
        let (name, ttl_ms) = (SemaphoreName::parse(name)?, ttl_ms.into());
        self.workspace.run(Command::Renew { name, token, ttl_ms }).await
    }

    /// Releases a permit. Returns the semaphore as it is afterwards.
    pub async fn release(&self, name: &str, token: Token) -> Result<Semaphore, Error> {
        self.workspace.run(Command::Release { name: SemaphoreName::parse(name)?, token }).await
    }

    /// Changes the number of permits. Waiting calls get what is added; holders keep what they have.
    /// Returns the semaphore as it is afterwards.
    pub async fn resize(&self, name: &str, permits: u64) -> Result<Semaphore, Error> {
        self.workspace.run(Command::Resize { name: SemaphoreName::parse(name)?, permits }).await
    }

    /// Reads a semaphore.
    pub async fn get(&self, name: &str) -> Result<Semaphore, Error> {
        self.workspace.query(Query::Get { name: SemaphoreName::parse(name)? }).await
    }

    /// Lists the semaphores with their holders and waiters, by name.
    pub async fn list(&self) -> Result<Vec<Semaphore>, Error> {
        self.workspace.pages(None, |cursor| Query::List { limit: None, cursor }).await
    }
}

request! {
    /// Acquires a permit when it is awaited.
    AcquiringPermit(Acquire) -> Option<Permit>: |workspace, acquire|
        workspace.run(Command::Acquire(acquire));
    /// Sets how many permits the semaphore has; the first use decides.
    permits(count: u64) |acquire| acquire.permits = Some(count);
    /// Sets how many of them to take.
    weight(permits: u64) |acquire| acquire.weight = Some(permits);
    /// Sets how long the permit is held unless it is renewed.
    ttl_ms(milliseconds: u64) |acquire| acquire.ttl_ms = Some(milliseconds);
    /// Sets how long to wait for a permit.
    wait_ms(milliseconds: u64) |acquire| acquire.wait_ms = Some(milliseconds);
}

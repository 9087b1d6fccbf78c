//! Barriers of a workspace.

use std::future::IntoFuture;

use baton_core::barrier::{Arrival, Arrive, Barrier, Command, Query, Reply as BarrierReply};
use baton_core::{BarrierName, Reply};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Barriers of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Barriers<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Barriers<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Arrives where nobody goes on before so many are there. How long to wait for the others may
    /// follow before this is awaited; the answer says whether it has opened.
    pub fn arrive(&self, name: &str, count: u64) -> Arriving<C> {
        let arrive = BarrierName::parse(name).map_err(Into::into).map(|name| Arrive {
            name,
            count,
            wait_ms: None,
        });
        Arriving { workspace: self.workspace.clone(), arrive }
    }

    /// Whoever has arrived has not.
    pub async fn reset(&self, name: &str) -> Result<Barrier, C::Error> {
        let command = Command::Reset { name: BarrierName::parse(name)? };
        barrier(self.workspace.execute(command).await?.reply)
    }

    /// One of them. There is a barrier under every name.
    pub async fn get(&self, name: &str) -> Result<Barrier, C::Error> {
        let query = Query::Get { name: BarrierName::parse(name)? };
        barrier(self.workspace.ask(query).await?.reply)
    }
}

fn barrier<F: Failure>(reply: Reply) -> Result<Barrier, F> {
    match reply {
        Reply::Barrier(BarrierReply::Barrier(barrier)) => Ok(barrier),
        reply => Err(F::odd(&reply)),
    }
}

/// An arrival that happens when this is awaited.
#[must_use = "nobody has arrived before this is awaited"]
pub struct Arriving<C> {
    workspace: Workspace<C>,
    arrive: Prepared<Arrive>,
}

impl<C: Carrier> Arriving<C> {
    /// How long to wait for the others at most. Whoever waits in vain has not arrived.
    pub fn wait_ms(mut self, milliseconds: u64) -> Self {
        if let Ok(arrive) = &mut self.arrive {
            arrive.wait_ms = Some(milliseconds);
        }
        self
    }
}

impl<C: Carrier> IntoFuture for Arriving<C> {
    type Output = Result<Arrival, C::Error>;
    type IntoFuture = Sent<Arrival, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.workspace.execute(Command::Arrive(self.arrive?)).await?.reply {
                Reply::Barrier(BarrierReply::Arrival(arrival)) => Ok(arrival),
                reply => Err(C::Error::odd(&reply)),
            }
        })
    }
}

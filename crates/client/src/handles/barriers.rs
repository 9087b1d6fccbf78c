//! The barriers of a workspace.

use baton_core::BarrierName;
use baton_core::barrier::{Arrival, Arrive, Barrier, Command, Query};

use crate::request::request;
use crate::{Barriers, Error};

impl Barriers {
    /// Arrives at a barrier that opens when `count` agents have arrived. The reply contains whether
    /// it has opened.
    pub fn arrive(&self, name: &str, count: u64) -> Arriving {
        let name = BarrierName::parse(name).map_err(Into::into);
        let arrive = name.map(|name| Arrive { name, count, wait_ms: None });
        Arriving::new(&self.workspace, arrive)
    }

    /// Removes all arrivals.
    pub async fn reset(&self, name: &str) -> Result<Barrier, Error> {
        self.workspace.run(Command::Reset { name: BarrierName::parse(name)? }).await
    }

    /// Reads a barrier. Every name has one.
    pub async fn get(&self, name: &str) -> Result<Barrier, Error> {
        self.workspace.query(Query::Get { name: BarrierName::parse(name)? }).await
    }
}

request! {
    /// Arrives at a barrier when it is awaited.
    Arriving(Arrive) -> Arrival: |workspace, arrive| workspace.run(Command::Arrive(arrive));
    /// Sets how long to wait for the other agents. If the wait ends first, the arrival is undone.
    wait_ms(milliseconds: u64) |arrive| arrive.wait_ms = Some(milliseconds);
}

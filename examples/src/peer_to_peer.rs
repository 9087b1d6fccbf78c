//! Three peers without a coordinator.
//!
//! They divide a pile of parcels by writing their names to keys: the first writer gets a parcel,
//! and the others get a conflict with the winning entry. They add up their weights, meet at a
//! barrier, and then see the same total. Finally they elect the one that writes the report.

use baton_client::Workspace;

use crate::{Ending, Story, WAIT_MS, tell};

const PARCELS: u64 = 9;
const PEERS: [&str; 3] = ["ada", "bob", "cyd"];

/// The peers.
pub struct PeerToPeer;

impl Story for PeerToPeer {
    const NAME: &str = "peer-to-peer";

    async fn happens(workspace: Workspace) -> Ending {
        let [ada, bob, cyd] = PEERS.map(|name| workspace.as_agent(name));
        let (a, b, c) = tokio::try_join!(peer(ada?), peer(bob?), peer(cyd?))?;
        assert_eq!(a.parcels + b.parcels + c.parcels, PARCELS, "every parcel has one owner");
        // Parcel n weighs n, whichever peer has it.
        let all = PARCELS * (PARCELS + 1) / 2;
        assert_eq!((a.total, b.total, c.total), (all, all, all), "they all see the same");
        let writers = [a.writes, b.writes, c.writes].into_iter().filter(|writes| *writes).count();
        assert_eq!(writers, 1, "one of them writes the report");
        Ok(())
    }
}

struct Seen {
    parcels: u64,
    total: u64,
    writes: bool,
}

async fn peer(me: Workspace) -> Result<Seen, baton_client::Error> {
    let (name, shared) = (me.agent().to_string(), me.state("shared"));
    let mut parcels = 0;
    for parcel in 1..=PARCELS {
        if !first(&me, &format!("parcels/{parcel}")).await? {
            continue;
        }
        // The server adds, so that no read is needed.
        let weight = i64::try_from(parcel).expect("parcels are few");
        shared.increment("weight", weight).await?;
        parcels += 1;
    }
    tell(&name, &format!("has {parcels} parcels, and waits for the others"));
    let met = me.barriers().arrive("weighed", PEERS.len() as u64).wait_ms(WAIT_MS).await?;
    assert!(met.opened, "all have come");
    let weight = shared.get("weight").await?;
    let total = String::from_utf8_lossy(weight.value()).parse().expect("it is a number");
    let writes = first(&me, "reporter").await?;
    let what = if writes { "sees the total, and writes the report" } else { "sees the total" };
    tell(&name, &format!("{what}: {total}"));
    Ok(Seen { parcels, total, writes })
}

/// Writes its name to a key; returns whether it was the first.
async fn first(me: &Workspace, key: &str) -> Result<bool, baton_client::Error> {
    let written = me.state("shared").set(key, me.agent().as_str()).if_absent().await;
    match written {
        Ok(_) => Ok(true),
        // The refusal contains the winner; here it is enough that there is one.
        Err(error) if error.code() == "state.exists" => Ok(false),
        Err(error) => Err(error),
    }
}

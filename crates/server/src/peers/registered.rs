//! Peers that register themselves: agents of a workspace whose metadata has an address.
//!
//! The operator names the workspaces. A session is renewed by this server for as long as it lasts;
//! it ends with `agent.leave`, or when the agent is registered again.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_a2a::peer::card_url;
use baton_client::{Error, Item, Workspace};
use baton_core::agent::Agent;
use baton_core::{AgentId, WorkspaceName};
use tokio::task::{AbortHandle, JoinSet};

use super::{Peer, Peers, worker_of};
use crate::shared::Shared;

/// Events after which a peer is there, or is not.
const EVENTS: [&str; 4] = ["agent.joined", "agent.left", "agent.lost", "agent.forgotten"];
/// How many peers one workspace may have.
const PEERS_MAX: usize = 256;

/// The peers of one workspace, by agent, each with its address.
#[derive(Default)]
struct Serving {
    workers: JoinSet<()>,
    by_agent: BTreeMap<AgentId, (String, AbortHandle)>,
}

/// Serves the agents of a workspace that have an address, until it is dropped.
pub(super) async fn serve(shared: Arc<Shared>, there: Workspace, peers: Peers) {
    let mut serving = Serving::default();
    loop {
        // An interruption, such as a full disk, ends.
        let _ = served(&shared, &there, &peers, &mut serving).await;
        tokio::time::sleep(peers.pause).await;
    }
}

async fn served(
    shared: &Arc<Shared>,
    there: &Workspace,
    peers: &Peers,
    serving: &mut Serving,
) -> Result<(), Error> {
    let mut watch = there.watch("agents/*");
    for kind in EVENTS {
        watch = watch.kind(kind);
    }
    let mut watch = watch.await?;
    loop {
        // The watch has begun, so that nothing is missed after the list.
        let active = there.agents().active().await?;
        let named = |peer: &Peer| peers.peers.iter().any(|other| other.name() == peer.name());
        let wanted = active.iter().filter_map(|agent| peer_of(there.name(), agent));
        let wanted: Vec<Peer> = wanted.filter(|peer| !named(peer)).take(PEERS_MAX).collect();
        serving.adapt(shared, peers, wanted);
        loop {
            match watch.next().await {
                Some(Ok(Item::Event(_))) => break,
                Some(Ok(Item::Snapshot { .. })) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}

/// The peer that an agent describes in its metadata.
fn peer_of(workspace: &WorkspaceName, agent: &Agent) -> Option<Peer> {
    let metadata = agent.metadata.as_ref()?.to_value();
    let url = metadata.get("a2a")?.as_str()?;
    card_url(url).ok()?;
    let url = url.strip_prefix("a2a:").unwrap_or(url).to_owned();
    let (workspace, agent) = (workspace.clone(), agent.id.clone());
    Some(Peer { workspace, agent, url, token: None })
}

impl Serving {
    /// Begins and ends workers, so that there is one for each of these.
    fn adapt(&mut self, shared: &Arc<Shared>, peers: &Peers, wanted: Vec<Peer>) {
        let is_wanted = |agent: &AgentId, url: &str| {
            wanted.iter().any(|peer| peer.agent == *agent && peer.url == url)
        };
        self.by_agent.retain(|agent, (url, worker)| {
            let stays = is_wanted(agent, url);
            if !stays {
                worker.abort();
            }
            stays
        });
        for peer in wanted {
            if self.by_agent.contains_key(&peer.agent) {
                continue;
            }
            if let Some(worker) = worker_of(shared, peers, &peer, true) {
                let handle = self.workers.spawn(worker.serve());
                self.by_agent.insert(peer.agent, (peer.url, handle));
            }
        }
        while self.workers.try_join_next().is_some() {}
    }
}

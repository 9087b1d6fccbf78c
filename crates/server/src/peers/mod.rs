//! Agents of other systems: the server accepts their tasks here, has them done there over the A2A
//! protocol, and reports the results.
//!
//! ```text
//!   task, hand-off ──▶ SendMessage ──▶ SubscribeToTask, GetTask … ──▶ task.complete, task.fail
//!     lease, token      │  recorded          │
//!                       │                    └─▶ progress, questions; answers from the inbox
//!                       └─▶ cannot be delivered: rejected, or failed, with the reason
//! ```
//!
//! 1. A peer is an agent like any other: it has a session, and holds each task under a lease, which
//!    is renewed while the peer works on it.
//! 2. The id of a message is recorded before it is sent, and that of the task when it is known.
//!    A server that starts again finds both, and follows the same task: nothing is done twice.
//! 3. A hand-off is accepted when the message has arrived. If it cannot be delivered, it is
//!    rejected, and the giver keeps its task.
//! 4. Peers are named by the operator, or register in workspaces that the operator names. They are
//!    called with the address checks of webhooks; their credentials are in no event, log or error.
//! 5. Everything is bounded: concurrent tasks, answers, the time of a call, and how long a peer may
//!    be unreachable.

mod delivery;
mod following;
mod outcome;
mod registered;
mod remote;
mod sending;
mod worker;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_a2a::peer::card_url;
use baton_client::Workspace;
use baton_core::{AgentId, WorkspaceName};
use baton_tls::TlsError;
use tokio::task::JoinSet;

use crate::guarded_carrier::GuardedCarrier;
use crate::shared::Shared;
use crate::webhooks::Webhooks;
pub use remote::{Remote, Updates};
pub use sending::Outgoing;
use worker::PeerWorker;

/// The workspace of peers that name none.
const WORKSPACE: &str = "default";

/// An agent of another system.
#[derive(Clone)]
pub struct Peer {
    /// The workspace that it works in.
    pub workspace: WorkspaceName,
    /// The agent that it is here.
    pub agent: AgentId,
    /// Its address.
    pub url: String,
    /// The token that it requires.
    pub token: Option<String>,
}

impl Peer {
    /// Reads `AGENT=URL` or `WORKSPACE/AGENT=URL`; the address may begin with `a2a:`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((name, url)) = text.split_once('=') else {
            return Err(format!("`{text}` is not AGENT=URL or WORKSPACE/AGENT=URL"));
        };
        let (workspace, agent) = name.split_once('/').unwrap_or((WORKSPACE, name));
        let workspace = WorkspaceName::parse(workspace).map_err(|error| error.to_string())?;
        let agent = AgentId::parse(agent).map_err(|error| error.to_string())?;
        card_url(url).map_err(|error| error.detail)?;
        let url = url.strip_prefix("a2a:").unwrap_or(url).to_owned();
        Ok(Self { workspace, agent, url, token: None })
    }

    /// Its name: `WORKSPACE/AGENT`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.workspace, self.agent)
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Peer({}={})", self.name(), self.url)
    }
}

/// The agents of other systems, and how they are called.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The agents.
    pub peers: Vec<Peer>,
    /// Workspaces whose agents may register with an address of their own.
    pub registered: Vec<WorkspaceName>,
    /// How long a peer may be out of reach before its task is given up.
    pub patience: Duration,
    /// The pause before a request is repeated.
    pub pause: Duration,
    /// How long a call may take.
    pub deadline: Duration,
    webhooks: Webhooks,
}

impl Peers {
    /// Peers at public addresses, and with `private` at others too. Certificates are verified as
    /// those of webhooks.
    pub fn new(peers: Vec<Peer>, private: bool, ca_file: Option<&Path>) -> Result<Self, TlsError> {
        let webhooks = Webhooks::new(private, ca_file)?;
        let (patience, pause) = (Duration::from_mins(10), Duration::from_secs(1));
        let deadline = Duration::from_secs(30);
        Ok(Self { peers, registered: Vec::new(), patience, pause, deadline, webhooks })
    }
}

/// A workspace, as one of its agents uses it: counted against its quotas, and scheduled.
fn workspace_of(shared: &Arc<Shared>, workspace: &WorkspaceName, agent: &str) -> Option<Workspace> {
    let authority = shared.access.authority_of_server();
    let carrier = GuardedCarrier::new(Arc::clone(shared), authority, 0, 0);
    let there = Workspace::new(Arc::new(carrier), workspace.as_str());
    there.and_then(|there| there.as_agent(agent)).ok()
}

fn worker_of(
    shared: &Arc<Shared>,
    peers: &Peers,
    peer: &Peer,
    is_registered: bool,
) -> Option<PeerWorker> {
    let there = workspace_of(shared, &peer.workspace, peer.agent.as_str())?;
    let remote = Remote::new(&peer.url, peer.token.clone(), peers.webhooks.clone());
    let remote = remote.within(peers.deadline);
    let (patience, pause) = (peers.patience, peers.pause);
    Some(PeerWorker { there, remote, patience, pause, is_registered })
}

/// Serves the peers until it is dropped. It does not end on its own.
pub(crate) async fn run(shared: Arc<Shared>) {
    let Some(peers) = shared.settings.a2a_peers.clone() else {
        return std::future::pending().await;
    };
    let mut serving = JoinSet::new();
    // Each engine serves the peers of its workspaces, if there are several.
    for peer in peers.peers.iter().filter(|peer| shared.owns(&peer.workspace)) {
        if let Some(worker) = worker_of(&shared, &peers, peer, false) {
            serving.spawn(worker.serve());
        }
    }
    for workspace in peers.registered.iter().filter(|name| shared.owns(name)) {
        if let Some(there) = workspace_of(&shared, workspace, AgentId::engine().as_str()) {
            serving.spawn(registered::serve(Arc::clone(&shared), there, peers.clone()));
        }
    }
    while serving.join_next().await.is_some() {}
    std::future::pending::<()>().await;
}

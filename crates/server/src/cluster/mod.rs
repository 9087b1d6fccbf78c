//! Several servers that share the data: each owns some shards, and any of them takes any request.
//!
//! ```text
//!   client ──▶ any server ── shard of the workspace ── mine ──▶ its engine
//!                                    │
//!                                    └── another's ──▶ forwarded as it is ──▶ owner ──▶ its engine
//! ```
//!
//! | where | what |
//! |---|---|
//! | `front` | which engine or server a request is for, and the wait for an owner |
//! | `paths` | the workspace that a path names |
//! | `forward` | HTTP requests to another server, with their bodies as they arrive |
//! | `relay` | a WebSocket whose frames are for workspaces of several owners |
//! | `frames` | the frames of such a WebSocket |
//! | `other_shards` | the few such frames of a WebSocket whose engine is here |
//! | `threads` | the threads of engines that have one each |
//! | `own` | what a server answers itself: health, metrics, the state of the cluster |
//! | `drain` | servers that an operator empties without stopping them |
//! | `fork` | a new workspace in another shard than the one that it is forked from |
//! | `peer` | what servers ask each other: tokens, counters, and the names of workspaces |
//! | `upstreams` | connections to other servers |
//! | `proof` | that another server is at the other end of a connection |
//! | `metrics` | what a server counts: shards that come and go, requests for other owners |
//!
//! 1. An engine serves only workspaces of its shard: a request that arrives at the wrong one is
//!    refused, not executed. Routing decides only how fast a request finds its owner.
//! 2. A request that was forwarded is never forwarded again.
//! 3. A request is sent twice only if it certainly was not executed.
//! 4. Nothing that only an owner may answer is answered here from memory: reads are answered by the
//!    engine of the owner, under its licence.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Request;
use baton::Baton;
use baton_core::WorkspaceName;
use baton_core::access::CLOSED;
use baton_tls::Trust;
use futures_util::future::join_all;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::deadline_stream::DeadlineStream;
use crate::listener::{ConnectionSlot, ListenError, Slots, greeted, http2, idle, listen};
use crate::settings::Settings;
use crate::shared::Shared;

mod backup;
mod drain;
mod fork;
mod forward;
mod frames;
mod front;
mod metrics;
mod other_shards;
mod own;
mod paths;
mod peer;
mod proof;
mod relay;
mod threads;
mod upstreams;

pub(crate) use drain::{DRAIN, UNDRAIN};
pub use drain::{DrainRequest, Recorded};
pub(crate) use fork::ForkElsewhere;
pub(crate) use front::Front;
pub use metrics::{ClusterMetrics, Durations, ServerCounters};
pub(crate) use other_shards::{OtherShards, RelayEnded};
pub(crate) use peer::Listing;

/// The workspace of the tokens. The owner of its shard answers what is not about a workspace.
pub const HOME: &str = CLOSED;
/// The interval at which the tokens are read.
const TOKENS_EVERY: Duration = Duration::from_millis(500);

/// The shard of a workspace. It must never change: it determines where the data is stored.
#[must_use]
pub fn shard_of(workspace: &str, shards: u32) -> u32 {
    let digest = Sha256::digest(workspace.as_bytes());
    let first = digest.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    u32::try_from(first % u64::from(shards.max(1))).unwrap_or_default()
}

/// One of the shards that the workspaces are divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardSlot {
    pub(crate) shard: u32,
    pub(crate) shards: u32,
}

impl ShardSlot {
    /// Whether a workspace is in this shard.
    pub(crate) fn owns(self, workspace: &WorkspaceName) -> bool {
        shard_of(workspace.as_str(), self.shards) == self.shard
    }
}

/// The servers that share the data, and what they own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterStatus {
    /// The id of the server that answers.
    pub answered_by: String,
    /// How many shards there are.
    pub shards: u32,
    /// The servers that are alive.
    pub servers: Vec<ServerStatus>,
    /// The shards that no server owns.
    pub unowned: Vec<u32>,
    /// How long ago the server that answers has seen this. It looks several times a second, unless
    /// the log does not answer it.
    #[serde(default)]
    pub age_ms: u64,
}

/// A server of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// Its id, new at every start.
    pub id: String,
    /// How others reach it.
    pub address: String,
    /// The version of its program.
    pub version: String,
    /// How long ago its last heartbeat was.
    pub heartbeat_age_ms: u64,
    /// Whether it gives its shards back.
    pub draining: bool,
    /// The shards that it owns.
    pub shards: Vec<u32>,
    /// Its counters since it was started, if it reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<ServerCounters>,
}

/// The owners of the shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// The id of this server.
    pub me: String,
    /// The secret with which servers authenticate to each other.
    pub secret: String,
    /// The servers that are alive.
    pub servers: Vec<ServerStatus>,
    /// The ids of the owners of all shards.
    pub owners: Vec<Option<String>>,
    /// Whether this server gives its shards back, or has left.
    pub is_leaving: bool,
    /// Why this server cannot open shards that it should have, if it has left them to others.
    pub failing: Option<String>,
    /// Whether they never change: this server has all shards, in a folder of its own.
    pub is_fixed: bool,
}

impl Routes {
    fn shards(&self) -> u32 {
        u32::try_from(self.owners.len()).unwrap_or_default()
    }

    fn owner(&self, shard: u32) -> Option<&ServerStatus> {
        let owner = self.owners.get(shard as usize)?.as_deref()?;
        self.servers.iter().find(|server| server.id == owner)
    }

    /// For people, as it was seen this long ago.
    fn status(&self, age: Duration) -> ClusterStatus {
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let mut servers = self.servers.clone();
        for server in &mut servers {
            server.heartbeat_age_ms = server.heartbeat_age_ms.saturating_add(age_ms);
        }
        let unowned = (0..self.shards()).filter(|shard| self.owner(*shard).is_none());
        ClusterStatus {
            answered_by: self.me.clone(),
            shards: self.shards(),
            servers,
            unowned: unowned.collect(),
            age_ms,
        }
    }
}

/// The status of a server that shares its data with none.
pub(crate) fn status_of_one(address: String) -> ClusterStatus {
    let (id, version) = ("alone".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let (answered_by, shards) = (id.clone(), vec![0]);
    let server = ServerStatus { id, address, version, shards, ..ServerStatus::default() };
    ClusterStatus { answered_by, shards: 1, servers: vec![server], ..ClusterStatus::default() }
}

/// A listening server of a cluster.
pub struct Cluster {
    front: Arc<Front>,
    listener: TcpListener,
    /// The socket at which the server reaches itself: the frames of one WebSocket may be for
    /// several engines.
    inner: TcpListener,
    address: SocketAddr,
    drains: Option<mpsc::Receiver<DrainRequest>>,
}

impl Cluster {
    /// Listens; connections are served by [`Cluster::run`]. Other servers whose address begins with
    /// `https://` are verified by `trust`.
    pub async fn bind(settings: Settings, trust: Option<Trust>) -> Result<Self, ListenError> {
        let (listener, address) = listen(&settings).await?;
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let taken = |reason| ListenError::Taken { address: own, reason };
        let inner = TcpListener::bind(own).await.map_err(taken)?;
        let (asked, drains) = drain::requests();
        let front = Front::new(settings, trust, inner.local_addr().map_err(taken)?, asked);
        Ok(Self { front, listener, inner, address, drains: Some(drains) })
    }

    /// The requests of operators, to be recorded in the log; none at the second call.
    pub fn drains(&mut self) -> Option<mpsc::Receiver<DrainRequest>> {
        self.drains.take()
    }

    /// Lets so many engines have a thread each, which also serves the connections that use it.
    /// Without this, one thread serves everything.
    pub fn with_threads(self, engines: u32) -> Result<Self, ListenError> {
        let started = self.front.start_threads(engines);
        started.map_err(|reason| ListenError::Threads { reason })?;
        Ok(self)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The handle through which the server is notified of the shards that it has.
    pub fn handle(&self) -> ClusterHandle {
        ClusterHandle(Arc::clone(&self.front))
    }

    /// Serves until shutdown, while shards come and go; then ends all connections.
    pub async fn run(self, until: impl Future<Output = ()>) {
        let Self { front, listener, inner, .. } = self;
        let slots = Slots::new(&front.doors.settings);
        let doors = &front.doors;
        let following = async {
            loop {
                front.learn_tokens().await;
                tokio::time::sleep(TOKENS_EVERY).await;
            }
        };
        tokio::select! {
            () = slots.accept(listener, doors, |stream, slot| {
                place(Arc::clone(&front), stream, slot, true)
            }) => {}
            () = slots.accept(inner, doors, |stream, slot| {
                place(Arc::clone(&front), stream, slot, false)
            }) => {}
            () = idle(doors, &slots), if front.routes().is_fixed => {}
            () = doors.access.revoke_expired() => {}
            () = following => {}
            () = until => {}
        }
        front.closing.raise();
        join_all(front.held().into_iter().map(|shard| front.release(shard))).await;
        slots.ended(doors).await;
        front.end_threads();
    }
}

/// Tells a server which shards it has. Cheap to clone.
#[derive(Clone)]
pub struct ClusterHandle(Arc<Front>);

impl ClusterHandle {
    /// Serves a shard with this engine. Its tokens are known when this returns.
    pub async fn adopt(&self, shard: u32, shards: u32, baton: Baton) {
        self.0.adopt(ShardSlot { shard, shards }, baton).await;
    }

    /// Ends the service of a shard, and closes its engine.
    pub async fn release(&self, shard: u32) {
        self.0.release(shard).await;
    }

    /// The counters of the server.
    #[must_use]
    pub fn metrics(&self) -> &ClusterMetrics {
        &self.0.doors.metrics.cluster
    }

    /// Sets the current owners of the shards.
    pub fn set_routes(&self, routes: Routes) {
        self.0.set_routes(routes);
    }
}

/// Hands a connection to the thread that should serve it.
async fn place(front: Arc<Front>, stream: TcpStream, slot: Arc<ConnectionSlot>, is_outer: bool) {
    let Some((shard, thread)) = front.thread_for(&stream, slot.number).await else {
        return serve(front, stream, (slot, None), is_outer).await;
    };
    // Errors on the connection concern only the peer.
    let Ok(stream) = stream.into_std() else { return };
    let served = Arc::clone(&slot);
    let work = async move {
        let Ok(stream) = TcpStream::from_std(stream) else { return };
        let engine = front.engine(shard).map(|engine| Arc::clone(&engine.shared));
        serve(front, stream, (served, engine), is_outer).await;
    };
    thread.spawn(slot.run(Box::pin(work)));
}

/// Serves a connection, perhaps on the thread of this engine.
async fn serve(
    front: Arc<Front>,
    stream: TcpStream,
    (slot, engine): (Arc<ConnectionSlot>, Option<Arc<Shared>>),
    is_outer: bool,
) {
    let settings = &front.doors.settings;
    let mut stream = if is_outer {
        let greeted = tokio::select! {
            biased;
            greeted = greeted(settings, stream) => greeted,
            () = front.closing.raised() => return,
        };
        let Some(stream) = greeted else { return };
        stream
    } else {
        stream.into()
    };
    let opening = http2::opening(settings, &front.closing, &mut stream);
    let Some(first) = opening.await else { return };
    let is_http2 = first == http2::PREFACE;
    let stream = DeadlineStream::new(stream, settings.write_deadline).with_first(first);
    if is_http2 {
        let served = Arc::clone(&front);
        let answer = move |request| {
            let (front, slot) = (Arc::clone(&served), Arc::clone(&slot));
            async move { front.answer(&slot, request).await }
        };
        // Boxed, since it would make every connection larger.
        return Box::pin(http2::serve(settings, &front.closing, stream, answer)).await;
    }
    let stream = match &engine {
        Some(shared) => {
            stream.with_writers(shared, slot.number).with_turns(&front.doors.send_turns)
        }
        None => stream,
    };
    let (front, slot, has_asked) = (&front, &slot, &AtomicBool::new(false));
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        async move { Ok::<_, Infallible>(front.answer(slot, request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(settings.head_deadline);
    builder.max_buf_size(settings.head_bytes_max).max_headers(64).half_close(false);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = pin!(connection);
    // Errors on the connection concern only the peer.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = front.closing.raised() => connection.as_mut().graceful_shutdown(),
    }
    // Part of a first request has no answer to wait for, but the protocol would wait for the rest.
    if has_asked.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_of_a_workspace_never_changes() {
        let found = ["default", "fleet", HOME, "team/a"].map(|name| shard_of(name, 16));
        assert_eq!(found, FOUND);
        assert_eq!(shard_of("default", 1), 0);
    }

    const FOUND: [u32; 4] = [13, 13, 15, 8];
}

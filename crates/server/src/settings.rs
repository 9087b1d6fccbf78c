//! Every limit of the server, with its reason.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
#[cfg(feature = "mcp")]
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use baton_tls::Identity;

use crate::access::Issuer;
#[cfg(feature = "otel")]
use crate::otel::Otel;
#[cfg(feature = "a2a")]
use crate::peers::Peers;
use crate::quota::Quotas;
use crate::server_log::ServerLog;
use crate::webhooks::Webhooks;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address to listen on. Only loopback, unless tokens are required.
    pub listen: SocketAddr,
    /// Whether every caller must send a token.
    pub tokens: bool,
    /// An issuer whose JWTs are accepted. Every caller must then send a token, of the issuer or of
    /// the server.
    pub jwt: Option<Issuer>,
    /// The certificate of the server; none disables TLS.
    pub tls: Option<Identity>,
    /// Host names of the server besides the loopback ones.
    pub hosts: Vec<String>,
    /// The quotas of tokens and workspaces.
    pub quotas: Quotas,
    /// The server stops once no connection has been open for this long; none if it never does.
    pub idle_max: Option<Duration>,
    /// Maximum number of connections. Each costs a few kilobytes and a file descriptor.
    pub connections_max: usize,
    /// Maximum number of watches on one connection.
    pub watches_per_connection_max: usize,
    /// Maximum number of watches in total. Each may hold as many events as the queues of the
    /// engine.
    pub watches_max: usize,
    /// Maximum number of waiting calls of one WebSocket.
    pub waits_per_connection_max: usize,
    /// Maximum number of unanswered requests of one WebSocket; further ones are not read until some
    /// are answered.
    pub in_flight_max: usize,
    /// Maximum number of concurrent queries about the past; others wait. Each takes a thread, and
    /// more threads than the disk and the processors can use only cost memory.
    pub past_threads_max: usize,
    /// Maximum number of large answers that are encoded at a time; others wait. Encoding only
    /// computes, so more threads than processors would take the processor from the serving thread,
    /// which gets an equal share at best.
    pub encoders_max: usize,
    /// Maximum number of concurrent uploads of artifacts. Each takes a thread and a few pieces of
    /// memory.
    pub uploads_max: usize,
    /// Bytes a second below which an upload is too slow.
    pub upload_rate_min: u64,
    /// Commands in one list. They are decided without a pause, unless other workspaces have a turn.
    pub commands_max: usize,
    /// Largest body. A transaction of the largest batch fits.
    pub body_bytes_max: usize,
    /// Largest message of a WebSocket, in one frame or in fragments.
    pub message_bytes_max: usize,
    /// Maximum total size of bodies and messages that are being received.
    pub receiving_bytes_max: usize,
    /// Maximum size of unsent output for one peer before its requests are no longer processed.
    pub unsent_bytes_max: usize,
    /// Maximum size of the head of a request.
    pub head_bytes_max: usize,
    /// How long the head of a request may take, and how long a connection may be idle before it.
    pub head_deadline: Duration,
    /// How long a body may take, and a partially received message of a WebSocket.
    pub body_deadline: Duration,
    /// How long a peer may accept no bytes of its output.
    pub write_deadline: Duration,
    /// A silent WebSocket is pinged after this, and closed after twice as long.
    pub ping_every: Duration,
    /// A silent event stream gets a comment after this, so that proxies keep it open.
    pub comment_every: Duration,
    /// The server log.
    pub server_log: ServerLog,
    /// Operations that take longer than this are logged as slow: because of the disk, or because a
    /// query reads too much. Calls that wait are not.
    pub slow: Duration,
    /// How long connections may take to end at shutdown.
    pub farewell: Duration,
    /// Whether webhooks are called. By default they are not: a caller that may write to a workspace
    /// could make the server connect to other hosts.
    pub webhooks: Option<Webhooks>,
    /// Makes what answers at `/mcp`, of requests up to a size: in tests, with the fixtures of the
    /// conformance suite.
    #[cfg(feature = "mcp")]
    pub mcp_service: fn(Arc<dyn baton_mcp::WorkspaceResolver>, usize) -> baton_mcp::HttpService,
    /// Agents of other systems that work here, if any.
    #[cfg(feature = "a2a")]
    pub a2a_peers: Option<Peers>,
    /// The export of spans, if any.
    #[cfg(feature = "otel")]
    pub otel: Option<Otel>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 4747)),
            tokens: false,
            jwt: None,
            tls: None,
            hosts: Vec::new(),
            quotas: Quotas::default(),
            idle_max: None,
            connections_max: 16_384,
            watches_per_connection_max: 256,
            watches_max: 65_536,
            waits_per_connection_max: 1_024,
            in_flight_max: 1_024,
            past_threads_max: 8,
            encoders_max: (available_parallelism().map_or(1, NonZero::get) - 1).max(1),
            uploads_max: 64,
            upload_rate_min: 8 << 10,
            commands_max: 1_000,
            body_bytes_max: 9 << 20,
            message_bytes_max: 9 << 20,
            receiving_bytes_max: 256 << 20,
            unsent_bytes_max: 1 << 20,
            head_bytes_max: 16 << 10,
            head_deadline: Duration::from_secs(30),
            body_deadline: Duration::from_secs(30),
            write_deadline: Duration::from_secs(30),
            ping_every: Duration::from_secs(30),
            comment_every: Duration::from_secs(15),
            server_log: ServerLog::default(),
            slow: Duration::from_millis(500),
            farewell: Duration::from_secs(10),
            webhooks: None,
            #[cfg(feature = "mcp")]
            mcp_service: baton_mcp::HttpService::new,
            #[cfg(feature = "a2a")]
            a2a_peers: None,
            #[cfg(feature = "otel")]
            otel: None,
        }
    }
}

impl Settings {
    /// Whether every caller needs a token.
    pub(crate) fn demands_tokens(&self) -> bool {
        self.tokens || self.jwt.is_some()
    }
}

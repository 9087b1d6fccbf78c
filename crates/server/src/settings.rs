//! Every limit of the server, with its reason.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use baton_tls::Identity;

use crate::access::Issuer;
#[cfg(feature = "otel")]
use crate::otel::Otel;
use crate::quota::Quotas;
use crate::server_log::ServerLog;
use crate::webhooks::Webhooks;

/// Where to listen, and how much to take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen. Only loopback, unless tokens are demanded.
    pub listen: SocketAddr,
    /// Whether every caller must send a token.
    pub tokens: bool,
    /// An issuer whose JWTs are accepted. Every caller must then send a token, of the issuer or of
    /// the server.
    pub jwt: Option<Issuer>,
    /// The certificate of the server; without it there is no TLS.
    pub tls: Option<Identity>,
    /// Names by which the server may be called besides the loopback ones.
    pub hosts: Vec<String>,
    /// What tokens and workspaces may take.
    pub quotas: Quotas,
    /// The server stops once no connection has been open for this long; none if it never does.
    pub idle_max: Option<Duration>,
    /// Connections at a time. Each costs a few kilobytes and a file descriptor.
    pub connections_max: usize,
    /// Watches at a time on one connection.
    pub watches_per_connection_max: usize,
    /// Watches at a time in all. Each may hold as many events as the engine's queues take.
    pub watches_max: usize,
    /// Calls of one WebSocket that wait for what others do.
    pub waits_per_connection_max: usize,
    /// Requests of one WebSocket that are not answered yet; more are not read until some are.
    pub in_flight_max: usize,
    /// Questions about the past that are answered at a time; others wait. Each takes a thread, and
    /// more threads than the disk and the processors have use for only cost memory.
    pub past_threads_max: usize,
    /// Uploads of artifacts at a time. Each takes a thread and some pieces of what it uploads.
    pub uploads_max: usize,
    /// Bytes a second below which an upload is too slow.
    pub upload_rate_min: u64,
    /// Commands in one list. They are decided without a pause, unless other workspaces have a turn.
    pub commands_max: usize,
    /// Largest body. A transaction of the largest batch fits.
    pub body_bytes_max: usize,
    /// Largest message of a WebSocket, whole or in fragments.
    pub message_bytes_max: usize,
    /// Bytes of bodies and messages that are being received, in all.
    pub receiving_bytes_max: usize,
    /// Bytes waiting to be taken by one peer before nothing more is done for it.
    pub unsent_bytes_max: usize,
    /// Bytes of a request's head.
    pub head_bytes_max: usize,
    /// How long the head of a request may take, and how long a connection may be idle before it.
    pub head_deadline: Duration,
    /// How long a body may take, and a message of a WebSocket of which a part has come.
    pub body_deadline: Duration,
    /// How long a peer may accept no bytes of its output.
    pub write_deadline: Duration,
    /// A silent WebSocket is pinged after this, and closed after twice as long.
    pub ping_every: Duration,
    /// A silent event stream gets a comment after this, so that proxies keep it open.
    pub comment_every: Duration,
    /// Where what happens is written down.
    pub server_log: ServerLog,
    /// Operations that take longer than this are logged as slow: because of the disk, or because a
    /// query reads too much. Calls that wait are not.
    pub slow: Duration,
    /// How long connections may take to end when the server does.
    pub farewell: Duration,
    /// Whether webhooks are called. By default they are not: a caller that may write to a workspace
    /// could make the server connect to other hosts.
    pub webhooks: Option<Webhooks>,
    /// Where spans are sent, if anywhere.
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

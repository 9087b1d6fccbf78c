//! Baton's server: HTTP, live watches for browsers and scripts, and a WebSocket for high
//! throughput. One port, one thread, one engine; or an engine with a thread for each shard of a
//! folder.
//!
//! ```text
//!   listener ── accept, count, TLS ────▶ guard ── Host, Origin ──▶ router
//!                                                                        │
//!               ┌──────────── http/ ─────────────┬──────── ws/ ──────────┤
//!               │ commands, transactions         │ framing, connection   │ health, metrics …
//!               │ resources, watch (SSE)         │ messagepack           │
//!               └────────────┬───────────────────┴───────┬───────────────┘
//!                            ▼                           ▼
//!                    baton_core::wire: Frame ──▶ Call     in_flight: submit, wait once, answer all
//!                            └───────────────▶ baton (the engine)
//! ```
//!
//! One thread owns the sockets of an engine and drives it: it reads everything that is ready,
//! decides it, and when nothing else is ready, writes the group. Small groups are written directly,
//! larger ones by the engine's sync thread while reading continues.
//!
//! Invariants:
//!
//! 1. There is no domain rule here: an interface reads, calls the engine, and writes.
//! 2. Everything is bounded: connections, requests in flight, watches, bodies, frames, headers, and
//!    the time that each may take. The error for a reached limit names the limit. No workspace
//!    monopolises the thread while others are active.
//! 3. A success is reported only after it is durable.
//! 4. A web page from another origin cannot use a loopback server: Host and Origin are checked
//!    before anything else.
//!
//! 5. Every call on every interface is authorised and counted against quotas in one place:
//!    [`access`].
//!
//! A peer may use HTTP/1.1 or HTTP/2, which gRPC needs; its first bytes decide. A server that does
//! not require tokens listens on loopback only, with or without TLS.

#[cfg(feature = "a2a")]
mod a2a;
pub mod access;
mod cluster;
mod deadline_stream;
mod fairness;
mod guard;
#[cfg(any(feature = "a2a", feature = "mcp"))]
mod guarded_carrier;
mod held;
mod http;
mod in_flight;
mod large_answer;
mod listener;
#[cfg(feature = "mcp")]
mod mcp;
pub mod metrics;
mod openapi;
#[cfg(feature = "otel")]
mod otel;
#[cfg(feature = "a2a")]
mod peers;
mod problem;
pub mod quota;
mod refusal;
mod send_turns;
pub mod server_log;
pub mod settings;
mod shared;
mod shares;
mod webhooks;
mod writers;
pub mod ws;

#[cfg(feature = "a2a")]
pub use baton_a2a::peer::PeerError;
use baton_core::refusals::Refusal;
pub use baton_tls::{Identity, TlsError};
pub use cluster::{
    Cluster, ClusterHandle, ClusterMetrics, ClusterStatus, DrainRequest, Durations, HOME, Recorded,
    Routes, ServerCounters, ServerStatus, shard_of,
};
pub use listener::{ListenError, Server, check_listen};
pub use openapi::text as openapi;
#[cfg(feature = "otel")]
pub use otel::{Otel, OtelError};
#[cfg(feature = "a2a")]
pub use peers::{Outgoing, Peer, Peers, Remote, Updates};
pub use quota::{Quota, Quotas};
pub use settings::Settings;
pub use webhooks::Webhooks;

/// The documentation of every refusal of the server, for `docs/errors.md`.
pub const REFUSALS: &[&[Refusal]] = &[
    refusal::Refusal::REFUSALS,
    quota::OverQuota::REFUSALS,
    access::TokenError::REFUSALS,
    access::KeyFileError::REFUSALS,
    ListenError::REFUSALS,
];

//! Baton's doors: HTTP for everyone, live watch for browsers and scripts, a WebSocket for those who
//! want speed. One port, one thread, one engine.
//!
//! ```text
//!   listener ── accept, count, hands ──▶ guard ── Host, Origin ──▶ router
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
//! One thread owns the sockets and turns the engine's crank: it reads all that is ready, decides
//! it, and when nobody else is ready, writes the group. Small groups are written right there,
//! larger ones by the engine's sync thread while reading goes on.
//!
//! Invariants:
//!
//! 1. No rule of the domain stands here: a door reads, asks the engine, and writes.
//! 2. Everything is bounded: connections, requests in flight, watches, bodies, frames, headers, and
//!    the time that each may take. A limit that is reached is answered with its name. No workspace
//!    has the thread for itself while others ask for something.
//! 3. Whoever is told of success is told what is durable.
//! 4. A page from elsewhere cannot reach a loopback server: Host and Origin are checked before
//!    anything else.
//!
//! 5. Every call of every door is permitted or refused, and counted against quotas, in one place:
//!    [`access`].
//!
//! Deliberately absent: HTTP/2. A server that demands no tokens listens on loopback only, with TLS
//! or without.

pub mod access;
mod deadline_stream;
mod fairness;
mod guard;
mod http;
mod in_flight;
mod listener;
pub mod metrics;
mod openapi;
#[cfg(feature = "otel")]
mod otel;
mod problem;
pub mod quota;
mod refusal;
pub mod server_log;
pub mod settings;
mod shared;
mod webhooks;
mod writers;
pub mod ws;

pub use baton_tls::{Identity, TlsError};
pub use listener::{ListenError, Server};
pub use openapi::text as openapi;
#[cfg(feature = "otel")]
pub use otel::{Otel, OtelError};
pub use quota::{Quota, Quotas};
pub use settings::Settings;
pub use webhooks::Webhooks;

//! Logs in NATS `JetStream`: several servers share several shards. Each shard has one owner at a
//! time, and another server takes over.
//!
//! ```text
//!   server A ── owns shards 0, 2 ──publish, expecting the last sequence──▶ ┌───────────┐
//!            ── beat, look every 0.2 s ─────────────────────────────────▶ │ JetStream │
//!   server B ── owns shard 1; takes 0 and 2 when A is gone ─────────────▶ └───────────┘
//! ```
//!
//! | where | what |
//! |---|---|
//! | `location` | `nats://user@host,host,host?prefix=baton`, parsed and checked |
//! | `connection` | connections, requests to `JetStream`, and what an error means |
//! | `setup` | the streams, and the settings of NATS that would lose data |
//! | `membership` | the servers: heartbeats, who is gone, who owns what; the licence for reads |
//! | `ownership` | who may write to a shard: taking it over, giving it back |
//! | `shard_stream` | the stream of a shard: fenced writes and their unknown outcomes |
//! | `records` | the records of a shard: appends, what is in memory, truncation |
//! | `blobs` | names in the stream of the shard, bytes in chunks |
//! | `nats_log` | the contract of a log over one shard |
//! | `times` | times as NATS writes them |
//!
//! 1. All durable facts of a shard are in one stream, and each is published with the sequence that
//!    the stream must have. Taking a shard over publishes a mark, which ends every expectation that
//!    was there before. No clock is involved.
//! 2. An owner answers from memory only while its licence is valid: 1.6 s from the moment at which
//!    its last successful beat was sent. Another server declares it gone at the earliest 2.0 s
//!    after it saw that beat.
//! 3. A write without an answer is resolved by publishing a mark in its place, and looking. A write
//!    that is reported as not applied can never be applied later.
//!
//! Deliberately absent: consensus, which is that of `JetStream`; and requests, which servers
//! forward to each other.

mod blobs;
mod connection;
mod location;
mod membership;
mod nats_log;
mod ownership;
mod records;
mod setup;
mod shard_stream;
mod times;

pub use location::{LocationError, NatsLocation, Secrets};
pub use membership::Member;
pub use nats_log::open;

//! Logs in `PostgreSQL`: several servers share a schema of several shards. Each shard has one owner
//! at a time, and another server takes over.
//!
//! ```text
//!   server A ── owns shards 0, 2 ──append, fenced by (epoch, holder)──▶ ┌────────────┐
//!            ── beat, look every 0.2 s ─────────────────────────────▶  │ PostgreSQL │
//!   server B ── owns shard 1; takes 0 and 2 when A is gone ──────────▶  └────────────┘
//! ```
//!
//! | where | what |
//! |---|---|
//! | `location` | `postgres://user@host/database?schema=baton`, parsed and checked |
//! | `database` | connections, and what an error means |
//! | `schema` | the tables, and the settings of the database that would lose data |
//! | `membership` | the servers: heartbeats, who is gone, who owns what; the licence for reads |
//! | `ownership` | who may write to a shard: taking it over, giving it back |
//! | `records` | appends and their unknown outcomes, the records in memory, truncation |
//! | `blobs` | blobs in chunks, and a cache of them |
//! | `postgres_log` | the contract of a log over one shard |
//!
//! The parts that do not depend on `PostgreSQL` are in `baton-cluster`: placement, views, records
//! in memory.
//!
//! 1. A record is inserted only by a statement that holds the row of the shard with its own epoch
//!    and holder. A takeover changes that row, so it waits for an append that is running, and an
//!    append that comes later inserts nothing. No clock is involved.
//! 2. Blobs are committed and deleted, and records truncated, under the same condition.
//! 3. An owner answers from memory only while its licence is valid: 1.6 s from the moment at which
//!    its last successful beat was sent. Another server declares it gone at the earliest 2.0 s
//!    after it saw that beat.
//! 4. An append without an answer is resolved by taking the shard over from oneself, and looking. A
//!    write that is reported as not applied can never be applied later.
//!
//! Deliberately absent: consensus, which is left to the database; and requests, which servers
//! forward to each other.

mod blobs;
mod database;
mod location;
mod membership;
mod ownership;
mod postgres_log;
mod records;
mod schema;
mod tls;

pub use location::{LocationError, PostgresLocation};
pub use membership::Member;
pub use postgres_log::open;

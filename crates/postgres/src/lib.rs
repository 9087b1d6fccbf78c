//! A log in `PostgreSQL`: several servers share it, one of them writes, another takes over.
//!
//! ```text
//!   server A (owner)  ──append, fenced by (epoch, holder)──▶ ┌────────────┐
//!        │  beat every 0.4 s ────────────────────────────▶  │ PostgreSQL │
//!   server B (standby) ──watches the beat, then takes ─────▶ └────────────┘
//! ```
//!
//! | where | what |
//! |---|---|
//! | `location` | `postgres://user@host/database?schema=baton`, parsed and checked |
//! | `database` | the thread that waits for the network, connections, and what an error means |
//! | `schema` | the tables, and the settings of the database that would lose data |
//! | `ownership` | who may write: heartbeats, taking over, giving back; the licence for reads |
//! | `records` | appends and their unknown outcomes, the records in memory, truncation |
//! | `blobs` | blobs in chunks, and a cache of them |
//! | `postgres_log` | [`PostgresLog`]: the contract of a log over all of this |
//!
//! 1. A record is inserted only by a statement that holds the row of the shard with its own epoch
//!    and holder. A takeover changes that row, so it waits for an append that is running, and an
//!    append that comes later inserts nothing. No clock is involved.
//! 2. Blobs are committed and deleted, and records truncated, under the same condition.
//! 3. An owner answers from memory only while its licence is valid: 1.6 s from the moment at which
//!    its last successful beat was sent. A standby declares it gone at the earliest 2.0 s after it
//!    saw that beat.
//! 4. An append without an answer is resolved by taking the log over from oneself, and looking.
//!    What is reported as not applied can never be applied later.
//!
//! Deliberately absent: consensus, which is the database's; and several owners of several shards,
//! although every row names its shard.

mod blobs;
mod database;
mod location;
mod ownership;
mod postgres_log;
mod records;
mod schema;
mod tls;

pub use location::{LocationError, PostgresLocation};
pub use ownership::Standby;
pub use postgres_log::PostgresLog;

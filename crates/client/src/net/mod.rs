//! The carrier over a network connection.
//!
//! ```text
//!   Client, Watch ──▶ Multiplexer ◀── connection: one task that owns the socket
//!    many tasks        │               dial, write what is queued, read, reconnect
//!                      ├─ requests: unsent, in flight, and their callers
//!                      └─ watches: the position of each, and the items that were not taken yet
//! ```
//!
//! The multiplexer is a set of registries behind a lock and knows no socket; the connection is a
//! socket and knows no rules.

mod address;
mod client;
mod connection;
mod contents;
mod dialer;
mod frames;
mod multiplexer;
mod options;
mod random;
mod servers;
mod stall_timer;
mod upgrade;
mod watch;

pub use client::{Client, connect, connect_with};
pub use options::Options;

//! The Rust API of Baton: handles for everything in a workspace, and a client for a server.
//!
//! `baton::open(path)` and [`connect`] give the same [`Workspace`], so a program moves from an
//! embedded engine to a server by changing one line.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let baton = baton_client::connect("http://127.0.0.1:4747").await?;
//! let ada = baton.workspace("research")?.as_agent("ada")?;
//! let plan = ada.state("shared");
//!
//! // A write is acknowledged when it is durable, and carries its version.
//! let first = plan.set("plan", serde_json::json!({"step": 1})).await?;
//!
//! // A write with another version is refused, and the error has the current entry.
//! let late = plan.set("plan", serde_json::json!({"step": 9})).expected_version(7).await;
//! assert_eq!(late.unwrap_err().code(), "state.version_conflict");
//!
//! // A watch survives reconnects, without gaps or duplicates.
//! let mut watch = ada.watch("state/shared/**").from(first.revision()).await?;
//! let event = watch.next().await.expect("one event is there")?;
//! assert!(matches!(event, baton_client::Item::Event(notice) if notice.agent().as_str() == "ada"));
//!
//! baton.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Workers
//!
//! A [`Worker`] claims tasks, runs a handler for each while it renews the lease, and reports the
//! results:
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let baton = baton_client::connect("http://127.0.0.1:4747").await?;
//! use baton_client::{Job, Workplace};
//!
//! let bob = baton.workspace("research")?.as_agent("bob")?;
//! let worker = bob.worker(&["summarise"]).concurrency(4);
//! let stop = async { drop(tokio::time::sleep(std::time::Duration::from_secs(60)).await) };
//! let worked = worker
//!     .run(
//!         |job: Job| async move {
//!             // Writes through this are refused once the lease is lost.
//!             let under_lease = job.workspace().state("shared");
//!             under_lease.append("log", job.task().id.as_str()).await?;
//!             Ok(serde_json::json!({"words": 42}))
//!         },
//!         stop,
//!     )
//!     .await?;
//! println!("{} completed", worked.completed);
//! # Ok(())
//! # }
//! ```
//!
//! [`keep_held`] renews anything that an agent holds, such as a lock, often enough for its session.
//!
//! # When the connection breaks
//!
//! The client reconnects automatically, with a growing backoff. Calls wait for it up to
//! [`Options::request_timeout`], in addition to their own `wait_ms`.
//!
//! | under way | what happens |
//! |---|---|
//! | a call that was not sent yet | it is sent over the next connection |
//! | a query | it is sent again |
//! | a command with an idempotency key | it is sent again under the same key: one effect |
//! | a command without one | the client adds a key, unless [`Options::automatic_keys`] is off |
//! | … and it is off | [`Error::Unknown`]: the outcome is unknown |
//! | a waiting call | it is sent again, and keeps its place if the server still has it |
//! | a watch | it resumes at the first revision that has not arrived completely |
//! | bytes: an artifact, an export | the call fails; see [`Options::stall_max`] |
//!
//! If the server refuses the new connection, as after the token was revoked, everything that waits
//! ends with that error ([`Error::Unknown`] for a command that may have been executed), and the
//! client connects again at the next call.
//!
//! A key works as long as the server keeps the answer under it: see `docs/guarantees.md`.
//!
//! Dropping a waiting call, for a lock or a task, cancels it. If it is granted nevertheless,
//! because the cancellation came too late, the client releases the grant.
//!
//! # Inside
//!
//! ```text
//!                          Workspace ─┬─ State, Session, Namespaces, Agents, Tasks, Joins, …
//!      a program  ───▶     (agent,    ├─ requests: Setting, Creating, Claiming, Acquiring, …
//!                          once,      └─ CallBatch, Transaction, Watching
//!                          under, at)
//!                             │
//!                             ▼
//!                        dyn Carrier     mutate, ask, watch, put, read, export, …
//!                         ╱       ╲
//!             baton::Baton         Client
//!             in this process      over a connection
//! ```
//!
//! 1. Nothing is sent before a request is awaited. Handles are descriptions, and cheap to clone.
//! 2. Names and values are checked before anything is sent.
//! 3. Handles decide nothing: the rules are in the engine.
//! 4. A reply of another kind than expected is an error, because a peer may send anything.
//!
//! The handles do no I/O. The feature `net`, which is on by default, adds the connection, workers,
//! services and models, with tokio, HTTP and TLS; the embedded engine uses this crate without it.
//!
//! Deliberately absent: several connections for one client; and heartbeats for a session, which
//! must come from the agent and not from its library.

mod carrier;
mod error;
mod handles;
#[cfg(feature = "net")]
pub mod model;
#[cfg(feature = "net")]
mod net;
mod path_pattern;
#[cfg(feature = "net")]
mod renewal;
mod reply;
mod request;
#[cfg(feature = "net")]
mod service;
#[cfg(feature = "net")]
mod slots;
#[cfg(feature = "net")]
mod worker;
mod workspace;

pub use baton_core as core;
pub use carrier::{
    BatchedCall, Caller, Carrier, Content, Pending, PutOptions, SecretOptions, StoredArtifact,
};
pub use error::Error;
pub use handles::*;
#[cfg(feature = "net")]
pub use hyper::Method;
#[cfg(feature = "net")]
pub use net::{Client, Options, connect, connect_with};
pub use path_pattern::PathPattern;
#[cfg(feature = "net")]
pub use renewal::{Lost, keep, keep_held};
#[cfg(feature = "net")]
pub use service::{Served, Service};
#[cfg(feature = "net")]
pub use slots::Setback;
#[cfg(feature = "net")]
pub use worker::{Job, Worked, Worker, Workplace};
pub use workspace::{
    Agents, Artifacts, Barriers, Checkpoints, Contracts, Events, HandoffRules, Handoffs, Joins,
    Locks, Messages, Namespaces, Pipelines, Reactions, Reservations, Secrets, Semaphores, Spending,
    Streams, Tasks, Topics, Workspace,
};

//! Baton over a connection: the vocabulary of the embedded engine against a server.
//!
//! A program moves from `baton::open(path)` to [`connect`] by changing that line; the handles are
//! the same ones.
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
//! // Whoever comes second learns what the winner wrote, and nothing is overwritten.
//! let late = plan.set("plan", serde_json::json!({"step": 9})).expected_version(7).await;
//! assert_eq!(late.unwrap_err().code(), "state.version_conflict");
//!
//! // A watch outlives the connection: it goes on where it was, without gap or duplicate.
//! let mut watch = ada.watch("state/shared/**").from(first.revision()).await?;
//! let event = watch.next().await.expect("one event is there")?;
//! assert!(matches!(event, baton_client::Item::Event(notice) if notice.agent().as_str() == "ada"));
//!
//! baton.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Working
//!
//! A [`Worker`] claims tasks, runs a handler for each while it keeps the lease, and tells what came
//! of it:
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let baton = baton_client::connect("http://127.0.0.1:4747").await?;
//! use baton_client::{Client, Job, Workplace};
//!
//! let bob = baton.workspace("research")?.as_agent("bob")?;
//! let worker = bob.worker(&["summarise"]).concurrency(4);
//! let stop = async { drop(tokio::time::sleep(std::time::Duration::from_secs(60)).await) };
//! let worked = worker
//!     .run(
//!         |job: Job<Client>| async move {
//!             // What is written through this is refused once the lease is lost.
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
//! What ends by itself unless it is renewed, such as a lock, is kept by [`keep`].
//!
//! # When the connection breaks
//!
//! The client connects again by itself, ever more patiently. Calls wait for it up to
//! [`Options::request_timeout`], besides the time that they ask to wait.
//!
//! | what was under way | what becomes of it |
//! |---|---|
//! | a call that was not sent yet | it is sent over the next connection |
//! | a question | it is asked again |
//! | a command with an idempotency key | it is sent again under the same key: one effect |
//! | a command without one | it gets a key of its own, unless [`Options::automatic_keys`] is off |
//! | … and it is off | [`Error::Unknown`]: the outcome is unknown, and nobody pretends otherwise |
//! | a call that waits | it is sent again, and takes its place in line if the server still has it |
//! | a watch | it is resumed from the first revision that has not arrived whole |
//! | bytes: an artifact, an export | the call fails; see [`Options::stall_max`] |
//!
//! A key works as long as the server keeps the answer under it: see `docs/guarantees.md`.
//!
//! A call that waits, for a lock or a task, is given up by dropping it. If it is granted
//! nevertheless, because nobody could tell the server in time, the client lets go of what came.
//!
//! # Inside
//!
//! ```text
//!   Client, Watch ──▶ Multiplexer ◀── connection: one task that owns the socket
//!    many tasks        │               dial, write what is due, read what comes, and again
//!                      ├─ requests: unsent, in flight, whom to answer
//!                      └─ watches: where each one is, and what it has not taken yet
//! ```
//!
//! The multiplexer is registries behind a lock and knows no socket; the connection is a socket and
//! knows no rules.
//!
//! Deliberately absent: several connections for one client; and keeping a session alive, because a
//! heartbeat must come from the agent, not from its library.

mod address;
mod client;
mod connection;
mod contents;
mod dialer;
mod error;
mod frames;
pub mod model;
mod multiplexer;
mod options;
mod random;
mod renewal;
mod service;
mod stall_timer;
mod upgrade;
mod watch;
mod worker;

pub use baton_core as core;
pub use baton_handle::Item;
pub use client::{Client, connect, connect_with};
pub use contents::ReadingContent;
pub use error::Error;
pub use hyper::Method;
pub use options::Options;
pub use renewal::{Lost, keep};
pub use service::{Served, Service};
pub use watch::Watch;
pub use worker::{Job, Setback, Worked, Worker, Workplace};

/// A lock that is taken when this is awaited.
pub type Acquiring = baton_handle::Acquiring<Client>;
/// A permit that is taken when this is awaited.
pub type AcquiringPermit = baton_handle::AcquiringPermit<Client>;
/// Agents of a workspace.
pub type Agents = baton_handle::Agents<Client>;
/// An arrival that happens when this is awaited.
pub type Arriving = baton_handle::Arriving<Client>;
/// Artifacts of a workspace, as one agent sees them.
pub type Artifacts = baton_handle::Artifacts<Client>;
/// Bytes that are put when this is awaited.
pub type Putting = baton_handle::Putting<Client>;
/// An artifact that is being read.
pub type Reading = baton_handle::Reading<Client>;
/// Secrets of a workspace, as one agent sees them.
pub type Secrets = baton_handle::Secrets<Client>;
/// A secret that is handed in when this is awaited.
pub type Hiding = baton_handle::Hiding<Client>;
/// Barriers of a workspace, as one agent sees them.
pub type Barriers = baton_handle::Barriers<Client>;
/// A task that is taken when this is awaited.
pub type Claiming = baton_handle::Claiming<Client>;
/// A task that is done when this is awaited.
pub type Completing = baton_handle::Completing<Client>;
/// A namespace that is created when this is awaited.
pub type CreateNamespace = baton_handle::CreateNamespace<Client>;
/// A task that comes to be when this is awaited.
pub type Creating = baton_handle::Creating<Client>;
/// A try that has failed when this is awaited.
pub type Failing = baton_handle::Failing<Client>;
/// Messages of a workspace, as one agent sees them.
pub type Messages = baton_handle::Messages<Client>;
/// Mail that is received when this is awaited.
pub type Receiving = baton_handle::Receiving<Client>;
/// A request that is made when this is awaited.
pub type Requesting = baton_handle::Requesting<Client>;
/// A message that is sent when this is awaited.
pub type Sending = baton_handle::Sending<Client>;
/// Topics of a workspace, as one agent sees them.
pub type Topics = baton_handle::Topics<Client>;
/// Streams of a workspace, as one agent sees them.
pub type Streams = baton_handle::Streams<Client>;
/// A stream that comes to be when this is awaited.
pub type CreateStream = baton_handle::CreateStream<Client>;
/// Frames that are read when this is awaited.
pub type ReadingFrames = baton_handle::ReadingFrames<Client>;
/// A rule that is added when this is awaited.
pub type AddingRule = baton_handle::AddingRule<Client>;
/// A context that is built when this is awaited.
pub type BuildingContext = baton_handle::BuildingContext<Client>;
/// A reaction that is added when this is awaited.
pub type AddingReaction = baton_handle::AddingReaction<Client>;
/// A question about what happened, which is asked when this is awaited.
pub type AskingHistory = baton_handle::AskingHistory<Client>;
/// Events of a workspace, as one agent sees them.
pub type Events = baton_handle::Events<Client>;
/// Handlers that are called when this listens.
pub type Handling = baton_handle::Handling<Client>;
/// Reactions of a workspace, as one agent sees them.
pub type Reactions = baton_handle::Reactions<Client>;
/// Who depends on which keys of a workspace.
pub type Contracts = baton_handle::Contracts<Client>;
/// Rules for hand-offs of a workspace, as one agent sees them.
pub type HandoffRules = baton_handle::HandoffRules<Client>;
/// Checkpoints of a workspace, as one agent sees them.
pub type Checkpoints = baton_handle::Checkpoints<Client>;
/// A checkpoint that is saved when this is awaited.
pub type Saving = baton_handle::Saving<Client>;
/// A join that comes to be when this is awaited.
pub type Joining = baton_handle::Joining<Client>;
/// Joins of a workspace, as one agent sees them.
pub type Joins = baton_handle::Joins<Client>;
/// Locks of a workspace, as one agent sees them.
pub type Locks = baton_handle::Locks<Client>;
/// Namespaces of a workspace, as one agent sees them.
pub type Namespaces = baton_handle::Namespaces<Client>;
/// A patch that is carried out when it is awaited.
pub type Patching = baton_handle::Patching<Client>;
/// A session that begins when this is awaited.
pub type Registration = baton_handle::Registration<Client>;
/// A person's decision that is made when this is awaited.
pub type Reviewing = baton_handle::Reviewing<Client>;
/// The state of one conversation of a user with an application.
pub type Session = baton_handle::Session<Client>;
/// Semaphores of a workspace, as one agent sees them.
pub type Semaphores = baton_handle::Semaphores<Client>;
/// A write that is carried out when it is awaited.
pub type Setting = baton_handle::Setting<Client>;
/// Shared state in one namespace, as one agent sees it.
pub type State = baton_handle::State<Client>;
/// Hand-offs of a workspace, as one agent sees them.
pub type Handoffs = baton_handle::Handoffs<Client>;
/// A hand-off that is offered when this is awaited.
pub type Offering = baton_handle::Offering<Client>;
/// Pipelines of a workspace, as one agent sees them.
pub type Pipelines = baton_handle::Pipelines<Client>;
/// A pipeline that comes to be when this is awaited.
pub type CreatePipeline = baton_handle::CreatePipeline<Client>;
/// Tasks of a workspace, as one agent sees them.
pub type Tasks = baton_handle::Tasks<Client>;
/// Commands that are carried out together, or not at all.
pub type Transaction = baton_handle::Transaction<Client>;
/// A watch that begins when this is awaited.
pub type Watching = baton_handle::Watching<Client>;
/// A workspace as one agent sees it. Cheap to clone.
pub type Workspace = baton_handle::Workspace<Client>;

//! Baton coordinates AI agents that work together. This crate is its embeddable engine.
//!
//! A folder contains workspaces; a workspace is one ordered history of shared, versioned state,
//! namespaces and agents. Acknowledged writes are durable; all clients see changes in the same
//! order; the history can be read, and watched from any revision.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let baton = baton::open(folder).await?;
//! let ada = baton.workspace("research")?.as_agent("ada")?;
//! let plan = ada.state("shared");
//!
//! // A write is acknowledged when it is durable, and carries its version.
//! let first = plan.set("plan", serde_json::json!({"step": 1})).await?;
//! assert_eq!(first.version().0, 1);
//!
//! // The second writer gets the winner's entry, and nothing is overwritten.
//! let bob = baton.workspace("research")?.as_agent("bob")?;
//! bob.state("shared").set("plan", serde_json::json!({"step": 2})).expected_version(1).await?;
//! let late = plan.set("plan", serde_json::json!({"step": 9})).expected_version(1).await;
//! assert_eq!(late.unwrap_err().code(), "state.version_conflict");
//!
//! // The history is kept: read an old value, or watch from the beginning.
//! let before = plan.get_at("plan", first.revision()).await?;
//! assert_eq!(before.value(), br#"{"step":1}"#);
//! let mut watch = ada.watch("state/shared/**").from(1).await?;
//! let event = watch.next().await.expect("two events are there")?;
//! assert!(matches!(event, baton::Item::Event(notice) if notice.agent().as_str() == "ada"));
//!
//! baton.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Inside
//!
//! [`machine`] decides without I/O; [`shard`] puts a log under it; the driver runs it from the
//! callers' futures and a few threads. [`history`], [`snapshot`] and [`sorted_table`] are the
//! history and its files; [`compaction`] maintains them.

pub mod admission;
pub mod backup;
pub mod blobs;
pub mod clock;
pub mod codec;
pub mod compaction;
mod deletion;
mod disk_space;
mod driver;
pub mod durability;
pub mod error;
pub mod export;
pub mod files;
mod fork;
mod give_way;
mod handle;
pub mod history;
mod load;
pub mod machine;
pub mod metrics;
mod oneshot;
pub mod options;
mod point_in_time;
mod pulse;
mod search;
pub mod shard;
pub mod snapshot;
pub mod sorted_table;
pub mod verify;
pub mod waiter;
pub mod watch;

pub use admission::{Admission, Deferred, HeldAnswer, RetryAfter};
pub use baton_client::{
    Accepted, Acquiring, AcquiringPermit, AddingReaction, AddingRule, Agents, Arriving, Artifacts,
    AskingHistory, Barriers, BuildingContext, CallBatch, Caller, Carrier, Check, Checkpoints,
    Claiming, Completing, Contracts, CreateNamespace, CreatePipeline, CreateStream, Creating,
    DeclaringContract, Done, Error, Events, Failing, Handled, HandlerFailed, Handling,
    HandoffRules, Handoffs, Happened, HeldLocks, Hiding, Item, Joining, Joins, Locks, Messages,
    Namespaces, Offering, Patching, Pipelines, PutOptions, Putting, Reactions, Reading,
    ReadingFrames, Receiving, Registration, Requesting, Retrying, Reviewing, Saving, SecretOptions,
    Secrets, Semaphores, Sending, Session, Setting, State, StoredArtifact, Streams, SyncOptions,
    TakingNext, Tasks, Topics, Transaction, Watch, Watching, Workspace, since,
};
pub use baton_core as core;
pub use baton_log as log;
pub use give_way::lower_priority;
pub use handle::{Baton, ChangeFeedPage, EngineWatch, WorkspaceClock, open, open_with};
pub use options::{Extents, Options};
pub use waiter::Waiting;

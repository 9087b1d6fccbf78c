//! Baton: where a fleet of AI agents works together. This crate is the engine, to be embedded.
//!
//! A folder holds workspaces; a workspace is one ordered history of shared, versioned state,
//! namespaces and agents. What was acknowledged is durable; everyone sees changes in the same
//! order; the past can be read, and watched from any revision on.
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
//! // Whoever comes second learns what the winner wrote, and nothing is overwritten.
//! let bob = baton.workspace("research")?.as_agent("bob")?;
//! bob.state("shared").set("plan", serde_json::json!({"step": 2})).expected_version(1).await?;
//! let late = plan.set("plan", serde_json::json!({"step": 9})).expected_version(1).await;
//! assert_eq!(late.unwrap_err().code(), "state.version_conflict");
//!
//! // Nothing is forgotten: read as it was, or watch from the beginning.
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
//! [`machine`] decides without I/O; [`shard`] puts a log under it; the driver turns it from the
//! callers' futures and a few threads. [`history`], [`snapshot`] and [`sorted_table`] are the past
//! and its files; [`compaction`] looks after them.

pub mod backup;
pub mod blobs;
pub mod clock;
pub mod codec;
pub mod compaction;
mod disk_space;
mod driver;
pub mod durability;
pub mod error;
pub mod export;
pub mod files;
mod fork;
mod handle;
pub mod history;
mod load;
pub mod machine;
pub mod metrics;
mod oneshot;
pub mod options;
mod point_in_time;
mod search;
pub mod shard;
pub mod snapshot;
pub mod sorted_table;
pub mod verify;
pub mod waiter;
pub mod watch;

pub use baton_core as core;
pub use baton_log as log;
pub use driver::Submitted;
pub use error::Error;
pub use handle::{
    Acquiring, AcquiringPermit, AddingReaction, AddingRule, Agents, Arriving, ArtifactReader,
    Artifacts, AskingHistory, Barriers, Baton, BuildingContext, ChangeFeedPage, Checkpoints,
    Claiming, Completing, Contracts, CreateNamespace, CreatePipeline, CreateStream, Creating,
    Events, Failing, Handling, HandoffRules, Handoffs, Hiding, Item, Joining, Joins, Locks,
    Messages, Namespaces, Offering, Patching, Pipelines, Putting, Reactions, Reading,
    ReadingFrames, Receiving, Registration, Requesting, Reviewing, Saving, Secrets, Semaphores,
    Sending, Session, Setting, State, Streams, Tasks, Topics, Transaction, Watch, Watching,
    Workspace, open, open_with,
};
pub use options::{Extents, Options};
pub use waiter::Waiting;

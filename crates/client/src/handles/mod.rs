//! The operations of Baton as Rust methods: one file per primitive.
//!
//! A handle describes calls and does no I/O itself: it checks names and values, builds a command or
//! a query, and passes it to the [`Carrier`](crate::Carrier) of its workspace.

mod agents;
mod artifacts;
mod barriers;
mod batch;
mod checkpoints;
mod context;
mod contracts;
mod copies;
mod events;
mod handoffs;
mod history;
mod joins;
mod locks;
mod messages;
mod namespaces;
mod pipelines;
mod reactions;
mod reservations;
mod rules;
mod secrets;
mod semaphores;
mod sessions;
mod spending;
mod state;
mod streams;
mod tasks;
mod topics;
mod transaction;
mod watch;

pub use agents::{Registration, TakingNext};
pub use artifacts::{Putting, Reading};
pub use barriers::Arriving;
pub use batch::CallBatch;
pub use checkpoints::{Copied, Saving, Written};
pub use context::BuildingContext;
pub use contracts::DeclaringContract;
pub use copies::SyncOptions;
pub use events::{AskingHistory, Handled, HandlerFailed, Handling, Happened};
pub use handoffs::{Accepted, Check, Offering};
pub use history::since;
pub use joins::Joining;
pub use locks::{Acquiring, HeldLocks};
pub use messages::{Receiving, Requesting, Sending};
pub use namespaces::CreateNamespace;
pub use pipelines::CreatePipeline;
pub use reactions::AddingReaction;
pub use reservations::{Reservation, Reserved};
pub use rules::AddingRule;
pub use secrets::Hiding;
pub use semaphores::AcquiringPermit;
pub use sessions::Session;
pub use spending::RecordingSpending;
pub use state::{Patching, Setting, State};
pub use streams::{CreateStream, ReadingFrames};
pub use tasks::{Claiming, Completing, Creating, Done, Failing, Retrying, Reviewing};
pub use transaction::Transaction;
pub use watch::{Item, Watch, WatchStream, Watching};

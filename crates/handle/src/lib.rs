//! The vocabulary as Rust methods, over anything that carries commands.
//!
//! ```text
//!                          Workspace ─┬─ State, Setting, Patching, Session
//!    a program  ─────▶     (agent,    ├─ Namespaces, CreateNamespace
//!                          once,      ├─ Agents, Registration, HandoffRules
//!                          under)     ├─ Messages, Topics, Streams
//!                                     ├─ Tasks, Creating, Claiming …, Joins
//!                                     ├─ Events, Handling, Reactions
//!                          under)     ├─ Tasks, Creating, Claiming …, Joins
//!                                     ├─ Handoffs, Offering
//!                                     ├─ Pipelines, CreatePipeline
//!                                     ├─ Checkpoints, Saving
//!                                     ├─ Artifacts, Putting, Reading; Secrets
//!                                     ├─ Locks, Semaphores, Barriers
//!                             │       └─ Transaction, Watching
//!                             ▼
//!                          Carrier    mutate(mutation), ask(query), watch(request)
//!                         ╱       ╲
//!              baton::Baton       baton_client::Client
//!              in this process    over a socket
//! ```
//!
//! A program that was written against the embedded engine works against a server after one line
//! is changed, because there is only one set of methods. What a carrier adds of its own is how it
//! is opened and closed, its error type and its watch.
//!
//! 1. Nothing is sent before it is awaited: a handle is a description, and cheap to clone.
//! 2. Names and values are checked here, before anything is sent.
//! 3. Nothing is decided here: whether something is allowed is for the rules to say.
//! 4. What a carrier answers is not trusted: a reply of another kind than was asked for is the
//!    carrier's [`Failure::odd`], because it may come from a peer.
//!
//! Deliberately absent: retries, time limits and threads, which belong to the carrier.

mod agents;
mod artifacts;
mod barriers;
mod carrier;
mod checkpoints;
mod contents;
mod contexts;
mod contracts;
mod events;
mod handoffs;
mod history;
mod joins;
mod locks;
mod messages;
mod namespaces;
mod pipelines;
mod reactions;
mod rules;
mod secrets;
mod semaphores;
mod sessions;
mod state;
mod streams;
mod tasks;
mod topics;
mod transaction;
mod watching;
mod workspace;

pub use agents::{Agents, Registration};
pub use artifacts::{Artifacts, Putting, Reading};
pub use barriers::{Arriving, Barriers};
pub use carrier::{Caller, Carrier, Failure};
pub use checkpoints::{Checkpoints, Saving};
pub use contents::{ContentCarrier, PutOptions, SecretOptions, StoredArtifact};
pub use contexts::BuildingContext;
pub use contracts::Contracts;
pub use events::{AskingHistory, Events, Handled, HandlerFailed, Handling, Happened};
pub use handoffs::{Accepted, Check, Handoffs, Offering};
pub use history::since;
pub use joins::{Joining, Joins};
pub use locks::{Acquiring, Held, Locks};
pub use messages::{Messages, Receiving, Requesting, Sending};
pub use namespaces::{CreateNamespace, Namespaces};
pub use pipelines::{CreatePipeline, Pipelines};
pub use reactions::{AddingReaction, Reactions};
pub use rules::{AddingRule, HandoffRules};
pub use secrets::{Hiding, Secrets};
pub use semaphores::{AcquiringPermit, Semaphores};
pub use sessions::Session;
pub use state::{Patching, Setting, State};
pub use streams::{CreateStream, ReadingFrames, Streams};
pub use tasks::{Claiming, Completing, Creating, Done, Failing, Reviewing, Tasks};
pub use topics::Topics;
pub use transaction::Transaction;
pub use watching::{Item, Watching};
pub use workspace::Workspace;

use std::future::Future;
use std::pin::Pin;

use baton_core::Rejection;

/// A name or value that was not valid, found before anything was sent.
type Prepared<T> = Result<T, Rejection>;

/// What a description becomes when it is awaited.
type Sent<T, C> = Pin<Box<dyn Future<Output = Result<T, <C as Carrier>::Error>> + Send>>;

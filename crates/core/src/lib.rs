//! The rules of Baton: pure, synchronous, without I/O, clock or randomness.
//!
//! ```text
//!   Request ──▶ Space::commit ──▶ decide ──▶ events ──▶ evolve ──▶ Answer
//!                                   ▲                     │
//!                                   └────── policies ◀────┘
//! ```
//!
//! A [`Space`] is one workspace in memory. [`Space::commit`] decides a mutation and applies its
//! consequences atomically; [`Space::replay`] applies the events of earlier decisions. Both use the
//! same `evolve`, so replaying the log gives the space that wrote it.
//!
//! One folder per primitive, each with the same seven files: `mod.rs` has the overview,
//! `vocabulary.rs` the commands and events, `operations.rs` the calls that clients can make,
//! `refusals.rs` the reasons to refuse one, `decide.rs` the rules, `table.rs` the state, `tests.rs`
//! the scenarios. Effects of one primitive on another are in [`policy`].
//!
//! This crate knows nothing of files, sockets, threads, the time of day and the log.

pub mod access;
pub mod context;
pub mod contracts;
pub mod history;
pub mod messagepack;
pub mod metrics;
#[cfg(feature = "planted")]
pub mod planted;
pub mod policy;
pub mod primitives;
pub mod search;
pub mod space;
pub mod storage;
pub mod sync;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod waiting;
pub mod wire;
pub mod words;

pub use primitives::*;
pub use words::*;

pub use command::{Command, Mutation, Query, Request};
pub use event::Event;
pub use json::Json;
pub use kind::Kind;
pub use minimal::Minimal;
pub use names::{
    AgentId, ArtifactId, BarrierName, BlobPlace, CheckpointId, CheckpointKey, CheckpointLabel,
    ContentName, ContractName, CopyId, EventType, GroupName, HandlerName, HandoffId,
    IdempotencyKey, JoinId, Key, KeyName, LockName, MediaType, MessageId, NamespaceName,
    PipelineName, ReactionName, RuleName, SecretId, SemaphoreName, StageName, StateType,
    StreamName, TaskId, TaskType, TopicName, Traceparent, WorkspaceName,
};
pub use namespace::rules::Rules;
pub use numbers::{Generation, Revision, Token, Version, WaitId};
pub use pattern::Pattern;
pub use rejection::Rejection;
pub use reply::{Answer, Reply};
pub use signal::Signal;
pub use space::batch::Batch;
pub use space::{
    CallOutcome, CommitProgress, Committed, Ended, FastSet, LiveCall, LiveDelivery, LiveEffects,
    Space, StorageQuota, Suspended,
};
pub use state::Entry;
pub use time::Timestamp;
pub use transaction::Precondition;
pub use wire::notice::Notice;

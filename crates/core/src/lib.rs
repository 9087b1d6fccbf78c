//! The rules of Baton: pure, synchronous, without I/O, clock or chance.
//!
//! ```text
//!   Request ──▶ Space::commit ──▶ decide ──▶ events ──▶ evolve ──▶ Answer
//!                                   ▲                     │
//!                                   └────── policies ◀────┘
//! ```
//!
//! A [`Space`] is one workspace in memory. [`Space::commit`] decides a wish and applies what
//! follows, all or nothing; [`Space::replay`] applies what was decided before. Both end in the
//! same `evolve`, so replaying the log gives the space that wrote it.
//!
//! One folder per primitive, each with the same five files: `mod.rs` tells the story,
//! `vocabulary.rs` has the words, `decide.rs` the rules, `table.rs` the facts, `tests.rs` the
//! scenarios. What follows from what across primitives stands in [`policy`].
//!
//! What this crate does not know: files, sockets, threads, the time of day, the log.

pub mod access;
pub mod agent;
pub mod artifact;
pub mod artifacts;
pub mod authors;
pub mod barrier;
pub mod batch;
pub mod bus;
pub mod census;
pub mod checkpoint;
pub mod checkpoints;
mod circle;
pub mod command;
pub mod context;
pub mod contracts;
#[cfg(feature = "schema")]
mod described;
pub mod entries;
pub mod entry;
pub mod event;
pub mod expression;
pub mod handoff;
pub mod handoffs;
pub mod histogram;
mod hold;
pub mod join;
pub mod join_record;
pub mod json;
pub mod judging;
pub mod kind;
pub mod limits;
pub mod line;
pub mod lock;
pub mod merge;
pub mod message;
pub mod messagepack;
pub mod messages;
pub mod names;
pub mod namespace;
pub mod notice;
pub mod numbers;
pub mod patch_entry;
pub mod pattern;
pub mod pipeline;
pub mod pipelines;
#[cfg(feature = "planted")]
pub mod planted;
pub mod point;
pub mod policy;
pub mod reaction;
pub mod reactions;
pub mod receipt;
pub mod refusal;
pub mod rejection;
pub mod reply;
pub mod rule;
pub mod rules;
pub mod schema;
pub mod search;
pub mod secret;
pub mod semaphore;
pub mod space;
pub mod stamp;
pub mod state;
pub mod stream;
pub mod task;
pub mod tasks;
#[cfg(test)]
mod testing;
pub mod time;
pub mod topic;
pub mod trace;
pub mod transaction;
pub mod travel;
pub mod wait;
pub mod wire;
pub mod workspace;

pub use batch::Batch;
pub use command::{Command, Query, Request, Wish};
pub use entry::Entry;
pub use event::Event;
pub use json::Json;
pub use kind::Kind;
pub use names::{
    AgentId, ArtifactId, BarrierName, BlobPlace, CheckpointId, CheckpointLabel, ContentName,
    EventType, GroupName, HandlerName, HandoffId, IdempotencyKey, JoinId, Key, KeyName, LockName,
    MediaType, MessageId, NamespaceName, PipelineName, ReactionName, RuleName, SecretId,
    SemaphoreName, StageName, StreamName, TaskId, TaskType, TopicName, Traceparent, WorkspaceName,
};
pub use notice::Notice;
pub use numbers::{Generation, Revision, Token, Version, WaitId};
pub use pattern::Pattern;
pub use rejection::Rejection;
pub use reply::{Answer, Reply};
pub use rules::Rules;
pub use space::{Bounds, Committed, Ended, Outcome, PlainSet, Space};
pub use time::Timestamp;
pub use transaction::Precondition;

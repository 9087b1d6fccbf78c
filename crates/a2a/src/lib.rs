//! The A2A protocol, version 1.0: the tasks of a workspace for agents of other systems.
//!
//! ```text
//!   JSON-RPC ──▶ Method, params ──┐                 ┌─▶ task.create, task.cancel, message.send …
//!   HTTP+JSON ─▶ rest::route ─────┼──▶ Service ─────┤
//!   gRPC ──────▶ grpc::params ────┘                 │
//!                                        │          └─▶ watch of `tasks/{id}` ──▶ Follower ──▶ SSE
//!                                        ▼
//!                       Workspace: the carrier authorises, counts and schedules each call
//! ```
//!
//! 1. A task of the protocol *is* a task of Baton, with the same id. Workers claim it under a lease
//!    and a token as any other, and need not know its creator.
//! 2. There is no rule here: an operation of the protocol names operations of Baton and translates
//!    their answers.
//! 3. A message has one effect: the id of the task that it creates is derived from its `messageId`,
//!    and a further message is sent under an idempotency key.
//! 4. A stream is a snapshot and every event after it, both by revision: nothing is missed between
//!    them and nothing is repeated.
//!
//! | status of the task | state in the protocol |
//! |---|---|
//! | pending, handed off | submitted |
//! | in progress | working; input required if its `metadata` has a `question` |
//! | waiting for review | input required: the verdict |
//! | completed, failed, cancelled | completed, failed, canceled |
//!
//! Deliberately absent: version 0.3 of the protocol, and signatures of cards.

mod card;
mod error;
mod follower;
pub mod grpc;
mod listing;
mod message;
mod method;
mod params;
pub mod peer;
mod push;
pub mod rest;
mod send;
mod service;
mod task;
mod transfer;

pub use card::Site;
pub use error::{Error, ErrorKind};
pub use follower::{Follower, is_final};
pub use message::{Message, Part};
pub use method::Method;
pub use params::{CARD_PATH, JsonRpc, VERSION, check_version, extensions_of};
pub use push::{PUSH_PREFIX, Push, push_of};
pub use service::{Addressee, Context, Outcome, Service, Updates};
pub use task::task_json;
pub use transfer::TRANSFER_CONTEXT;

//! What logs that several servers share have in common, wherever they are.
//!
//! | module | part |
//! |---|---|
//! | `roster` | `Location`, `Roster`, `OwnedLog`: the servers, as the program uses them |
//! | `roster_conformance` | what every roster must do, as functions that each store runs |
//! | `view` | [`View`]: servers and shards as one of the servers has seen them |
//! | [`placement`] | which server should own which shard: a pure function of a view |
//! | [`spool`] | the ends of a log and its newest records, in memory |
//! | [`chunks`] | blobs in chunks, and a cache of them |
//! | `delegate` | what a log and a server of every store say in the same way |
//! | `secrets` | secrets encrypted with a key that the servers share |
//! | `network` | the thread that waits for the network |
//!
//! The rules of ownership, which the simulator also runs, are in `baton_log::ownership`.
//!
//! Without the feature `rosters` only rules and data remain, which need no network: placement,
//! views, spools and caches.
//!
//! Deliberately absent: how a fact becomes durable, which is the business of each store.

pub mod chunks;
#[cfg(feature = "conformance")]
mod cut_proxy;
#[cfg(feature = "rosters")]
mod delegate;
#[cfg(feature = "rosters")]
mod network;
pub mod placement;
#[cfg(feature = "rosters")]
mod roster;
#[cfg(feature = "conformance")]
pub mod roster_conformance;
#[cfg(feature = "rosters")]
pub mod secrets;
pub mod spool;
mod view;

#[cfg(feature = "conformance")]
pub use cut_proxy::{CutProxy, Upstream};
#[cfg(feature = "rosters")]
pub use delegate::Joined;
#[cfg(feature = "rosters")]
pub use network::{Network, NetworkSender};
#[cfg(feature = "rosters")]
pub use roster::{
    DrainOutcome, Location, OwnedLog, Roster, begin_restore, open_alone, open_encrypted,
    open_shards,
};
#[cfg(feature = "rosters")]
pub use secrets::{EncryptedSecrets, SecretsKey, check_key};
pub use view::{Observations, SHARDS_MAX, ServerRow, ShardRow, Shards, View, now_ms};

//! The primitives, one folder each, and the sums over all of them.
//!
//! | file of a primitive | part |
//! |---|---|
//! | `mod.rs` | overview, state diagram, numbered invariants, what is absent |
//! | `vocabulary.rs` | `Command`, `Query`, `Reply`, `Event`, as on the wire, and `Signal` |
//! | `operations.rs` | the calls that clients can make, one row each |
//! | `refusals.rs` | the reasons to refuse a command |
//! | `decide.rs` | the rules, one function per command |
//! | `table.rs` | the state: `evolve`, `undo`, queries, next deadline, `check` |
//! | `tests.rs` | scenarios as tables of steps |
//!
//! Other files are parts of one primitive. Primitives do not import each other, except where the
//! house rules list it; consequences of one primitive for another are a [`policy`](crate::policy).

pub mod command;
pub mod event;
mod list;
pub mod minimal;
pub mod primitive;
pub mod rejection;
pub mod reply;
pub mod signal;
pub mod transaction;

pub(crate) use list::primitives;

pub mod agent;
pub mod artifact;
pub mod barrier;
pub mod checkpoint;
pub mod contract;
pub mod handoff;
pub mod join;
pub mod lock;
pub mod message;
pub mod namespace;
pub mod pipeline;
pub mod reaction;
pub mod rule;
pub mod secret;
pub mod semaphore;
pub mod spend;
pub mod state;
pub mod stream;
pub mod task;
pub mod topic;
pub mod user_event;
pub mod wait;
pub mod workspace;

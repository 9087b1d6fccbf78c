//! What the table of checkpoints is made of.
//!
//! ```text
//!   state ──cut──▶ chunks ──▶ pages of chunks ──▶ a record has a list of pages
//!                    │             │
//!                    └── each distinct one is kept once, and counted ──┘
//! ```
//!
//! | part | is |
//! |---|---|
//! | [`cut`] | where a text is divided, by what stands there and not by how much stands before it |
//! | [`Interned`] | things kept once, by number, with a count of their uses |
//! | [`Content`] | the bytes of all checkpoints: chunks, and pages of them |
//! | [`Recipe`] | a state as an event has it: what is kept of the one before, and what is new |
//! | [`Record`] | a checkpoint as the table keeps it |
//! | [`Thread`] | the checkpoints of one task |
//! | [`Rules`] | how many are kept, and for how long |
//! | [`Facts`] | everything, for a snapshot |
//!
//! The rules stand in [`checkpoint`](crate::checkpoint).

mod checkpoint;
mod contained;
mod content;
mod cut;
mod facts;
mod interned;
mod record;
mod rules;
mod thread;

pub use checkpoint::{Checkpoint, Checksum};
pub use contained::contains;
pub use content::{Content, Freed, Pages, Piece, Recipe};
pub use cut::cut;
pub use facts::{Facts, Part};
pub use interned::Interned;
pub use record::Record;
pub use rules::{Rule, Rules};
pub use thread::{Thread, ranges};

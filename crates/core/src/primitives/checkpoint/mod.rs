//! Checkpoints: the state of a piece of work, saved so that another can go on from it.
//!
//! ```text
//!            save         save         save
//!   (none) ───────▶ 1 ───────▶ 2 ───────▶ 3 = head          restore 2:   head = 2
//!                              └─ save ──▶ 4 = head          then the parent of 4 is 2
//!                              └─ fork ──▶ 1 of another task, with the content of 2
//! ```
//!
//! A checkpoint belongs to a task, or to any other thread of work that has an id. The checkpoints
//! of a task are a tree; one of them is the head, from which the next goes on: the last that was
//! saved or restored. Whoever saves one of a task that this workspace knows must hold its lease, so
//! that a worker that was given up cannot write over the one that took its place. Of other threads
//! nothing is known; a token that is given must be live, whatever it is of.
//!
//! A state is kept byte for byte, and what states have in common is kept once: in memory, in the
//! log and in snapshots. An event says which chunks of the parent stay, and carries only what is
//! new ([`checkpoints`](crate::checkpoint) has the parts). A thousand checkpoints of a large state
//! that changes a little each time cost little more than the changes.
//!
//! Checkpoints go when they are pruned: by a call, by a rule about their number in the commit of
//! the save that is one too many, or by a rule about their age when it is time. A head, and
//! whatever has a label, stays unless a call says otherwise.
//!
//! ```text
//!   state ──cut──▶ chunks ──▶ pages of chunks ──▶ a record has a list of pages
//!                    │             │
//!                    └── each distinct one is kept once, and counted ──┘
//! ```
//!
//! | part | is |
//! |---|---|
//! | [`cut`] | where a text is divided: by its content, not by its length |
//! | [`Interned`] | things kept once, by number, with a count of their uses |
//! | [`Content`] | the bytes of all checkpoints: chunks, and pages of them |
//! | [`Recipe`] | a state as an event has it: what is kept of the one before, and what is new |
//! | [`Record`] | a checkpoint as the table keeps it |
//! | [`Thread`] | the checkpoints of one task |
//! | [`Rules`] | how many are kept, and for how long |
//!
//! Invariants, checked by [`Table::check`]:
//!
//! 1. The bytes of a state have the checksum that was noted when they were saved.
//! 2. A chunk is there as long as a checkpoint has it, and no longer; each distinct one is there
//!    once.
//! 3. A task that has checkpoints has a head, which is one of them.
//! 4. A checkpoint is found by its id and by its task and number.
//!
//! Deliberately absent: merging two checkpoints, which only their author can; comparing them, which
//! any client can; and waiting for one, for which there is watching `checkpoints/<task>`.

mod chunking;
mod containment;
mod content;
mod decide;
mod facts;
mod interned;
pub(crate) mod operations;
mod record;
mod refusals;
mod retention;
mod table;
#[cfg(test)]
mod tests;
mod thread;
mod view;
mod vocabulary;

pub use chunking::cut;
pub use containment::contains;
pub use content::{Content, Freed, Pages, Piece, Recipe};
pub use decide::{Decided, ReplyPlan, View, Work, answer, decide, query};
pub use facts::{Facts, Part};
pub use interned::Interned;
pub use record::Record;
pub use refusals::Rejection;
pub use retention::{Rule, Rules};
pub use table::{Table, Undo};
pub use thread::{Thread, ranges};
pub use view::{Checkpoint, Checksum};
pub use vocabulary::{Command, Event, List, Prune, Query, Reply, Retain, Save, Saved, Why};

//! Checkpoints: the saved state of a unit of work, from which another worker can continue.
//!
//! ```text
//!            save         save         save
//!   (none) ───────▶ 1 ───────▶ 2 ───────▶ 3 = head          restore 2:   head = 2
//!                              └─ save ──▶ 4 = head          then the parent of 4 is 2
//!                              └─ fork ──▶ 1 of another task, with the content of 2
//! ```
//!
//! A checkpoint belongs to a task, or to any other unit of work that has an id. The checkpoints of
//! a task are a tree; one of them is the head, which the next one continues: the last that was
//! saved or restored. Saving a checkpoint of a task of this workspace requires its lease, so that a
//! worker that lost the task cannot overwrite the work of its successor. Other units of work are
//! not known here; a token that is given must be live.
//!
//! A caller may name a checkpoint by a key of its own, which is unique within the task. Keys sort,
//! and a key that is saved again replaces the checkpoint. After a checkpoint with a key there may
//! be pending writes: the results of the steps after it so far. All checkpoints of a task, with
//! their keys and writes, can be copied to another task.
//!
//! A state is JSON, or bytes of a type that only its author knows; JSON is the form in which both
//! travel. A state is stored byte for byte, and the common parts of states are stored once: in
//! memory, in the log and in snapshots. An event names the chunks of the parent that stay, and
//! contains only the new ones. A thousand checkpoints of a large state that changes a little each
//! time cost little more than the changes.
//!
//! Checkpoints are pruned by a call, by a rule about their number in the commit of the save that
//! exceeds it, or by a rule about their age when it is reached. Heads and labelled checkpoints are
//! kept unless a call asks otherwise.
//!
//! ```text
//!   state ──cut──▶ chunks ──▶ pages of chunks ──▶ a record has a list of pages
//!                    │             │
//!                    └── each distinct one is stored once, and counted ──┘
//! ```
//!
//! | part | is |
//! |---|---|
//! | [`cut`] | where a text is divided: by its content, not by its length |
//! | [`Interned`] | values stored once, by number, with a count of their uses |
//! | [`Content`] | the bytes of all checkpoints: chunks, and pages of them |
//! | [`Recipe`] | a state as an event has it: what is kept of the parent, and what is new |
//! | [`Record`] | a checkpoint as the table stores it |
//! | [`Thread`] | the checkpoints of one task |
//! | [`Rules`] | the retention rules |
//! | [`PendingWrites`] | the writes after checkpoints |
//!
//! Invariants, checked by `Table::check`:
//!
//! 1. The bytes of a state have the checksum that was recorded when they were saved.
//! 2. A chunk exists as long as a checkpoint uses it, and no longer; each distinct one exists once.
//! 3. A task that has checkpoints has a head, which is one of them.
//! 4. A checkpoint is found by its id, by its task and number, and by its task and key.
//! 5. A pending write is found by its task, key, writer and index, and is counted.
//!
//! Deliberately absent: merging two checkpoints, which only their author can do; comparing them,
//! which any client can do; and waiting for one, for which there are watches of
//! `checkpoints/<task>`.

mod chunk;
mod chunking;
mod containment;
mod content;
mod decide;
mod facts;
mod interned;
mod keyed;
pub(crate) mod operations;
mod pending;
mod reads;
mod record;
mod refusals;
mod requests;
mod retention;
mod table;
#[cfg(test)]
mod tests;
mod thread;
mod view;
mod vocabulary;

pub use chunk::{Chunk, decoded, encoded};
pub use chunking::cut;
pub use containment::contains;
pub use content::{Content, Freed, Pages, Piece, Recipe};
pub use decide::{View, Work, query};
pub use facts::{Facts, Part};
pub use interned::Interned;
pub use pending::{
    NewWrite, Pending, PendingWrite, PendingWrites, ThreadWrites, Write, WritePlace, Writes,
};
pub use record::Record;
pub use refusals::Rejection;
pub use requests::{Copy, History, List, Prune, Retain, Save};
pub use retention::{Rule, Rules};
pub use table::{Table, Undo};
pub use thread::{Thread, ranges};
pub use view::{Checkpoint, Checksum};
pub use vocabulary::{Command, Event, Query, Reply, Saved, Signal, Why};

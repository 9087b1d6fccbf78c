//! Entries: the keys of one namespace, found by hash and walked in order.
//!
//! Made for millions of keys. A key costs one allocation, one slot of the slab, one slot number in
//! the hash index and one slot number with eight bytes of its key in the order index.
//!
//! ```text
//!                    key ──hash──▶ slot                key ──▶ group ──▶ chunk ──▶ slot
//!                 ┌──────────────────────┐          ┌──────────────────────────────────────────┐
//!   get, put ───▶ │ hash index           │  range ▶ │ order index                              │
//!                 │ tables of slots      │          │ groups of chunks of slots                │
//!                 └───────────┬──────────┘          └────────────────────┬─────────────────────┘
//!                             ▼                                          ▼
//!                 ┌────────────────────────────────────────────────────────────────────────────┐
//!                 │ slab: slot ──▶ Entry, one allocation of head, key and value                │
//!                 └────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A get and an update of an existing key touch the hash index and the slab only; the order index
//! changes when a key comes or goes.
//!
//! A capture is an exact picture of one instant, handed out in pieces while changes go on: whoever
//! changes a key that the capture has yet to reach first stashes what the key was.
//!
//! Invariants, checked by [`Entries::check`]:
//!
//! 1. Every used slot is in both indexes once, under the key of its entry; a free slot is in none.
//! 2. The order index holds the keys in strictly ascending byte order, in nodes that are neither
//!    empty nor full.
//! 3. [`Entries::bytes`] is the sum of the packed sizes.
//! 4. While a capture runs, what is stashed lies in the part that its cursor has yet to reach.
//!
//! Behaviour does not depend on the hasher's seed: the hash index is asked, never walked.
//!
//! Deliberately absent: limits (the rules check key and value sizes before an entry is made),
//! history (an entry knows its version, not its predecessors), an upper bound of a range (the
//! caller stops), giving back the slab's and the hash index's memory (a namespace that was large
//! once is expected to be large again; chunks of the order index do shrink and merge).

mod capture;
mod entry;
mod index;
mod node;
mod order;
mod run;
mod slab;
mod table;
#[cfg(test)]
mod tests;

pub use entry::{Entry, Head};
pub use order::Range;
pub use table::Entries;

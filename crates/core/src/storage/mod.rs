//! Entries: the keys of one namespace, found by hash and iterated in order.
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
//! A get and an update of an existing key touch only the hash index and the slab; the order index
//! changes when a key is added or removed.
//!
//! A capture is a consistent view of one point in time, returned in pieces while changes continue:
//! a change of a key that the capture has yet to reach first stashes its previous entry.
//!
//! Invariants, checked by [`Entries::check`]:
//!
//! 1. Every used slot is in both indexes once, under the key of its entry; a free slot is in none.
//! 2. The order index holds the keys in strictly ascending byte order, in nodes that are neither
//!    empty nor full.
//! 3. [`Entries::bytes`] is the sum of the packed sizes.
//! 4. While a capture runs, all stashed keys are ahead of its cursor.
//!
//! Behaviour does not depend on the seed of the hasher: the hash index is never iterated.
//!
//! Deliberately absent: limits (the rules check key and value sizes before an entry is created),
//! history (an entry has its version, not its predecessors), an upper bound of a range (the caller
//! stops), returning the memory of the slab and of the hash index (a namespace that was large once
//! is expected to be large again; chunks of the order index do shrink and merge).

mod capture;
mod entry;
mod index;
mod node;
mod numbers;
mod order;
mod records;
mod run;
mod slab;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use entry::ENTRY_HEAD_BYTES;
pub use entry::{Entry, WriteHead};
pub(crate) use numbers::Numbers;
pub use order::Range;
pub(crate) use records::{Records, relist};
pub use table::Entries;

//! The slots in the order of their keys: a directory of chunks, each a run of slots.
//!
//! ```text
//!   directory   low  "agent/ada"     "task/01"          "task/02"
//!                        │               │                  │
//!   chunks         agent/ada … ops   task/01 … 0199     task/02 … zoe
//! ```
//!
//! 1. A key lives in the last chunk whose low is not above it, or in the first chunk.
//! 2. Lows ascend; the first one is a fill-in without a meaning, since nothing lies before it.
//! 3. A chunk holds at least one slot and fewer than [`CHUNK_ITEMS_MAX`].
//!
//! A full chunk is cut where keys keep arriving, and in the middle only if they arrive all over it:
//! ascending or descending keys leave full chunks behind.

use std::ops::Bound;

use super::entry::Entry;
use super::run::{Keys, Run, common_prefix_bytes};
use super::slab::Slab;

/// Longer chunks make an insert move more, shorter ones make the directory larger.
pub(super) const CHUNK_ITEMS_MAX: usize = 512;

/// Chunks of a bulk load have room left, lest the first inserts afterwards split them all.
const CHUNK_ITEMS_LOADED: usize = CHUNK_ITEMS_MAX / 8 * 7;

/// A chunk this short is joined with a neighbour, unless both together would soon be full again.
const CHUNK_ITEMS_MIN: usize = CHUNK_ITEMS_MAX / 8;
const CHUNK_ITEMS_JOINED: usize = CHUNK_ITEMS_MAX / 2;

struct Chunk {
    low: Box<[u8]>,
    slots: Run<u64, u32>,
    /// Where the latest slot was inserted, to notice keys arriving in sequence.
    latest: usize,
}

struct Lows;

impl Keys<Box<Chunk>> for Lows {
    #[inline]
    fn key<'a>(&'a self, chunk: &'a Box<Chunk>) -> &'a [u8] {
        &chunk.low
    }
}

/// The order index. It holds slot numbers and asks the slab for their keys.
///
/// Chunks are boxed so that a split moves pointers, and their digests are twice as wide as those of
/// slots because lows are few and lie far apart.
#[derive(Default)]
pub(super) struct Order {
    chunks: Run<u128, Box<Chunk>>,
}

impl Order {
    /// Indexes a slab whose slots are all used and in order.
    pub(super) fn from_sorted(slab: &Slab) -> Order {
        let slots_end = u32::try_from(slab.len()).expect("the slab numbers its slots in 32 bits");
        let slots: Vec<u32> = (0..slots_end).collect();
        let mut chunks: Vec<Box<Chunk>> = Vec::new();
        for slots in slots.chunks(CHUNK_ITEMS_LOADED) {
            let low = match slots[0].checked_sub(1) {
                Some(before) => separator(slab.key(&before), slab.key(&slots[0])),
                None => slab.key(&slots[0]),
            };
            let slots = Run::from_sorted(slots.to_vec(), slab);
            chunks.push(Box::new(Chunk { low: low.into(), slots, latest: 0 }));
        }
        Order { chunks: Run::from_sorted(chunks, &Lows) }
    }

    /// Adds a slot whose key is not in the index.
    pub(super) fn insert(&mut self, slot: u32, slab: &Slab) {
        let key = slab.key(&slot);
        if self.chunks.len() == 0 {
            let chunk = Chunk { low: key.into(), slots: Run::default(), latest: 0 };
            self.chunks.insert(0, key, Box::new(chunk), &Lows);
        }
        let number = self.chunk_of(key);
        let chunk = self.chunks.item_mut(number);
        let at = chunk.slots.find(key, slab).expect_err("only new keys are inserted");
        chunk.slots.insert(at, key, slot, slab);
        if chunk.slots.len() == CHUNK_ITEMS_MAX {
            self.split(number, at, slab);
        } else {
            chunk.latest = at;
        }
    }

    /// Takes out a slot whose entry is still in the slab.
    pub(super) fn remove(&mut self, slot: u32, slab: &Slab) {
        let key = slab.key(&slot);
        let number = self.chunk_of(key);
        let chunk = self.chunks.item_mut(number);
        let at = chunk.slots.find(key, slab).expect("every used slot is in the index");
        let removed = chunk.slots.remove(at);
        assert_eq!(removed, slot, "two slots have the same key");
        match chunk.slots.len() {
            0 => drop(self.chunks.remove(number)),
            1..CHUNK_ITEMS_MIN => self.join(number, slab),
            _ => {}
        }
    }

    /// All entries from a key on.
    pub(super) fn range<'a>(&'a self, from: Bound<&str>, slab: &'a Slab) -> Range<'a> {
        let (chunk, at) = match from {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.position(key.as_bytes(), 0, slab),
            Bound::Excluded(key) => self.position(key.as_bytes(), 1, slab),
        };
        let mut chunks = self.chunks.items()[chunk..].iter();
        let slots = chunks.next().map_or(&[][..], |chunk| &chunk.slots.items()[at..]);
        Range { slab, chunks, slots: slots.iter() }
    }

    fn position(&self, key: &[u8], skip_if_there: usize, slab: &Slab) -> (usize, usize) {
        let number = self.chunk_of(key);
        let at = self.chunks.items().get(number).map_or(0, |chunk| {
            chunk.slots.find(key, slab).map_or_else(|at| at, |at| at + skip_if_there)
        });
        (number, at)
    }

    #[inline]
    fn chunk_of(&self, key: &[u8]) -> usize {
        self.chunks.find(key, &Lows).unwrap_or_else(|after| after.saturating_sub(1))
    }

    fn split(&mut self, number: usize, at: usize, slab: &Slab) {
        if number == 0 {
            self.set_first_low(slab);
        }
        let chunk = self.chunks.item_mut(number);
        let cut = cut(chunk.slots.len(), at, chunk.latest);
        let slots = chunk.slots.split_off(cut, slab);
        chunk.latest = 0;
        let last = chunk.slots.items().last().expect("a cut leaves both sides at least one");
        let first = slots.items().first().expect("a cut leaves both sides at least one");
        let low: Box<[u8]> = separator(slab.key(last), slab.key(first)).into();
        let chunk = Chunk { low: low.clone(), slots, latest: 0 };
        self.chunks.insert(number + 1, &low, Box::new(chunk), &Lows);
        self.chunks.tell_apart(&Lows);
    }

    /// The first low may have fallen behind the keys of its chunk, and then a new low could come
    /// before it.
    fn set_first_low(&mut self, slab: &Slab) {
        let mut chunk = self.chunks.remove(0);
        let first = chunk.slots.items().first().expect("chunks are not empty");
        let low: Box<[u8]> = slab.key(first).into();
        chunk.low.clone_from(&low);
        self.chunks.insert(0, &low, chunk, &Lows);
    }

    fn join(&mut self, number: usize, slab: &Slab) {
        let len = |number: usize| self.chunks.items().get(number).map(|chunk| chunk.slots.len());
        let fits = |left, right| {
            let (left, right) = (len(left)?, len(right)?);
            (left + right <= CHUNK_ITEMS_JOINED).then_some(())
        };
        let left = if fits(number, number + 1).is_some() {
            number
        } else if number > 0 && fits(number - 1, number).is_some() {
            number - 1
        } else {
            return;
        };
        let right = self.chunks.remove(left + 1);
        self.chunks.item_mut(left).slots.append(right.slots, slab);
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn check(&self, slab: &Slab) {
        self.chunks.check(&Lows);
        let mut before: Option<&[u8]> = None;
        for (number, chunk) in self.chunks.items().iter().enumerate() {
            let slots = chunk.slots.items();
            chunk.slots.check(slab);
            assert!(!slots.is_empty(), "a chunk is empty");
            assert!(slots.len() < CHUNK_ITEMS_MAX, "a chunk of {} slots is full", slots.len());
            let first = slots.first().map(|slot| slab.key(slot));
            assert!(before < first, "chunks overlap");
            if number > 0 {
                assert!(before < Some(&*chunk.low), "a low is not above the chunk before");
                assert!(Some(&*chunk.low) <= first, "a low is above its chunk");
            }
            before = slots.last().map(|slot| slab.key(slot));
        }
    }
}

/// Where to cut a chunk of `len` slots after an insert at `at`: between the slots that stay and the
/// slots that leave.
fn cut(len: usize, at: usize, latest: usize) -> usize {
    let last = len - 1;
    if at == last {
        last
    } else if at == 0 {
        1
    } else if at == latest + 1 && at >= len / 2 {
        // The sequence goes on in the left part, and its next key finds itself at the end.
        at + 1
    } else {
        len / 2
    }
}

/// The shortest beginning of `right` that is above `left`.
fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    &right[..=common_prefix_bytes(left, right)]
}

/// Entries in the order of their keys, made by [`Entries::range`](super::Entries::range).
#[derive(Clone)]
pub struct Range<'a> {
    slab: &'a Slab,
    chunks: std::slice::Iter<'a, Box<Chunk>>,
    slots: std::slice::Iter<'a, u32>,
}

impl<'a> Iterator for Range<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        loop {
            if let Some(slot) = self.slots.next() {
                return Some(self.slab.get(*slot));
            }
            self.slots = self.chunks.next()?.slots.items().iter();
        }
    }
}

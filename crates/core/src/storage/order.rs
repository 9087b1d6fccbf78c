//! The slots in the order of their keys: groups of chunks of slots.
//!
//! ```text
//!   groups    agent/ada                       task/02
//!                 │                               │
//!   chunks    agent/ada   agent/o   task/01   task/02   task/05
//!                 │          │         │         │         │
//!   slots     agent/ada …    …         …         …      … task/zoe
//! ```
//!
//! Three levels, whatever the number of keys: with nodes of up to 128 items, a hundred million keys
//! have some ten thousand groups, few enough for one run. Each run has its own prefix, so that
//! digests distinguish keys on every level even if all have a common path.
//!
//! Chunks are merged when keys are removed, groups are not: a group of one chunk is as large as
//! that chunk.

use std::ops::Bound;
use std::slice;

use super::entry::Entry;
use super::node::{Lows, NODE_ITEMS_LOADED, NODE_ITEMS_MAX, Node, Parent};
use super::run::{Keys, Run};
use super::slab::Slab;

/// A chunk this short is merged with a neighbour, unless both together would soon be full again.
const CHUNK_ITEMS_MIN: usize = NODE_ITEMS_MAX / 8;
const CHUNK_ITEMS_JOINED: usize = NODE_ITEMS_MAX / 2;

type Chunk = Node<u64, u32>;
type Group = Node<u128, Box<Chunk>>;

/// The order index. It stores slot numbers and looks up their keys in the slab.
#[derive(Default)]
pub(super) struct KeyOrder {
    groups: Parent<u128, Box<Chunk>>,
}

impl KeyOrder {
    /// Indexes a slab whose slots are all used and in order.
    pub(super) fn from_sorted(slab: &Slab) -> KeyOrder {
        let slots_end = u32::try_from(slab.len()).expect("the slab numbers its slots in 32 bits");
        let slots: Vec<u32> = (0..slots_end).collect();
        let mut groups: Vec<Box<Group>> = Vec::new();
        for slots in slots.chunks(NODE_ITEMS_LOADED * NODE_ITEMS_LOADED) {
            let mut chunks: Vec<Box<Chunk>> = Vec::with_capacity(NODE_ITEMS_LOADED);
            for slots in slots.chunks(NODE_ITEMS_LOADED) {
                let first = slab.key(&slots[0]);
                let before = slots[0].checked_sub(1).map(|before| slab.get(before).key_bytes());
                let low = before.map_or(first, |before| slab.separator(before, first));
                chunks.push(Box::new(Node::new(low, Run::from_sorted(slots.to_vec(), slab))));
            }
            let low = chunks[0].low.clone();
            groups.push(Box::new(Node::new(&low, Run::from_sorted(chunks, &Lows))));
        }
        KeyOrder { groups: Run::from_sorted(groups, &Lows) }
    }

    /// Adds a slot whose key is not in the index.
    pub(super) fn insert(&mut self, slot: u32, slab: &Slab) {
        let key = slab.key(&slot);
        if self.groups.len() == 0 {
            self.insert_first(slot, slab);
            return;
        }
        let group_number = self.groups.node_of(key);
        let group = self.groups.item_mut(group_number);
        let chunk_number = group.run.node_of(key);
        let chunk = group.run.item_mut(chunk_number);
        let at = chunk.run.find(key, slab).expect_err("only new keys are inserted");
        let Some(at) = chunk.insert(at, key, slot, slab) else { return };
        let (at, chunk) = group.run.split_node(chunk_number, at, slab);
        let Some(at) = group.insert(at, &chunk.low.clone(), chunk, &Lows) else { return };
        let (at, group) = self.groups.split_node(group_number, at, &Lows);
        self.groups.insert(at, &group.low.clone(), group, &Lows);
    }

    fn insert_first(&mut self, slot: u32, slab: &Slab) {
        let key = slab.key(&slot);
        let chunk = Box::new(Node::new(key, Run::from_sorted(vec![slot], slab)));
        let group = Box::new(Node::new(key, Run::from_sorted(vec![chunk], &Lows)));
        self.groups.insert(0, key, group, &Lows);
    }

    /// Removes a slot whose entry is still in the slab.
    pub(super) fn remove(&mut self, slot: u32, slab: &Slab) {
        let key = slab.key(&slot);
        let group_number = self.groups.node_of(key);
        let group = self.groups.item_mut(group_number);
        let chunk_number = group.run.node_of(key);
        let chunk = group.run.item_mut(chunk_number);
        let at = chunk.run.find(key, slab).expect("every used slot is in the index");
        let removed = chunk.run.remove(at);
        assert_eq!(removed, slot, "two slots have the same key");
        match chunk.run.len() {
            0 => drop(group.run.remove(chunk_number)),
            1..CHUNK_ITEMS_MIN => join(&mut group.run, chunk_number, slab),
            _ => {}
        }
        if group.run.len() == 0 {
            self.groups.remove(group_number);
        }
    }

    /// All entries from a key on.
    pub(super) fn range<'a>(&'a self, from: Bound<&str>, slab: &'a Slab) -> Range<'a> {
        let (key, skip_if_there) = match from {
            Bound::Unbounded => ("", 0),
            Bound::Included(key) => (key, 0),
            Bound::Excluded(key) => (key, 1),
        };
        let key = key.as_bytes();
        let mut range =
            Range { slab, groups: self.groups.items().iter(), chunks: [].iter(), slots: [].iter() };
        let group_number = self.groups.node_of(key);
        if let Some(group) = range.groups.nth(group_number) {
            let chunk_number = group.run.node_of(key);
            let chunk = &group.run.items()[chunk_number];
            let found = chunk.run.find(key, slab);
            let at = found.map_or_else(|at| at, |at| at + skip_if_there);
            range.chunks = group.run.items()[chunk_number + 1..].iter();
            range.slots = chunk.run.items()[at..].iter();
        }
        range
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.groups.items().iter().map(|group| group.run.len()).sum()
    }

    pub(super) fn check(&self, slab: &Slab) {
        self.groups.check(&Lows);
        let mut before: Option<&[u8]> = None;
        for (group_number, group) in self.groups.items().iter().enumerate() {
            group.run.check(&Lows);
            check_length(group.run.len());
            for (chunk_number, chunk) in group.run.items().iter().enumerate() {
                chunk.run.check(slab);
                check_length(chunk.run.len());
                let slots = chunk.run.items();
                let first = slots.first().map(|slot| slab.key(slot));
                let low = match (group_number, chunk_number) {
                    (0, 0) => None,
                    (_, 0) => Some(&*group.low),
                    (_, _) => Some(&*chunk.low),
                };
                assert!(low.is_none() || before < low, "a low is not above the chunk before");
                assert!(low <= first, "a low is above its chunk");
                assert!(before < first, "chunks overlap");
                before = slots.last().map(|slot| slab.key(slot));
            }
        }
    }
}

fn check_length(items: usize) {
    assert!((1..NODE_ITEMS_MAX).contains(&items), "a node has {items} items");
}

fn join(chunks: &mut Parent<u64, u32>, number: usize, slab: &Slab) {
    let fits = |left: usize| {
        let pair = chunks.items().get(left..left + 2);
        pair.is_some_and(|pair| pair[0].run.len() + pair[1].run.len() <= CHUNK_ITEMS_JOINED)
    };
    let left = if fits(number) {
        number
    } else if number > 0 && fits(number - 1) {
        number - 1
    } else {
        return;
    };
    let right = chunks.remove(left + 1);
    chunks.item_mut(left).run.append(right.run, slab);
}

/// Entries in the order of their keys, made by [`Entries::range`](super::Entries::range).
#[derive(Clone)]
pub struct Range<'a> {
    slab: &'a Slab,
    groups: slice::Iter<'a, Box<Group>>,
    chunks: slice::Iter<'a, Box<Chunk>>,
    slots: slice::Iter<'a, u32>,
}

impl<'a> Iterator for Range<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        loop {
            if let Some(slot) = self.slots.next() {
                return Some(self.slab.get(*slot));
            }
            if let Some(chunk) = self.chunks.next() {
                self.slots = chunk.run.items().iter();
            } else {
                self.chunks = self.groups.next()?.run.items().iter();
            }
        }
    }
}

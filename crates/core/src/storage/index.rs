//! The hash index: the slot of a key. Only looked up, never iterated.
//!
//! One table for few keys, many for many. A table that grows reads all its keys, which for a
//! million keys would block everything for a tenth of a second; one part takes less than a
//! millisecond.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::slab::Slab;

/// With more keys than this, the index is split into parts.
const WHOLE_MAX: usize = if cfg!(test) { 64 } else { 32_768 };
/// The number of parts.
const PARTS: usize = 256;

#[derive(Default)]
pub(super) struct SlotIndex {
    parts: Vec<HashTable<u32>>,
    hasher: DefaultHashBuilder,
    len: usize,
}

impl SlotIndex {
    /// An index with capacity for this many keys.
    pub(super) fn with_capacity(keys: usize) -> SlotIndex {
        let parts = if keys > WHOLE_MAX { PARTS } else { 1 };
        // Parts fill unevenly; one that exceeds its capacity grows alone.
        let room = keys / parts + keys / parts / 16;
        let parts = (0..parts).map(|_| HashTable::with_capacity(room)).collect();
        SlotIndex { parts, hasher: DefaultHashBuilder::default(), len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Bits that the tables use neither for the position nor for the tag.
    fn part(&self, hash: u64) -> usize {
        if self.parts.len() > 1 { (hash >> 40) as usize % PARTS } else { 0 }
    }

    pub(super) fn find(&self, hash: u64, key: &[u8], slab: &Slab) -> Option<u32> {
        let same = |slot: &u32| slab.get(*slot).key_bytes() == key;
        self.parts.get(self.part(hash))?.find(hash, same).copied()
    }

    /// Adds a key that is not there.
    pub(super) fn insert(&mut self, hash: u64, slot: u32, slab: &Slab) {
        if self.parts.is_empty() {
            self.parts.push(HashTable::new());
        }
        if self.parts.len() == 1 && self.len >= WHOLE_MAX {
            self.divide(slab);
        }
        let part = self.part(hash);
        let hasher = &self.hasher;
        let rehash = |slot: &u32| hasher.hash_one(slab.get(*slot).key_bytes());
        self.parts[part].insert_unique(hash, slot, rehash);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, hash: u64, key: &[u8], slab: &Slab) -> Option<u32> {
        let part = self.part(hash);
        let same = |slot: &u32| slab.get(*slot).key_bytes() == key;
        let (slot, _) = self.parts.get_mut(part)?.find_entry(hash, same).ok()?.remove();
        self.len -= 1;
        Some(slot)
    }

    fn divide(&mut self, slab: &Slab) {
        let whole = std::mem::take(&mut self.parts);
        *self =
            SlotIndex { hasher: self.hasher.clone(), ..SlotIndex::with_capacity(WHOLE_MAX + 1) };
        for slot in whole.into_iter().flatten() {
            let hash = self.hash(slab.get(slot).key_bytes());
            let part = self.part(hash);
            let hasher = &self.hasher;
            let rehash = |slot: &u32| hasher.hash_one(slab.get(*slot).key_bytes());
            self.parts[part].insert_unique(hash, slot, rehash);
            self.len += 1;
        }
    }
}

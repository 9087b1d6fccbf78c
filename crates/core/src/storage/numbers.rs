//! Numbers of records by a hash of their keys, which stay in the records.
//!
//! Behaviour does not depend on the seed of the hasher: the index is never iterated.

use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

/// Numbers by key. The owner of the records knows their keys.
#[derive(Default)]
pub(crate) struct Numbers {
    by_hash: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

impl Numbers {
    /// The number under a key, if the record with that number is the one.
    pub(crate) fn find(&self, key: impl Hash, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        self.by_hash.find(hash, |number| is_it(*number)).copied()
    }

    /// Adds a number under a key. Returns whether the key had none; if it had one, it keeps that.
    /// The function returns the key of a number that was added before.
    pub(crate) fn insert<K: Hash + Eq>(
        &mut self,
        key: &K,
        number: usize,
        key_of: impl Fn(usize) -> K,
    ) -> bool {
        let Self { by_hash, hasher } = self;
        let hash = hasher.hash_one(key);
        let is_it = |other: &usize| key_of(*other) == *key;
        match by_hash.entry(hash, is_it, |other| hasher.hash_one(key_of(*other))) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(number);
                true
            }
        }
    }

    /// Removes a number that was added under a key.
    pub(crate) fn remove(&mut self, key: impl Hash, number: usize) {
        let hash = self.hasher.hash_one(key);
        let place = self.by_hash.find_entry(hash, |other| *other == number);
        place.expect("it was added under its key").remove();
    }
}

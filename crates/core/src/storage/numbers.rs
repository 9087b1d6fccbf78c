//! Numbers of records by a hash of their keys, which stay in the records.
//!
//! Behaviour does not depend on the seed of the hasher: the index is never iterated.

use std::hash::{BuildHasher, Hash};

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

    /// Adds a number under a key that has none. The function returns the key of a number that was
    /// added before.
    pub(crate) fn insert<K: Hash>(&mut self, key: K, number: usize, key_of: impl Fn(usize) -> K) {
        let Self { by_hash, hasher } = self;
        by_hash
            .insert_unique(hasher.hash_one(key), number, |other| hasher.hash_one(key_of(*other)));
    }

    /// Removes a number that was added under a key.
    pub(crate) fn remove(&mut self, key: impl Hash, number: usize) {
        let hash = self.hasher.hash_one(key);
        let place = self.by_hash.find_entry(hash, |other| *other == number);
        place.expect("it was added under its key").remove();
    }
}

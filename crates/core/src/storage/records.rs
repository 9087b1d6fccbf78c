//! Records by id: found by hash, listed in order.
//!
//! A record is looked up many times for every change of it, and its id never changes: the order is
//! touched only when a record is added or removed. Behaviour does not depend on the seed of the
//! hasher: the hash index is never iterated.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hash};
use std::ops::{Bound, Index};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Records by id.
pub(crate) struct Records<K, V> {
    by_id: HashTable<(K, V)>,
    hasher: DefaultHashBuilder,
    order: BTreeSet<K>,
}

impl<K, V> Default for Records<K, V> {
    fn default() -> Self {
        let (by_id, order) = (HashTable::new(), BTreeSet::new());
        Self { by_id, hasher: DefaultHashBuilder::default(), order }
    }
}

impl<K: Hash + Ord + Clone, V> Records<K, V> {
    /// Sets a record; returns the previous one.
    pub(crate) fn insert(&mut self, id: &K, record: V) -> Option<V> {
        let hash = self.hasher.hash_one(id);
        if let Some((_, there)) = self.by_id.find_mut(hash, |(there, _)| there == id) {
            return Some(std::mem::replace(there, record));
        }
        let hasher = &self.hasher;
        self.by_id.insert_unique(hash, (id.clone(), record), |(id, _)| hasher.hash_one(id));
        self.order.insert(id.clone());
        None
    }

    /// Removes a record and returns it.
    pub(crate) fn remove(&mut self, id: &K) -> Option<V> {
        let hash = self.hasher.hash_one(id);
        let there = self.by_id.find_entry(hash, |(there, _)| there == id).ok()?;
        let ((_, before), _) = there.remove();
        self.order.remove(id);
        Some(before)
    }

    /// A record.
    pub(crate) fn get(&self, id: &K) -> Option<&V> {
        let hash = self.hasher.hash_one(id);
        self.by_id.find(hash, |(there, _)| there == id).map(|(_, record)| record)
    }

    /// Whether there is such a record.
    pub(crate) fn contains(&self, id: &K) -> bool {
        self.get(id).is_some()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// All records, by id.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.order.iter().map(|id| &self[id])
    }

    /// The records after this id, or all, by id.
    pub(crate) fn after<'a, Q>(
        &'a self,
        id: Option<&Q>,
    ) -> impl Iterator<Item = &'a V> + use<'a, K, V, Q>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.order.range::<Q, _>((from, Bound::Unbounded)).map(|id| &self[id])
    }
}

impl<K: Hash + Ord + Clone, V> Index<&K> for Records<K, V> {
    type Output = V;

    fn index(&self, id: &K) -> &V {
        self.get(id).expect("indexes name known records only")
    }
}

/// Moves an entry of an index, unless it stays where it is.
pub(crate) fn relist<A: Ord + Clone, B: Ord + Clone>(
    index: &mut BTreeSet<(A, B)>,
    before: Option<(&A, &B)>,
    after: Option<(&A, &B)>,
) {
    if before == after {
        return;
    }
    if let Some((a, b)) = before {
        index.remove(&(a.clone(), b.clone()));
    }
    if let Some((a, b)) = after {
        index.insert((a.clone(), b.clone()));
    }
}

//! A sorted run of items that rarely has to look at their keys.
//!
//! A key is far away: a slot number leads to the slab, the slab to the entry, each a cache miss. So
//! a run keeps, next to each item, a digest: the first bytes of the key after the prefix that all
//! keys of the run share. Digests order like keys do, and only equal ones need the keys themselves.
//!
//! ```text
//!   prefix "task/00"        keys      task/0017   task/0018/notes-a   task/0018/notes-b
//!                           digests   17······    18/notes            18/notes
//!                           items     slot 4      slot 9              slot 1
//! ```
//!
//! 1. Items are in strictly ascending order of their keys.
//! 2. Every key starts with the prefix, and its digest is that of the rest. The prefix need not be
//!    the longest: it is shortened when a key without it comes, and lengthened only when
//!    a run is split and too many digests are equal, because every change reads all keys.

use std::mem;

/// Runs this short grow by doubling, longer ones by as many items, so a namespace of few keys is
/// small and a large one has no half-empty vectors.
const GROWTH_ITEMS_MIN: usize = 4;
const GROWTH_ITEMS: usize = 64;

/// From one equal pair of neighbours in this many items on, a split looks for a longer prefix.
const ITEMS_PER_TIE_MIN: usize = 8;

/// The first bytes of a key, as a number that orders like they do.
pub(super) trait Digest: Copy + Ord {
    fn of(suffix: &[u8]) -> Self;
}

impl Digest for u64 {
    #[inline]
    fn of(suffix: &[u8]) -> u64 {
        u64::from_be_bytes(padded(suffix))
    }
}

impl Digest for u128 {
    #[inline]
    fn of(suffix: &[u8]) -> u128 {
        u128::from_be_bytes(padded(suffix))
    }
}

#[inline]
fn padded<const BYTES: usize>(suffix: &[u8]) -> [u8; BYTES] {
    if let Some(whole) = suffix.first_chunk() {
        return *whole;
    }
    let mut bytes = [0; BYTES];
    bytes[..suffix.len()].copy_from_slice(suffix);
    bytes
}

/// Where the key of an item is.
pub(super) trait Keys<T> {
    fn key<'a>(&'a self, item: &'a T) -> &'a [u8];
}

pub(super) fn common_prefix_bytes(left: &[u8], right: &[u8]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

pub(super) struct Run<D, T> {
    prefix: Box<[u8]>,
    digests: Vec<D>,
    items: Vec<T>,
}

impl<D, T> Default for Run<D, T> {
    fn default() -> Self {
        Run { prefix: Box::default(), digests: Vec::new(), items: Vec::new() }
    }
}

impl<D: Digest, T> Run<D, T> {
    /// Takes items that are already in order.
    pub(super) fn from_sorted(items: Vec<T>, keys: &impl Keys<T>) -> Run<D, T> {
        let prefix = match (items.first(), items.last()) {
            (Some(first), Some(last)) => {
                let first = keys.key(first);
                &first[..common_prefix_bytes(first, keys.key(last))]
            }
            _ => &[],
        };
        let digests = items.iter().map(|item| D::of(&keys.key(item)[prefix.len()..])).collect();
        Run { prefix: prefix.into(), digests, items }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn items(&self) -> &[T] {
        &self.items
    }

    pub(super) fn item_mut(&mut self, at: usize) -> &mut T {
        &mut self.items[at]
    }

    /// Where the key is, or else where it belongs.
    #[inline]
    pub(super) fn find(&self, key: &[u8], keys: &impl Keys<T>) -> Result<usize, usize> {
        let Some(suffix) = key.strip_prefix(&*self.prefix) else {
            return Err(if *key < *self.prefix { 0 } else { self.len() });
        };
        let digest = D::of(suffix);
        let from = self.digests.partition_point(|other| *other < digest);
        if self.digests.get(from) != Some(&digest) {
            return Err(from);
        }
        let ties = self.digests[from..].partition_point(|other| *other == digest);
        self.items[from..from + ties]
            .binary_search_by(|item| keys.key(item).cmp(key))
            .map(|at| from + at)
            .map_err(|at| from + at)
    }

    /// Puts an item where [`Run::find`] said its key belongs.
    pub(super) fn insert(&mut self, at: usize, key: &[u8], item: T, keys: &impl Keys<T>) {
        if self.items.is_empty() {
            self.prefix = key.into();
        } else if !key.starts_with(&self.prefix) {
            self.set_prefix(key, common_prefix_bytes(key, &self.prefix), keys);
        }
        if self.items.len() == self.items.capacity() {
            let more = growth_items(self.len());
            self.items.reserve_exact(more);
            self.digests.reserve_exact(more);
        }
        self.digests.insert(at, D::of(&key[self.prefix.len()..]));
        self.items.insert(at, item);
    }

    pub(super) fn remove(&mut self, at: usize) -> T {
        self.digests.remove(at);
        let item = self.items.remove(at);
        self.give_back();
        item
    }

    /// Cuts the run in two. The second part starts with the item at `at`.
    pub(super) fn split_off(&mut self, at: usize, keys: &impl Keys<T>) -> Run<D, T> {
        let mut rest = Run {
            prefix: self.prefix.clone(),
            digests: self.digests.split_off(at),
            items: self.items.split_off(at),
        };
        self.give_back();
        self.tell_apart(keys);
        rest.tell_apart(keys);
        rest
    }

    /// Puts a run behind this one whose keys are all greater.
    pub(super) fn append(&mut self, mut other: Run<D, T>, keys: &impl Keys<T>) {
        let common = common_prefix_bytes(&self.prefix, &other.prefix);
        let prefix = mem::take(&mut self.prefix);
        // Both end up with the same prefix, so that the digests of one can stand behind the other's.
        self.set_prefix(&prefix, common, keys);
        other.set_prefix(&prefix, common, keys);
        self.digests.append(&mut other.digests);
        self.items.append(&mut other.items);
        self.give_back();
    }

    /// Lengthens the prefix as far as the keys allow if many digests are equal.
    pub(super) fn tell_apart(&mut self, keys: &impl Keys<T>) {
        let ties = self.digests.windows(2).filter(|pair| pair[0] == pair[1]).count();
        if ties * ITEMS_PER_TIE_MIN <= self.len() {
            return;
        }
        let (Some(first), Some(last)) = (self.items.first(), self.items.last()) else { return };
        let (first, last) = (keys.key(first), keys.key(last));
        let common = common_prefix_bytes(first, last);
        if common > self.prefix.len() {
            let prefix: Box<[u8]> = first[..common].into();
            self.set_prefix(&prefix, common, keys);
        }
    }

    fn set_prefix(&mut self, key: &[u8], prefix_bytes: usize, keys: &impl Keys<T>) {
        self.prefix = key[..prefix_bytes].into();
        for (digest, item) in self.digests.iter_mut().zip(&self.items) {
            *digest = D::of(&keys.key(item)[prefix_bytes..]);
        }
    }

    fn give_back(&mut self) {
        let keep = self.len() + growth_items(self.len());
        if self.items.capacity() > keep + GROWTH_ITEMS {
            self.items.shrink_to(keep);
            self.digests.shrink_to(keep);
        }
    }

    pub(super) fn check(&self, keys: &impl Keys<T>) {
        assert_eq!(self.digests.len(), self.items.len());
        for (digest, item) in self.digests.iter().zip(&self.items) {
            let suffix = keys.key(item).strip_prefix(&*self.prefix);
            assert!(suffix.is_some_and(|suffix| D::of(suffix) == *digest), "a digest is wrong");
        }
        let ascending = self.items.windows(2).all(|pair| keys.key(&pair[0]) < keys.key(&pair[1]));
        assert!(ascending, "a run is out of order");
    }
}

fn growth_items(len: usize) -> usize {
    // The eighth is for the directory, which has no upper limit: growing it by a fixed number would
    // make filling it quadratic.
    len.clamp(GROWTH_ITEMS_MIN, GROWTH_ITEMS).max(len / 8)
}

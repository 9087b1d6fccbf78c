//! A sorted run of items that rarely has to read their keys.
//!
//! Reading a key is slow: a slot number leads to the slab, the slab to the entry, each a cache
//! miss. So a run stores, next to each item, a digest: the first bytes of the key after the prefix
//! that all keys of the run share. Digests sort like keys, and only equal ones need the keys
//! themselves.
//!
//! ```text
//!   prefix "task/00"        keys      task/0017   task/0018/notes-a   task/0018/notes-b
//!                           digests   17······    18/notes            18/notes
//!                           items     slot 4      slot 9              slot 1
//! ```
//!
//! 1. Items are in strictly ascending order of their keys.
//! 2. Every key starts with the prefix, and its digest is that of the rest. The prefix need not be
//!    the longest: it is shortened when a key without it is added, and lengthened only when a run
//!    is split and too many digests are equal, because either way all keys are read.

use std::mem;
use std::ops::Range;

/// Short runs double, so that a namespace of few keys is small; longer ones grow by a fixed number
/// of items, so that a large one has no half-empty vectors.
const GROWTH_ITEMS_MIN: usize = 4;
const GROWTH_ITEMS: usize = 32;

/// If at least one in this many neighbours is equal, a split looks for a longer prefix.
const ITEMS_PER_TIE_MIN: usize = 8;

/// How many digests of slots fit into a cache line, and how many digests are searched line by line.
const LINE_ITEMS: usize = 8;
const SCAN_ITEMS_MAX: usize = 128;

/// The first bytes of a key, as a number that sorts like them.
pub(super) trait Digest: Copy + Ord {
    fn of(suffix: &[u8]) -> Self;

    /// How many bits two digests have in common before they differ.
    fn common_bits(self, other: Self) -> u32;
}

impl Digest for u64 {
    /// Shorter keys are padded with zeroes, in registers: a copy to a padded array would be read
    /// back while its stores still queue behind those of the new entry, which miss the cache.
    #[inline]
    fn of(suffix: &[u8]) -> u64 {
        if let Some(whole) = suffix.first_chunk() {
            return u64::from_be_bytes(*whole);
        }
        if suffix.is_empty() {
            return 0;
        }
        let unused_bits = 64 - 8 * suffix.len();
        if let (Some(first), Some(last)) = (suffix.first_chunk(), suffix.last_chunk()) {
            let first = u64::from(u32::from_be_bytes(*first)) << 32;
            let last = u64::from(u32::from_be_bytes(*last)) << unused_bits;
            // The two overlap where they have the same bytes.
            return first | last;
        }
        suffix.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)) << unused_bits
    }

    #[inline]
    fn common_bits(self, other: u64) -> u32 {
        (self ^ other).leading_zeros()
    }
}

impl Digest for u128 {
    #[inline]
    fn of(suffix: &[u8]) -> u128 {
        let rest = suffix.get(8..).unwrap_or(&[]);
        u128::from(u64::of(suffix)) << 64 | u128::from(u64::of(rest))
    }

    #[inline]
    fn common_bits(self, other: u128) -> u32 {
        (self ^ other).leading_zeros()
    }
}

/// Where to look up the key of an item.
pub(super) trait Keys<T> {
    fn key<'a>(&'a self, item: &'a T) -> &'a [u8];

    /// A prefix of `right` that is above `left` and above all keys that may be in its node.
    fn separator<'a>(&self, left: &[u8], right: &'a [u8]) -> &'a [u8];
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
    /// Takes items that are already sorted.
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

    /// The position of the key, or where it should be inserted.
    #[inline]
    pub(super) fn find(&self, key: &[u8], keys: &impl Keys<T>) -> Result<usize, usize> {
        let Some(suffix) = key.strip_prefix(&*self.prefix) else {
            return Err(if *key < *self.prefix { 0 } else { self.len() });
        };
        let digest = D::of(suffix);
        let from = first_not_below(&self.digests, digest);
        if self.digests.get(from) != Some(&digest) {
            return Err(from);
        }
        let ties = self.digests[from..].partition_point(|other| *other == digest);
        self.items[from..from + ties]
            .binary_search_by(|item| keys.key(item).cmp(key))
            .map(|at| from + at)
            .map_err(|at| from + at)
    }

    /// Inserts an item at a position returned by [`Run::find`].
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

    /// The position in `places` where an item differs most from its predecessor, according to the
    /// digests; of several the one nearest to the middle.
    pub(super) fn widest_gap(&self, places: Range<usize>) -> usize {
        let middle = usize::midpoint(places.start, places.end);
        places
            .min_by_key(|at| {
                (self.digests[at - 1].common_bits(self.digests[*at]), at.abs_diff(middle))
            })
            .unwrap_or(middle)
    }

    /// Splits the run. The second part starts with the item at `at`.
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

    /// Appends a run whose keys are all greater.
    pub(super) fn append(&mut self, mut other: Run<D, T>, keys: &impl Keys<T>) {
        let common = common_prefix_bytes(&self.prefix, &other.prefix);
        let prefix = mem::take(&mut self.prefix);
        // Both get the same prefix, so that their digests can be concatenated.
        self.set_prefix(&prefix, common, keys);
        other.set_prefix(&prefix, common, keys);
        self.digests.append(&mut other.digests);
        self.items.append(&mut other.items);
        self.give_back();
    }

    /// Lengthens the prefix as far as the keys allow, if many digests are equal.
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
    // An eighth for the groups, which have no upper limit: growing them by a fixed number would
    // make filling them quadratic.
    len.clamp(GROWTH_ITEMS_MIN, GROWTH_ITEMS).max(len / 8)
}

/// The position of the first digest that is not below `digest`.
///
/// A binary search waits for one cache miss after the other. So the last part is searched by
/// reading one digest of each cache line, which can be loaded in parallel.
#[inline]
fn first_not_below<D: Digest>(digests: &[D], digest: D) -> usize {
    let count_below = |digests: &[D], step: usize| -> usize {
        digests.iter().step_by(step).map(|other| usize::from(*other < digest)).sum()
    };
    let mut rest = digests;
    let mut skipped = 0;
    while rest.len() > SCAN_ITEMS_MAX {
        let (left, right) = rest.split_at(rest.len() / 2);
        if right[0] < digest {
            skipped += left.len();
            rest = right;
        } else {
            rest = left;
        }
    }
    let line = count_below(rest, LINE_ITEMS).saturating_sub(1) * LINE_ITEMS;
    let line_end = rest.len().min(line + LINE_ITEMS);
    skipped + line + count_below(&rest[line..line_end], 1)
}

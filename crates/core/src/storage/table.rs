//! The table: the slab, its two indexes and the capture, kept consistent.

use std::cell::Cell;
use std::ops::Bound;

use super::capture::{Capture, Then};
use super::entry::Entry;
use super::index::SlotIndex;
use super::order::{KeyOrder, Range};
use super::slab::Slab;

/// The entries of one namespace. See the [module](super) for its layout.
#[derive(Default)]
pub struct Entries {
    slab: Slab,
    by_hash: SlotIndex,
    order: KeyOrder,
    bytes: usize,
    capture: Option<Capture>,
    /// The last slot that was found. A key is usually looked up several times in a row: to decide,
    /// to write, to answer.
    recent: Cell<u32>,
}

impl Entries {
    /// An empty table, without an allocation.
    pub fn new() -> Entries {
        Entries::default()
    }

    /// Loads entries in strictly ascending order of their keys, as a capture returns them.
    pub fn from_sorted(entries: Vec<Entry>) -> Entries {
        let mut bytes = 0;
        let mut before: Option<&[u8]> = None;
        for entry in &entries {
            let key = entry.key_bytes();
            assert!(before < Some(key), "entry `{}` is not after the one before", entry.key());
            before = Some(key);
            bytes += entry.as_bytes().len();
        }
        let slab = Slab::from_entries(entries);
        let mut by_hash = SlotIndex::with_capacity(slab.len());
        for slot in 0..u32::try_from(slab.len()).expect("the slab has fewer than 2^32 slots") {
            by_hash.insert(by_hash.hash(slab.get(slot).key_bytes()), slot, &slab);
        }
        let order = KeyOrder::from_sorted(&slab);
        Entries { slab, by_hash, order, bytes, capture: None, recent: Cell::new(0) }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum of the packed sizes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        if let Some(slot) = self.find_again(key.as_bytes()) {
            return Some(self.slab.get(slot));
        }
        let slot = self.find(self.by_hash.hash(key.as_bytes()), key.as_bytes())?;
        Some(self.slab.get(slot))
    }

    /// Sets the entry of its key and returns the previous one.
    pub fn put(&mut self, entry: Entry) -> Option<Entry> {
        self.bytes += entry.as_bytes().len();
        let again = self.find_again(entry.key_bytes());
        let slot = match again {
            Some(slot) => slot,
            None => {
                let hash = self.by_hash.hash(entry.key_bytes());
                let Some(slot) = self.find(hash, entry.key_bytes()) else {
                    self.add(hash, entry);
                    return None;
                };
                slot
            }
        };
        let old = self.slab.replace(slot, entry);
        self.bytes -= old.as_bytes().len();
        if let Some(capture) = &mut self.capture {
            capture.stash(&old, Then::Present);
        }
        Some(old)
    }

    /// Removes a key and returns its entry.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let hash = self.by_hash.hash(key.as_bytes());
        let slot = self.by_hash.remove(hash, key.as_bytes(), &self.slab)?;
        self.order.remove(slot, &self.slab);
        let old = self.slab.remove(slot);
        self.bytes -= old.as_bytes().len();
        if let Some(capture) = &mut self.capture {
            capture.stash(&old, Then::Present);
        }
        Some(old)
    }

    /// The entries from a key on, in key order. The caller stops where it has enough.
    pub fn range(&self, from: Bound<&str>) -> Range<'_> {
        self.order.range(from, &self.slab)
    }

    /// All entries in key order.
    pub fn iter(&self) -> Range<'_> {
        self.range(Bound::Unbounded)
    }

    /// Begins a capture of the current table. Only one at a time: another would need its own stash.
    pub fn begin_capture(&mut self) {
        assert!(self.capture.is_none(), "a capture is already running");
        self.capture = Some(Capture::default());
    }

    /// The next entries as they were when the capture began, in key order and at most `limit`. An
    /// empty result means that all were returned, and ends the capture.
    pub fn next_captured(&mut self, limit: usize) -> Vec<Entry> {
        let mut capture = self.capture.take().expect("a capture was begun and has not ended");
        assert!(limit > 0, "an empty answer would be taken for the end");
        let cursor = capture.cursor().cloned();
        let from = cursor.as_ref().map_or(Bound::Unbounded, |entry| Bound::Excluded(entry.key()));
        let captured = capture.advance(self.range(from), limit);
        self.capture = (!captured.is_empty()).then_some(capture);
        captured
    }

    /// Ends a capture early, if one is running.
    pub fn abort_capture(&mut self) {
        self.capture = None;
    }

    /// Whether a capture is running.
    pub fn is_capturing(&self) -> bool {
        self.capture.is_some()
    }

    /// Asserts the invariants of the [module](super). Reads everything.
    pub fn check(&self) {
        self.order.check(&self.slab);
        let mut count = 0;
        let mut bytes = 0;
        for entry in self {
            let found = self.get(entry.key());
            assert!(found.is_some_and(|found| found == entry), "`{}` is mislaid", entry.key());
            count += 1;
            bytes += entry.as_bytes().len();
        }
        assert_eq!(count, self.len(), "the order index and the slab differ");
        assert_eq!(count, self.by_hash.len(), "the order index and the hash index differ");
        assert_eq!(bytes, self.bytes, "the sum of sizes is wrong");
        if let Some(capture) = &self.capture {
            capture.check();
        }
    }

    #[cfg(test)]
    pub(super) fn chunks(&self) -> usize {
        self.order.chunks()
    }

    fn add(&mut self, hash: u64, entry: Entry) {
        if let Some(capture) = &mut self.capture {
            capture.stash(&entry, Then::Absent);
        }
        let slot = self.slab.add(entry);
        self.by_hash.insert(hash, slot, &self.slab);
        self.order.insert(slot, &self.slab);
        self.recent.set(slot);
    }

    #[inline]
    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        let slot = self.by_hash.find(hash, key, &self.slab)?;
        self.recent.set(slot);
        Some(slot)
    }

    /// The slot of a key, if it is the last one that was found.
    #[inline]
    fn find_again(&self, key: &[u8]) -> Option<u32> {
        let slot = self.recent.get();
        self.slab.peek(slot).is_some_and(|entry| entry.key_bytes() == key).then_some(slot)
    }
}

impl<'a> IntoIterator for &'a Entries {
    type Item = &'a Entry;
    type IntoIter = Range<'a>;

    fn into_iter(self) -> Range<'a> {
        self.iter()
    }
}

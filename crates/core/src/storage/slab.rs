//! Entries by slot number. A slot keeps its number while its key exists, so that the indexes store
//! four bytes instead of a pointer; freed numbers are reused, the newest first.

use super::entry::Entry;
use super::run::{Keys, common_prefix_bytes};

#[derive(Default)]
pub(super) struct Slab {
    slots: Vec<Option<Entry>>,
    free: Vec<u32>,
}

impl Slab {
    pub(super) fn from_entries(entries: Vec<Entry>) -> Slab {
        assert!(u32::try_from(entries.len()).is_ok(), "{} entries for 2^32 slots", entries.len());
        Slab { slots: entries.into_iter().map(Some).collect(), free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Entry {
        self.slots[slot as usize].as_ref().expect("an index holds used slots only")
    }

    /// The entry of a slot, if there is one.
    #[inline]
    pub(super) fn peek(&self, slot: u32) -> Option<&Entry> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn add(&mut self, entry: Entry) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(entry);
            return slot;
        }
        let slot = u32::try_from(self.slots.len()).expect("memory ends long before 2^32 entries");
        self.slots.push(Some(entry));
        slot
    }

    pub(super) fn replace(&mut self, slot: u32, entry: Entry) -> Entry {
        self.slots[slot as usize].replace(entry).expect("an index holds used slots only")
    }

    pub(super) fn remove(&mut self, slot: u32) -> Entry {
        let entry = self.slots[slot as usize].take().expect("an index holds used slots only");
        self.free.push(slot);
        entry
    }
}

impl Keys<u32> for Slab {
    #[inline]
    fn key<'a>(&'a self, slot: &'a u32) -> &'a [u8] {
        self.get(*slot).key_bytes()
    }

    fn separator<'a>(&self, left: &[u8], right: &'a [u8]) -> &'a [u8] {
        &right[..=common_prefix_bytes(left, right)]
    }
}

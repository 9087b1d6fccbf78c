//! Interned values: each stored once, by number, with a use count.
//!
//! A new value gets the least free number, so that numbers depend on what is stored and not on its
//! history: a table loaded from a snapshot assigns the same numbers as the original.
//!
//! Invariants, checked by [`Interned::check`]:
//!
//! 1. No two stored values are equal. A hash finds candidates, which are then compared.
//! 2. Every stored value is found.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Values stored once, by number.
pub struct Interned<T: ?Sized> {
    slots: Vec<Option<Slot<T>>>,
    /// Slots that are empty.
    free: BTreeSet<u32>,
    /// Only looked up by hash, never iterated.
    by_hash: BTreeSet<(u32, u32)>,
}

struct Slot<T: ?Sized> {
    thing: Arc<T>,
    uses: u32,
}

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: BTreeSet::new(), by_hash: BTreeSet::new() }
    }
}

/// Half of a hash, to save memory: collisions are rare, and candidates are compared.
fn hash<T: Hash + ?Sized>(thing: &T) -> u32 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    (hasher.finish() >> 32) as u32
}

impl<T: Hash + Eq + ?Sized> Interned<T> {
    fn slot(&self, number: u32) -> &Slot<T> {
        self.slots[number as usize].as_ref().expect("only what is kept is asked for")
    }

    fn slot_mut(&mut self, number: u32) -> &mut Slot<T> {
        self.slots[number as usize].as_mut().expect("only what is kept is asked for")
    }

    /// The number of a value, if it is stored.
    pub fn find(&self, thing: &T) -> Option<u32> {
        let hash = hash(thing);
        let alike = self.by_hash.range((hash, 0)..=(hash, u32::MAX));
        alike.map(|(_, number)| *number).find(|number| *self.slot(*number).thing == *thing)
    }

    /// Stores a value that is not stored yet, with a use count of zero.
    pub fn insert(&mut self, thing: Arc<T>) -> u32 {
        let next = u32::try_from(self.slots.len()).expect("the bytes of all of them are limited");
        let number = self.free.first().copied().unwrap_or(next);
        self.put(number, thing);
        number
    }

    /// Stores a value under a free number, with a use count of zero.
    pub fn put(&mut self, number: u32, thing: Arc<T>) {
        while self.slots.len() <= number as usize {
            let fresh = u32::try_from(self.slots.len()).expect("it is not more than the number");
            self.free.insert(fresh);
            self.slots.push(None);
        }
        assert!(self.free.remove(&number), "a number refers to one value");
        self.by_hash.insert((hash(&*thing), number));
        self.slots[number as usize] = Some(Slot { thing, uses: 0 });
    }

    /// The value of a number.
    pub fn get(&self, number: u32) -> &Arc<T> {
        &self.slot(number).thing
    }

    /// The use count.
    pub fn uses(&self, number: u32) -> u32 {
        self.slot(number).uses
    }

    /// Increments the use count; true if it was zero.
    pub fn hold(&mut self, number: u32) -> bool {
        let slot = self.slot_mut(number);
        slot.uses += 1;
        slot.uses == 1
    }

    /// Decrements the use count. A value that is no longer used is removed and returned.
    pub fn release(&mut self, number: u32) -> Option<Arc<T>> {
        let slot = self.slot_mut(number);
        slot.uses -= 1;
        if slot.uses > 0 {
            return None;
        }
        let slot = self.slots[number as usize].take().expect("it was there");
        self.by_hash.remove(&(hash(&*slot.thing), number));
        self.free.insert(number);
        Some(slot.thing)
    }

    /// The number of stored values.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All stored values, by number.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Arc<T>)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter_map(|(number, slot)| Some((number, &slot.as_ref()?.thing)))
    }

    /// Asserts the invariants of the module.
    pub fn check(&self) {
        for (number, thing) in self.all() {
            assert_eq!(self.find(thing), Some(number), "what is kept is kept once, and found");
            assert!(self.uses(number) > 0, "unused parts are not kept");
        }
        assert_eq!(self.by_hash.len(), self.len(), "what is not kept is not found");
    }
}

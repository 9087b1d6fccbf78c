//! Things kept once, by number, with a count of their uses.
//!
//! The least number that is free is given next, so that the numbers depend on what is kept and not
//! on how it came to that: a table that was loaded gives the same ones as the table it was saved
//! from.
//!
//! Invariants, checked by [`Interned::check`]:
//!
//! 1. No two things that are kept are the same. A hash finds those that may be; the things
//!    themselves are compared.
//! 2. Everything that is kept is found.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Things kept once, by number.
pub struct Interned<T: ?Sized> {
    slots: Vec<Option<Slot<T>>>,
    /// Slots that are empty.
    free: BTreeSet<u32>,
    /// Asked for one hash at a time, never walked.
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

/// Half of a hash, since every thing has one: few are alike by chance, and those are compared.
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

    /// The number of a thing, if it is kept.
    pub fn find(&self, thing: &T) -> Option<u32> {
        let hash = hash(thing);
        let alike = self.by_hash.range((hash, 0)..=(hash, u32::MAX));
        alike.map(|(_, number)| *number).find(|number| *self.slot(*number).thing == *thing)
    }

    /// Keeps a thing that is not kept yet, without a use.
    pub fn insert(&mut self, thing: Arc<T>) -> u32 {
        let next = u32::try_from(self.slots.len()).expect("the bytes of all of them are limited");
        let number = self.free.first().copied().unwrap_or(next);
        self.put(number, thing);
        number
    }

    /// Keeps a thing under a number that is free, without a use.
    pub fn put(&mut self, number: u32, thing: Arc<T>) {
        while self.slots.len() <= number as usize {
            let fresh = u32::try_from(self.slots.len()).expect("it is not more than the number");
            self.free.insert(fresh);
            self.slots.push(None);
        }
        assert!(self.free.remove(&number), "a number stands for one thing");
        self.by_hash.insert((hash(&*thing), number));
        self.slots[number as usize] = Some(Slot { thing, uses: 0 });
    }

    /// What has a number.
    pub fn get(&self, number: u32) -> &Arc<T> {
        &self.slot(number).thing
    }

    /// How often it is used.
    pub fn uses(&self, number: u32) -> u32 {
        self.slot(number).uses
    }

    /// It is used once more; true if it was not used before.
    pub fn hold(&mut self, number: u32) -> bool {
        let slot = self.slot_mut(number);
        slot.uses += 1;
        slot.uses == 1
    }

    /// It is used once less. What is used no more is kept no longer, and handed back.
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

    /// How many things are kept.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything that is kept, by number.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Arc<T>)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter_map(|(number, slot)| Some((number, &slot.as_ref()?.thing)))
    }

    /// Asserts the invariants of the module's story.
    pub fn check(&self) {
        for (number, thing) in self.all() {
            assert_eq!(self.find(thing), Some(number), "what is kept is kept once, and found");
            assert!(self.uses(number) > 0, "what nobody uses is not kept");
        }
        assert_eq!(self.by_hash.len(), self.len(), "what is not kept is not found");
    }
}

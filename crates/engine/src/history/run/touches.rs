//! The batches that change each subject, collected while a run is written.
//!
//! The text of each subject is stored once, all back to back, and everything else is numbers: some
//! forty bytes and the text per subject, eight per touch. A map of strings and lists took three
//! times as much, and allocators return the memory of a background thread late.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The subjects of a run, and the numbers of the batches that touch them.
#[derive(Default)]
pub(super) struct Touches {
    text: String,
    /// The end of each subject in the text, by its number.
    ends: Vec<u32>,
    /// Numbers of subjects by their text. Only looked up, never iterated.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// A subject and a batch, in the order of insertion.
    recorded: Vec<(u32, u32)>,
}

fn subject<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let index = number as usize;
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start as usize..ends[index] as usize]
}

impl Touches {
    /// Records that a batch touches a subject, which is given in parts. Batches come in ascending
    /// order.
    pub(super) fn add(&mut self, touched: &[&str], batch: u32) {
        let Self { text, ends, numbers, hasher, recorded } = self;
        // Appended in place, so that it is concatenated once, and removed again if it is known.
        let start = text.len();
        text.extend(touched.iter().copied());
        let hash = hasher.hash_one(&text[start..]);
        let same = |number: &u32| subject(text, ends, *number) == &text[start..];
        let known = numbers.find(hash, same).copied();
        let number = known.unwrap_or_else(|| {
            let number = u32::try_from(ends.len()).expect("a run has fewer bytes than that");
            ends.push(u32::try_from(text.len()).expect("the batches are longer than this"));
            let rehash = |number: &u32| hasher.hash_one(subject(text, ends, *number));
            numbers.insert_unique(hash, number, rehash);
            number
        });
        if known.is_some() {
            text.truncate(start);
        }
        recorded.push((number, batch));
    }

    /// Visits every subject, in the order of their bytes, with the batches that touch it, ascending
    /// and without duplicates.
    pub(super) fn for_each<E>(
        mut self,
        mut tell: impl FnMut(&str, &[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Dropped early: sorting does not need it.
        self.numbers = HashTable::new();
        let (text, ends) = (&self.text, &self.ends);
        // Numbers are dense, so a counting sort places each touch; it keeps the order of insertion.
        let mut room = vec![0_usize; ends.len() + 1];
        for (number, _) in &self.recorded {
            room[*number as usize + 1] += 1;
        }
        for index in 1..room.len() {
            room[index] += room[index - 1];
        }
        let (starts, mut filled) = (&room, room.clone());
        let mut batches = vec![0; self.recorded.len()];
        for (number, batch) in std::mem::take(&mut self.recorded) {
            let number = number as usize;
            let end = &mut filled[number];
            // A batch may touch a subject more than once.
            if *end == starts[number] || batches[*end - 1] != batch {
                batches[*end] = batch;
                *end += 1;
            }
        }
        let numbers = 0..u32::try_from(ends.len()).expect("subjects are numbered in 32 bits");
        let mut by_text: Vec<u32> = numbers.collect();
        by_text.sort_unstable_by_key(|number| subject(text, ends, *number));
        by_text.into_iter().try_for_each(|number| {
            let range = starts[number as usize]..filled[number as usize];
            tell(subject(text, ends, number), &batches[range])
        })
    }
}

//! Which batches touch which subjects, gathered while a run is written.
//!
//! Each subject's text is kept once, all of them back to back, and everything else is numbers:
//! some forty bytes and the text for a subject, eight for a touch. A map of strings and lists took
//! three times as much, and what a background thread has once taken, an allocator gives back late.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The subjects of a run, and the numbers of the batches that touch them.
#[derive(Default)]
pub(super) struct Touches {
    text: String,
    /// Where in the text each subject ends, by its number.
    ends: Vec<u32>,
    /// Numbers of subjects by their text. Asked, never walked.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// A subject and a batch, in the order they were told.
    told: Vec<(u32, u32)>,
}

fn subject<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let index = number as usize;
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start as usize..ends[index] as usize]
}

impl Touches {
    /// A batch touches a subject.
    pub(super) fn add(&mut self, touched: &str, batch: u32) {
        let Self { text, ends, numbers, hasher, told } = self;
        let hash = hasher.hash_one(touched);
        let same = |number: &u32| subject(text, ends, *number) == touched;
        let number = match numbers.find(hash, same) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(ends.len()).expect("a run has fewer bytes than that");
                text.push_str(touched);
                ends.push(u32::try_from(text.len()).expect("the batches are longer than this"));
                let rehash = |number: &u32| hasher.hash_one(subject(text, ends, *number));
                numbers.insert_unique(hash, number, rehash);
                number
            }
        };
        told.push((number, batch));
    }

    /// Tells of every subject, in the order of their bytes, which batches touch it, in ascending
    /// order and each once.
    pub(super) fn for_each<E>(
        mut self,
        mut tell: impl FnMut(&str, &[(u32, u32)]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Dropped early: sorting needs none of it.
        self.numbers = HashTable::new();
        let (text, ends) = (&self.text, &self.ends);
        self.told.sort_unstable();
        self.told.dedup();
        let mut by_subject: Vec<_> = self.told.chunk_by(|one, next| one.0 == next.0).collect();
        by_subject.sort_unstable_by_key(|touches| subject(text, ends, touches[0].0));
        by_subject
            .into_iter()
            .try_for_each(|batches| tell(subject(text, ends, batches[0].0), batches))
    }
}

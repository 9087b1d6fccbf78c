//! Terms and their documents.
//!
//! A term is a word, or a field with its value such as `status:failed`: words have no colon. Each
//! has a number, so that a document is a list of numbers; and a list of the documents that have it,
//! newest last.

use std::hash::BuildHasher;

use hashbrown::HashTable;

/// A hash map that is never iterated, so that its order does not matter.
type Hasher = hashbrown::DefaultHashBuilder;

/// The approximate size of a term in bytes, without its text: its table entry, and its list while
/// short.
const TERM_BYTES: usize = 72;

/// All terms, by number.
#[derive(Default)]
pub(super) struct TermIndex {
    texts: Vec<Box<str>>,
    by_text: HashTable<u32>,
    lists: Vec<Vec<u32>>,
    hasher: Hasher,
    bytes: usize,
}

impl TermIndex {
    /// The number of a term, if it is known.
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let is_it = |number: &u32| *self.texts[*number as usize] == *text;
        self.by_text.find(self.hasher.hash_one(text), is_it).copied()
    }

    /// The number of a term, which is added if it is new.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.find(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("the bytes of all terms are limited");
        self.bytes += text.len() + TERM_BYTES;
        self.texts.push(text.into());
        self.lists.push(Vec::new());
        let Self { texts, by_text, hasher, .. } = self;
        let hash = |number: &u32| hasher.hash_one(&*texts[*number as usize]);
        by_text.insert_unique(hasher.hash_one(text), number, hash);
        number
    }

    /// The term of a number.
    pub(super) fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// The approximate size of the terms in bytes, without the documents in their lists.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a document to a term; it must be newer than all documents before.
    pub(super) fn add(&mut self, term: u32, document: u32) {
        let list = &mut self.lists[term as usize];
        if list.last() != Some(&document) {
            list.push(document);
        }
    }

    /// The documents that have or had a term, newest last.
    pub(super) fn list(&self, term: u32) -> &[u32] {
        &self.lists[term as usize]
    }

    /// Asserts that every list is in order.
    pub(super) fn check(&self) {
        for list in &self.lists {
            assert!(list.is_sorted_by(|one, next| one < next), "numbers grow within a list");
        }
    }
}

/// An iterator over a sorted list from its end: each lookup is for a smaller number than the one
/// before, so the list is passed once.
pub(super) struct Walk<'a> {
    left: &'a [u32],
}

impl<'a> Walk<'a> {
    pub(super) fn new(list: &'a [u32]) -> Self {
        Self { left: list }
    }

    /// Whether a number is in the list. Skips larger ones with increasing steps.
    pub(super) fn has(&mut self, number: u32) -> bool {
        let mut step = 1;
        while self.left.len() > step && self.left[self.left.len() - step] > number {
            step *= 2;
        }
        let from = self.left.len().saturating_sub(step);
        let end = from + self.left[from..].partition_point(|there| *there <= number);
        self.left = &self.left[..end];
        self.left.last() == Some(&number)
    }
}

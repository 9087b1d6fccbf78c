//! The part of the history of a workspace that is in the log only.

use std::collections::VecDeque;

use baton_core::{Batch, Event, Revision};
use baton_log::Position;

/// The location of a batch in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLocation {
    /// Its record.
    pub record: Position,
    /// Its offset in the body of the record.
    pub offset: u32,
}

/// The locations of the batches that are only in the log. Twelve bytes per batch and eight per
/// event, so that a long tail is affordable.
pub struct Tail {
    first: u64,
    records: VecDeque<u64>,
    offsets: VecDeque<u32>,
    /// Hash of a touched subject, and the batch that touched it, counted from `touched_from`.
    touched: VecDeque<(u32, u32)>,
    touched_from: u64,
    /// Batches before this one have not been read: they were found when the log was opened.
    indexed_from: u64,
    bytes: u64,
}

/// Hash of a subject given in parts. Equal subjects have equal hashes, however they are divided; a
/// collision is resolved by the caller. It is never stored.
pub fn subject_hash(parts: &[&str]) -> u32 {
    // Concatenated first, so that words can be hashed instead of bytes. A longer subject than this
    // is rare and is concatenated on the heap.
    let mut short = [0; 128];
    let bytes = parts.iter().map(|part| part.len()).sum();
    if bytes > short.len() {
        return words_hash(parts.concat().as_bytes());
    }
    let mut end = 0;
    for part in parts {
        short[end..end + part.len()].copy_from_slice(part.as_bytes());
        end += part.len();
    }
    words_hash(&short[..bytes])
}

fn words_hash(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash =
        words.iter().fold(bytes.len() as u64, |hash, word| step(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let hash = step(hash, last);
    u32::try_from(hash >> 32).expect("half of a word is half as long")
}

impl Tail {
    /// An empty tail whose first batch will have this revision.
    pub fn from(first: u64) -> Self {
        Self {
            first,
            records: VecDeque::new(),
            offsets: VecDeque::new(),
            touched: VecDeque::new(),
            touched_from: first,
            indexed_from: first,
            bytes: 0,
        }
    }

    /// The revision of the first batch, or of the next one if there is none.
    pub fn first(&self) -> Revision {
        Revision(self.first)
    }

    /// The revision of the next batch.
    pub fn next(&self) -> Revision {
        Revision(self.first + self.records.len() as u64)
    }

    /// The number of batches.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The approximate size of its batches in the log.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The record of its first batch: the log must keep it and all later ones.
    pub fn needs(&self) -> Option<Position> {
        self.records.front().map(|record| Position(*record))
    }

    /// Adds a durable batch that touched these subjects.
    pub fn push(&mut self, location: LogLocation, bytes: u64, hashes: impl Iterator<Item = u32>) {
        let number = self.number(self.next().0);
        self.touched.extend(hashes.map(|hash| (hash, number)));
        self.append(location, bytes);
    }

    /// Adds a batch found when the log was opened; it has not been read yet.
    pub fn push_unseen(&mut self, location: LogLocation, bytes: u64) {
        assert!(self.touched.is_empty(), "unseen batches come before seen ones");
        self.append(location, bytes);
        self.indexed_from = self.next().0;
    }

    fn append(&mut self, location: LogLocation, bytes: u64) {
        self.records.push_back(location.record.0);
        self.offsets.push_back(location.offset);
        self.bytes += bytes;
    }

    /// The first batches whose subjects are not known yet, if any.
    pub fn unseen(&self) -> Option<std::ops::Range<u64>> {
        (self.first < self.indexed_from).then_some(self.first..self.indexed_from)
    }

    /// Adds the hashes of the subjects of unread batches, in order.
    pub fn seen(&mut self, upto: u64, touched: &[(u32, u64)]) {
        assert_eq!(upto, self.indexed_from, "all unseen batches are looked at together");
        for (hash, revision) in touched.iter().rev().filter(|(_, revision)| *revision >= self.first)
        {
            let number = self.number(*revision);
            self.touched.push_front((*hash, number));
        }
        self.indexed_from = self.first;
    }

    fn number(&self, revision: u64) -> u32 {
        u32::try_from(revision - self.touched_from).expect("tails are archived long before")
    }

    /// The location of a batch.
    pub fn find(&self, revision: Revision) -> Option<LogLocation> {
        let index = usize::try_from(revision.0.checked_sub(self.first)?).ok()?;
        let record = Position(*self.records.get(index)?);
        Some(LogLocation { record, offset: self.offsets[index] })
    }

    /// The newest batch, at most this one, that touched a subject with this hash.
    pub fn last_touch(&self, hash: u32, at_most: Revision) -> Option<Revision> {
        let newest_first = self.touched.iter().rev();
        newest_first
            .filter(|(touched, _)| *touched == hash)
            .map(|(_, number)| Revision(self.touched_from + u64::from(*number)))
            .find(|revision| *revision <= at_most)
    }

    /// Drops batches up to this one: they are in a run.
    pub fn forget(&mut self, upto: Revision) {
        let keep_from = (upto.0 + 1).max(self.first);
        let gone = usize::try_from(keep_from - self.first).expect("a tail fits into memory");
        let gone = gone.min(self.len());
        let part = gone as u64 * self.bytes.checked_div(self.len() as u64).unwrap_or(0);
        self.bytes = if gone == self.len() { 0 } else { self.bytes.saturating_sub(part) };
        self.records.drain(..gone);
        self.offsets.drain(..gone);
        self.first = keep_from;
        let first_number = self.number(keep_from);
        while self.touched.front().is_some_and(|(_, number)| *number < first_number) {
            self.touched.pop_front();
        }
        for (_, number) in &mut self.touched {
            *number -= first_number;
        }
        self.touched_from = keep_from;
        self.indexed_from = self.indexed_from.max(keep_from);
        // A long tail leaves large buffers; most workspaces never need them again.
        if self.is_empty() {
            *self = Self::from(self.first);
        } else if self.records.capacity() > 2 * self.len() {
            self.records.shrink_to_fit();
            self.offsets.shrink_to_fit();
            self.touched.shrink_to_fit();
        }
    }
}

/// The hashes of the subjects that a batch touched.
pub(super) fn hashes(batch: &Batch) -> impl Iterator<Item = u32> {
    batch.events.iter().map(|event: &Event| subject_hash(&event.subject_parts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(number: u64) -> LogLocation {
        LogLocation { record: Position(number * 100), offset: 7 }
    }

    #[test]
    fn finds_the_newest_change_at_or_before_a_revision() {
        let mut tail = Tail::from(11);
        for revision in 11..=20 {
            tail.push(location(revision), 50, [u32::try_from(revision % 3).unwrap()].into_iter());
        }
        assert_eq!(tail.last_touch(0, Revision(20)), Some(Revision(18)));
        assert_eq!(tail.last_touch(0, Revision(17)), Some(Revision(15)));
        assert_eq!(tail.last_touch(0, Revision(11)), None);
        assert_eq!(tail.find(Revision(13)), Some(location(13)));
        assert_eq!(tail.find(Revision(10)), None);
        assert_eq!(tail.find(Revision(21)), None);
    }

    #[test]
    fn a_subject_has_one_hash_however_it_is_divided() {
        let subjects = ["", "a", "workspace", "state/shared/plan", &"state/long/".repeat(30)];
        let mut seen = std::collections::BTreeSet::new();
        for subject in subjects {
            let whole = subject_hash(&[subject]);
            for at in 0..=subject.len() {
                let (left, right) = subject.split_at(at);
                assert_eq!(subject_hash(&[left, right, "", ""]), whole, "{subject} at {at}");
                seen.insert(subject_hash(&[left]));
            }
        }
        // All prefixes, which have next to nothing in common.
        let prefixes: usize = subjects.iter().map(|subject| subject.len()).sum();
        assert!(seen.len() >= prefixes - 10, "{} hashes of {prefixes}", seen.len());
    }

    #[test]
    fn forgets_archived_batches_and_nothing_else() {
        let mut tail = Tail::from(1);
        for revision in 1..=10 {
            tail.push(location(revision), 50, [5].into_iter());
        }
        tail.forget(Revision(4));
        assert_eq!(tail.first(), Revision(5));
        assert_eq!(tail.len(), 6);
        assert_eq!(tail.needs(), Some(Position(500)));
        assert_eq!(tail.last_touch(5, Revision(6)), Some(Revision(6)));
        assert_eq!(tail.last_touch(5, Revision(4)), None);
        tail.push(location(11), 50, [5].into_iter());
        assert_eq!(tail.last_touch(5, Revision(99)), Some(Revision(11)));
        tail.forget(Revision(11));
        assert!(tail.is_empty());
        assert_eq!((tail.next(), tail.bytes()), (Revision(12), 0));
    }

    #[test]
    fn looks_at_unseen_batches_later() {
        let mut tail = Tail::from(3);
        tail.push_unseen(location(3), 50);
        tail.push_unseen(location(4), 50);
        tail.push(location(5), 50, [9].into_iter());
        assert_eq!(tail.unseen(), Some(3..5));
        assert_eq!(tail.last_touch(8, Revision(5)), None);
        tail.seen(5, &[(8, 3), (9, 4)]);
        assert_eq!(tail.unseen(), None);
        assert_eq!(tail.last_touch(8, Revision(5)), Some(Revision(3)));
        assert_eq!(tail.last_touch(9, Revision(4)), Some(Revision(4)));
        assert_eq!(tail.last_touch(9, Revision(5)), Some(Revision(5)));
    }
}

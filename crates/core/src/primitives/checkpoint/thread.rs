//! The checkpoints of one task, or of another unit of work.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::{CheckpointId, CheckpointKey};
use crate::time::Timestamp;

/// The checkpoints of one task. There is at least one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    /// How many were ever saved.
    pub saved: u64,
    /// The head, which the next checkpoint continues.
    pub head: u64,
    /// The kept checkpoints, by number.
    pub kept: BTreeMap<u64, (CheckpointId, Timestamp)>,
    /// The checkpoints without a label.
    pub loose: BTreeSet<u64>,
    /// The numbers of those with a key.
    pub keys: BTreeMap<CheckpointKey, u64>,
}

impl Thread {
    /// The id of its head.
    pub fn head_id(&self) -> &CheckpointId {
        &self.kept[&self.head].0
    }

    /// The checkpoints that may be pruned if this many newer ones are kept, oldest first. A
    /// labelled checkpoint and the head are kept, unless `all` is set.
    pub fn beyond(&self, keep: usize, head: u64, all: bool) -> impl Iterator<Item = u64> {
        let kept = self.kept.keys().take(if all { self.kept.len() } else { 0 });
        let loose = self.loose.iter().take(if all { 0 } else { self.loose.len() });
        let count = if all { self.kept.len() } else { self.loose.len() };
        let beyond = kept.chain(loose).take(count.saturating_sub(keep));
        beyond.copied().filter(move |number| all || *number != head)
    }

    /// Whether a checkpoint was saved before this time.
    pub fn is_older(&self, number: u64, moment: Timestamp) -> bool {
        self.kept[&number].1 < moment
    }

    /// When the oldest checkpoint that may be pruned was saved.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.beyond(0, self.head, false).next().map(|number| self.kept[&number].1)
    }
}

/// Ascending numbers as inclusive ranges.
pub fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        assert_eq!(ranges([1, 2, 3, 7, 9, 10].into_iter()), [(1, 3), (7, 7), (9, 10)]);
        assert!(ranges([].into_iter()).is_empty());
    }

    #[test]
    fn labels_and_the_head_are_not_beyond() {
        let id = |number: u64| (CheckpointId::of_number(number), Timestamp(number));
        let kept: BTreeMap<_, _> = (1..=6).map(|number| (number, id(number))).collect();
        let thread =
            Thread { saved: 6, head: 2, kept, loose: [1, 2, 4, 5, 6].into(), ..Thread::default() };
        let beyond = |keep, all| thread.beyond(keep, 2, all).collect::<Vec<_>>();
        assert_eq!(beyond(2, false), [1, 4]);
        assert!(beyond(9, false).is_empty());
        assert_eq!(beyond(2, true), [1, 2, 3, 4]);
        assert_eq!(beyond(0, true), [1, 2, 3, 4, 5, 6]);
        assert_eq!(thread.oldest(), Some(Timestamp(1)));
    }
}

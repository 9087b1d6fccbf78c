//! The queries of the table of checkpoints.

use std::ops::Bound;

use super::pending;
use super::refusals::Rejection;
use super::table::Table;
use crate::checkpoint::{Checkpoint, Content, PendingWrites, Record, Rules, Thread};
use crate::json::Json;
use crate::names::{CheckpointId, CheckpointKey, TaskId};
use crate::time::Timestamp;

impl Table {
    /// The record of a checkpoint.
    pub fn get(&self, checkpoint: &CheckpointId) -> Option<&Record> {
        self.records.get(checkpoint).map(|record| &**record)
    }

    /// A checkpoint with its state, as callers see it.
    pub fn shown(&self, record: &Record) -> Checkpoint {
        record.shown(Some(self.json(record)))
    }

    /// The state of a checkpoint.
    pub fn state(&self, checkpoint: &CheckpointId) -> Result<Json, Rejection> {
        let state = self.get(checkpoint).map(|record| self.json(record));
        state.ok_or_else(|| Rejection::NotFound { checkpoint: checkpoint.clone() })
    }

    fn json(&self, record: &Record) -> Json {
        pending::shown(&self.whole(record), record.content_type.as_ref())
    }

    pub(super) fn whole(&self, record: &Record) -> Vec<u8> {
        let bytes = usize::try_from(record.bytes).expect("states are limited");
        self.content.whole(&record.pages, bytes)
    }

    /// A checkpoint with its state and the writes after it.
    pub fn shown_with_writes(&self, record: &Record) -> Checkpoint {
        let writes = record.key.as_ref().and_then(|key| self.writes.after(&record.task, key));
        let mut writes: Vec<_> = writes.into_iter().flat_map(|writes| writes.values()).collect();
        // They are by writer and index already.
        writes.sort_by(|one, other| one.path.cmp(&other.path));
        let writes = writes.into_iter().map(|write| write.shown()).collect();
        Checkpoint { writes, ..self.shown(record) }
    }

    /// The pending writes.
    pub fn writes(&self) -> &PendingWrites {
        &self.writes
    }

    /// The checkpoint of a task with this key.
    pub fn with_key(&self, task: &TaskId, key: &CheckpointKey) -> Option<&Record> {
        let thread = self.threads.get(task)?;
        self.get(&thread.kept.get(thread.keys.get(key)?)?.0)
    }

    /// The checkpoints of a task whose keys have a prefix and are less than one, the greatest
    /// first.
    pub fn by_key<'a>(
        &'a self,
        task: &TaskId,
        prefix: &str,
        before: Option<&CheckpointKey>,
    ) -> impl Iterator<Item = &'a Record> {
        let end = after_all_with(prefix);
        let before = before.map(CheckpointKey::as_str);
        let end = end.as_deref().into_iter().chain(before).min();
        let is_empty = end.is_some_and(|end| end <= prefix);
        let bounds = (Bound::Included(prefix), end.map_or(Bound::Unbounded, Bound::Excluded));
        let thread = self.threads.get(task).filter(|_| !is_empty);
        let numbers = thread.map(|thread| thread.keys.range::<str, _>(bounds).rev());
        let of_number = move |(_, number)| self.get(&thread?.kept.get(number)?.0);
        numbers.into_iter().flatten().filter_map(of_number)
    }

    /// The checkpoints of a task, if it has any.
    pub fn thread(&self, task: &TaskId) -> Option<&Thread> {
        self.threads.get(task)
    }

    /// Checkpoints of one task or of all, before this one, newest first.
    pub fn newest<'a>(
        &'a self,
        task: Option<&TaskId>,
        before: Option<&CheckpointId>,
    ) -> impl Iterator<Item = &'a Record> {
        let bound = before.map_or(Bound::Unbounded, Bound::Excluded);
        let thread = task.map(|task| self.threads.get(task));
        let of_all = thread
            .is_none()
            .then(|| self.records.range::<CheckpointId, _>((Bound::Unbounded, bound)).rev());
        let before = before.cloned();
        let of_task = thread.flatten().into_iter().flat_map(|thread| thread.kept.values().rev());
        let of_task = of_task.map(|(id, _)| id);
        let of_task = of_task.skip_while(move |id| before.as_ref().is_some_and(|it| it <= *id));
        let of_task = of_task.filter_map(|id| self.get(id));
        of_all.into_iter().flatten().map(|(_, record)| &**record).chain(of_task)
    }

    /// The id of the next checkpoint. Ids are unique, and sort by time.
    pub fn next_id(&self) -> CheckpointId {
        CheckpointId::of_number(self.created + 1)
    }

    /// The content of all checkpoints.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// The retention rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The approximate memory use in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes + self.content.bytes() + self.writes.bytes()
    }

    /// Tasks with checkpoints that are too old, and the maximum age.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = (&TaskId, &Thread, u64)> {
        let over = self.by_due.iter().take_while(move |(moment, _)| *moment <= now);
        over.filter_map(|(_, task)| {
            Some((task, self.threads.get(task)?, self.rules.of(task)?.max_age_ms?))
        })
    }
}

/// The least text after all that begin with this one; none if there is no such text.
fn after_all_with(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    loop {
        let last = text.pop()?;
        // The order of texts is that of their characters. Surrogates are none.
        let next = if last == '\u{d7ff}' { 0xe000 } else { u32::from(last) + 1 };
        if let Some(next) = char::from_u32(next) {
            text.push(next);
            return Some(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::after_all_with;

    #[test]
    fn a_prefix_ends_before_the_next_character() {
        let next = |prefix: &str| after_all_with(prefix);
        assert_eq!(next(""), None);
        assert_eq!(next("ns/"), Some("ns0".to_owned()));
        assert_eq!(next("a\u{d7ff}"), Some("a\u{e000}".to_owned()));
        assert_eq!(next("a\u{10ffff}"), Some("b".to_owned()));
        assert_eq!(next("\u{10ffff}"), None);
    }
}

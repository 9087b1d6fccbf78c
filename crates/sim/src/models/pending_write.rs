//! Keys, pending writes and copies of checkpoints according to the log.
//!
//! Laws:
//!
//! 1. If several writes have the same place, the first stays, unless a later one asked to replace
//!    it.
//! 2. A key is that of the checkpoint saved last under it; the one before is deleted by that save.
//! 3. Reading by key returns exactly the checkpoints and writes that exist, the greatest key first.
//! 4. A copy has everything that the original had.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::checkpoint::{
    Checkpoint, Event, History, NewWrite, Pending, Prune, Save, Saved, Why, Write, decoded,
};
use baton_core::{CheckpointId, CheckpointKey, Event as AnyEvent, Json, StateType, TaskId};

use crate::auditor::explain::BatchReader;
use crate::auditor::ledger::Ledger;
use crate::auditor::timeline::Timeline;
use crate::auditor::{Audit, Breach, demand};
use crate::models::checkpoint::{CheckpointModel, CheckpointThread, Checkpoints, within};

/// The bytes that a value represents.
pub(super) fn bytes_of(value: &Json, content_type: Option<&StateType>) -> Audit<Vec<u8>> {
    if content_type.is_none() {
        return Ok(value.as_bytes().to_vec());
    }
    let text = value.to_value();
    let bytes = text.as_str().and_then(decoded);
    bytes.ok_or_else(|| Breach(format!("{value} is not Base64")))
}

/// A writer and an index: what is in that place.
type Places = BTreeMap<(String, i32), Arc<Pending>>;

/// All pending writes that ever were, by task and key.
#[derive(Default)]
pub(super) struct PendingWrites(BTreeMap<(TaskId, CheckpointKey), Timeline<Places>>);

impl PendingWrites {
    fn after(&self, task: &TaskId, key: &CheckpointKey, at: u64) -> Places {
        let there = self.0.get(&(task.clone(), key.clone()));
        there.and_then(|there| there.at(at)).cloned().unwrap_or_default()
    }

    /// Stores writes. Whether none was there before.
    pub(super) fn put(
        &mut self,
        revision: u64,
        task: &TaskId,
        key: &CheckpointKey,
        writes: &[Arc<Pending>],
    ) -> bool {
        let mut places = self.after(task, key, u64::MAX);
        let before = places.len();
        for write in writes {
            places.insert((write.writer.as_ref().to_owned(), write.index), Arc::clone(write));
        }
        let is_new = places.len() == before + writes.len();
        self.set(revision, task, key, places);
        is_new
    }

    fn set(&mut self, revision: u64, task: &TaskId, key: &CheckpointKey, places: Places) {
        self.0.entry((task.clone(), key.clone())).or_default().set(revision, places);
    }

    pub(super) fn remove(&mut self, revision: u64, task: &TaskId, key: &CheckpointKey) {
        self.set(revision, task, key, Places::new());
    }

    /// All of a task, now.
    fn of(&self, task: &TaskId) -> Vec<(CheckpointKey, Places)> {
        let of_task = self.0.iter().filter(|((it, _), _)| it == task);
        let there = of_task.filter_map(|((_, key), it)| Some((key.clone(), it.now()?.clone())));
        there.filter(|(_, places)| !places.is_empty()).collect()
    }

    /// Forgets those of a task. Whether there were any.
    pub(super) fn clear(&mut self, revision: u64, task: &TaskId) -> bool {
        let there = self.of(task);
        for (key, _) in &there {
            self.remove(revision, task, key);
        }
        !there.is_empty()
    }

    /// The value that a command stores if it is executed after a revision.
    pub(super) fn effective(&self, write: &Write, at: u64) -> Vec<NewWrite> {
        let there = self.after(&write.task, &write.key, at);
        let mut stored: Vec<NewWrite> = Vec::new();
        for new in &write.writes {
            let earlier = stored.iter().position(|it| it.index == new.index);
            let is_there = there.contains_key(&(write.writer.clone(), new.index));
            match earlier {
                Some(place) if new.replace => stored[place] = new.clone(),
                Some(_) => {}
                None if is_there && !new.replace => {}
                None => stored.push(new.clone()),
            }
        }
        stored
    }
}

fn number_of(id: &CheckpointId) -> Audit<u64> {
    let number = id.as_str().strip_prefix("c-").and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| Breach(format!("`{id}` has no number")))
}

impl Checkpoints {
    fn with_key(&self, task: &TaskId, key: &CheckpointKey, at: u64) -> Option<&CheckpointId> {
        let mut of_task = self.of(Some(task), at);
        of_task.find(|(_, kept)| kept.key.as_ref() == Some(key)).map(|(id, _)| id)
    }

    pub(super) fn copy(
        &mut self,
        revision: u64,
        (task, source): (&TaskId, &TaskId),
        first: &CheckpointId,
        count: u64,
    ) -> Audit {
        let now = u64::MAX;
        demand!(self.thread(task, now).is_none(), "`{task}` has checkpoints already");
        let Some(from) = self.thread(source, now).cloned() else {
            return Err(Breach(format!("`{source}` is copied, it has no checkpoints")));
        };
        let mut originals: Vec<(CheckpointId, CheckpointModel)> = {
            let of_source = self.of(Some(source), now);
            of_source.map(|(id, kept)| (id.clone(), kept.clone())).collect()
        };
        originals.sort_by_key(|(_, kept)| kept.number);
        demand!(originals.len() as u64 == count, "{count} are copied, there are {originals:?}");
        let mut ids: BTreeMap<CheckpointId, CheckpointId> = BTreeMap::new();
        for (place, (id, kept)) in (0..).zip(originals) {
            let copy = CheckpointId::of_number(number_of(first)? + place);
            ids.insert(id, copy.clone());
            let parent = kept.parent.as_ref();
            let parent = parent.map(|parent| ids.get(parent).unwrap_or(parent).clone());
            let (task, number) = (task.clone(), place + 1);
            self.set(revision, &copy, Some(CheckpointModel { task, number, parent, ..kept }));
        }
        let head = ids[&from.head].clone();
        self.set_thread(revision, task, Some(CheckpointThread { saved: count, head }));
        self.writes.clear(revision, task);
        for (key, places) in self.writes.of(source) {
            self.writes.set(revision, task, &key, places);
        }
        Ok(())
    }
}

impl Ledger {
    pub(super) fn checkpoint_shown_with_writes(&self, shown: &Checkpoint, at: u64) -> Audit {
        let there = match &shown.key {
            Some(key) => self.checkpoints.writes.after(&shown.task, key, at),
            None => Places::new(),
        };
        let mut there: Vec<_> = there.values().map(|write| write.shown()).collect();
        there.sort_by(|one, other| {
            let place = |it: &baton_core::checkpoint::PendingWrite| {
                (it.path.clone(), it.writer.clone(), it.index)
            };
            place(one).cmp(&place(other))
        });
        demand!(shown.writes == there, "{:?} are shown, there are {there:?}", shown.writes);
        self.checkpoint_shown(shown, at)
    }

    pub(super) fn keyed_shown(
        &self,
        history: &History,
        shown: &[Checkpoint],
        cursor: Option<&CheckpointKey>,
        at: u64,
    ) -> Audit {
        let prefix = history.prefix.as_ref().map_or("", |prefix| prefix.as_str());
        let is_wanted = |key: &CheckpointKey| {
            key.as_str().starts_with(prefix) && history.key.as_ref().is_none_or(|it| it == key)
        };
        let of_task = self.checkpoints.of(Some(&history.task), at);
        let keyed = of_task.filter_map(|(id, kept)| Some((kept.key.as_ref()?, id)));
        let mut there: Vec<_> = keyed.filter(|(key, _)| is_wanted(key)).collect();
        there.sort();
        there.reverse();
        let ids = there.iter().map(|(_, id)| *id).take(shown.len());
        let same = shown.iter().map(|it| &it.id).eq(ids);
        let whole = cursor.is_some() || shown.len() == there.len();
        demand!(same && whole, "{shown:?} are shown, there are {there:?}");
        shown.iter().try_for_each(|it| self.checkpoint_shown_with_writes(it, at))
    }
}

impl BatchReader<'_> {
    /// The stored values are those that the command should store.
    pub(super) fn check_written(&self, write: &Write, stored: &[Arc<Pending>]) -> Audit {
        let before = self.batch.revision.0 - 1;
        let due = self.ledger.checkpoints.writes.effective(write, before);
        demand!(due.len() == stored.len(), "{stored:?} were stored, not {due:?}");
        for (due, stored) in due.iter().zip(stored) {
            let same = *stored.writer == *write.writer
                && *stored.path == *write.path
                && stored.index == due.index
                && *stored.channel == *due.channel
                && stored.content_type == due.content_type
                && *stored.value.0 == *bytes_of(&due.value, due.content_type.as_ref())?;
            demand!(same, "{stored:?} was stored, not {due:?}");
        }
        Ok(())
    }

    /// A save under a key continues the checkpoint that it names, and replaces the one before.
    pub(super) fn replaced(&mut self, save: &Save, saved: &Saved) -> Audit {
        let before = self.batch.revision.0 - 1;
        let there = &self.ledger.checkpoints;
        let of_key = |key: &CheckpointKey| there.with_key(&save.task, key, before);
        if save.parent.is_none() && (save.key.is_some() || save.parent_key.is_some()) {
            let parent = save.parent_key.as_ref().and_then(of_key);
            demand!(saved.parent.as_ref() == parent, "it continues another than {parent:?}");
        }
        let replaced = save.key.as_ref().and_then(of_key);
        let number = replaced.and_then(|id| there.at(id, before)).map(|kept| kept.number);
        let Some(number) = number else { return Ok(()) };
        let AnyEvent::Checkpoint(Event::Pruned { numbers, why: Why::Replaced, .. }) =
            self.take()?
        else {
            return Err(Breach(format!("{replaced:?} should have been replaced")));
        };
        demand!(*numbers == [(number, number)], "{numbers:?} were replaced, not {number}");
        Ok(())
    }

    /// Only checkpoints with these keys are pruned.
    pub(super) fn check_keys(&self, prune: &Prune, numbers: &[(u64, u64)]) -> Audit {
        let Some(keys) = &prune.keys else { return Ok(()) };
        let before = self.batch.revision.0 - 1;
        for (_, kept) in self.ledger.checkpoints.of(Some(&prune.task), before) {
            let is_gone = within(numbers, kept.number);
            let has_key = kept.key.as_ref().is_some_and(|key| keys.contains(key));
            demand!(!is_gone || has_key, "{kept:?} is pruned, it has another key");
            let is_due = has_key && prune.all && prune.metadata.is_none();
            demand!(!is_due || is_gone, "{kept:?} was to be pruned");
        }
        Ok(())
    }
}

//! The table of checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::vocabulary::{Event, Saved};
use crate::checkpoint::{
    Checksum, Chunk, Content, Facts, Freed, Part, Pending, PendingWrites, Record, Rule, Rules,
    Thread, ThreadWrites, WritePlace,
};
use crate::names::{CheckpointId, CheckpointKey, CheckpointLabel, TaskId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All checkpoints. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    /// By id, which is the order in which they were saved.
    pub(super) records: BTreeMap<CheckpointId, Arc<Record>>,
    pub(super) threads: BTreeMap<TaskId, Thread>,
    pub(super) content: Content,
    pub(super) rules: Rules,
    pub(super) writes: PendingWrites,
    /// When the oldest checkpoint of a task exceeds the maximum age, if a rule limits it.
    pub(super) due: BTreeMap<TaskId, Timestamp>,
    /// The same, by time.
    pub(super) by_due: BTreeSet<(Timestamp, TaskId)>,
    /// How many were ever saved.
    pub(super) created: u64,
    /// Size of the records in bytes, without their content.
    pub(super) bytes: usize,
}

/// How to undo one change.
pub enum Undo {
    /// A checkpoint was saved: its id, and the previous head; none if it is the first. Then the
    /// number of the one that had its key.
    Saved(CheckpointId, Option<u64>, Option<u64>),
    /// The head changed: the previous one.
    Restored(TaskId, u64),
    /// The label of a checkpoint changed: the previous one.
    Labelled(CheckpointId, Option<CheckpointLabel>),
    /// Checkpoints were deleted: the previous count and head of their task, the records, the
    /// content that was removed with them, and the previous writes.
    Pruned(TaskId, (u64, u64), Vec<Arc<Record>>, Freed, Option<ThreadWrites>),
    /// Writes were stored after a checkpoint: what was in their places.
    Written(TaskId, CheckpointKey, Vec<(WritePlace, Option<Arc<Pending>>)>),
    /// Checkpoints were copied to a task: its previous writes.
    Copied(TaskId, Option<ThreadWrites>),
    /// A rule changed: the previous one.
    Retained(Rule),
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        match event {
            Event::Saved(saved) => self.save(saved, moment),
            Event::Restored { checkpoint, task } => {
                let number = self.records[checkpoint].number;
                Undo::Restored(task.clone(), self.set_head(task, number))
            }
            Event::Forked { checkpoint, task, source } => {
                let source = Arc::clone(&self.records[source]);
                self.content.hold(&source.pages);
                let (id, task) = (checkpoint.clone(), task.clone());
                let parent = Some(source.id.clone());
                let (saved_by, saved_at) = (moment.agent.clone(), moment.time);
                let (label, revision) = (None, moment.revision);
                let (key, parent_key) = (None, None);
                let source = Record::clone(&source);
                self.begin(Record {
                    id,
                    task,
                    parent,
                    key,
                    parent_key,
                    label,
                    saved_by,
                    saved_at,
                    revision,
                    ..source
                })
            }
            Event::Written { task, key, writes } => {
                let put = |write: &Arc<Pending>| {
                    (write.place(), self.writes.put(task, key, Arc::clone(write)))
                };
                Undo::Written(task.clone(), key.clone(), writes.iter().map(put).collect())
            }
            Event::Copied { task, source, .. } => self.copy(task, source, moment),
            Event::Labelled { checkpoint, label, .. } => {
                Undo::Labelled(checkpoint.clone(), self.set_label(checkpoint, label.clone()))
            }
            Event::Pruned { task, numbers, .. } => self.prune(task, numbers),
            Event::Retained { rule } => Undo::Retained(self.set_rule(rule.clone())),
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Saved(checkpoint, before, of_key) => {
                let record = self.take_out(&checkpoint);
                self.content.release(&record.pages, &mut Freed::default());
                self.created -= 1;
                match before {
                    Some(head) => {
                        self.thread_mut(&record.task).saved -= 1;
                        self.set_head(&record.task, head);
                    }
                    None => drop(self.threads.remove(&record.task)),
                }
                if let (Some(key), Some(number)) = (&record.key, of_key) {
                    self.thread_mut(&record.task).keys.insert(key.clone(), number);
                }
                self.set_due(&record.task);
            }
            Undo::Restored(task, head) => drop(self.set_head(&task, head)),
            Undo::Labelled(checkpoint, label) => drop(self.set_label(&checkpoint, label)),
            Undo::Written(task, key, places) => {
                for (place, before) in places.into_iter().rev() {
                    self.writes.set(&task, &key, &place, before);
                }
            }
            Undo::Copied(task, writes) => {
                let thread = self.threads[&task].clone();
                for (checkpoint, _) in thread.kept.values() {
                    let record = self.take_out(checkpoint);
                    self.content.release(&record.pages, &mut Freed::default());
                }
                self.created -= thread.saved;
                self.threads.remove(&task);
                self.writes.replace(&task, writes);
                self.set_due(&task);
            }
            Undo::Pruned(task, (saved, head), records, freed, writes) => {
                self.writes.replace(&task, writes);
                self.content.put_back(freed);
                if records.is_empty() {
                    return;
                }
                let thread = self.threads.entry(task.clone()).or_default();
                (thread.saved, thread.head) = (saved, head);
                for record in records {
                    self.content.hold(&record.pages);
                    self.put_in(record);
                }
                self.set_due(&task);
            }
            Undo::Retained(rule) => drop(self.set_rule(rule)),
        }
    }

    fn facts(&self) -> Facts {
        let chunks =
            self.content.chunks().map(|(number, it)| Part::Chunk(number, Chunk(Arc::clone(it))));
        let pages = self.content.pages().map(|(number, it)| Part::Page(number, Arc::clone(it)));
        let records = self.records.values().map(|record| Part::Record(Arc::clone(record)));
        let threads = self.threads.iter();
        let threads =
            threads.map(|(task, thread)| Part::Thread(task.clone(), thread.saved, thread.head));
        let writes = self.writes.all().map(|(task, key, writes)| {
            Part::Writes(task.clone(), key.clone(), writes.values().cloned().collect())
        });
        Facts {
            created: self.created,
            rules: self.rules.all().cloned().collect(),
            parts: chunks.chain(pages).chain(records).chain(threads).chain(writes).collect(),
        }
    }

    fn restore(Facts { created, rules, parts }: Facts) -> Self {
        let (mut chunks, mut pages, mut records) = (Vec::new(), Vec::new(), Vec::new());
        let mut table = Self { created, rules: rules.into_iter().collect(), ..Self::default() };
        for part in parts {
            match part {
                Part::Chunk(number, chunk) => chunks.push((number, chunk)),
                Part::Page(number, page) => pages.push((number, page)),
                Part::Record(record) => records.push(record),
                Part::Thread(task, saved, head) => {
                    table.threads.insert(task, Thread { saved, head, ..Thread::default() });
                }
                Part::Writes(task, key, writes) => {
                    for write in writes {
                        table.writes.put(&task, &key, write);
                    }
                }
            }
        }
        table.content = Content::restore(chunks, pages);
        for record in records {
            table.content.hold(&record.pages);
            table.put_in(record);
        }
        #[cfg(feature = "planted")]
        if crate::planted::is("checkpoint.head_forgotten") {
            for thread in table.threads.values_mut() {
                thread.head = *thread.kept.keys().next_back().expect("a thread is not empty");
            }
        }
        table.set_all_due();
        table
    }

    fn check(&self) {
        let mut bytes = 0;
        for record in self.records.values() {
            let whole = self.whole(record);
            assert_eq!(whole.len() as u64, record.bytes, "a state has the bytes it was saved with");
            assert_eq!(Checksum::of(&whole), record.checksum, "and the same ones");
            let thread = self.thread(&record.task).expect("a checkpoint is of a task");
            let place = thread.kept.get(&record.number);
            assert_eq!(place, Some(&(record.id.clone(), record.saved_at)), "found by its number");
            assert_eq!(thread.loose.contains(&record.number), record.label.is_none());
            let of_key = record.key.as_ref().map(|key| thread.keys.get(key));
            assert!(of_key.is_none_or(|it| it == Some(&record.number)), "found by its key");
            bytes += record.footprint();
        }
        assert_eq!(bytes, self.bytes, "what is kept is counted");
        self.content.check(self.records.values().map(|record| &*record.pages));
        for (task, thread) in &self.threads {
            assert!(thread.kept.contains_key(&thread.head), "a head is one of its task");
            assert!(thread.kept.keys().all(|number| *number <= thread.saved), "they are counted");
            let age_ms = self.rules.of(task).and_then(|rule| rule.max_age_ms);
            let due = age_ms.and_then(|age_ms| Some(thread.oldest()?.after(age_ms)));
            assert_eq!(self.due.get(task).copied(), due, "what becomes too old is noted");
        }
        let kept: usize = self.threads.values().map(|thread| thread.kept.len()).sum();
        assert_eq!(kept, self.records.len(), "a task has only what is there");
        let keys: usize = self.threads.values().map(|thread| thread.keys.len()).sum();
        let with_key = self.records.values().filter(|record| record.key.is_some());
        assert_eq!(keys, with_key.count(), "a key is that of a checkpoint");
        self.writes.check();
        assert_eq!(self.due.len(), self.by_due.len(), "noted twice, the same");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.by_due.first().map(|(moment, _)| *moment)
    }
}

impl Table {
    fn save(&mut self, saved: &Saved, moment: &Moment<'_>) -> Undo {
        let parent = saved.parent.as_ref().map(|parent| Arc::clone(&self.records[parent]));
        let before = parent.as_ref().map_or(&[][..], |parent| &parent.pages);
        let pages = self.content.follow(before, &saved.recipe);
        self.begin(Record {
            id: saved.checkpoint.clone(),
            task: saved.task.clone(),
            number: 0,
            parent: parent.map(|parent| parent.id.clone()),
            key: saved.key.clone(),
            parent_key: saved.parent_key.clone(),
            content_type: saved.content_type.clone(),
            description: saved.description.as_deref().map(Into::into),
            label: saved.label.clone(),
            metadata: saved.metadata.clone(),
            saved_by: moment.agent.clone(),
            saved_at: moment.time,
            revision: moment.revision,
            bytes: saved.bytes,
            checksum: saved.checksum,
            pages,
        })
    }

    /// Adds a checkpoint, whose content is already counted, as the next of its task.
    fn begin(&mut self, mut record: Record) -> Undo {
        let before = self.threads.get_key_value(&record.task).map(|(task, thread)| {
            // All records of a task share one copy of its name.
            record.task = task.clone();
            thread.head
        });
        let (id, task) = (record.id.clone(), record.task.clone());
        let thread = self.threads.entry(task.clone()).or_default();
        thread.saved += 1;
        record.number = thread.saved;
        thread.head = record.number;
        let of_key = record.key.as_ref().and_then(|key| thread.keys.get(key).copied());
        self.created += 1;
        self.put_in(Arc::new(record));
        self.set_due(&task);
        Undo::Saved(id, before, of_key)
    }

    /// Copies the checkpoints of a task, which keep their age, and their order.
    fn copy(&mut self, task: &TaskId, source: &TaskId, moment: &Moment<'_>) -> Undo {
        let from = self.threads[source].clone();
        let mut ids: BTreeMap<CheckpointId, CheckpointId> = BTreeMap::new();
        let mut thread = Thread { saved: from.kept.len() as u64, ..Thread::default() };
        let head = from.kept.keys().take_while(|number| **number <= from.head).count();
        thread.head = head as u64;
        self.threads.insert(task.clone(), thread);
        for (number, (id, _)) in (1..).zip(from.kept.values()) {
            let original = Arc::clone(&self.records[id]);
            self.content.hold(&original.pages);
            self.created += 1;
            let copy = CheckpointId::of_number(self.created);
            ids.insert(id.clone(), copy.clone());
            let parent = original.parent.as_ref();
            let parent = parent.map(|parent| ids.get(parent).unwrap_or(parent).clone());
            let (task, revision) = (task.clone(), moment.revision);
            let original = Record::clone(&original);
            let record = Record { id: copy, task, number, parent, revision, ..original };
            self.put_in(Arc::new(record));
        }
        let writes = self.writes.of(source).cloned();
        #[cfg(feature = "planted")]
        let writes = writes.filter(|_| !crate::planted::is("checkpoint.copy_loses_writes"));
        let before = self.writes.replace(task, writes);
        self.set_due(task);
        Undo::Copied(task.clone(), before)
    }

    fn thread_mut(&mut self, task: &TaskId) -> &mut Thread {
        self.threads.get_mut(task).expect("a task that has checkpoints has a thread")
    }

    fn set_head(&mut self, task: &TaskId, head: u64) -> u64 {
        let before = std::mem::replace(&mut self.thread_mut(task).head, head);
        self.set_due(task);
        before
    }

    fn set_label(
        &mut self,
        checkpoint: &CheckpointId,
        label: Option<CheckpointLabel>,
    ) -> Option<CheckpointLabel> {
        let mut record = self.take_out(checkpoint);
        let before = std::mem::replace(&mut Arc::make_mut(&mut record).label, label);
        let task = record.task.clone();
        self.put_in(record);
        self.set_due(&task);
        before
    }

    fn prune(&mut self, task: &TaskId, numbers: &[(u64, u64)]) -> Undo {
        let writes = self.writes.of(task).cloned();
        let Some(thread) = self.threads.get(task) else {
            // Its writes are all that it has.
            self.writes.replace(task, None);
            return Undo::Pruned(task.clone(), (0, 0), Vec::new(), Freed::default(), writes);
        };
        let before = (thread.saved, thread.head);
        let gone = numbers.iter().flat_map(|(first, last)| thread.kept.range(first..=last));
        let gone: Vec<CheckpointId> = gone.map(|(_, (checkpoint, _))| checkpoint.clone()).collect();
        let (mut records, mut freed) = (Vec::with_capacity(gone.len()), Freed::default());
        for checkpoint in &gone {
            let record = self.take_out(checkpoint);
            self.content.release(&record.pages, &mut freed);
            // Another one may have replaced it.
            let is_taken = |key: &&CheckpointKey| self.threads[task].keys.contains_key(*key);
            if let Some(key) = record.key.as_ref().filter(|key| !is_taken(key)) {
                self.writes.remove(task, key);
            }
            records.push(record);
        }
        let thread = self.thread_mut(task);
        match thread.kept.last_key_value() {
            Some((newest, _)) if !thread.kept.contains_key(&thread.head) => thread.head = *newest,
            Some(_) => {}
            None => {
                self.threads.remove(task);
                self.writes.replace(task, None);
            }
        }
        self.set_due(task);
        Undo::Pruned(task.clone(), before, records, freed, writes)
    }

    fn set_rule(&mut self, rule: Rule) -> Rule {
        let before = self.rules.replace(rule);
        self.set_all_due();
        before
    }

    /// Recomputes for every task when its oldest checkpoint becomes too old.
    fn set_all_due(&mut self) {
        self.due.clear();
        self.by_due.clear();
        let tasks: Vec<TaskId> = self.threads.keys().cloned().collect();
        for task in &tasks {
            self.set_due(task);
        }
    }

    /// Recomputes when the oldest checkpoint of a task becomes too old.
    fn set_due(&mut self, task: &TaskId) {
        if let Some(moment) = self.due.remove(task) {
            self.by_due.remove(&(moment, task.clone()));
        }
        let age_ms = self.rules.of(task).and_then(|rule| rule.max_age_ms);
        let oldest = self.threads.get(task).and_then(Thread::oldest);
        if let (Some(age_ms), Some(oldest)) = (age_ms, oldest) {
            let moment = oldest.after(age_ms);
            self.due.insert(task.clone(), moment);
            self.by_due.insert((moment, task.clone()));
        }
    }

    /// Removes a checkpoint from all indexes; its content stays.
    fn take_out(&mut self, checkpoint: &CheckpointId) -> Arc<Record> {
        let record = self.records.remove(checkpoint).expect("only a known checkpoint changes");
        self.bytes -= record.footprint();
        let thread = self.thread_mut(&record.task);
        thread.kept.remove(&record.number);
        thread.loose.remove(&record.number);
        if let Some(key) = &record.key
            && thread.keys.get(key) == Some(&record.number)
        {
            thread.keys.remove(key);
        }
        record
    }

    fn put_in(&mut self, record: Arc<Record>) {
        self.bytes += record.footprint();
        let number = record.number;
        let thread = self.thread_mut(&record.task);
        thread.kept.insert(number, (record.id.clone(), record.saved_at));
        if record.label.is_none() {
            thread.loose.insert(number);
        }
        if let Some(key) = &record.key {
            // The newer one has replaced the other, which is about to be deleted.
            let of_key = thread.keys.entry(key.clone()).or_insert(number);
            *of_key = number.max(*of_key);
        }
        self.records.insert(record.id.clone(), record);
    }
}

//! The table of checkpoints.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::refusals::Rejection;
use super::vocabulary::{Event, Saved};
use crate::checkpoint::{
    Checkpoint, Checksum, Content, Facts, Freed, Part, Record, Rule, Rules, Thread,
};
use crate::json::Json;
use crate::names::{CheckpointId, CheckpointLabel, TaskId};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All checkpoints. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    /// By id, which is the order in which they were saved.
    records: BTreeMap<CheckpointId, Arc<Record>>,
    threads: BTreeMap<TaskId, Thread>,
    content: Content,
    rules: Rules,
    /// When the oldest checkpoint of a task exceeds the maximum age, if a rule limits it.
    due: BTreeMap<TaskId, Timestamp>,
    /// The same, by time.
    by_due: BTreeSet<(Timestamp, TaskId)>,
    /// How many were ever saved.
    created: u64,
    /// Size of the records in bytes, without their content.
    bytes: usize,
}

/// How to undo one change.
pub enum Undo {
    /// A checkpoint was saved: its id, and the previous head; none if it is the first.
    Saved(CheckpointId, Option<u64>),
    /// The head changed: the previous one.
    Restored(TaskId, u64),
    /// The label of a checkpoint changed: the previous one.
    Labelled(CheckpointId, Option<CheckpointLabel>),
    /// Checkpoints were deleted: the previous count and head of their task, the records, and the
    /// content that was removed with them.
    Pruned(TaskId, (u64, u64), Vec<Arc<Record>>, Freed),
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
                let source = Record::clone(&source);
                self.begin(Record {
                    id,
                    task,
                    parent,
                    label,
                    saved_by,
                    saved_at,
                    revision,
                    ..source
                })
            }
            Event::Labelled { checkpoint, label, .. } => {
                Undo::Labelled(checkpoint.clone(), self.set_label(checkpoint, label.clone()))
            }
            Event::Pruned { task, numbers, .. } => self.prune(task, numbers),
            Event::Retained { rule } => Undo::Retained(self.set_rule(rule.clone())),
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Saved(checkpoint, before) => {
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
                self.set_due(&record.task);
            }
            Undo::Restored(task, head) => drop(self.set_head(&task, head)),
            Undo::Labelled(checkpoint, label) => drop(self.set_label(&checkpoint, label)),
            Undo::Pruned(task, (saved, head), records, freed) => {
                self.content.put_back(freed);
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
        let chunks = self.content.chunks().map(|(number, it)| Part::Chunk(number, Arc::clone(it)));
        let pages = self.content.pages().map(|(number, it)| Part::Page(number, Arc::clone(it)));
        let records = self.records.values().map(|record| Part::Record(Arc::clone(record)));
        let threads = self.threads.iter();
        let threads =
            threads.map(|(task, thread)| Part::Thread(task.clone(), thread.saved, thread.head));
        Facts {
            created: self.created,
            rules: self.rules.all().cloned().collect(),
            parts: chunks.chain(pages).chain(records).chain(threads).collect(),
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
            let text = self.text(record);
            assert_eq!(text.len() as u64, record.bytes, "a state has the bytes it was saved with");
            assert_eq!(Checksum::of(&text), record.checksum, "and the same ones");
            let thread = self.thread(&record.task).expect("a checkpoint is of a task");
            let place = thread.kept.get(&record.number);
            assert_eq!(place, Some(&(record.id.clone(), record.saved_at)), "found by its number");
            assert_eq!(thread.loose.contains(&record.number), record.label.is_none());
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
        self.created += 1;
        self.put_in(Arc::new(record));
        self.set_due(&task);
        Undo::Saved(id, before)
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
        let thread = &self.threads[task];
        let before = (thread.saved, thread.head);
        let gone = numbers.iter().flat_map(|(first, last)| thread.kept.range(first..=last));
        let gone: Vec<CheckpointId> = gone.map(|(_, (checkpoint, _))| checkpoint.clone()).collect();
        let (mut records, mut freed) = (Vec::with_capacity(gone.len()), Freed::default());
        for checkpoint in &gone {
            let record = self.take_out(checkpoint);
            self.content.release(&record.pages, &mut freed);
            records.push(record);
        }
        let thread = self.thread_mut(task);
        match thread.kept.last_key_value() {
            Some((newest, _)) if !thread.kept.contains_key(&thread.head) => thread.head = *newest,
            Some(_) => {}
            None => drop(self.threads.remove(task)),
        }
        self.set_due(task);
        Undo::Pruned(task.clone(), before, records, freed)
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
        self.records.insert(record.id.clone(), record);
    }

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
        Json::trusted(self.text(record).as_bytes())
    }

    fn text(&self, record: &Record) -> String {
        let bytes = usize::try_from(record.bytes).expect("states are limited");
        self.content.text(&record.pages, bytes)
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
        self.bytes + self.content.bytes()
    }

    /// Tasks with checkpoints that are too old, and the maximum age.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = (&TaskId, &Thread, u64)> {
        let over = self.by_due.iter().take_while(move |(moment, _)| *moment <= now);
        over.filter_map(|(_, task)| {
            Some((task, self.threads.get(task)?, self.rules.of(task)?.max_age_ms?))
        })
    }
}

//! The table of artifacts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::vocabulary::{Artifact, Event};
use crate::artifact::{Holder, References};
use crate::limits;
use crate::names::TaskId;
use crate::names::{AgentId, ArtifactId, BlobPlace, ContentName, Key, MediaType, NamespaceName};
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// The record of an artifact, without its references.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The artifact.
    pub artifact: ArtifactId,
    /// The blob that contains its bytes.
    pub place: BlobPlace,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type.
    pub media_type: MediaType,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ContentName>,
    /// The last uploader.
    pub put_by: AgentId,
    /// When it was last uploaded.
    pub put_at: Timestamp,
    /// How long it is kept while nothing references it.
    pub keep_ms: u64,
    /// Since when nothing references it, if so: the upload, or the end of the last reference.
    pub free_since: Timestamp,
}

/// The contents of a snapshot: how many were removed, the records, and the references.
pub type Facts = (u64, Vec<Record>, Vec<(Holder, Vec<ArtifactId>)>);

/// All artifacts and their references. Changes only by `Table::evolve`, [`Table::refer`] and
/// `Table::undo`.
#[derive(Default)]
pub struct Table {
    records: BTreeMap<ArtifactId, Record>,
    references: References,
    ends: BTreeSet<(Timestamp, ArtifactId)>,
    bytes: u64,
    /// How many were removed, so that the blob sweep knows that there are blobs to delete.
    gone: u64,
}

/// How to undo one change.
pub enum Undo {
    /// The previous record of the artifact.
    Record(ArtifactId, Option<Record>),
    /// The previous references of holders, and the previous `free_since` of what they released.
    References(Vec<(Holder, Vec<ArtifactId>)>, Vec<(ArtifactId, Timestamp)>),
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let id = event.artifact().clone();
        let after = match event {
            Event::Put { artifact, place, bytes, media_type, name, keep_ms } => {
                let before = self.records.get(artifact);
                let place = place.clone().or_else(|| before.map(|before| before.place.clone()));
                Some(Record {
                    artifact: artifact.clone(),
                    place: place.expect("one that was not there comes with its place"),
                    bytes: *bytes,
                    media_type: media_type.clone(),
                    name: name.clone(),
                    put_by: moment.agent.clone(),
                    put_at: moment.time,
                    keep_ms: *keep_ms,
                    free_since: moment.time,
                })
            }
            Event::Deleted { .. } | Event::Expired { .. } => {
                self.gone += 1;
                None
            }
        };
        let before = self.replace(&id, after);
        Undo::Record(id, before)
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Record(artifact, before) => {
                if before.is_some() && !self.records.contains_key(&artifact) {
                    self.gone -= 1;
                }
                self.replace(&artifact, before);
            }
            Undo::References(named, free) => {
                for (holder, before) in named.into_iter().rev() {
                    self.name(&holder, before);
                }
                for (artifact, since) in free.into_iter().rev() {
                    self.set_free_since(&artifact, since);
                }
            }
        }
    }

    fn facts(&self) -> Facts {
        let named = self.references.all();
        let named = named.map(|(holder, artifacts)| (holder.clone(), artifacts.to_vec()));
        (self.gone, self.records.values().cloned().collect(), named.collect())
    }

    fn restore((gone, records, named): Facts) -> Self {
        let mut table = Self { gone, ..Self::default() };
        #[cfg(feature = "planted")]
        let named = if crate::planted::is("artifact.forgets_holders") { Vec::new() } else { named };
        for (holder, artifacts) in named {
            table.references.replace(&holder, artifacts);
        }
        for record in records {
            table.replace(&record.artifact.clone(), Some(record));
        }
        table
    }

    fn check(&self) {
        self.references.check();
        let mut places = BTreeSet::new();
        let mut bytes = 0;
        let mut ends = BTreeSet::new();
        for (artifact, record) in &self.records {
            assert_eq!(*artifact, record.artifact, "it is found by its id");
            assert!(places.insert(&record.place), "no two have the same blob");
            bytes += record.bytes;
            ends.extend(self.end(record).map(|end| (end, artifact.clone())));
        }
        assert_eq!(bytes, self.bytes, "the bytes are counted");
        assert_eq!(ends, self.ends, "what is free ends, and nothing else");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.ends.first().map(|(moment, _)| *moment)
    }
}

impl Table {
    fn replace(&mut self, artifact: &ArtifactId, after: Option<Record>) -> Option<Record> {
        self.forget_end(artifact);
        let before = self.records.remove(artifact);
        self.bytes -= before.as_ref().map_or(0, |record| record.bytes);
        if let Some(after) = after {
            self.bytes += after.bytes;
            self.records.insert(artifact.clone(), after);
            self.note_end(artifact);
        }
        before
    }

    fn end(&self, record: &Record) -> Option<Timestamp> {
        let is_held = self.references.is_held(&record.artifact);
        #[cfg(feature = "planted")]
        let is_held = is_held && !crate::planted::is("artifact.held_expires");
        (!is_held).then(|| record.free_since.after(record.keep_ms))
    }

    fn forget_end(&mut self, artifact: &ArtifactId) {
        let end = self.records.get(artifact).and_then(|record| self.end(record));
        if let Some(end) = end {
            self.ends.remove(&(end, artifact.clone()));
        }
    }

    fn note_end(&mut self, artifact: &ArtifactId) {
        let end = self.records.get(artifact).and_then(|record| self.end(record));
        if let Some(end) = end {
            self.ends.insert((end, artifact.clone()));
        }
    }

    fn set_free_since(&mut self, artifact: &ArtifactId, since: Timestamp) {
        self.forget_end(artifact);
        if let Some(record) = self.records.get_mut(artifact) {
            record.free_since = since;
        }
        self.note_end(artifact);
    }

    /// Sets the references of a holder; returns the previous ones.
    fn name(&mut self, holder: &Holder, after: Vec<ArtifactId>) -> Vec<ArtifactId> {
        let touched: BTreeSet<ArtifactId> =
            self.references.of(holder).iter().chain(&after).cloned().collect();
        for artifact in &touched {
            self.forget_end(artifact);
        }
        let before = self.references.replace(holder, after);
        for artifact in &touched {
            self.note_end(artifact);
        }
        before
    }

    /// Sets the references of holders, sorted and without duplicates. An artifact that loses its
    /// last reference is free from `now` on.
    pub fn refer(
        &mut self,
        changes: impl IntoIterator<Item = (Holder, Vec<ArtifactId>)>,
        now: Timestamp,
    ) -> Option<Undo> {
        let (mut named, mut free) = (Vec::new(), Vec::new());
        for (holder, after) in changes {
            if self.references.of(&holder) == after {
                continue;
            }
            let before = self.name(&holder, after);
            for artifact in &before {
                if let Some(record) = self.records.get(artifact)
                    && !self.references.is_held(artifact)
                {
                    free.push((artifact.clone(), record.free_since));
                    #[cfg(feature = "planted")]
                    if crate::planted::is("artifact.let_go_long_ago") {
                        continue;
                    }
                    self.set_free_since(artifact, now);
                }
            }
            named.push((holder, before));
        }
        (!named.is_empty()).then_some(Undo::References(named, free))
    }

    /// The references of a holder.
    pub fn named_by(&self, holder: &Holder) -> &[ArtifactId] {
        self.references.of(holder)
    }

    /// The entries of a namespace that reference artifacts.
    pub fn holders_in(&self, namespace: &NamespaceName) -> Vec<Holder> {
        let from = Holder::Entry(namespace.clone(), Key::least());
        let holders = self.references.within(from..);
        let here =
            holders.take_while(|it| matches!(it, Holder::Entry(name, _) if name == namespace));
        here.cloned().collect()
    }

    /// The checkpoints of a task in an inclusive range of numbers that reference artifacts.
    pub fn checkpoints_of(&self, task: &TaskId, (first, last): (u64, u64)) -> Vec<Holder> {
        let ends =
            (Holder::Checkpoint(task.clone(), first), Holder::Checkpoint(task.clone(), last));
        self.references.within(ends.0..=ends.1).cloned().collect()
    }

    /// All holders and their references.
    pub fn holders(&self) -> impl Iterator<Item = (&Holder, &[ArtifactId])> {
        self.references.all()
    }

    /// Whether there are no artifacts and no references, so that nothing has to be counted.
    pub fn is_idle(&self) -> bool {
        self.records.is_empty() && self.references.is_empty()
    }

    /// The record of an artifact.
    pub fn get(&self, artifact: &ArtifactId) -> Option<&Record> {
        self.records.get(artifact)
    }

    /// Whether anything references an artifact.
    pub fn is_held(&self, artifact: &ArtifactId) -> bool {
        self.references.is_held(artifact)
    }

    /// An artifact as callers see it.
    pub fn shown(&self, artifact: &ArtifactId) -> Option<Artifact> {
        let record = self.records.get(artifact)?;
        let holders = self.references.holders(artifact);
        Some(Artifact {
            artifact: record.artifact.clone(),
            bytes: record.bytes,
            media_type: record.media_type.clone(),
            name: record.name.clone(),
            put_by: record.put_by.clone(),
            put_at: record.put_at,
            keep_ms: record.keep_ms,
            references: holders.len() as u64,
            expires_at: self.end(record),
            holders: holders.take(limits::HOLDERS_SHOWN_MAX).map(ToString::to_string).collect(),
        })
    }

    /// Artifacts by id, after one of them.
    pub fn after(&self, cursor: Option<&ArtifactId>) -> impl Iterator<Item = &Record> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.records.range::<ArtifactId, _>((from, Bound::Unbounded)).map(|(_, record)| record)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Their total size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many have been removed.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// Expired artifacts.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &ArtifactId> {
        let over = self.ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, artifact)| artifact)
    }
}

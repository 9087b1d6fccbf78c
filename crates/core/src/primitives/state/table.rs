//! The table of shared state: current entries, their expiry, and the sessions they are bound to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::retired::{LastVersion, Retired, RetiredVersions};
use super::{Entry, Event, List};
use crate::limits;
use crate::names::{AgentId, Key, KeyName, NamespaceName};
use crate::numbers::Revision;
use crate::primitive::{self, Forgotten};
use crate::space::authors::Authors;
use crate::space::batch::Moment;
use crate::storage::{self, Entries, WriteHead};
use crate::time::Timestamp;

type EntryKey = (NamespaceName, Key);

/// All entries of a workspace. Changes only by `Table::evolve`, [`Table::forget`] and
/// `Table::undo`.
#[derive(Default)]
pub struct Table {
    // Ordered maps, not hashes: iteration order reaches the event log.
    by_namespace: BTreeMap<NamespaceName, Entries>,
    authors: Authors,
    endings: BTreeMap<EntryKey, Ending>,
    expiring: BTreeSet<(Timestamp, EntryKey)>,
    bound: BTreeMap<AgentId, BTreeSet<EntryKey>>,
    last_removal: Revision,
    retired: Retired,
    // Namespaces that went while a capture was reading them.
    departed: BTreeMap<NamespaceName, Entries>,
}

/// When an entry expires, and the session it is bound to; most entries have neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// The agent whose session it is bound to.
    pub bound_to: Option<AgentId>,
}

/// How to undo one change.
pub enum Undo {
    /// An entry: its previous state.
    Entry {
        /// The namespace.
        namespace: NamespaceName,
        /// The key.
        key: Key,
        /// The previous state.
        before: Before,
    },
    /// A deleted namespace: its previous state.
    Namespace {
        /// The namespace.
        namespace: NamespaceName,
        /// Its entries.
        entries: Box<Entries>,
        /// Their endings.
        endings: Vec<(EntryKey, Ending)>,
        /// The previous value of `last_removal`.
        last_removal: Revision,
        /// The version above which new keys started.
        floor: u32,
    },
}

/// Everything but the entries, for a snapshot.
pub struct Facts {
    /// The revision of the last removal of an entry.
    pub last_removal: Revision,
    /// Authors of entries, by number.
    pub authors: Vec<AgentId>,
    /// When entries expire, and with which session.
    pub endings: Vec<(NamespaceName, Key, Ending)>,
    /// The last versions of keys that are gone.
    pub retired: RetiredVersions,
}

/// The entry that an event replaced.
pub struct Before {
    /// The previous entry.
    entry: Option<storage::Entry>,
    /// Its previous ending.
    ending: Option<Ending>,
    /// The previous number of authors.
    authors: usize,
    /// The previous value of `last_removal`.
    last_removal: Revision,
    /// The last version of the key, if it was gone.
    retired: Option<LastVersion>,
}

impl Before {
    /// How to undo the event.
    pub fn undo(self, event: &Event) -> Undo {
        let (namespace, key) = event.entry_key();
        Undo::Entry { namespace: namespace.clone(), key: key.clone(), before: self }
    }
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = Facts;

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        self.apply(event, moment).undo(event)
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Entry { namespace, key, before } => {
                let Before { entry, ending, authors, last_removal, retired } = before;
                self.last_removal = last_removal;
                self.authors.truncate(authors);
                self.retired.take(&namespace, &key);
                if let Some(retired) = retired {
                    self.retired.put_back(&namespace, &key, retired);
                }
                let entries = self.entries_mut(&namespace);
                match entry {
                    Some(entry) => entries.put(entry),
                    None => entries.remove(key.as_str()),
                };
                // The namespace may have been added by the change that is undone.
                if entries.is_empty() && !entries.is_capturing() {
                    self.by_namespace.remove(&namespace);
                }
                self.set_ending(&namespace, &key, ending);
            }
            Undo::Namespace { namespace, entries, endings, last_removal, floor } => {
                self.last_removal = last_removal;
                self.retired.lower_floor(floor);
                for key in entries.iter().map(key_of) {
                    self.retired.take(&namespace, &key);
                }
                self.by_namespace.insert(namespace, *entries);
                for ((namespace, key), ending) in endings {
                    self.set_ending(&namespace, &key, Some(ending));
                }
            }
        }
    }

    fn discard_undo(&mut self, undo: Undo) {
        match undo {
            Undo::Namespace { namespace, entries, .. } if entries.is_capturing() => {
                self.departed.insert(namespace, *entries);
            }
            Undo::Namespace { .. } | Undo::Entry { .. } => {}
        }
    }

    fn facts(&self) -> Facts {
        let endings = self.endings();
        Facts {
            last_removal: self.last_removal,
            authors: self.authors.names().to_vec(),
            endings: endings
                .map(|(namespace, key, ending)| (namespace.clone(), key.clone(), ending.clone()))
                .collect(),
            retired: self.retired.facts(),
        }
    }

    fn restore(facts: Facts) -> Self {
        let authors = facts.authors.into_iter().collect();
        let (last_removal, retired) = (facts.last_removal, Retired::restore(facts.retired));
        let mut table = Self { authors, last_removal, retired, ..Self::default() };
        for (namespace, key, ending) in facts.endings {
            table.set_ending(&namespace, &key, Some(ending));
        }
        table
    }

    fn check(&self) {
        for entries in self.by_namespace.values() {
            assert!(entries.iter().all(|entry| entry.version() >= 1), "versions begin at 1");
        }
        let mut expiring = 0;
        let mut bound = 0;
        for (place, ending) in &self.endings {
            assert!(self.packed(&place.0, &place.1).is_some(), "what ends is there");
            if let Some(moment) = ending.expires_at {
                expiring += 1;
                assert!(self.expiring.contains(&(moment, place.clone())), "what expires is listed");
            }
            if let Some(agent) = &ending.bound_to {
                bound += 1;
                assert!(self.bound[agent].contains(place), "what is bound is listed");
            }
        }
        assert_eq!(expiring, self.expiring.len(), "nothing else is listed to expire");
        let listed: usize = self.bound.values().map(BTreeSet::len).sum();
        assert_eq!(bound, listed, "nothing else is bound");
        self.retired.check(|namespace, key| self.packed(namespace, key).is_some());
    }

    fn trim(&mut self) -> Vec<Forgotten> {
        self.retired.trim();
        Vec::new()
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.expiring.first().map(|(moment, _)| *moment)
    }
}

impl Table {
    /// Applies an event; returns what is needed to undo it.
    pub fn apply(&mut self, event: &Event, moment: &Moment<'_>) -> Before {
        let (namespace, key) = event.entry_key();
        let last_removal = self.last_removal;
        let authors = self.authors.len();
        let (entry, ending, retired) = match event {
            Event::Set { value, version, expires_at, bound_to, .. } => {
                let head = WriteHead {
                    revision: moment.revision.0,
                    time_ms: moment.time.0,
                    version: u32::try_from(version.0).expect("decide refuses later versions"),
                    author: self.authors.number(moment.agent),
                };
                let packed = storage::Entry::new(head, key.as_str(), value.as_bytes());
                let before = self.entries_mut(namespace).put(packed);
                assert!(
                    before.as_ref().is_none_or(|before| before.revision() <= moment.revision.0),
                    "an entry cannot be newer than what replaces it"
                );
                let ending =
                    Ending { expires_at: *expires_at, bound_to: bound_to.clone() }.if_any();
                let retired =
                    if before.is_none() { self.retired.take(namespace, key) } else { None };
                (before, self.set_ending(namespace, key, ending), retired)
            }
            Event::Deleted { .. } => {
                self.last_removal = moment.revision;
                let before = self.entries_mut(namespace).remove(key.as_str());
                let gone = before.as_ref().expect("only an entry that is there can be deleted");
                self.retired.add(namespace, key, gone.version());
                (before, self.set_ending(namespace, key, None), None)
            }
        };
        Before { entry, ending, authors, last_removal, retired }
    }

    /// Adds the entries of a snapshot, which are stored apart from the facts.
    pub fn restore_entries(&mut self, namespaces: Vec<(NamespaceName, Entries)>) {
        self.by_namespace = namespaces.into_iter().collect();
    }

    /// Asserts that no entry is newer than its workspace.
    pub fn check_revision(&self, revision: Revision) {
        for entry in self.by_namespace.values().flatten() {
            assert!(entry.revision() <= revision.0, "no entry is newer than its workspace");
        }
    }
    /// Removes all entries of a deleted namespace.
    pub fn forget(&mut self, namespace: &NamespaceName, revision: Revision) -> Option<Undo> {
        let entries = self.by_namespace.remove(namespace)?;
        let places: Vec<EntryKey> =
            self.endings.keys().filter(|place| place.0 == *namespace).cloned().collect();
        let endings = places.into_iter().filter_map(|place| {
            let ending = self.set_ending(&place.0, &place.1, None)?;
            Some((place, ending))
        });
        let endings = endings.collect();
        let last_removal = self.last_removal;
        // An empty map does not count: whether there is one depends on refused writes.
        if !entries.is_empty() {
            self.last_removal = revision;
        }
        let floor = self.retire_all(namespace, &entries);
        let (namespace, entries) = (namespace.clone(), Box::new(entries));
        Some(Undo::Namespace { namespace, entries, endings, last_removal, floor })
    }

    /// Notes the last versions of keys that go with their namespace; returns the version above
    /// which new keys started before.
    fn retire_all(&mut self, namespace: &NamespaceName, entries: &Entries) -> u32 {
        if entries.len() <= limits::RETIRED_VERSIONS_MAX {
            for entry in entries {
                self.retired.add(namespace, &key_of(entry), entry.version());
            }
            return self.retired.raise_floor(0);
        }
        let versions = entries.iter().map(storage::Entry::version);
        self.retired.raise_floor(versions.filter(|it| *it < u32::MAX).max().unwrap_or(0))
    }

    /// A table without entries, in which no key gets a version that any key has had here.
    pub(crate) fn emptied(&self) -> Self {
        let entries = self.by_namespace.values().flat_map(Entries::iter);
        let there = entries.map(storage::Entry::version).filter(|version| *version < u32::MAX);
        let mut retired = Retired::default();
        retired.raise_floor(there.max().unwrap_or(0).max(self.retired.newest()));
        Self { retired, ..Self::default() }
    }

    /// The version of an entry, or the last one that it had; 0 if its key is new.
    pub(crate) fn last_version(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        current: Option<&storage::Entry>,
    ) -> u32 {
        match current {
            Some(entry) => entry.version(),
            None => self.retired.version(namespace, key),
        }
    }

    /// The version of an entry, 0 if its key is new; nothing if the entry ends by itself, if the
    /// namespace has never had one, or if the key may have been deleted before.
    pub(crate) fn fast_version(&self, namespace: &NamespaceName, key: &str) -> Option<u32> {
        let entries = self.by_namespace.get(namespace)?;
        match entries.get(key) {
            Some(entry) => self.is_lasting(namespace, key).then(|| entry.version()),
            None => self.retired.is_empty().then_some(0),
        }
    }

    /// Whether an entry neither expires nor is bound to a session.
    fn is_lasting(&self, namespace: &NamespaceName, key: &str) -> bool {
        self.endings.is_empty()
            || Key::parse(key)
                .is_ok_and(|key| !self.endings.contains_key(&(namespace.clone(), key)))
    }

    /// Writes an entry whose version was read with [`Table::fast_version`].
    pub(crate) fn fast_put(
        &mut self,
        namespace: &NamespaceName,
        key: &str,
        value: &str,
        version: u32,
        moment: &Moment<'_>,
    ) -> Entry {
        let author = self.authors.number(moment.agent);
        let head =
            WriteHead { revision: moment.revision.0, time_ms: moment.time.0, version, author };
        let packed = storage::Entry::new(head, key, value.as_bytes());
        let entries = self.by_namespace.get_mut(namespace).expect("it was looked into");
        entries.put(packed.clone());
        Entry::new(packed, namespace.clone(), moment.agent.clone())
    }

    /// An entry, if it exists.
    pub(crate) fn fast_get(&self, namespace: &str, key: &str) -> Option<Entry> {
        let (namespace, entries) = self.by_namespace.get_key_value(namespace)?;
        entries.get(key).map(|packed| self.shown(namespace, packed))
    }

    fn entries_mut(&mut self, namespace: &NamespaceName) -> &mut Entries {
        self.by_namespace.entry(namespace.clone()).or_default()
    }

    /// All entries of a namespace; none if it never had one.
    pub(super) fn entries(&self, namespace: &NamespaceName) -> Option<&Entries> {
        self.by_namespace.get(namespace)
    }

    fn set_ending(
        &mut self,
        namespace: &NamespaceName,
        key: &Key,
        ending: Option<Ending>,
    ) -> Option<Ending> {
        if ending.is_none() && self.endings.is_empty() {
            return None;
        }
        let place = (namespace.clone(), key.clone());
        let before = match &ending {
            Some(ending) => self.endings.insert(place.clone(), ending.clone()),
            None => self.endings.remove(&place),
        };
        if let Some(before) = &before {
            if let Some(moment) = before.expires_at {
                self.expiring.remove(&(moment, place.clone()));
            }
            if let Some(agent) = &before.bound_to {
                let left = self.bound.get_mut(agent).expect("what is bound is listed");
                left.remove(&place);
                if left.is_empty() {
                    self.bound.remove(agent);
                }
            }
        }
        if let Some(ending) = ending {
            if let Some(moment) = ending.expires_at {
                self.expiring.insert((moment, place.clone()));
            }
            if let Some(agent) = ending.bound_to {
                self.bound.entry(agent).or_default().insert(place);
            }
        }
        before
    }

    /// An entry as the table stores it.
    pub fn packed(&self, namespace: &NamespaceName, key: &Key) -> Option<&storage::Entry> {
        self.by_namespace.get(namespace)?.get(key.as_str())
    }

    /// An entry as callers see it.
    pub fn entry(&self, namespace: &NamespaceName, key: &Key) -> Option<Entry> {
        self.packed(namespace, key).map(|packed| self.shown(namespace, packed))
    }

    /// An entry by its whole name.
    pub fn find(&self, name: &KeyName) -> Option<Entry> {
        self.find_all([name]).pop()?
    }

    /// Several entries, in order. Neighbours are usually in the same namespace, which is then
    /// looked up once.
    pub fn find_all<'a>(&self, names: impl IntoIterator<Item = &'a KeyName>) -> Vec<Option<Entry>> {
        let mut last: Option<(&NamespaceName, &Entries)> = None;
        let find = |name: &KeyName| {
            let entries = match last {
                Some((namespace, _)) if namespace.as_str() == name.namespace() => last,
                Some(_) | None => self.by_namespace.get_key_value(name.namespace()),
            };
            last = entries.or(last);
            let (namespace, entries) = entries?;
            entries.get(name.key()).map(|packed| self.shown(namespace, packed))
        };
        names.into_iter().map(find).collect()
    }

    /// A stored entry, as callers see it.
    pub fn shown(&self, namespace: &NamespaceName, packed: &storage::Entry) -> Entry {
        let author = self.authors.name(packed.author()).clone();
        let entry = Entry::new(packed.clone(), namespace.clone(), author);
        if self.endings.is_empty() {
            return entry;
        }
        let (expires_at, bound_to) = self.ending(namespace, &key_of(packed));
        entry.ending(expires_at, bound_to.is_some())
    }

    /// When an entry expires, and the session it is bound to.
    pub fn ending(
        &self,
        namespace: &NamespaceName,
        key: &Key,
    ) -> (Option<Timestamp>, Option<AgentId>) {
        if self.endings.is_empty() {
            return (None, None);
        }
        match self.endings.get(&(namespace.clone(), key.clone())) {
            Some(ending) => (ending.expires_at, ending.bound_to.clone()),
            None => (None, None),
        }
    }

    /// How many entries a namespace has.
    pub fn count(&self, namespace: &NamespaceName) -> usize {
        self.by_namespace.get(namespace).map_or(0, Entries::len)
    }

    /// The keys of a namespace, in order.
    pub fn keys(&self, namespace: &NamespaceName) -> Vec<Key> {
        let entries = self.by_namespace.get(namespace).into_iter().flat_map(Entries::iter);
        entries.map(key_of).collect()
    }

    /// The entries of a page and those after it, in key order.
    pub fn listed<'a>(&'a self, list: &'a List) -> impl Iterator<Item = &'a storage::Entry> + 'a {
        let beginning = list.beginning();
        let from = match list.cursor.as_deref() {
            Some(cursor) if cursor >= beginning => Bound::Excluded(cursor),
            Some(_) | None => Bound::Included(beginning),
        };
        let entries = self.by_namespace.get(&list.namespace);
        entries
            .into_iter()
            .flat_map(move |entries| entries.range(from))
            .take_while(move |entry| entry.key().starts_with(beginning))
            .filter(|entry| list.wants(entry.key()))
    }

    /// Every entry after this one, by namespace and key.
    pub fn everything<'a>(
        &'a self,
        only: Option<&'a NamespaceName>,
        after: Option<&'a (NamespaceName, Key)>,
    ) -> impl Iterator<Item = Entry> + 'a {
        let first = after.map(|(namespace, _)| namespace);
        self.by_namespace
            .iter()
            .filter(move |(namespace, _)| only.is_none_or(|only| only == *namespace))
            .filter(move |(namespace, _)| first.is_none_or(|first| *namespace >= first))
            .flat_map(move |(namespace, entries)| {
                let from = match after {
                    Some((first, key)) if first == namespace => Bound::Excluded(key.as_str()),
                    Some(_) | None => Bound::Unbounded,
                };
                entries.range(from).map(move |packed| self.shown(namespace, packed))
            })
    }

    /// Entries that are due to expire, by time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = (&NamespaceName, &Key)> {
        let due = self.expiring.iter().take_while(move |(moment, _)| *moment <= now);
        due.map(|(_, (namespace, key))| (namespace, key))
    }

    /// The entries that are bound to the session of an agent.
    pub fn bound_to(&self, agent: &AgentId) -> impl Iterator<Item = (&NamespaceName, &Key)> {
        self.bound.get(agent).into_iter().flatten().map(|(namespace, key)| (namespace, key))
    }

    /// The revision of the last removal, on which the absence of a key may depend.
    pub fn last_removal(&self) -> Revision {
        self.last_removal
    }

    /// The entries of each namespace, for a snapshot.
    pub fn namespaces(&self) -> impl Iterator<Item = (&NamespaceName, &Entries)> {
        self.by_namespace.iter()
    }

    /// Begins a consistent capture of all current entries; see [`Entries::begin_capture`].
    pub fn begin_capture(&mut self) -> Vec<NamespaceName> {
        self.by_namespace.values_mut().for_each(Entries::begin_capture);
        self.by_namespace.keys().cloned().collect()
    }

    /// The next entries of a namespace as they were when the capture began; none when it is done.
    pub fn next_captured(&mut self, namespace: &NamespaceName, max: usize) -> Vec<storage::Entry> {
        let departed = self.departed.get_mut(namespace);
        let Some(entries) = departed.or_else(|| self.by_namespace.get_mut(namespace)) else {
            return Vec::new();
        };
        let captured = if entries.is_capturing() { entries.next_captured(max) } else { Vec::new() };
        if captured.is_empty() {
            self.departed.remove(namespace);
        }
        captured
    }

    /// Aborts a capture.
    pub fn abort_capture(&mut self) {
        self.departed.clear();
        let capturing = self.by_namespace.values_mut().filter(|entries| entries.is_capturing());
        capturing.for_each(Entries::abort_capture);
    }

    /// The authors of entries, by number.
    pub fn authors(&self) -> &Authors {
        &self.authors
    }

    /// The endings of entries, for a snapshot.
    pub fn endings(&self) -> impl Iterator<Item = (&NamespaceName, &Key, &Ending)> {
        self.endings.iter().map(|((namespace, key), ending)| (namespace, key, ending))
    }

    /// The approximate size of the entries in bytes.
    pub fn bytes(&self) -> usize {
        self.by_namespace.values().map(Entries::bytes).sum()
    }
}

pub(super) fn key_of(entry: &storage::Entry) -> Key {
    Key::parse(entry.key()).expect("keys are checked before they are stored")
}

impl Ending {
    fn if_any(self) -> Option<Self> {
        (self.expires_at.is_some() || self.bound_to.is_some()).then_some(self)
    }
}

//! Questions about the past, answered from base, runs and tail.
//!
//! Whether an entry was there at a revision, and with which value, is decided by the newest batch
//! up to then that touched it, or that deleted its namespace; if there is none, by the base. So a
//! look-up costs one search per run, whatever the length of the log.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use baton_core::entries::{Entry as Packed, Head};
use baton_core::state::{self, Change, Diff, Get, History as HistoryQuery, List, Page, Snapshot};
use baton_core::{
    Batch, Entry, Event, Json, Key, NamespaceName, Rejection, Revision, WorkspaceName, limits,
    namespace,
};
use baton_log::Log;

use super::run::Run;
use super::tail::hashes;
use super::{Whereabouts, subject_hash};
use crate::codec;
use crate::error::Error;
use crate::shard::Shard;
use crate::snapshot::Snapshot as Base;

/// Most batches that one page of history looks at; a filter that lets little through gets its
/// results in several pages.
const SCANNED_MAX: u64 = 10_000;

/// One workspace's past, as of one durable revision.
pub struct Past<'a, L> {
    shard: &'a Shard<L>,
    workspace: &'a WorkspaceName,
    base: Option<Arc<Base>>,
    runs: Vec<Arc<Run>>,
    floor: Revision,
    present: Revision,
}

impl<L: Log> Shard<L> {
    /// A workspace's past as of a revision that is durable. The workspace must be in memory.
    pub fn past<'a>(
        &'a self,
        workspace: &'a WorkspaceName,
        present: Revision,
    ) -> Result<Past<'a, L>, Error> {
        self.look_at_unseen(workspace)?;
        let mut machine = self.machine();
        let absent = || Error::Storage { what: format!("`{workspace}` left memory meanwhile") };
        let resident = machine.resident(workspace).ok_or_else(absent)?;
        let count = resident.space.workspace.retention().history_count;
        let history = &resident.history;
        Ok(Past {
            shard: self,
            workspace,
            base: history.base.clone(),
            runs: history.runs.clone(),
            floor: history.floor.max(Revision(present.0.saturating_sub(count))),
            present,
        })
    }

    /// Looks inside batches that were found when the log was opened.
    fn look_at_unseen(&self, workspace: &WorkspaceName) -> Result<(), Error> {
        let unseen = |shard: &Self| {
            shard.machine().resident(workspace).and_then(|resident| resident.history.tail.unseen())
        };
        let Some(range) = unseen(self) else { return Ok(()) };
        let mut touched = Vec::new();
        let mut decoded = Ok(());
        self.visit_tail(workspace, Revision(range.start), |frame| match codec::decode(frame) {
            Ok(batch) if batch.revision.0 < range.end => {
                touched.extend(hashes(&batch).map(|hash| (hash, batch.revision.0)));
                true
            }
            Ok(_) => false,
            Err(error) => {
                decoded = Err(error);
                false
            }
        })?;
        decoded?;
        let mut machine = self.machine();
        if let Some(resident) = machine.resident(workspace) {
            let tail = &mut resident.history.tail;
            // Somebody else may have looked meanwhile.
            if tail.unseen().is_some_and(|now| now.end == range.end) {
                tail.seen(range.end, &touched);
            }
        }
        Ok(())
    }
}

impl<L: Log> Past<'_, L> {
    /// Refuses revisions that are gone or have not happened.
    pub fn check(&self, asked: Revision) -> Result<(), Error> {
        let workspace = || self.workspace.clone();
        if asked < self.floor {
            return Err(Error::Gone { workspace: workspace(), asked, oldest: self.floor });
        }
        if asked > self.present {
            return Err(Error::NotYet { workspace: workspace(), asked, newest: self.present });
        }
        Ok(())
    }

    fn batch(&self, revision: Revision) -> Result<Batch, Error> {
        let frame = self.shard.frame(self.workspace, revision)?;
        Ok(codec::decode(&frame)?)
    }

    /// The newest batch, at most this one, that touched a subject.
    fn last_change(&self, subject: &str, at_most: Revision) -> Result<Option<Revision>, Error> {
        let hash = subject_hash(&[subject]);
        let mut below = at_most;
        while let Some(found) = self.touch_in_tail(hash, below) {
            // Another subject may have the same hash.
            if self.batch(found)?.events.iter().any(|event| event.subject() == subject) {
                return Ok(Some(found));
            }
            below = Revision(found.0 - 1);
        }
        for run in self.runs.iter().rev().filter(|run| run.first() <= at_most.0) {
            if let Some(found) = run.last_change(subject, at_most.0)? {
                return Ok(Some(Revision(found)));
            }
        }
        Ok(None)
    }

    fn touch_in_tail(&self, hash: u32, at_most: Revision) -> Option<Revision> {
        let mut machine = self.shard.machine();
        let tail = &machine.resident(self.workspace)?.history.tail;
        tail.last_touch(hash, at_most.min(self.present))
    }

    /// The newest batch, at most this one, after which a namespace was gone.
    fn last_deletion(
        &self,
        namespace: &NamespaceName,
        at_most: Revision,
    ) -> Result<Option<Revision>, Error> {
        let subject = format!("namespaces/{namespace}");
        let mut below = at_most;
        while let Some(found) = self.last_change(&subject, below)? {
            if self.batch(found)?.events.iter().any(|event| deletes(event, namespace)) {
                return Ok(Some(found));
            }
            below = Revision(found.0 - 1);
        }
        Ok(None)
    }

    /// The newest batch, at most this one, that decided whether an entry is there.
    fn last_touch(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at_most: Revision,
    ) -> Result<Option<Revision>, Error> {
        let changed = self.last_change(&format!("state/{namespace}/{key}"), at_most)?;
        let deleted = self.last_deletion(namespace, at_most)?;
        Ok(changed.max(deleted))
    }

    /// An entry as it was after a revision.
    pub fn entry(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at: Revision,
    ) -> Result<Option<Entry>, Error> {
        match self.last_touch(namespace, key, at)? {
            Some(revision) => {
                let batch = self.batch(revision)?;
                Ok(steps(&batch, namespace, key).last().and_then(|(_, after)| after))
            }
            None => match &self.base {
                Some(base) => Ok(base.entry(namespace, key)?),
                None => Ok(None),
            },
        }
    }

    fn namespace_exists(&self, namespace: &NamespaceName, at: Revision) -> Result<bool, Error> {
        if *namespace == NamespaceName::shared() {
            return Ok(true);
        }
        match self.last_change(&format!("namespaces/{namespace}"), at)? {
            Some(revision) => {
                let batch = self.batch(revision)?;
                let about = batch.events.iter().rev().find_map(|event| match event {
                    Event::Namespace(event) if event.name() == namespace => Some(event),
                    _ => None,
                });
                Ok(!matches!(about, Some(namespace::Event::Deleted { .. })))
            }
            None => Ok(self.base.as_ref().is_some_and(|base| {
                base.head().namespaces.iter().any(|there| there.name == *namespace)
            })),
        }
    }

    fn require_namespace(&self, namespace: &NamespaceName, at: Revision) -> Result<(), Error> {
        if self.namespace_exists(namespace, at)? {
            return Ok(());
        }
        Err(refused(state::Rejection::UnknownNamespace { namespace: namespace.clone() }))
    }

    /// `state.get` at a revision.
    pub fn get(&self, get: &Get, at: Revision) -> Result<Entry, Error> {
        self.check(at)?;
        if let Some(entry) = self.entry(&get.namespace, &get.key, at)? {
            return Ok(entry);
        }
        self.require_namespace(&get.namespace, at)?;
        let (namespace, key) = (get.namespace.clone(), get.key.clone());
        Err(refused(state::Rejection::NotFound { namespace, key }))
    }

    /// `state.list` at a revision.
    pub fn list(&self, list: &List, at: Revision) -> Result<Page, Error> {
        self.check(at)?;
        self.require_namespace(&list.namespace, at)?;
        let limit = state::page_limit(list.limit).map_err(refused)?;
        let mut entries = Vec::new();
        let after = list.cursor.as_deref();
        let more = self.collect(&list.namespace, list, after, at, limit, &mut entries)?;
        let cursor = entries.last().filter(|_| more).map(|entry| entry.key().to_owned());
        Ok(Page { revision: at, entries, cursor })
    }

    /// `state.snapshot` at a revision.
    pub fn snapshot(&self, snapshot: &Snapshot, at: Revision) -> Result<Page, Error> {
        self.check(at)?;
        let limit = state::page_limit(snapshot.limit).map_err(refused)?;
        let after = snapshot.cursor.as_deref().map(state::place_of_cursor);
        let after = after.transpose().map_err(refused)?;
        let namespaces = match &snapshot.namespace {
            Some(namespace) => {
                self.require_namespace(namespace, at)?;
                vec![namespace.clone()]
            }
            None => self.namespaces(at)?,
        };
        let mut entries = Vec::new();
        let mut more = false;
        for namespace in namespaces {
            let key = match &after {
                Some((first, _)) if namespace < *first => continue,
                Some((first, key)) if namespace == *first => Some(key.as_str()),
                Some(_) | None => None,
            };
            let list = List::all(namespace.clone());
            more = self.collect(&namespace, &list, key, at, limit, &mut entries)?;
            if more {
                break;
            }
        }
        let cursor = entries.last().filter(|_| more).map(state::cursor_of_place);
        Ok(Page { revision: at, entries, cursor })
    }

    /// Adds entries in key order until there are `limit`; true if there is one more.
    fn collect(
        &self,
        namespace: &NamespaceName,
        list: &List,
        after: Option<&str>,
        at: Revision,
        limit: usize,
        entries: &mut Vec<Entry>,
    ) -> Result<bool, Error> {
        for key in self.keys(namespace, list, after, at)? {
            if let Some(entry) = self.entry(namespace, &key, at)? {
                if entries.len() == limit {
                    return Ok(true);
                }
                entries.push(entry);
            }
        }
        Ok(false)
    }

    /// Keys that may have been there, in order. Runs and base are sorted; of each no more than a
    /// page is taken at a time, so the work follows the page.
    fn keys(
        &self,
        namespace: &NamespaceName,
        list: &List,
        after: Option<&str>,
        at: Revision,
    ) -> Result<Vec<Key>, Error> {
        let prefix = format!("state/{namespace}/");
        let beginning = list.beginning();
        let wanted = |key: &str| {
            list.wants(key) && after.is_none_or(|after| key > after) && key.starts_with(beginning)
        };
        let from = after.filter(|after| *after > beginning).unwrap_or(beginning);
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for run in self.runs.iter().filter(|run| run.first() <= at.0) {
            for subject in run.subjects(Bound::Included(format!("{prefix}{from}").as_str())) {
                let (subject, revisions) = subject?;
                let Some(key) = subject.strip_prefix(&prefix) else { break };
                if !key.starts_with(beginning) {
                    break;
                }
                if revisions.first().is_some_and(|first| *first <= at.0) && wanted(key) {
                    keys.insert(key.to_owned());
                }
            }
        }
        if let Some(base) = &self.base {
            for key in base.keys(namespace, from) {
                let key = key?;
                if !key.starts_with(beginning) {
                    break;
                }
                if wanted(&key) {
                    keys.insert(key);
                }
            }
        }
        self.visit_tail_events(at, |event| {
            if let Event::State(event) = event {
                let (there, key) = event.place();
                if there == namespace && wanted(key.as_str()) {
                    keys.insert(key.as_str().to_owned());
                }
            }
        })?;
        keys.iter().map(|key| Ok(Key::parse(key)?)).collect()
    }

    fn visit_tail_events(&self, at: Revision, mut visit: impl FnMut(&Event)) -> Result<(), Error> {
        let archived = self.runs.last().map(|run| run.last());
        let base = self.base.as_ref().map_or(0, |base| base.revision().0);
        let mut failed = None;
        let from = Revision(archived.unwrap_or(base) + 1);
        for revision in from.0..=at.0.min(self.present.0) {
            match self.batch(Revision(revision)) {
                Ok(batch) => batch.events.iter().for_each(&mut visit),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Namespaces that there were, by name.
    fn namespaces(&self, at: Revision) -> Result<Vec<NamespaceName>, Error> {
        const PREFIX: &str = "namespaces/";
        let mut names = BTreeSet::from([NamespaceName::shared()]);
        if let Some(base) = &self.base {
            names.extend(base.head().namespaces.iter().map(|namespace| namespace.name.clone()));
        }
        for run in self.runs.iter().filter(|run| run.first() <= at.0) {
            for subject in run.subjects(Bound::Included(PREFIX)) {
                let (subject, _) = subject?;
                let Some(name) = subject.strip_prefix(PREFIX) else { break };
                names.insert(NamespaceName::parse(name)?);
            }
        }
        self.visit_tail_events(at, |event| {
            if let Event::Namespace(event) = event {
                names.insert(event.name().clone());
            }
        })?;
        let mut there = Vec::new();
        for name in names {
            if self.namespace_exists(&name, at)? {
                there.push(name);
            }
        }
        Ok(there)
    }

    /// `state.history`: changes, newest first.
    pub fn history(&self, query: &HistoryQuery) -> Result<(Vec<Change>, Option<String>), Error> {
        let limit = state::page_limit(query.limit).map_err(refused)?;
        if query.key.is_some() && query.namespace.is_none() {
            return Err(refused(state::Rejection::KeyWithoutNamespace {}));
        }
        let newest = match &query.cursor {
            Some(cursor) => {
                let given = || state::Rejection::BadCursor { given: cursor.chars().take(80).collect() };
                Revision(cursor.parse().map_err(|_| refused(given()))?)
            }
            None => query.to.unwrap_or(self.present).min(self.present),
        };
        let oldest = match query.from {
            Some(from) => {
                // The changes of a revision can be told if the state before it is known.
                self.check(Revision(from.0.saturating_sub(1)).min(self.present))?;
                from.max(Revision(1))
            }
            None => self.floor.next(),
        };
        let mut changes = Vec::new();
        let mut scanned = 0;
        let mut next = Some(newest).filter(|newest| *newest >= oldest);
        while let Some(revision) = next.filter(|_| changes.len() < limit && scanned < SCANNED_MAX) {
            let revision = match (&query.namespace, &query.key) {
                (Some(namespace), Some(key)) => match self.last_touch(namespace, key, revision)? {
                    Some(found) if found >= oldest => found,
                    Some(_) | None => {
                        next = None;
                        break;
                    }
                },
                _ => revision,
            };
            self.changes_of(revision, query, &mut changes)?;
            scanned += 1;
            next = revision.0.checked_sub(1).map(Revision).filter(|below| *below >= oldest);
        }
        Ok((changes, next.map(|revision| revision.to_string())))
    }

    /// Adds the changes of one batch that a query wants, newest first.
    fn changes_of(
        &self,
        revision: Revision,
        query: &HistoryQuery,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let batch = self.batch(revision)?;
        if query.author.as_ref().is_some_and(|author| *author != batch.agent) {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut seen: Vec<(&NamespaceName, &Key, Option<Json>)> = Vec::new();
        for event in &batch.events {
            let Event::State(changed) = event else {
                self.namespace_change(&batch, event, query, &mut found)?;
                continue;
            };
            let (namespace, key) = changed.place();
            if !wants(query, namespace, key) {
                continue;
            }
            let before = seen.iter().rposition(|(there, name, _)| *there == namespace && *name == key);
            let old_value = match before {
                Some(index) => seen[index].2.clone(),
                None => self.value(namespace, key, Revision(revision.0 - 1))?,
            };
            let (new_value, source) = match changed {
                state::Event::Set { value, source, .. } => (Some(value.clone()), source.clone()),
                state::Event::Deleted { .. } => (None, None),
            };
            seen.push((namespace, key, new_value.clone()));
            found.push(change(&batch, event, namespace, key, (old_value, new_value), source));
        }
        changes.extend(found.into_iter().rev());
        Ok(())
    }

    /// A deleted namespace takes the key along that a query is about.
    fn namespace_change(
        &self,
        batch: &Batch,
        event: &Event,
        query: &HistoryQuery,
        found: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let (Some(namespace), Some(key)) = (&query.namespace, &query.key) else { return Ok(()) };
        if !deletes(event, namespace) {
            return Ok(());
        }
        let before = self.value(namespace, key, Revision(batch.revision.0 - 1))?;
        if before.is_some() {
            found.push(change(batch, event, namespace, key, (before, None), None));
        }
        Ok(())
    }

    fn value(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at: Revision,
    ) -> Result<Option<Json>, Error> {
        Ok(self.entry(namespace, key, at)?.map(|entry| entry.json()))
    }

    /// `state.diff`: what differs between two revisions, by namespace and key.
    pub fn diff(&self, diff: &Diff) -> Result<Vec<Change>, Error> {
        let to = diff.to.unwrap_or(self.present);
        self.check(diff.from)?;
        self.check(to)?;
        let (from, to) = (diff.from.min(to), diff.from.max(to));
        let mut places: BTreeSet<(NamespaceName, Key)> = BTreeSet::new();
        for revision in from.0 + 1..=to.0 {
            let batch = self.batch(Revision(revision))?;
            for event in &batch.events {
                self.differing(event, diff.namespace.as_ref(), from, &mut places)?;
            }
            if places.len() > limits::PAGE_MAX {
                return Err(Error::DiffTooLarge { from, to, max: limits::PAGE_MAX });
            }
        }
        let mut changes = Vec::new();
        for (namespace, key) in places {
            let old_value = self.value(&namespace, &key, diff.from)?;
            let new_value = self.value(&namespace, &key, diff.to.unwrap_or(self.present))?;
            if old_value == new_value {
                continue;
            }
            if let Some(revision) = self.last_touch(&namespace, &key, to)? {
                let batch = self.batch(revision)?;
                let event = batch.events.iter().rev().find(|event| match event {
                    Event::State(event) => event.place() == (&namespace, &key),
                    event => deletes(event, &namespace),
                });
                let event = event.expect("the batch touched this entry");
                let values = (old_value, new_value);
                changes.push(change(&batch, event, &namespace, &key, values, None));
            }
        }
        Ok(changes)
    }

    /// Adds the places where an event may have made a difference.
    fn differing(
        &self,
        event: &Event,
        only: Option<&NamespaceName>,
        from: Revision,
        places: &mut BTreeSet<(NamespaceName, Key)>,
    ) -> Result<(), Error> {
        match event {
            Event::State(event) => {
                let (namespace, key) = event.place();
                if only.is_none_or(|only| only == namespace) {
                    places.insert((namespace.clone(), key.clone()));
                }
            }
            Event::Namespace(namespace::Event::Deleted { name })
                if only.is_none_or(|only| only == name) =>
            {
                let keys = self.keys(name, &List::all(name.clone()), None, from)?;
                places.extend(keys.into_iter().map(|key| (name.clone(), key)));
            }
            Event::Namespace(_) | Event::Agent(_) | Event::Workspace(_) | Event::Receipt(_) => {}
        }
        Ok(())
    }
}

impl<L: Log> Shard<L> {
    /// Some batches from a revision on, for a watcher that catches up: at most so many bytes, and
    /// none that is not durable. Empty when there is no more up to `last`.
    pub fn batches(
        &self,
        workspace: &WorkspaceName,
        from: Revision,
        last: Revision,
        bytes_max: usize,
    ) -> Result<Vec<Batch>, Error> {
        let mut batches = Vec::new();
        let mut bytes = 0;
        let mut next = from;
        while next <= last && bytes < bytes_max {
            let whereabouts = {
                let mut machine = self.machine();
                machine.resident(workspace).map(|resident| resident.history.find(next))
            };
            if let Some(Whereabouts::Run(run)) = whereabouts {
                for item in run.batches(next.0) {
                    let (revision, frame) = item?;
                    if Revision(revision) > last || bytes >= bytes_max {
                        break;
                    }
                    bytes += frame.len();
                    batches.push(codec::decode(&frame)?);
                    next = Revision(revision + 1);
                }
            } else {
                let frame = self.frame(workspace, next)?;
                bytes += frame.len();
                batches.push(codec::decode(&frame)?);
                next = next.next();
            }
        }
        Ok(batches)
    }
}

fn refused(rejection: state::Rejection) -> Error {
    Error::Rejected(Rejection::State(rejection))
}

fn deletes(event: &Event, namespace: &NamespaceName) -> bool {
    matches!(event, Event::Namespace(namespace::Event::Deleted { name }) if name == namespace)
}

fn wants(query: &HistoryQuery, namespace: &NamespaceName, key: &Key) -> bool {
    query.namespace.as_ref().is_none_or(|only| only == namespace)
        && query.key.as_ref().is_none_or(|only| only == key)
        && query.pattern.as_ref().is_none_or(|pattern| pattern.matches(key.as_str()))
}

fn change(
    batch: &Batch,
    event: &Event,
    namespace: &NamespaceName,
    key: &Key,
    (old_value, new_value): (Option<Json>, Option<Json>),
    source: Option<state::Source>,
) -> Change {
    Change {
        revision: batch.revision,
        time: batch.time,
        agent: batch.agent.clone(),
        operation: event.kind().to_owned(),
        namespace: namespace.clone(),
        key: key.clone(),
        old_value,
        new_value,
        source,
    }
}

/// What each event of a batch made of an entry, for those that touched it.
fn steps<'a>(
    batch: &'a Batch,
    namespace: &'a NamespaceName,
    key: &'a Key,
) -> impl Iterator<Item = (&'a Event, Option<Entry>)> {
    batch.events.iter().filter_map(move |event| match event {
        Event::State(changed) if changed.place() == (namespace, key) => {
            Some((event, made(batch, changed)))
        }
        event if deletes(event, namespace) => Some((event, None)),
        _ => None,
    })
}

/// The entry that an event made.
fn made(batch: &Batch, event: &state::Event) -> Option<Entry> {
    match event {
        state::Event::Set { namespace, key, value, version, expires_at, bound_to, .. } => {
            let head = Head {
                revision: batch.revision.0,
                time_ms: batch.time.0,
                version: u32::try_from(version.0).unwrap_or(u32::MAX),
                author: 0,
            };
            let packed = Packed::new(head, key.as_str(), value.as_bytes());
            let entry = Entry::new(packed, namespace.clone(), batch.agent.clone());
            Some(entry.ending(*expires_at, bound_to.is_some()))
        }
        state::Event::Deleted { .. } => None,
    }
}

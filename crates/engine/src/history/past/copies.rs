//! `workspace.changes`: what a copy of a workspace has changed since another copy has seen it.
//!
//! ```text
//!   other copy: seen us up to R ──▶ batches after R ──▶ the last change of each key and namespace
//! ```
//!
//! 1. A document is the difference between two revisions: between R and the last one that it
//!    includes, which is the present unless there is more than fits into one.
//! 2. Changes that the other copy has already seen, through its own writes or a third copy, are not
//!    included.
//! 3. A revision is recognized by its time: another history of the same name is refused.

mod collected;

use std::collections::{BTreeMap, BTreeSet};

use baton_core::namespace::rules::Rules;
use baton_core::refusal::within;
use baton_core::state::List;
use baton_core::sync::{
    ChangesQuery, CopyChanges, EntryChange, Known, NamespaceChange, OtherChanges, Seen,
    TakenChange, reach,
};
use baton_core::workspace::{Founding, Rejection, Table};
use baton_core::{
    Batch, CopyId, Entry, Event, Key, KeyName, NamespaceName, Revision, Timestamp, WorkspaceName,
    limits, namespace, state,
};
use baton_log::Log;

use collected::{Collected, own, synced, unwritten};

use super::{Past, deletes, left};
use crate::error::Error;

type EntryKey = (NamespaceName, Key);

/// The changes that also count as writes of another copy, and the revision that recorded them.
type Adopted = BTreeMap<(NamespaceName, Option<Key>), (Revision, TakenChange)>;

/// The id of a copy; none if it was copied by a version that did not record when.
pub(crate) fn copy_id(name: &WorkspaceName, table: &Table) -> Option<CopyId> {
    let text = match (table.origin(), table.founding()) {
        (None, _) => name.to_string(),
        (Some(_), Some(Founding { time, .. })) => format!("{name}.{}", time.0),
        (Some(_), None) => return None,
    };
    Some(CopyId::parse(&text).expect("a name and a number"))
}

impl<L: Log> Past<'_, L> {
    /// `workspace.changes`
    pub fn copy_changes(&self, query: &ChangesQuery) -> Result<CopyChanges, Error> {
        let max = limits::SYNC_ENTRIES_DEFAULT as u64;
        let limit = within("limit", query.limit, max, (1, max)).map_err(refused)?;
        let (copy, founding) = self.identity()?;
        let (revision, time) = (self.present, self.time_of(self.present)?);
        let mut document = CopyChanges {
            workspace: self.workspace.clone(),
            copy,
            revision,
            time,
            since: revision,
            seen: self.seen_at(revision)?,
            seen_before: Vec::new(),
            namespaces: Vec::new(),
            entries: Vec::new(),
            others: Vec::new(),
            more: false,
        };
        let Some(with) = &query.with else { return Ok(document) };
        document.since = self.since(&document.copy, founding, with)?;
        document.seen_before = self.seen_at(document.since)?;
        let collected = if query.keys.is_some() || query.namespaces.is_some() {
            self.collect_some(&document, query, with)?
        } else {
            let limit = usize::try_from(limit).expect("documents are small");
            let (collected, last) = self.collect_all(&document, with, limit)?;
            document.more = last < revision;
            if document.more {
                (document.revision, document.time) = (last, self.time_of(last)?);
                document.seen = self.seen_at(last)?;
            }
            collected
        };
        let named = query.namespaces.iter().flatten().cloned();
        let of_keys = query.keys.iter().flatten().map(KeyName::namespace);
        let of_keys = of_keys.map(|name| NamespaceName::parse(name).expect("it was checked"));
        self.fill(&mut document, collected, named.chain(of_keys).collect())?;
        Ok(document)
    }

    /// The id of this copy, and its start if it was copied.
    fn identity(&self) -> Result<(CopyId, Option<Founding>), Error> {
        let mut machine = self.shard.settled(self.workspace);
        let resident = machine.resident(self.workspace).ok_or_else(|| left(self.workspace))?;
        let table = &resident.space.workspace;
        let copy = copy_id(self.workspace, table).ok_or_else(|| {
            let (id, origin) = (self.workspace.clone(), table.origin());
            let with = origin.map_or(id.as_str(), |origin| origin.workspace.as_str());
            let with = CopyId::parse(with).expect("a name is the id of a copy");
            refused(Rejection::NoCommonRevision { workspace: id, with })
        })?;
        Ok((copy, table.founding()))
    }

    /// The revision up to which the other copy includes this one.
    fn since(
        &self,
        copy: &CopyId,
        founding: Option<Founding>,
        with: &Known,
    ) -> Result<Revision, Error> {
        if with.copy == *copy {
            return Err(refused(Rejection::SameCopy { copy: copy.clone() }));
        }
        let (workspace, other) = (self.workspace.clone(), with.copy.clone());
        let unrelated = || refused(Rejection::NoCommonRevision { workspace, with: other });
        if let Some(seen) = with.seen.iter().find(|seen| seen.copy == *copy) {
            if seen.revision > self.present || seen.revision == Revision(0) {
                return Err(unrelated());
            }
            self.check(seen.revision)?;
            let is_this = self.time_of(seen.revision)? == seen.time;
            return if is_this { Ok(seen.revision) } else { Err(unrelated()) };
        }
        let Some(founding) = founding else { return Err(unrelated()) };
        self.check(founding.revision)?;
        let first = self.seen_at(founding.revision)?;
        let is_known =
            |seen: &Seen| seen.copy == with.copy || reach(&with.seen, &seen.copy) >= seen.revision;
        if first.is_empty() || !first.iter().all(is_known) {
            return Err(unrelated());
        }
        Ok(founding.revision)
    }

    fn time_of(&self, revision: Revision) -> Result<Timestamp, Error> {
        match &self.base {
            Some(base) if base.revision() == revision => Ok(base.head().time),
            None if revision == Revision(0) => Ok(Timestamp::default()),
            Some(_) | None => Ok(self.batch(revision)?.time),
        }
    }

    /// The revisions of other copies that this copy included at a revision.
    fn seen_at(&self, revision: Revision) -> Result<Vec<Seen>, Error> {
        let mut below = revision;
        while let Some(found) = self.last_change("workspace", below)? {
            if let Some(synced) = synced(&self.batch(found)?) {
                return Ok(synced.seen.clone());
            }
            below = Revision(found.0 - 1);
        }
        Ok(self.base.as_ref().map_or_else(Vec::new, |base| base.head().seen.clone()))
    }

    /// The changes after `since`, until there are enough of them; and the last revision.
    fn collect_all(
        &self,
        document: &CopyChanges,
        with: &Known,
        limit: usize,
    ) -> Result<(Collected, Revision), Error> {
        let mut collected = Collected::default();
        for revision in document.since.next().0..=self.present.0 {
            let batch = self.batch(Revision(revision))?;
            for (index, event) in batch.events.iter().enumerate() {
                if let Event::Namespace(namespace::Event::Deleted { name }) = event {
                    self.collect_deleted(&mut collected, (&batch, index), document, with, name)?;
                }
                collected.add((&batch, index), &document.copy, with);
            }
            for taken in unwritten(&batch) {
                self.collect_adopted(&mut collected, taken, batch.revision, with)?;
            }
            if collected.count >= limit || collected.bytes >= limits::SYNC_BYTES_MAX {
                return Ok((collected, Revision(revision)));
            }
        }
        Ok((collected, self.present))
    }

    /// The entries that go with their namespace have no event of their own.
    fn collect_deleted(
        &self,
        collected: &mut Collected,
        (batch, index): (&Batch, usize),
        document: &CopyChanges,
        with: &Known,
        name: &NamespaceName,
    ) -> Result<(), Error> {
        let mut keys = BTreeSet::new();
        let (list, runs) = (List::all(name.clone()), self.runs().clone());
        for key in self.keys(&runs, &list, None, document.since)? {
            keys.insert(Key::parse(&key?).expect("keys are checked before they are stored"));
        }
        let there = collected.entries.keys().filter(|(namespace, _)| namespace == name);
        keys.extend(there.map(|(_, key)| key.clone()));
        for key in keys {
            let place = (name.clone(), key);
            let exists = match collected.entries.get(&place) {
                Some(there) => there.value.is_some(),
                None => self.entry(name, &place.1, document.since)?.is_some(),
            };
            if exists {
                let written = own(batch, index, &document.copy);
                collected.put(place, None, written, with, false);
            }
        }
        Ok(())
    }

    /// The changes of some keys and namespaces after `since`.
    fn collect_some(
        &self,
        document: &CopyChanges,
        query: &ChangesQuery,
        with: &Known,
    ) -> Result<Collected, Error> {
        let mut collected = Collected::default();
        let max = limits::SYNC_ENTRIES_MAX as u64;
        let adopted = self.adopted_since(document.since)?;
        let keys = query.keys.as_deref().unwrap_or_default();
        within("keys", Some(keys.len() as u64), 0, (0, max)).map_err(refused)?;
        for name in keys {
            let namespace = NamespaceName::parse(name.namespace()).expect("it was checked");
            let key = Key::parse(name.key()).expect("it was checked");
            let last = self.last_change_of(&namespace, &key)?;
            let changed = last.as_ref().map_or(Revision(0), |(batch, _)| batch.revision);
            let place = (namespace.clone(), Some(key.clone()));
            if let Some((revision, taken)) = adopted.get(&place).filter(|it| it.0 > changed) {
                self.collect_adopted(&mut collected, taken, *revision, with)?;
                continue;
            }
            let Some((batch, index)) = last else { continue };
            if batch.revision <= document.since {
                continue;
            }
            if deletes(&batch.events[index], &namespace) {
                let written = own(&batch, index, &document.copy);
                collected.put((namespace, key), None, written, with, false);
            } else {
                collected.add((&batch, index), &document.copy, with);
            }
        }
        let namespaces = query.namespaces.as_deref().unwrap_or_default();
        within("namespaces", Some(namespaces.len() as u64), 0, (0, max)).map_err(refused)?;
        for name in namespaces {
            let changed = self.last_change(&format!("namespaces/{name}"), self.present)?;
            let newest = changed.unwrap_or_default();
            let place = (name.clone(), None);
            if let Some((revision, taken)) = adopted.get(&place).filter(|it| it.0 > newest) {
                self.collect_adopted(&mut collected, taken, *revision, with)?;
                continue;
            }
            let Some(revision) = changed.filter(|it| *it > document.since) else { continue };
            let batch = self.batch(revision)?;
            let is_about =
                |event: &Event| matches!(event, Event::Namespace(event) if event.name() == name);
            if let Some(index) = batch.events.iter().rposition(is_about) {
                collected.add((&batch, index), &document.copy, with);
            }
        }
        Ok(collected)
    }

    /// The changes that were identical in another copy, and count as its writes too, since this
    /// revision.
    fn adopted_since(&self, since: Revision) -> Result<Adopted, Error> {
        let mut adopted = Adopted::new();
        let mut below = self.present;
        while let Some(found) = self.last_change("workspace", below)?.filter(|it| *it > since) {
            for taken in unwritten(&self.batch(found)?) {
                let place = (taken.namespace.clone(), taken.key.clone());
                adopted.entry(place).or_insert((found, taken.clone()));
            }
            below = Revision(found.0 - 1);
        }
        Ok(adopted)
    }

    /// Something that was the same in another copy at this revision.
    fn collect_adopted(
        &self,
        collected: &mut Collected,
        taken: &TakenChange,
        revision: Revision,
        with: &Known,
    ) -> Result<(), Error> {
        let TakenChange { namespace, key, written } = taken;
        let Some(key) = key else {
            let exists = self.namespace_exists(namespace, revision)?;
            let rules = if exists { self.rules_of(namespace)? } else { None };
            collected.put_namespace(namespace, rules, written.clone(), with);
            return Ok(());
        };
        let entry = self.entry(namespace, key, revision)?;
        let is_bound = entry.as_ref().is_some_and(Entry::is_ephemeral);
        let value = entry.map(|entry| (entry.json(), entry.expires_at()));
        let place = (namespace.clone(), key.clone());
        collected.put(place, value, written.clone(), with, is_bound);
        Ok(())
    }

    /// The present rules of a namespace. If they have changed since, a later event contains the
    /// change.
    fn rules_of(&self, name: &NamespaceName) -> Result<Option<Rules>, Error> {
        let mut machine = self.shard.settled(self.workspace);
        let resident = machine.resident(self.workspace).ok_or_else(|| left(self.workspace))?;
        Ok(resident.space.namespace.get(name).map(|there| there.rules.clone()))
    }

    /// The last event that changed an entry: its own, or the deletion of its namespace if it
    /// existed then.
    fn last_change_of(
        &self,
        namespace: &NamespaceName,
        key: &Key,
    ) -> Result<Option<(Batch, usize)>, Error> {
        let changed = self.last_change(&format!("state/{namespace}/{key}"), self.present)?;
        let own = changed.map(|revision| self.batch(revision)).transpose()?.and_then(|batch| {
            let is_it = |event: &Event| match event {
                Event::State(event) => event.entry_key() == (namespace, key),
                _ => false,
            };
            let index = batch.events.iter().rposition(is_it)?;
            Some((batch, index))
        });
        let mut below = self.present;
        while let Some(found) = self.last_deletion(namespace, below)? {
            if own.as_ref().is_some_and(|(batch, _)| batch.revision > found) {
                break;
            }
            let batch = self.batch(found)?;
            let deletion = batch.events.iter().rposition(|event| deletes(event, namespace));
            let deletion = deletion.expect("the batch deletes the namespace");
            let existed = match &own {
                Some((last, index)) if last.revision == found => {
                    let event = &last.events[*index];
                    let is_set = matches!(event, Event::State(state::Event::Set { .. }));
                    is_set && *index < deletion
                }
                Some(_) | None => {
                    let before = Revision(found.0 - 1);
                    before >= self.floor && self.entry(namespace, key, before)?.is_some()
                }
            };
            if existed {
                return Ok(Some((batch, deletion)));
            }
            below = Revision(found.0 - 1);
        }
        Ok(own)
    }

    /// Writes what was collected into the document.
    fn fill(
        &self,
        document: &mut CopyChanges,
        collected: Collected,
        mut named: BTreeSet<NamespaceName>,
    ) -> Result<(), Error> {
        let Collected { entries, mut namespaces, others, .. } = collected;
        for ((namespace, key), last) in entries {
            if last.is_left_out {
                continue;
            }
            named.insert(namespace.clone());
            let was = self.value(&namespace, &key, document.since)?;
            let (value, expires_at) = last.value.unzip();
            let expires_at = expires_at.flatten();
            let written = last.written;
            document.entries.push(EntryChange { namespace, key, value, was, expires_at, written });
        }
        named.extend(namespaces.keys().cloned());
        let mut machine = self.shard.settled(self.workspace);
        let resident = machine.resident(self.workspace).ok_or_else(|| left(self.workspace))?;
        for name in named {
            let (rules, written) = match namespaces.remove(&name) {
                Some((rules, written)) => (rules, Some(written)),
                None => {
                    let there = resident.space.namespace.get(&name);
                    (there.map(|there| there.rules.clone()), None)
                }
            };
            document.namespaces.push(NamespaceChange { name, rules, written });
        }
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for subject in others {
            let kind = subject.split('/').next().unwrap_or_default().to_owned();
            *counts.entry(kind).or_default() += 1;
        }
        let counted = counts.into_iter().map(|(kind, count)| OtherChanges { kind, count });
        document.others = counted.collect();
        Ok(())
    }
}

fn refused(rejection: impl Into<Rejection>) -> Error {
    Error::Rejected(rejection.into().into())
}

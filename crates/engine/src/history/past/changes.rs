//! The history of entries, and differences between two revisions.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::state::{self, Change, Diff, History as HistoryQuery, List};
use baton_core::{AgentId, Batch, Event, Json, Key, NamespaceName, Revision, limits, namespace};
use baton_log::Log;

use super::{Past, deletes, refused};
use crate::error::Error;

/// The maximum number of batches that are read for one page of history; a selective filter gets its
/// results in several pages.
pub(super) const SCANNED_MAX: u64 = 10_000;

impl<L: Log> Past<'_, L> {
    /// `state.history`: changes, newest first.
    pub fn history(&self, query: &HistoryQuery) -> Result<(Vec<Change>, Option<String>), Error> {
        let limit = state::page_limit(query.limit).map_err(refused)?;
        if query.key.is_some() && query.namespace.is_none() {
            return Err(refused(state::Rejection::KeyWithoutNamespace {}));
        }
        let (newest, mut returned) = match &query.cursor {
            Some(cursor) => self.place_of(cursor)?,
            None => (query.to.unwrap_or(self.present).min(self.present), 0),
        };
        let oldest = match query.from {
            Some(from) => {
                // The changes of a revision can be computed if the state before it is known.
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
            let before = changes.len();
            self.changes_of(revision, query, &mut changes)?;
            changes.drain(before..(before + returned).min(changes.len()));
            if changes.len() > limit {
                returned += limit - before;
                changes.truncate(limit);
                return Ok((changes, Some(format!("{revision}.{returned}"))));
            }
            returned = 0;
            scanned += 1;
            next = revision.0.checked_sub(1).map(Revision).filter(|below| *below >= oldest);
        }
        Ok((changes, next.map(|revision| revision.to_string())))
    }

    /// Where a page ended: the next revision, and how many of its changes were returned already. A
    /// page may end within a revision, since a large commit has more changes than a small page.
    fn place_of(&self, cursor: &str) -> Result<(Revision, usize), Error> {
        let (revision, returned) = cursor.split_once('.').unwrap_or((cursor, "0"));
        let revision = revision.parse().ok().map(Revision).filter(|there| *there <= self.present);
        revision.zip(returned.parse().ok()).ok_or_else(|| {
            refused(state::Rejection::BadCursor { given: cursor.chars().take(80).collect() })
        })
    }

    /// Adds the matching changes of one batch, newest first.
    fn changes_of(
        &self,
        revision: Revision,
        query: &HistoryQuery,
        changes: &mut Vec<Change>,
    ) -> Result<(), Error> {
        let batch = self.batch(revision)?;
        let mut found = Vec::new();
        // The effects of earlier events of the same batch on entries.
        let mut made: BTreeMap<(&NamespaceName, &Key), Option<Json>> = BTreeMap::new();
        let mut emptied: BTreeSet<&NamespaceName> = BTreeSet::new();
        for (event, author) in batch.events.iter().zip(batch.authors()) {
            let place = match event {
                Event::State(changed) => Some(changed.entry_key()),
                // Deleting a namespace also deletes the key that a query is about.
                event => query
                    .namespace
                    .as_ref()
                    .zip(query.key.as_ref())
                    .filter(|(there, _)| deletes(event, there)),
            };
            if let Some((namespace, key)) = place.filter(|place| wants(query, place.0, place.1)) {
                let old_value = match made.get(&(namespace, key)) {
                    Some(value) => value.clone(),
                    None if emptied.contains(namespace) => None,
                    None => self.value(namespace, key, Revision(revision.0 - 1))?,
                };
                let (new_value, source) = match event {
                    Event::State(state::Event::Set { value, source, .. }) => {
                        (Some(value.clone()), source.clone())
                    }
                    _ => (None, None),
                };
                made.insert((namespace, key), new_value.clone());
                let is_wanted = query.author.as_ref().is_none_or(|wanted| wanted == author);
                if is_wanted && (old_value.is_some() || new_value.is_some()) {
                    let values = (old_value, new_value);
                    found.push(change(&batch, (event, author), (namespace, key), values, source));
                }
            }
            if let Event::Namespace(namespace::Event::Deleted { name }) = event {
                made.retain(|(namespace, _), _| *namespace != name);
                emptied.insert(name);
            }
        }
        changes.extend(found.into_iter().rev());
        Ok(())
    }

    pub(super) fn value(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at: Revision,
    ) -> Result<Option<Json>, Error> {
        Ok(self.entry(namespace, key, at)?.map(|entry| entry.json()))
    }

    /// `state.diff`: differences between two revisions, by namespace and key.
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
            if let Some(revision) = self.last_effect(&namespace, &key, to)? {
                let batch = self.batch(revision)?;
                let index = batch.events.iter().rposition(|event| match event {
                    Event::State(event) => event.entry_key() == (&namespace, &key),
                    event => deletes(event, &namespace),
                });
                let index = index.expect("the batch touched this entry");
                let by = (&batch.events[index], batch.author(index));
                let values = (old_value, new_value);
                changes.push(change(&batch, by, (&namespace, &key), values, None));
            }
        }
        Ok(changes)
    }

    /// The newest batch, at most this one, that changed an entry. Deleting a namespace does not
    /// count if the entry did not exist any more.
    pub(super) fn last_effect(
        &self,
        namespace: &NamespaceName,
        key: &Key,
        at_most: Revision,
    ) -> Result<Option<Revision>, Error> {
        let mut below = at_most;
        while let Some(found) = self.last_touch(namespace, key, below)? {
            let batch = self.batch(found)?;
            let mut events = batch.events.iter();
            let subject = (namespace, key);
            let named = events
                .any(|event| matches!(event, Event::State(event) if event.entry_key() == subject));
            let before = Revision(found.0 - 1);
            if named || self.entry(namespace, key, before)?.is_some() {
                return Ok(Some(found));
            }
            below = before;
        }
        Ok(None)
    }

    /// Adds the entries that an event may have changed.
    fn differing(
        &self,
        event: &Event,
        only: Option<&NamespaceName>,
        from: Revision,
        places: &mut BTreeSet<(NamespaceName, Key)>,
    ) -> Result<(), Error> {
        match event {
            Event::State(event) => {
                let (namespace, key) = event.entry_key();
                if only.is_none_or(|only| only == namespace) {
                    places.insert((namespace.clone(), key.clone()));
                }
            }
            Event::Namespace(namespace::Event::Deleted { name })
                if only.is_none_or(|only| only == name) =>
            {
                let (runs, list) = (self.runs().clone(), List::all(name.clone()));
                for key in self.keys(&runs, &list, None, from)? {
                    places.insert((name.clone(), Key::parse(&key?)?));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn wants(query: &HistoryQuery, namespace: &NamespaceName, key: &Key) -> bool {
    query.namespace.as_ref().is_none_or(|only| only == namespace)
        && query.key.as_ref().is_none_or(|only| only == key)
        && query.pattern.as_ref().is_none_or(|pattern| pattern.matches(key.as_str()))
}

fn change(
    batch: &Batch,
    (event, author): (&Event, &AgentId),
    (namespace, key): (&NamespaceName, &Key),
    (old_value, new_value): (Option<Json>, Option<Json>),
    source: Option<state::Source>,
) -> Change {
    Change {
        revision: batch.revision,
        time: batch.time,
        agent: author.clone(),
        operation: event.kind().to_owned(),
        namespace: namespace.clone(),
        key: key.clone(),
        old_value,
        new_value,
        source,
    }
}

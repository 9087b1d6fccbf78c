//! `state.history`: every change of entries, newest first, in pages.
//!
//! A page may end within a revision, since a large commit has more changes than a small page. A
//! deleted namespace is one event, however many entries went with it: they are found by their keys,
//! as many as the page has room for.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::state::{self, Change, History as HistoryQuery, List};
use baton_core::{AgentId, Batch, Event, Json, Key, NamespaceName, Revision, namespace};
use baton_log::Log;

use super::changes::change;
use super::pages::{Merged, Source};
use super::{Past, refused};
use crate::error::Error;

/// The maximum number of batches that are read for one page of history; a selective filter gets its
/// results in several pages.
pub(super) const SCANNED_MAX: u64 = 10_000;

/// The end of a page.
struct PageEnd {
    /// The next revision.
    revision: Revision,
    /// How many of its steps were returned already.
    steps: usize,
    /// The last key that was returned of a namespace that the step deleted.
    after: Option<String>,
}

/// A part of a batch that a query is about.
enum Step<'b> {
    Change(Change),
    Deletion(Deletion<'b>),
}

/// A namespace was deleted with its entries.
struct Deletion<'b> {
    event: &'b Event,
    author: &'b AgentId,
    namespace: &'b NamespaceName,
    /// The values of its entries after earlier events of the same batch.
    made: BTreeMap<&'b Key, Option<Json>>,
    /// Whether an earlier event of the same batch had deleted it, too.
    is_emptied: bool,
}

impl<L: Log> Past<'_, L> {
    /// `state.history`: changes, newest first.
    pub fn history(&self, query: &HistoryQuery) -> Result<(Vec<Change>, Option<String>), Error> {
        let limit = state::page_limit(query.limit).map_err(refused)?;
        if query.key.is_some() && query.namespace.is_none() {
            return Err(refused(state::Rejection::KeyWithoutNamespace {}));
        }
        let newest = query.to.unwrap_or(self.present).min(self.present);
        let place = match &query.cursor {
            Some(cursor) => self.place_of(cursor)?,
            None => PageEnd { revision: newest, steps: 0, after: None },
        };
        let oldest = match query.from {
            Some(from) => {
                // The changes of a revision can be computed if the state before it is known.
                self.check_events_from(from)?;
                from.max(Revision(1))
            }
            None => self.floor.next(),
        };
        let mut changes = Vec::new();
        let mut scanned = 0;
        let mut next = Some(place).filter(|place| place.revision >= oldest);
        while let Some(place) = next.take_if(|_| changes.len() < limit && scanned < SCANNED_MAX) {
            let Some(place) = self.touched(query, place)?.filter(|it| it.revision >= oldest) else {
                break;
            };
            let revision = place.revision;
            if let Some(cursor) = self.page_of(place, query, limit, &mut changes)? {
                return Ok((changes, Some(cursor)));
            }
            scanned += 1;
            let below = revision.0.checked_sub(1).map(Revision).filter(|below| *below >= oldest);
            next = below.map(|revision| PageEnd { revision, steps: 0, after: None });
        }
        Ok((changes, next.map(|place| place.revision.to_string())))
    }

    /// Reads back a cursor.
    fn place_of(&self, cursor: &str) -> Result<PageEnd, Error> {
        let mut parts = cursor.splitn(3, '.');
        let revision = parts.next().and_then(|it| it.parse().ok()).map(Revision);
        let revision = revision.filter(|there| *there <= self.present);
        let steps = parts.next().map_or(Some(0), |it| it.parse().ok());
        let after = parts.next().map(str::to_owned);
        let place = revision.zip(steps).map(|(revision, steps)| PageEnd { revision, steps, after });
        place.ok_or_else(|| {
            refused(state::Rejection::BadCursor { given: cursor.chars().take(80).collect() })
        })
    }

    /// The place itself, or for the history of one key the next one that touched it.
    fn touched(&self, query: &HistoryQuery, place: PageEnd) -> Result<Option<PageEnd>, Error> {
        let (Some(namespace), Some(key)) = (&query.namespace, &query.key) else {
            return Ok(Some(place));
        };
        let found = self.last_touch(namespace, key, place.revision)?;
        let begin = |revision| PageEnd { revision, steps: 0, after: None };
        Ok(match found {
            Some(revision) if revision == place.revision => Some(place),
            other => other.map(begin),
        })
    }

    /// Adds the matching changes of one batch, newest first; returns a cursor if there are more
    /// than the page has room for.
    fn page_of(
        &self,
        place: PageEnd,
        query: &HistoryQuery,
        limit: usize,
        changes: &mut Vec<Change>,
    ) -> Result<Option<String>, Error> {
        let PageEnd { revision, steps, mut after } = place;
        let batch = self.batch(revision)?;
        let all = self.steps_of(&batch, query)?;
        for (index, step) in all.into_iter().rev().enumerate().skip(steps) {
            if changes.len() == limit {
                return Ok(Some(format!("{revision}.{index}")));
            }
            match step {
                Step::Change(change) => changes.push(change),
                Step::Deletion(deletion) => {
                    let after = after.take();
                    if self.page_of_deletion(&batch, &deletion, (query, after), limit, changes)? {
                        let last = changes.last().map_or("", |last| last.key.as_str());
                        return Ok(Some(format!("{revision}.{index}.{last}")));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Adds the entries that went with a namespace, by key; true if there are more than the page
    /// has room for.
    fn page_of_deletion(
        &self,
        batch: &Batch,
        deletion: &Deletion<'_>,
        (query, after): (&HistoryQuery, Option<String>),
        limit: usize,
        changes: &mut Vec<Change>,
    ) -> Result<bool, Error> {
        let Deletion { event, author, namespace, made, is_emptied } = deletion;
        let before = Revision(batch.revision.0 - 1);
        let (runs, after) = (self.runs().clone(), after.as_deref());
        let list = List { pattern: query.pattern.clone(), ..List::all((*namespace).clone()) };
        let is_next = |key: &str| after.is_none_or(|after| key > after);
        let known = made.keys().map(|key| key.as_str()).chain(query.key.iter().map(Key::as_str));
        let known: BTreeSet<&str> = known.filter(|key| is_next(key)).collect();
        let mut sources: Vec<Source<'_>> =
            vec![Box::new(known.into_iter().map(|key| Ok(key.to_owned())))];
        if !is_emptied && query.key.is_none() {
            sources.push(Box::new(self.keys(&runs, &list, after, before)?));
        }
        for key in Merged::new(sources) {
            let key = Key::parse(&key?)?;
            let old_value = match made.get(&key) {
                _ if !wants(query, namespace, &key) => None,
                Some(value) => value.clone(),
                None if *is_emptied => None,
                None => self.value(namespace, &key, before)?,
            };
            if let Some(old_value) = old_value {
                if changes.len() == limit {
                    return Ok(true);
                }
                let (by, place) = ((*event, *author), (*namespace, &key));
                changes.push(change(batch, by, place, (Some(old_value), None), None));
            }
        }
        Ok(false)
    }

    /// The steps of one batch for the entries that a query is about, in order.
    fn steps_of<'b>(&self, batch: &'b Batch, query: &HistoryQuery) -> Result<Vec<Step<'b>>, Error> {
        let mut steps = Vec::new();
        // The values of entries after earlier events of the same batch.
        let mut made: BTreeMap<(&NamespaceName, &Key), Option<Json>> = BTreeMap::new();
        let mut emptied: BTreeSet<&NamespaceName> = BTreeSet::new();
        for (event, author) in batch.events.iter().zip(batch.authors()) {
            let is_wanted = query.author.as_ref().is_none_or(|wanted| wanted == author);
            match event {
                Event::State(changed) => {
                    let (namespace, key) = changed.entry_key();
                    if !wants(query, namespace, key) {
                        continue;
                    }
                    let old_value = match made.get(&(namespace, key)) {
                        Some(value) => value.clone(),
                        None if emptied.contains(namespace) => None,
                        None => self.value(namespace, key, Revision(batch.revision.0 - 1))?,
                    };
                    let (new_value, source) = match changed {
                        state::Event::Set { value, source, .. } => {
                            (Some(value.clone()), source.clone())
                        }
                        state::Event::Deleted { .. } => (None, None),
                    };
                    made.insert((namespace, key), new_value.clone());
                    if is_wanted && (old_value.is_some() || new_value.is_some()) {
                        let (by, values) = ((event, author), (old_value, new_value));
                        let change = change(batch, by, (namespace, key), values, source);
                        steps.push(Step::Change(change));
                    }
                }
                Event::Namespace(namespace::Event::Deleted { name }) => {
                    let (gone, rest): (BTreeMap<_, _>, _) =
                        made.into_iter().partition(|((namespace, _), _)| *namespace == name);
                    made = rest;
                    let is_emptied = !emptied.insert(name);
                    if is_wanted && query.namespace.as_ref().is_none_or(|only| only == name) {
                        let made = gone.into_iter().map(|((_, key), value)| (key, value)).collect();
                        let namespace = name;
                        steps.push(Step::Deletion(Deletion {
                            event,
                            author,
                            namespace,
                            made,
                            is_emptied,
                        }));
                    }
                }
                _ => {}
            }
        }
        Ok(steps)
    }
}

fn wants(query: &HistoryQuery, namespace: &NamespaceName, key: &Key) -> bool {
    query.namespace.as_ref().is_none_or(|only| only == namespace)
        && query.key.as_ref().is_none_or(|only| only == key)
        && query.pattern.as_ref().is_none_or(|pattern| pattern.matches(key.as_str()))
}

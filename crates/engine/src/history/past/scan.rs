//! The entries of namespaces at a past revision, in the order of their keys.
//!
//! Keys are not looked up one by one. The tail is read once for the subjects of its batches, and
//! the indexes of runs and the base are sorted, so that merging them finds the batch that
//! determined each entry. Then every such batch is decoded once per page, however many entries of
//! the page it made.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use baton_core::state::List;
use baton_core::{Batch, Entry, Event, Key, NamespaceName, Revision, namespace};
use baton_log::Log;

use super::pages::{Merged, Source};
use super::{Past, deletes, made, shown};
use crate::codec;
use crate::error::Error;
use crate::history::run::Run;

/// The subjects of entries start so, followed by their namespace.
const STATE: &str = "state/";
/// The subjects of namespaces start so, followed by their name.
const NAMESPACES: &str = "namespaces/";

/// The maximum number of keys that are looked up together, when most of those before did not exist.
const KEYS_AT_ONCE_MAX: usize = 1_024;

/// A key that may have existed, and what determines whether it did.
struct Candidate {
    key: String,
    from: From,
}

enum From {
    /// The newest batch that touched it.
    Batch(Revision),
    /// No batch that is kept: the base has it.
    Base(Entry),
}

impl AsRef<str> for Candidate {
    fn as_ref(&self) -> &str {
        &self.key
    }
}

/// The newest batch of the tail that touched each entry, by subject.
type Touched = BTreeMap<String, Revision>;

/// A namespace at a revision.
struct Namespace {
    exists: bool,
    /// The last time that it was deleted with all its entries.
    emptied: Option<Revision>,
}

/// The state at a revision, about to be read.
pub(super) struct Scan<'s, 'p, L> {
    past: &'s Past<'p, L>,
    at: Revision,
    runs: Vec<Arc<Run>>,
    touched: Touched,
    namespaces: BTreeMap<NamespaceName, Namespace>,
}

impl<'s, 'p, L: Log> Scan<'s, 'p, L> {
    /// Reads the tail, and what happened to namespaces: to all of them, or to this one.
    pub(super) fn new(
        past: &'s Past<'p, L>,
        only: Option<&NamespaceName>,
        at: Revision,
    ) -> Result<Self, Error> {
        let at = shown(at);
        let runs: Vec<Arc<Run>> =
            past.runs().iter().filter(|run| run.first() <= at.0).map(Arc::clone).collect();
        let mut changed = namespaces_of_runs(&runs, only, at)?;
        let mut touched = Touched::new();
        past.visit_tail_subjects(at, |subject, revision| {
            let [first, name, ..] = subject else { return };
            if only.is_some_and(|only| only.as_str() != *name) {
                return;
            }
            if *first == STATE {
                touched.insert(subject.concat(), revision);
            } else if *first == NAMESPACES {
                changed.entry((*name).to_owned()).or_default().push(revision.0);
            }
        })?;
        let mut scan = Self { past, at, runs, touched, namespaces: BTreeMap::new() };
        scan.namespaces = scan.read_namespaces(only, changed)?;
        Ok(scan)
    }

    /// The namespaces that existed, by name.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = &NamespaceName> {
        self.namespaces.iter().filter(|(_, there)| there.exists).map(|(name, _)| name)
    }

    /// Adds the entries that a list selects, after this key and in order, until there are `limit`;
    /// true if there is one more.
    pub(super) fn collect(
        &self,
        list: &List,
        after: Option<&str>,
        limit: usize,
        entries: &mut Vec<Entry>,
    ) -> Result<bool, Error> {
        let emptied = self.namespaces.get(&list.namespace).and_then(|there| there.emptied);
        let touched = touched_from(&self.touched, list, after);
        let mut candidates =
            self.past.candidates((&self.runs, touched), list, after, self.at, emptied);
        let mut count = limit + 1 - entries.len();
        loop {
            let some = candidates.by_ref().take(count).collect::<Result<Vec<_>, Error>>()?;
            if some.is_empty() {
                return Ok(false);
            }
            for entry in self.read(&list.namespace, some)?.into_iter().flatten() {
                if entries.len() == limit {
                    return Ok(true);
                }
                entries.push(entry);
            }
            // If most keys were deleted, the same batches would be read again for a few each.
            count = (2 * count).min(KEYS_AT_ONCE_MAX).max(limit + 1 - entries.len());
        }
    }

    /// The entries of some keys, in their order. Every batch is read once.
    fn read(
        &self,
        namespace: &NamespaceName,
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Option<Entry>>, Error> {
        let mut entries = Vec::with_capacity(candidates.len());
        let mut batches: BTreeMap<Revision, BTreeMap<Key, usize>> = BTreeMap::new();
        for (index, Candidate { key, from }) in candidates.into_iter().enumerate() {
            entries.push(match from {
                From::Base(entry) => Some(entry),
                From::Batch(revision) => {
                    batches.entry(revision).or_default().insert(Key::parse(&key)?, index);
                    None
                }
            });
        }
        for (revision, keys) in batches {
            let batch = self.past.batch(revision)?;
            for (index, event) in batch.events.iter().enumerate() {
                match event {
                    Event::State(event) => {
                        let (there, key) = event.entry_key();
                        if let Some(&place) = keys.get(key).filter(|_| there == namespace) {
                            entries[place] = made(&batch, index, event);
                        }
                    }
                    event if deletes(event, namespace) => {
                        for &place in keys.values() {
                            entries[place] = None;
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(entries)
    }

    /// The last states of namespaces, given the batches that touched them in ascending order.
    fn read_namespaces(
        &self,
        only: Option<&NamespaceName>,
        mut changed: BTreeMap<String, Vec<u64>>,
    ) -> Result<BTreeMap<NamespaceName, Namespace>, Error> {
        let shared = NamespaceName::shared();
        let base = self.past.base.as_ref().map(|base| base.head().namespaces.as_slice());
        let base: Vec<&NamespaceName> =
            base.unwrap_or_default().iter().map(|there| &there.name).collect();
        for name in base.iter().copied().chain([&shared]) {
            if only.is_none_or(|only| only == name) {
                changed.entry(name.as_str().to_owned()).or_default();
            }
        }
        let mut namespaces = BTreeMap::new();
        // Namespaces are often created together, by one batch.
        let mut batch: Option<Batch> = None;
        for (name, revisions) in changed {
            let name = NamespaceName::parse(&name)?;
            let mut exists = None;
            let mut emptied = None;
            for revision in revisions.into_iter().rev().map(Revision) {
                let there = match batch.take().filter(|batch| batch.revision == revision) {
                    Some(there) => there,
                    None => self.past.batch(revision)?,
                };
                for event in batch.insert(there).events.iter().rev() {
                    let Event::Namespace(event) = event else { continue };
                    if *event.name() == name && emptied.is_none() {
                        let is_gone = matches!(event, namespace::Event::Deleted { .. });
                        exists.get_or_insert(!is_gone);
                        emptied = is_gone.then_some(revision);
                    }
                }
                if emptied.is_some() {
                    break;
                }
            }
            let exists = exists.unwrap_or_else(|| base.contains(&&name)) || name == shared;
            namespaces.insert(name, Namespace { exists, emptied });
        }
        Ok(namespaces)
    }
}

impl<L: Log> Past<'_, L> {
    /// Keys that may have existed, in order.
    pub(super) fn keys<'k>(
        &'k self,
        runs: &'k [Arc<Run>],
        list: &'k List,
        after: Option<&'k str>,
        at: Revision,
    ) -> Result<impl Iterator<Item = Result<String, Error>> + 'k, Error> {
        let mut touched = Touched::new();
        self.visit_tail_subjects(at, |subject, revision| {
            if subject.starts_with(&[STATE, list.namespace.as_str()]) {
                touched.insert(subject.concat(), revision);
            }
        })?;
        let touched: Vec<_> = touched_from(&touched, list, after).collect();
        let candidates = self.candidates((runs, touched.into_iter()), list, after, at, None);
        Ok(candidates.map(|candidate| candidate.map(|it| it.key)))
    }

    /// Keys that may have existed, in order, unless their namespace was deleted since. Runs and
    /// base are sorted and read on demand, so the work depends on what is taken.
    fn candidates<'k>(
        &'k self,
        (runs, touched): (&'k [Arc<Run>], impl Iterator<Item = (String, Revision)> + 'k),
        list: &'k List,
        after: Option<&'k str>,
        at: Revision,
        emptied: Option<Revision>,
    ) -> impl Iterator<Item = Result<Candidate, Error>> + 'k {
        let (namespace, beginning) = (&list.namespace, list.beginning());
        let from = first_key(list, after);
        let since = emptied.unwrap_or(Revision(0));
        let batch = |(key, revision)| Candidate { key, from: From::Batch(revision) };
        let touched = touched.filter(move |(_, revision)| *revision >= since);
        // The newest source first: its batch counts.
        let mut sources: Vec<Source<'k, Candidate>> =
            vec![Box::new(touched.map(move |it| Ok(batch(it))))];
        for run in runs.iter().rev().filter(|run| run.first() <= at.0 && run.last() >= since.0) {
            let keys = keys_of_run(run, namespace, from, at);
            let keys = keys.filter(move |key| !matches!(key, Ok((_, it)) if *it < since));
            sources.push(Box::new(keys.map(move |key| key.map(batch))));
        }
        if let Some(base) = self.base.as_ref().filter(|_| emptied.is_none()) {
            let entries = base.entries(namespace.clone(), from);
            sources.push(Box::new(entries.map(|entry| {
                let entry = entry?;
                Ok(Candidate { key: entry.key().to_owned(), from: From::Base(entry) })
            })));
        }
        let in_range = move |candidate: &Result<Candidate, Error>| match candidate {
            Ok(candidate) => candidate.key.starts_with(beginning),
            Err(_) => true,
        };
        let wanted = move |candidate: &Result<Candidate, Error>| match candidate {
            Ok(Candidate { key, .. }) => {
                list.wants(key) && after.is_none_or(|after| key.as_str() > after)
            }
            Err(_) => true,
        };
        Merged::new(sources).take_while(in_range).filter(wanted)
    }

    /// The subjects that the batches of the tail touched, up to a revision and oldest first.
    fn visit_tail_subjects(
        &self,
        at: Revision,
        mut visit: impl FnMut(&[&str], Revision),
    ) -> Result<(), Error> {
        let last = at.min(self.present);
        let mut next = self.archived().next();
        if next > last {
            return Ok(());
        }
        let mut decoded = Ok(());
        let read = self.shard.visit_tail(self.workspace, next, |frame| {
            match codec::subjects(frame, |subject| visit(subject, next)) {
                Ok(_) => next = next.next(),
                Err(error) => decoded = Err(error),
            }
            decoded.is_ok() && next <= last
        });
        decoded?;
        // Batches that are archived meanwhile leave the log, and are read from their new place.
        drop(read);
        while next <= last {
            let frame = self.frame(next)?;
            codec::subjects(&frame, |subject| visit(subject, next))?;
            next = next.next();
        }
        Ok(())
    }
}

/// The first key that a page may begin with.
fn first_key<'k>(list: &'k List, after: Option<&'k str>) -> &'k str {
    let beginning = list.beginning();
    after.filter(|after| *after > beginning).unwrap_or(beginning)
}

/// The keys of a namespace that the tail touched, in order.
fn touched_from<'k>(
    touched: &'k Touched,
    list: &'k List,
    after: Option<&'k str>,
) -> impl Iterator<Item = (String, Revision)> + use<'k> {
    let prefix = format!("{STATE}{}/", list.namespace);
    let first = format!("{prefix}{}", first_key(list, after));
    touched
        .range::<str, _>((Bound::Included(first.as_str()), Bound::Unbounded))
        .map_while(move |(subject, at)| Some((subject.strip_prefix(&prefix)?.to_owned(), *at)))
}

/// Keys of a namespace that a run touched up to a revision, in order, each with the newest batch.
fn keys_of_run<'a>(
    run: &'a Run,
    namespace: &NamespaceName,
    from: &str,
    at: Revision,
) -> impl Iterator<Item = Result<(String, Revision), Error>> + use<'a> {
    let prefix = format!("{STATE}{namespace}/");
    let first = format!("{prefix}{from}");
    let subjects = run.subjects(Bound::Included(first.as_str()));
    let keys = subjects.map_while(move |subject| match subject {
        Err(error) => Some(Some(Err(error.into()))),
        Ok((subject, revisions)) => {
            let key = subject.strip_prefix(&prefix)?;
            let upto = revisions.partition_point(|revision| *revision <= at.0);
            let newest = revisions[..upto].last();
            Some(newest.map(|newest| Ok((key.to_owned(), Revision(*newest)))))
        }
    });
    keys.flatten()
}

/// The batches of runs that touched namespaces, or this one, up to a revision, in ascending order.
fn namespaces_of_runs(
    runs: &[Arc<Run>],
    only: Option<&NamespaceName>,
    at: Revision,
) -> Result<BTreeMap<String, Vec<u64>>, Error> {
    let mut changed: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for run in runs {
        if let Some(only) = only {
            let revisions = run.changes(&format!("{NAMESPACES}{only}"))?;
            changed.entry(only.as_str().to_owned()).or_default().extend(revisions);
        } else {
            for subject in run.subjects(Bound::Included(NAMESPACES)) {
                let (subject, revisions) = subject?;
                let Some(name) = subject.strip_prefix(NAMESPACES) else { break };
                changed.entry(name.to_owned()).or_default().extend(revisions);
            }
        }
    }
    // One that was not touched up to then did not exist, unless the base has it.
    changed.retain(|_, revisions| {
        revisions.retain(|revision| *revision <= at.0);
        !revisions.is_empty()
    });
    Ok(changed)
}

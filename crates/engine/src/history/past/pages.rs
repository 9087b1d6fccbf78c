//! Entries at a past revision, in pages.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use baton_core::state::{self, Get, List, Page, Snapshot};
use baton_core::{Entry, Event, Key, NamespaceName, Revision};
use baton_log::Log;

use super::{Past, refused};
use crate::error::Error;
use crate::history::run::Run;

/// Keys in order, from one source.
pub(super) type Source<'a> = Box<dyn Iterator<Item = Result<String, Error>> + 'a>;

impl<L: Log> Past<'_, L> {
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
        let more = self.collect(list, after, at, limit, &mut entries)?;
        let cursor = entries.last().filter(|_| more).map(|entry| entry.key().to_owned());
        Ok(Page { revision: at, entries, cursor })
    }

    /// `state.snapshot` at a revision.
    pub fn snapshot(&self, snapshot: &Snapshot, at: Revision) -> Result<Page, Error> {
        self.check(at)?;
        let limit = state::page_limit(snapshot.limit).map_err(refused)?;
        let after = snapshot.after().map_err(refused)?;
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
            let list = List::all(namespace);
            more = self.collect(&list, key, at, limit, &mut entries)?;
            if more {
                break;
            }
        }
        let last = entries.last().filter(|_| more);
        let cursor = last.map(|last| state::snapshot_cursor(last, at));
        Ok(Page { revision: at, entries, cursor })
    }

    /// Adds entries in key order until there are `limit`; true if there is one more.
    fn collect(
        &self,
        list: &List,
        after: Option<&str>,
        at: Revision,
        limit: usize,
        entries: &mut Vec<Entry>,
    ) -> Result<bool, Error> {
        let runs = self.runs().clone();
        for key in self.keys(&runs, list, after, at)? {
            let key = Key::parse(&key?)?;
            if let Some(entry) = self.entry(&list.namespace, &key, at)? {
                if entries.len() == limit {
                    return Ok(true);
                }
                entries.push(entry);
            }
        }
        Ok(false)
    }

    /// Keys that may have existed, in order. Runs and base are sorted and read on demand, so the
    /// work depends on what is taken.
    pub(super) fn keys<'k>(
        &'k self,
        runs: &'k [Arc<Run>],
        list: &'k List,
        after: Option<&'k str>,
        at: Revision,
    ) -> Result<impl Iterator<Item = Result<String, Error>> + 'k, Error> {
        let namespace = &list.namespace;
        let beginning = list.beginning();
        let from = after.filter(|after| *after > beginning).unwrap_or(beginning);
        let mut tail = BTreeSet::new();
        self.visit_tail_events(at, |event| {
            if let Event::State(event) = event {
                let (there, key) = event.entry_key();
                if there == namespace && key.as_str() >= from {
                    tail.insert(key.as_str().to_owned());
                }
            }
        })?;
        let mut sources: Vec<Source<'_>> = vec![Box::new(tail.into_iter().map(Ok))];
        for run in runs.iter().filter(|run| run.first() <= at.0) {
            sources.push(Box::new(keys_of_run(run, namespace, from, at)));
        }
        if let Some(base) = &self.base {
            let keys = base.keys(namespace.clone(), from);
            sources.push(Box::new(keys.map(|key| key.map_err(Error::from))));
        }
        let in_range = move |key: &Result<String, Error>| match key {
            Ok(key) => key.starts_with(beginning),
            Err(_) => true,
        };
        let wanted = move |key: &Result<String, Error>| match key {
            Ok(key) => list.wants(key) && after.is_none_or(|after| key.as_str() > after),
            Err(_) => true,
        };
        Ok(Merged::new(sources).take_while(in_range).filter(wanted))
    }

    fn visit_tail_events(&self, at: Revision, mut visit: impl FnMut(&Event)) -> Result<(), Error> {
        let mut failed = None;
        let from = self.archived().next();
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

    /// Namespaces that existed, by name.
    pub(super) fn namespaces(&self, at: Revision) -> Result<Vec<NamespaceName>, Error> {
        const PREFIX: &str = "namespaces/";
        let mut names = BTreeSet::from([NamespaceName::shared()]);
        if let Some(base) = &self.base {
            names.extend(base.head().namespaces.iter().map(|namespace| namespace.name.clone()));
        }
        for run in self.runs().iter().filter(|run| run.first() <= at.0) {
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
}

/// Keys of a namespace that a run touched up to a revision, in order.
fn keys_of_run<'a>(
    run: &'a Run,
    namespace: &NamespaceName,
    from: &str,
    at: Revision,
) -> impl Iterator<Item = Result<String, Error>> + use<'a> {
    let prefix = format!("state/{namespace}/");
    let first = format!("{prefix}{from}");
    let subjects = run.subjects(Bound::Included(first.as_str()));
    let keys = subjects.map_while(move |subject| match subject {
        Err(error) => Some(Some(Err(error.into()))),
        Ok((subject, revisions)) => {
            let key = subject.strip_prefix(&prefix)?;
            let touched = revisions.first().is_some_and(|first| *first <= at.0);
            Some(touched.then(|| Ok(key.to_owned())))
        }
    });
    keys.flatten()
}

/// Merges several sorted sources, without duplicates.
pub(super) struct Merged<'a> {
    sources: Vec<(Source<'a>, Option<Result<String, Error>>)>,
}

impl<'a> Merged<'a> {
    pub(super) fn new(sources: Vec<Source<'a>>) -> Self {
        let begin = |mut source: Source<'a>| {
            let first = source.next();
            (source, first)
        };
        Self { sources: sources.into_iter().map(begin).collect() }
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<String, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = self.sources.iter_mut().find(|(_, head)| matches!(head, Some(Err(_))));
        if let Some((_, head)) = failed {
            return head.take();
        }
        let heads = self.sources.iter().filter_map(|(_, head)| head.as_ref()?.as_ref().ok());
        let least = heads.min()?.clone();
        for (source, head) in &mut self.sources {
            if matches!(head, Some(Ok(key)) if *key == least) {
                *head = source.next();
            }
        }
        Some(Ok(least))
    }
}

//! Entries at a past revision, in pages.

use baton_core::state::{self, Get, List, Page, Snapshot};
use baton_core::{Entry, NamespaceName, Revision};
use baton_log::Log;

use super::scan::Scan;
use super::{Past, refused};
use crate::error::Error;

/// Keys in order, from one source.
pub(super) type Source<'a, K = String> = Box<dyn Iterator<Item = Result<K, Error>> + 'a>;

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
        let scan = self.scan_namespace(&list.namespace, at)?;
        let limit = state::page_limit(list.limit).map_err(refused)?;
        let mut entries = Vec::new();
        let more = scan.collect(list, list.cursor.as_deref(), limit, &mut entries)?;
        let cursor = entries.last().filter(|_| more).map(|entry| entry.key().to_owned());
        Ok(Page { revision: at, entries, cursor })
    }

    /// `state.snapshot` at a revision.
    pub fn snapshot(&self, snapshot: &Snapshot, at: Revision) -> Result<Page, Error> {
        self.check(at)?;
        let limit = state::page_limit(snapshot.limit).map_err(refused)?;
        let after = snapshot.after().map_err(refused)?;
        let scan = match &snapshot.namespace {
            Some(namespace) => self.scan_namespace(namespace, at)?,
            None => Scan::new(self, None, at)?,
        };
        let mut entries = Vec::new();
        let mut more = false;
        for namespace in scan.namespaces() {
            let key = match &after {
                Some((first, _)) if namespace < first => continue,
                Some((first, key)) if namespace == first => Some(key.as_str()),
                Some(_) | None => None,
            };
            let list = List::all(namespace.clone());
            more = scan.collect(&list, key, limit, &mut entries)?;
            if more {
                break;
            }
        }
        let last = entries.last().filter(|_| more);
        let cursor = last.map(|last| state::snapshot_cursor(last, at));
        Ok(Page { revision: at, entries, cursor })
    }

    /// A scan of one namespace, which must have existed.
    fn scan_namespace(
        &self,
        namespace: &NamespaceName,
        at: Revision,
    ) -> Result<Scan<'_, '_, L>, Error> {
        let scan = Scan::new(self, Some(namespace), at)?;
        if scan.namespaces().next().is_none() {
            let namespace = namespace.clone();
            return Err(refused(state::Rejection::UnknownNamespace { namespace }));
        }
        Ok(scan)
    }

    /// Namespaces that existed, by name.
    pub(super) fn namespaces(&self, at: Revision) -> Result<Vec<NamespaceName>, Error> {
        Ok(Scan::new(self, None, at)?.namespaces().cloned().collect())
    }
}

/// Merges several sorted sources. Of a key that several have, the one of the first source is taken.
pub(super) struct Merged<'a, K = String> {
    sources: Vec<(Source<'a, K>, Option<Next<K>>)>,
}

/// The next key of a source.
type Next<K> = Result<K, Error>;

impl<'a, K> Merged<'a, K> {
    pub(super) fn new(sources: Vec<Source<'a, K>>) -> Self {
        let begin = |mut source: Source<'a, K>| {
            let first = source.next();
            (source, first)
        };
        Self { sources: sources.into_iter().map(begin).collect() }
    }
}

impl<K: AsRef<str>> Iterator for Merged<'_, K> {
    type Item = Result<K, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let failed = self.sources.iter_mut().find(|(_, head)| matches!(head, Some(Err(_))));
        if let Some((_, head)) = failed {
            return head.take();
        }
        let heads = self.sources.iter().enumerate();
        let heads = heads.filter_map(|(index, (_, head))| {
            head.as_ref()?.as_ref().ok().map(|key| (key.as_ref(), index))
        });
        let (_, index) = heads.min()?;
        let (source, head) = &mut self.sources[index];
        let least = std::mem::replace(head, source.next())?.ok()?;
        for (source, head) in &mut self.sources[index + 1..] {
            if matches!(head, Some(Ok(key)) if key.as_ref() == least.as_ref()) {
                *head = source.next();
            }
        }
        Some(Ok(least))
    }
}

//! Queries about current entries.

use super::decide::View;
use super::table::Table;
use super::{Entry, Get, List, Page, Query, Rejection, Reply, Snapshot};
use crate::limits;
use crate::names::{Key, NamespaceName};
use crate::numbers::Revision;
use crate::page;

/// Answers a query about the present; none if it is about the past.
pub(super) fn query(
    table: &Table,
    view: &impl View,
    query: &Query,
    revision: Revision,
) -> Option<Result<Reply, Rejection>> {
    match query {
        Query::Get(Get { namespace, key, at: None }) => Some(get(table, view, namespace, key)),
        Query::List(list) if list.at.is_none() => Some(page(table, view, list, revision)),
        Query::Snapshot(snapshot) if snapshot.at.is_none() => match snapshot.revision() {
            Ok(pinned) if pinned.is_none_or(|pinned| pinned == revision) => {
                Some(snapshot_page(table, view, snapshot, revision))
            }
            Ok(_) => None,
            Err(rejection) => Some(Err(rejection)),
        },
        Query::Get(_)
        | Query::List(_)
        | Query::Snapshot(_)
        | Query::History(_)
        | Query::Diff(_) => None,
    }
}

fn get(
    table: &Table,
    view: &impl View,
    namespace: &NamespaceName,
    key: &Key,
) -> Result<Reply, Rejection> {
    match table.entry(namespace, key) {
        Some(entry) => Ok(Reply::Entry(entry)),
        None if view.rules(namespace).is_none() => {
            Err(Rejection::UnknownNamespace { namespace: namespace.clone() })
        }
        None => Err(Rejection::NotFound { namespace: namespace.clone(), key: key.clone() }),
    }
}

/// The requested page size, if it is valid.
pub fn page_limit(limit: Option<usize>) -> Result<usize, Rejection> {
    match limit {
        None => Ok(limits::PAGE_DEFAULT),
        Some(given) if (1..=limits::PAGE_MAX).contains(&given) => Ok(given),
        Some(given) => Err(Rejection::LimitOutOfRange { given, max: limits::PAGE_MAX }),
    }
}

fn page(
    table: &Table,
    view: &impl View,
    list: &List,
    revision: Revision,
) -> Result<Reply, Rejection> {
    if view.rules(&list.namespace).is_none() {
        return Err(Rejection::UnknownNamespace { namespace: list.namespace.clone() });
    }
    let limit = page_limit(list.limit)?;
    let found = table.listed(list).map(|there| table.shown(&list.namespace, there));
    let (entries, cursor) = page::first(found, limit, |entry| entry.key().to_owned());
    Ok(Reply::Entries(Page { revision, entries, cursor }))
}

fn snapshot_page(
    table: &Table,
    view: &impl View,
    snapshot: &Snapshot,
    revision: Revision,
) -> Result<Reply, Rejection> {
    if let Some(namespace) = &snapshot.namespace
        && view.rules(namespace).is_none()
    {
        return Err(Rejection::UnknownNamespace { namespace: namespace.clone() });
    }
    let limit = page_limit(snapshot.limit)?;
    let after = snapshot.after()?;
    let found = table.everything(snapshot.namespace.as_ref(), after.as_ref());
    let cursor = |entry: &Entry| snapshot_cursor(entry, revision);
    let (entries, cursor) = page::first(found, limit, cursor);
    Ok(Reply::Entries(Page { revision, entries, cursor }))
}

/// The cursor at the end of a page of a snapshot. It contains the revision, so that every page
/// shows the same one.
pub fn snapshot_cursor(entry: &Entry, revision: Revision) -> String {
    format!("{revision}/{}/{}", entry.namespace(), entry.key())
}

/// The revision that a page shows, and the entry that it ended with.
type PageEnd = (Revision, (NamespaceName, Key));

impl Snapshot {
    /// The revision that it names, by itself or by its cursor; none if it is about the present.
    pub fn revision(&self) -> Result<Option<Revision>, Rejection> {
        let pinned = self.place()?.map(|(revision, _)| revision);
        match (self.at, pinned) {
            (Some(at), Some(pinned)) if at != pinned => Err(self.bad_cursor()),
            (at, pinned) => Ok(pinned.or(at)),
        }
    }

    /// The entry that the previous page ended with.
    pub fn after(&self) -> Result<Option<(NamespaceName, Key)>, Rejection> {
        Ok(self.place()?.map(|(_, place)| place))
    }

    /// Reads back what [`snapshot_cursor`] wrote. A namespace has no `/` in its name.
    fn place(&self) -> Result<Option<PageEnd>, Rejection> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let mut parts = cursor.splitn(3, '/');
        let revision = parts.next().and_then(|it| it.parse().ok()).map(Revision);
        let namespace = parts.next().and_then(|it| NamespaceName::parse(it).ok());
        let key = parts.next().and_then(|it| Key::parse(it).ok());
        match (revision, namespace, key) {
            (Some(revision), Some(namespace), Some(key)) => Ok(Some((revision, (namespace, key)))),
            _ => Err(self.bad_cursor()),
        }
    }

    fn bad_cursor(&self) -> Rejection {
        let given = self.cursor.iter().flat_map(|cursor| cursor.chars()).take(80).collect();
        Rejection::BadCursor { given }
    }
}

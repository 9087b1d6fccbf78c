//! Queries about current entries.

use super::decide::View;
use super::table::Table;
use super::{Entry, Get, List, Page, Query, Rejection, Reply, Snapshot};
use crate::limits;
use crate::names::{Key, NamespaceName};
use crate::numbers::Revision;

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
        Query::Snapshot(snapshot) if snapshot.at.is_none() => {
            Some(snapshot_page(table, view, snapshot, revision))
        }
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
    let mut entries: Vec<Entry> = table
        .listed(list)
        .take(limit + 1)
        .map(|there| table.shown(&list.namespace, there))
        .collect();
    let cursor = (entries.len() > limit).then(|| {
        entries.truncate(limit);
        entries.last().map(|entry| entry.key().to_owned()).unwrap_or_default()
    });
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
    let after = snapshot.cursor.as_deref().map(place_of_cursor).transpose()?;
    let mut entries: Vec<Entry> =
        table.everything(snapshot.namespace.as_ref(), after.as_ref()).take(limit + 1).collect();
    let cursor = (entries.len() > limit).then(|| {
        entries.truncate(limit);
        entries.last().map(cursor_of_place).unwrap_or_default()
    });
    Ok(Reply::Entries(Page { revision, entries, cursor }))
}

/// The cursor of a page over several namespaces.
pub fn cursor_of_place(entry: &Entry) -> String {
    format!("{}/{}", entry.namespace(), entry.key())
}

/// Parses the output of [`cursor_of_place`]. The name of a namespace has no `/`.
pub fn place_of_cursor(cursor: &str) -> Result<(NamespaceName, Key), Rejection> {
    let bad = || Rejection::BadCursor { given: cursor.chars().take(80).collect() };
    let (namespace, key) = cursor.split_once('/').ok_or_else(bad)?;
    let namespace = NamespaceName::parse(namespace).map_err(|_| bad())?;
    Ok((namespace, Key::parse(key).map_err(|_| bad())?))
}

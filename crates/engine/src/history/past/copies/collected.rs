//! The data collected for a document: the last change of each key and namespace.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::namespace::rules::Rules;
use baton_core::sync::{Dot, Known, TakenChange, Written};
use baton_core::{
    AgentId, Batch, CopyId, Event, Json, Key, NamespaceName, Timestamp, namespace, state, workspace,
};

use super::EntryKey;

/// The last change of a key.
pub(super) struct LastChange {
    pub(super) value: Option<(Json, Option<Timestamp>)>,
    pub(super) written: Written,
    /// Whether the other copy includes it, or it is not synchronized.
    pub(super) is_left_out: bool,
}

/// The changes up to some revision.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) entries: BTreeMap<EntryKey, LastChange>,
    pub(super) namespaces: BTreeMap<NamespaceName, (Option<Rules>, Written)>,
    pub(super) others: BTreeSet<String>,
    pub(super) bytes: usize,
    pub(super) count: usize,
}

impl Collected {
    /// Adds an event of a batch.
    pub(super) fn add(&mut self, (batch, index): (&Batch, usize), copy: &CopyId, with: &Known) {
        let event = &batch.events[index];
        match event {
            Event::State(event) => {
                let (namespace, key) = event.entry_key();
                let place = (namespace.clone(), key.clone());
                let (value, is_synced, is_bound) = match event {
                    state::Event::Set { value, expires_at, operation, bound_to, .. } => {
                        let is_synced = *operation == state::Operation::Synced;
                        (Some((value.clone(), *expires_at)), is_synced, bound_to.is_some())
                    }
                    state::Event::Deleted { removal, .. } => {
                        (None, *removal == state::Removal::Synced, false)
                    }
                };
                if is_bound {
                    self.others.insert(format!("ephemeral/{namespace}/{key}"));
                }
                let taken = is_synced.then(|| taken(batch, namespace, Some(key))).flatten();
                let written = taken.unwrap_or_else(|| own(batch, index, copy));
                self.put(place, value, written, with, is_bound);
            }
            Event::Namespace(event) => {
                let (name, rules) = match event {
                    namespace::Event::Created { name, rules }
                    | namespace::Event::Configured { name, rules } => (name, Some(rules.clone())),
                    namespace::Event::Deleted { name } => (name, None),
                };
                let written = taken(batch, name, None).unwrap_or_else(|| own(batch, index, copy));
                self.put_namespace(name, rules, written, with);
            }
            event if event.is_public() && !matches!(event, Event::Workspace(_)) => {
                self.others.insert(event.subject());
            }
            _ => {}
        }
    }

    pub(super) fn put_namespace(
        &mut self,
        name: &NamespaceName,
        rules: Option<Rules>,
        written: Written,
        with: &Known,
    ) {
        if with.knows(&written.dots) && !written.is_combined() {
            self.count -= usize::from(self.namespaces.remove(name).is_some());
        } else if self.namespaces.insert(name.clone(), (rules, written)).is_none() {
            self.count += 1;
        }
    }

    pub(super) fn put(
        &mut self,
        place: EntryKey,
        value: Option<(Json, Option<Timestamp>)>,
        written: Written,
        with: &Known,
        is_bound: bool,
    ) {
        // Copies that combined the same writes in another order may have different values: a
        // combined value is listed also to a copy that includes all its writes.
        let is_left_out = is_bound || (with.knows(&written.dots) && !written.is_combined());
        if !is_left_out {
            self.bytes += value.as_ref().map_or(0, |(value, _)| value.as_bytes().len());
        }
        let last = LastChange { value, written, is_left_out };
        let before = self.entries.insert(place, last);
        let was_counted = before.is_some_and(|before| !before.is_left_out);
        self.count += usize::from(!is_left_out);
        self.count -= usize::from(was_counted);
    }
}

/// The event that records a synchronization.
pub(super) fn synced(batch: &Batch) -> Option<&workspace::Synced> {
    batch.events.iter().find_map(|event| match event {
        Event::Workspace(workspace::Event::Synced(synced)) => Some(synced),
        _ => None,
    })
}

/// The writes that had made what a synchronization took from another copy.
pub(super) fn taken(
    batch: &Batch,
    namespace: &NamespaceName,
    key: Option<&Key>,
) -> Option<Written> {
    let is_it = |taken: &&TakenChange| taken.namespace == *namespace && taken.key.as_ref() == key;
    synced(batch)?.taken.iter().find(is_it).map(|taken| taken.written.clone())
}

/// The changes that a synchronization has recorded but not written, since the values were already
/// the same.
pub(super) fn unwritten(batch: &Batch) -> Vec<&TakenChange> {
    let Some(synced) = synced(batch) else { return Vec::new() };
    let written: BTreeSet<(&NamespaceName, Option<&Key>)> = batch
        .events
        .iter()
        .filter_map(|event| match event {
            Event::State(event) => {
                let (namespace, key) = event.entry_key();
                Some((namespace, Some(key)))
            }
            Event::Namespace(event) => Some((event.name(), None)),
            _ => None,
        })
        .collect();
    let is_missing =
        |taken: &&TakenChange| !written.contains(&(&taken.namespace, taken.key.as_ref()));
    synced.taken.iter().filter(is_missing).collect()
}

/// A write of this copy.
pub(super) fn own(batch: &Batch, index: usize, copy: &CopyId) -> Written {
    let by: &AgentId = batch.author(index);
    let dots = vec![Dot { copy: copy.clone(), revision: batch.revision }];
    Written { time: batch.time, by: by.clone(), dots }
}

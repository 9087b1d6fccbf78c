//! Checks that reads of the past, history and differences equal the ledger.

use std::collections::{BTreeMap, BTreeSet};

use baton::error::Error;
use baton_core::state::{
    Change, Diff, Event as StateEvent, Get, History, Rejection as StateRejection,
};
use baton_core::{
    AgentId, Batch, Entry, Event, Json, Key, NamespaceName, Rejection, WorkspaceName, namespace,
};

use super::{Audit, Breach, demand};
use crate::auditor::answers::same_entry;
use crate::auditor::ledger::Ledger;
use crate::models::reaction::acting;
use crate::models::watch::matches;

impl Ledger {
    /// Checks an entry that was read from the past.
    pub fn past_get(&self, get: &Get, at: u64, found: &Result<Entry, Error>) -> Audit {
        let fact = self.entry(&get.namespace, &get.key, at).map(AsRef::as_ref);
        match found {
            Ok(entry) => same_entry(fact, Some(entry)),
            Err(Error::Rejected(Rejection::State(StateRejection::NotFound { .. }))) => {
                let there = self.rules(&get.namespace, at).is_some();
                demand!(fact.is_none() && there, "{get:?} was there at {at}: {fact:?}");
                Ok(())
            }
            Err(Error::Rejected(Rejection::State(StateRejection::UnknownNamespace { .. }))) => {
                let there = self.rules(&get.namespace, at).is_some();
                demand!(!there, "namespace `{}` was there at {at}", get.namespace);
                Ok(())
            }
            Err(error) => Err(Breach(format!("{get:?} at {at} failed: {error}"))),
        }
    }

    /// Checks that a revision is gone. `slack` revisions may be decided but not durable yet.
    pub fn gone(&self, asked: u64, slack: Option<u64>) -> Audit {
        let Some(slack) = slack else { return Ok(()) };
        let floor = self.floor();
        demand!(
            asked < floor + slack,
            "revision {asked} was reported as removed, retention keeps {floor} and later"
        );
        Ok(())
    }

    /// Checks returned changes, newest first, from the newest down to `oldest`.
    pub fn history_shown(
        &self,
        query: &History,
        oldest: u64,
        newest: u64,
        changes: &[Change],
    ) -> Audit {
        let mut shown = changes.iter();
        for revision in (oldest..=newest).rev() {
            let Some(batch) = self.batch(revision) else { continue };
            let by = |change: &Change| query.author.as_ref().is_none_or(|it| *it == change.agent);
            for expected in self.changes_of(batch, query).into_iter().rev().filter(by) {
                let found = shown.next();
                demand!(
                    found == Some(&expected),
                    "history shows {found:?} where {expected:?} is due"
                );
            }
        }
        let more = shown.next();
        demand!(more.is_none(), "history continues with {more:?}");
        Ok(())
    }

    /// The changes of one batch, in order.
    fn changes_of(&self, batch: &Batch, query: &History) -> Vec<Change> {
        let mut values: BTreeMap<(NamespaceName, Key), Option<Json>> = BTreeMap::new();
        let mut deleted: BTreeSet<NamespaceName> = BTreeSet::new();
        let mut changes = Vec::new();
        let before = |values: &mut BTreeMap<_, _>, deleted: &BTreeSet<_>, place: &(_, Key)| {
            values.remove(place).unwrap_or_else(|| {
                let (namespace, key) = place;
                let gone = deleted.contains(namespace);
                if gone { None } else { self.value(namespace, key, batch.revision.0 - 1) }
            })
        };
        for (event, agent) in batch.events.iter().zip(acting(batch)) {
            match event {
                Event::State(changed) => {
                    let (namespace, key) = changed.entry_key();
                    let place = (namespace.clone(), key.clone());
                    let before = before(&mut values, &deleted, &place);
                    let (after, source) = match changed {
                        StateEvent::Set { value, source, .. } => {
                            (Some(value.clone()), source.clone())
                        }
                        StateEvent::Deleted { .. } => (None, None),
                    };
                    values.insert(place, after.clone());
                    if wants(query, namespace, key) {
                        let values = (before, after);
                        let mut change = change(batch, (event, agent), (namespace, key), values);
                        change.source = source;
                        changes.push(change);
                    }
                }
                Event::Namespace(namespace::Event::Deleted { name }) => {
                    // The newest come first, but the entries of a namespace by their keys.
                    let known = self.entries.keys().chain(values.keys());
                    let known = known.filter(|(namespace, key)| {
                        namespace == name && wants(query, namespace, key)
                    });
                    let known: BTreeSet<(NamespaceName, Key)> = known.cloned().collect();
                    for place in known.into_iter().rev() {
                        if let Some(gone) = before(&mut values, &deleted, &place) {
                            let by = (event, agent);
                            let values = (Some(gone), None);
                            changes.push(change(batch, by, (name, &place.1), values));
                        }
                    }
                    values.retain(|(namespace, _), _| namespace != name);
                    deleted.insert(name.clone());
                }
                _ => {}
            }
        }
        changes
    }

    fn value(&self, namespace: &NamespaceName, key: &Key, at: u64) -> Option<Json> {
        self.entry(namespace, key, at).map(|fact| fact.value.clone())
    }

    /// Checks returned differences between two revisions.
    pub fn differs(&self, diff: &Diff, to: u64, changes: &[Change]) -> Audit {
        let from = diff.from.0;
        let mut shown = changes.iter();
        for ((namespace, key), timeline) in &self.entries {
            if diff.namespace.as_ref().is_some_and(|only| only != namespace) {
                continue;
            }
            let (before, after) =
                (self.value(namespace, key, from), self.value(namespace, key, to));
            if before == after {
                continue;
            }
            let Some(found) = shown.next() else {
                return Err(Breach(format!("`{namespace}/{key}` differs and is not listed")));
            };
            let touched = timeline.at_with_revision(from.max(to)).map(|(revision, _)| revision);
            demand!(
                found.namespace == *namespace
                    && found.key == *key
                    && found.old_value == before
                    && found.new_value == after
                    && Some(found.revision.0) == touched,
                "between {from} and {to}, {found:?} is returned where `{namespace}/{key}` is due: \
                 {before:?} became {after:?} at {touched:?}"
            );
        }
        let more = shown.next();
        demand!(more.is_none(), "between {from} and {to}, {more:?} is listed");
        Ok(())
    }

    /// Checks batches that were read back.
    pub fn same_batches(&self, from: u64, batches: &[Batch]) -> Audit {
        for (offset, batch) in batches.iter().enumerate() {
            let revision = from + offset as u64;
            demand!(batch.revision.0 == revision, "revision {revision} is missing");
            let known = self.batch(revision).map(AsRef::as_ref);
            demand!(
                known == Some(batch),
                "revision {revision} is read as {batch:?}, but it is {known:?}"
            );
        }
        Ok(())
    }

    /// The error must be about this workspace.
    pub fn about(&self, error: &Error, workspace: &WorkspaceName) -> Audit {
        match error {
            Error::Gone { workspace: named, .. } | Error::NotYet { workspace: named, .. } => {
                demand!(named == workspace, "`{named}` is named instead of `{workspace}`");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn wants(query: &History, namespace: &NamespaceName, key: &Key) -> bool {
    query.namespace.as_ref().is_none_or(|only| only == namespace)
        && query.key.as_ref().is_none_or(|only| only == key)
        && query.pattern.as_ref().is_none_or(|pattern| matches(pattern.as_str(), key.as_str()))
}

fn change(
    batch: &Batch,
    (event, agent): (&Event, &AgentId),
    (namespace, key): (&NamespaceName, &Key),
    (old_value, new_value): (Option<Json>, Option<Json>),
) -> Change {
    Change {
        revision: batch.revision,
        time: batch.time,
        agent: agent.clone(),
        operation: event.kind().to_owned(),
        namespace: namespace.clone(),
        key: key.clone(),
        old_value,
        new_value,
        source: None,
    }
}

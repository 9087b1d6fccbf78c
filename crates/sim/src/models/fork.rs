//! Forked workspaces, as a small model of their entries.
//!
//! ```text
//!   origin ──1──2── … ──at──────────────▶ continues, audited by its ledger
//!                        │ everything but what was held
//!                        └──began──▶ continues independently, audited here
//! ```
//!
//! Laws:
//!
//! 1. A fork starts with the entries that its origin had at the requested revision, without those
//!    bound to a session.
//! 2. Only its own batches change them: neither later changes of the origin, nor that the origin
//!    drops its history.
//! 3. Acknowledged writes exist after a restart, and nothing else.
//! 4. No fork replaces another, unless that was deleted.
//! 5. A deleted fork is empty, and nothing of it returns; its revisions and versions continue.
//!
//! Deliberately absent: everything but entries. The rest of the initial state is compared, once,
//! with a replay of the origin's ledger (`forking`).

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::state::{Event as StateEvent, Page, Removal};
use baton_core::{Batch, Event, Key, NamespaceName, Timestamp, WorkspaceName, namespace};

use crate::auditor::ledger::{EntryKey, EntryModel, Ledger};
use crate::auditor::reads::same_page;
use crate::auditor::{Audit, demand};
use crate::models::reaction::acting;

/// A forked workspace.
pub struct Fork {
    /// The origin.
    pub origin: WorkspaceName,
    /// The revision of the origin.
    pub at: u64,
    /// Its first revision.
    pub began: u64,
    /// The revision at which it was deleted.
    pub deleted: Option<u64>,
    head: u64,
    /// Its batches, and those of deleted forks of the same name.
    batches: BTreeMap<u64, Arc<Batch>>,
    facts: BTreeMap<EntryKey, EntryModel>,
    /// The last versions of keys that went in the fork.
    gone: BTreeMap<EntryKey, u64>,
}

impl Fork {
    /// A fork of a ledger.
    pub fn new(origin: &WorkspaceName, ledger: &Ledger, at: u64, began: u64) -> Self {
        let facts = ledger.facts(at).filter(|(_, fact)| fact.bound_to.is_none());
        let facts = facts.map(|(place, fact)| (place.clone(), fact.clone())).collect();
        let (batches, gone) = (BTreeMap::new(), BTreeMap::new());
        let (origin, head, deleted) = (origin.clone(), began, None);
        Self { origin, at, began, deleted, head, batches, facts, gone }
    }

    /// Its newest durable revision.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// One of its own batches.
    pub fn batch(&self, revision: u64) -> Option<&Arc<Batch>> {
        self.batches.get(&revision)
    }

    /// Whether it was deleted and nothing was written since.
    pub fn is_deleted(&self) -> bool {
        self.deleted == Some(self.head)
    }

    /// It is deleted.
    pub fn delete(&mut self) {
        let gone = std::mem::take(&mut self.facts).into_iter();
        self.gone.extend(gone.map(|(place, fact)| (place, fact.version)));
        self.deleted = Some(self.head);
    }

    /// Takes the place of a deleted fork of the same name, whose batches may still be in the log.
    pub fn replace(&mut self, deleted: &Self) -> Audit {
        let (began, last) = (self.began, deleted.head);
        demand!(began > last, "a fork begins at {began}, a deleted one had {last}");
        self.batches.clone_from(&deleted.batches);
        self.deleted = Some(last);
        Ok(())
    }

    /// The version of an entry, if it exists at this time. An expired one does not, even before
    /// that is recorded.
    pub fn version(&self, namespace: &NamespaceName, key: &Key, now: Timestamp) -> Option<u64> {
        let fact = self.facts.get(&(namespace.clone(), key.clone()))?;
        fact.expires_at.is_none_or(|end| now < end).then_some(fact.version)
    }

    /// Its next batch is durable.
    pub fn add(&mut self, batch: &Arc<Batch>) -> Audit {
        let (revision, due) = (batch.revision.0, self.head() + 1);
        demand!(revision == due, "a fork continues with {revision}, not with {due}");
        for (event, agent) in batch.events.iter().zip(acting(batch)) {
            match event {
                Event::State(event) => {
                    let (namespace, key) = event.entry_key();
                    let place = (namespace.clone(), key.clone());
                    let before = self.facts.remove(&place);
                    let last = self.gone.get(&place).copied().unwrap_or(0);
                    match changed(batch, event, before.as_ref(), last)? {
                        Some(fact) => {
                            self.facts.insert(place, EntryModel { agent: agent.clone(), ..fact });
                        }
                        None => {
                            let version = before.map_or(last, |before| before.version);
                            self.gone.insert(place, version);
                        }
                    }
                }
                Event::Namespace(namespace::Event::Deleted { name }) => {
                    let gone = self.facts.extract_if(.., |(namespace, _), _| namespace == name);
                    self.gone.extend(gone.map(|(place, fact)| (place, fact.version)));
                }
                _ => {}
            }
        }
        self.batches.insert(revision, Arc::clone(batch));
        self.head = revision;
        Ok(())
    }

    /// Checks that all entries are shown correctly.
    pub fn pictured(&self, page: &Page) -> Audit {
        let (shown, head) = (page.revision.0, self.head());
        demand!(shown == head, "a fork is shown at revision {shown}, it is at {head}");
        let limit = page.entries.len().max(self.facts.len());
        same_page(self.facts.iter(), page, limit, |(namespace, key)| {
            format!("{head}/{namespace}/{key}")
        })
    }
}

/// The entry after an event, if the event is allowed.
fn changed(
    batch: &Batch,
    event: &StateEvent,
    before: Option<&EntryModel>,
    last: u64,
) -> Audit<Option<EntryModel>> {
    let (_, key) = event.entry_key();
    match event {
        StateEvent::Set { value, version, expires_at, bound_to, .. } => {
            // A key that was deleted in the origin continues after the version that it had there.
            let is_due = before.map_or(version.0 > last, |before| version.0 == before.version + 1);
            demand!(is_due, "`{key}` of a fork got version {version} after {before:?} or {last}");
            Ok(Some(EntryModel {
                value: value.clone(),
                version: version.0,
                revision: batch.revision.0,
                time: batch.time,
                agent: batch.agent.clone(),
                expires_at: *expires_at,
                bound_to: bound_to.clone(),
            }))
        }
        StateEvent::Deleted { removal, .. } => {
            demand!(before.is_some(), "`{key}` of a fork went, but was not there");
            let end = before.and_then(|before| before.expires_at);
            let is_due = *removal != Removal::Expired || end.is_some_and(|end| end <= batch.time);
            demand!(is_due, "`{key}` of a fork expired before {end:?}");
            Ok(None)
        }
    }
}

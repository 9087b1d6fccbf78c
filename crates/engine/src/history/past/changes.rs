//! The difference between two revisions.

use std::collections::BTreeSet;

use baton_core::state::{self, Change, Diff, List};
use baton_core::{AgentId, Batch, Event, Json, Key, NamespaceName, Revision, limits, namespace};
use baton_log::Log;

use super::{Past, deletes};
use crate::error::Error;

impl<L: Log> Past<'_, L> {
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

pub(super) fn change(
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

//! The table of secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::vocabulary::{Event, Secret};
use crate::names::SecretId;
use crate::primitive;
use crate::space::batch::Moment;
use crate::time::Timestamp;

/// All secrets, without their values. Changes only by `Table::evolve` and `Table::undo`.
#[derive(Default)]
pub struct Table {
    secrets: BTreeMap<SecretId, Secret>,
    bytes: u64,
    ends: BTreeSet<(Timestamp, SecretId)>,
    /// How many were removed, so that the blob sweep knows that there are blobs to delete.
    gone: u64,
}

/// How to undo one change: the previous secret.
pub struct Undo {
    secret: SecretId,
    before: Option<Secret>,
}

impl primitive::Table for Table {
    type Event = Event;
    type Undo = Undo;
    type Facts = (u64, Vec<Secret>);

    fn evolve(&mut self, event: &Event, moment: &Moment<'_>) -> Undo {
        let before = self.secrets.get(event.secret());
        let after = match event {
            Event::Put { secret, bytes, name, expires_at } => {
                assert!(before.is_none(), "a reference is given once");
                Some(Secret {
                    secret: secret.clone(),
                    name: name.clone(),
                    bytes: *bytes,
                    put_by: moment.agent.clone(),
                    put_at: moment.time,
                    expires_at: *expires_at,
                    reveals: 0,
                    revealed_to: None,
                    revealed_at: None,
                })
            }
            Event::Revealed { .. } => before.map(|before| Secret {
                reveals: before.reveals + 1,
                revealed_to: Some(moment.agent.clone()),
                revealed_at: Some(moment.time),
                ..before.clone()
            }),
            Event::Deleted { .. } | Event::Expired { .. } => {
                self.gone += 1;
                None
            }
        };
        let secret = event.secret().clone();
        let before = self.replace(&secret, after);
        Undo { secret, before }
    }

    fn undo(&mut self, undo: Undo) {
        if undo.before.is_some() && !self.secrets.contains_key(&undo.secret) {
            self.gone -= 1;
        }
        self.replace(&undo.secret, undo.before);
    }

    fn facts(&self) -> Self::Facts {
        (self.gone, self.secrets.values().cloned().collect())
    }

    fn restore((gone, secrets): Self::Facts) -> Self {
        let mut table = Self { gone, ..Self::default() };
        for secret in secrets {
            table.replace(&secret.secret.clone(), Some(secret));
        }
        table
    }

    fn check(&self) {
        let ends = self.secrets.values();
        let ends = ends.filter_map(|it| it.expires_at.map(|end| (end, it.secret.clone())));
        assert_eq!(ends.collect::<BTreeSet<_>>(), self.ends, "what was given a time ends");
    }

    fn next_deadline(&self) -> Option<Timestamp> {
        self.ends.first().map(|(moment, _)| *moment)
    }
}

impl Table {
    fn replace(&mut self, secret: &SecretId, after: Option<Secret>) -> Option<Secret> {
        let before = self.secrets.remove(secret);
        self.bytes -= before.as_ref().map_or(0, |before| before.bytes);
        self.bytes += after.as_ref().map_or(0, |after| after.bytes);
        if let Some(end) = before.as_ref().and_then(|before| before.expires_at) {
            self.ends.remove(&(end, secret.clone()));
        }
        if let Some(after) = after {
            self.ends.extend(after.expires_at.map(|end| (end, secret.clone())));
            self.secrets.insert(secret.clone(), after);
        }
        before
    }

    /// How many bytes all values have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The record of a secret, without its value.
    pub fn get(&self, secret: &SecretId) -> Option<&Secret> {
        self.secrets.get(secret)
    }

    /// Secrets by reference, after this one.
    pub fn after(&self, cursor: Option<&SecretId>) -> impl Iterator<Item = &Secret> {
        let from = cursor.map_or(Bound::Unbounded, Bound::Excluded);
        self.secrets.range::<SecretId, _>((from, Bound::Unbounded)).map(|(_, secret)| secret)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// How many have been removed.
    pub fn gone(&self) -> u64 {
        self.gone
    }

    /// Expired secrets.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &SecretId> {
        let over = self.ends.iter().take_while(move |(moment, _)| *moment <= now);
        over.map(|(_, secret)| secret)
    }
}

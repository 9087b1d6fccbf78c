//! The last versions of keys that are gone, so that no version of a key is used twice.
//!
//! A version that was read before a key was deleted must not match the key that was created again.
//! So a key that is created again continues after its last version. At most
//! [`limits::RETIRED_VERSIONS_MAX`] of them are kept by key; when the oldest is dropped, every key
//! that is not listed starts above it from then on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::names::{Key, NamespaceName};

type EntryKey = (NamespaceName, Key);

/// The last versions of keys that are gone.
#[derive(Default)]
pub(super) struct Retired {
    by_key: BTreeMap<EntryKey, LastVersion>,
    /// The keys by the order in which they went.
    by_age: BTreeMap<u64, EntryKey>,
    next_age: u64,
    /// No key that is not listed ever had a version above this one.
    floor: u32,
}

/// The last version of a key, and when it went in relation to others.
#[derive(Clone, Copy)]
pub(super) struct LastVersion {
    version: u32,
    age: u64,
}

/// The last versions of keys that are gone, for a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetiredVersions {
    /// No key that is not listed ever had a version above this one.
    pub floor: u32,
    /// Keys with their last versions, in the order in which they went.
    pub keys: Vec<(NamespaceName, Key, u32)>,
}

impl RetiredVersions {
    /// Whether no entry was ever deleted.
    pub fn is_empty(&self) -> bool {
        self.floor == 0 && self.keys.is_empty()
    }
}

impl Retired {
    /// The last version of a key that is not there; 0 if it is new.
    pub(super) fn version(&self, namespace: &NamespaceName, key: &Key) -> u32 {
        if self.by_key.is_empty() {
            return self.floor;
        }
        let found = self.by_key.get(&(namespace.clone(), key.clone()));
        found.map_or(self.floor, |last| last.version)
    }

    /// Whether every key that is not there is new.
    pub(super) fn is_empty(&self) -> bool {
        self.floor == 0 && self.by_key.is_empty()
    }

    /// A key is gone.
    pub(super) fn add(&mut self, namespace: &NamespaceName, key: &Key, version: u32) {
        // A key that cannot be counted further starts again when it is deleted.
        if version == u32::MAX {
            return;
        }
        let last = LastVersion { version, age: self.next_age };
        self.next_age += 1;
        self.put_back(namespace, key, last);
    }

    /// A key is there again: returns what [`Retired::put_back`] takes.
    pub(super) fn take(&mut self, namespace: &NamespaceName, key: &Key) -> Option<LastVersion> {
        if self.by_key.is_empty() {
            return None;
        }
        let last = self.by_key.remove(&(namespace.clone(), key.clone()))?;
        self.by_age.remove(&last.age);
        Some(last)
    }

    /// A key is gone as it was before.
    pub(super) fn put_back(&mut self, namespace: &NamespaceName, key: &Key, last: LastVersion) {
        let place = (namespace.clone(), key.clone());
        self.by_age.insert(last.age, place.clone());
        self.by_key.insert(place, last);
    }

    /// No key that is not listed ever had a version above this one; returns the one before.
    pub(super) fn raise_floor(&mut self, version: u32) -> u32 {
        let raised = if version == u32::MAX { self.floor } else { self.floor.max(version) };
        std::mem::replace(&mut self.floor, raised)
    }

    /// No key that is gone ever had a version above this one.
    pub(super) fn newest(&self) -> u32 {
        let versions = self.by_key.values().map(|last| last.version);
        versions.max().unwrap_or(0).max(self.floor)
    }

    /// Takes back [`Retired::raise_floor`].
    pub(super) fn lower_floor(&mut self, before: u32) {
        self.floor = before;
    }

    /// Forgets the oldest keys beyond the limit.
    pub(super) fn trim(&mut self) {
        while self.by_key.len() > limits::RETIRED_VERSIONS_MAX {
            let (_, place) = self.by_age.pop_first().expect("every key has an age");
            let last = self.by_key.remove(&place).expect("every age has a key");
            self.raise_floor(last.version);
        }
    }

    /// For a snapshot.
    pub(super) fn facts(&self) -> RetiredVersions {
        let key = |place: &EntryKey| (place.0.clone(), place.1.clone(), self.by_key[place].version);
        RetiredVersions { floor: self.floor, keys: self.by_age.values().map(key).collect() }
    }

    /// From a snapshot.
    pub(super) fn restore(facts: RetiredVersions) -> Self {
        let mut retired = Self { floor: facts.floor, ..Self::default() };
        for (namespace, key, version) in facts.keys {
            retired.add(&namespace, &key, version);
        }
        retired
    }

    /// Asserts what must always be true.
    pub(super) fn check(&self, is_there: impl Fn(&NamespaceName, &Key) -> bool) {
        assert_eq!(self.by_key.len(), self.by_age.len(), "every key that is gone has an age");
        for (place, last) in &self.by_key {
            assert!(!is_there(&place.0, &place.1), "what is gone is not there");
            assert_eq!(self.by_age.get(&last.age), Some(place), "it is listed by its age");
        }
    }
}

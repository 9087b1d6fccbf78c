//! Which records reference which artifacts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeBounds;

use super::Holder;
use crate::names::ArtifactId;

/// References, indexed by holder and by artifact.
///
/// Only existing artifacts are referenced: a mention from before the upload, or in a log of an
/// earlier version, does not keep an artifact.
#[derive(Default)]
pub struct References {
    by_holder: BTreeMap<Holder, Vec<ArtifactId>>,
    by_artifact: BTreeMap<ArtifactId, BTreeSet<Holder>>,
}

impl References {
    /// Sets the references of a holder, sorted and without duplicates; returns the previous ones.
    pub fn replace(&mut self, holder: &Holder, after: Vec<ArtifactId>) -> Vec<ArtifactId> {
        let before = self.by_holder.remove(holder).unwrap_or_default();
        for artifact in before.iter().filter(|artifact| after.binary_search(artifact).is_err()) {
            if let Some(holders) = self.by_artifact.get_mut(artifact) {
                holders.remove(holder);
                if holders.is_empty() {
                    self.by_artifact.remove(artifact);
                }
            }
        }
        for artifact in &after {
            self.by_artifact.entry(artifact.clone()).or_default().insert(holder.clone());
        }
        if !after.is_empty() {
            self.by_holder.insert(holder.clone(), after);
        }
        before
    }

    /// The references of a holder.
    pub fn of(&self, holder: &Holder) -> &[ArtifactId] {
        self.by_holder.get(holder).map_or(&[], Vec::as_slice)
    }

    /// The holders that reference an artifact.
    pub fn holders(&self, artifact: &ArtifactId) -> impl ExactSizeIterator<Item = &Holder> {
        static NOBODY: BTreeSet<Holder> = BTreeSet::new();
        self.by_artifact.get(artifact).unwrap_or(&NOBODY).iter()
    }

    /// Whether anything references an artifact.
    pub fn is_held(&self, artifact: &ArtifactId) -> bool {
        self.by_artifact.contains_key(artifact)
    }

    /// The holders within a range.
    pub fn within(&self, range: impl RangeBounds<Holder>) -> impl Iterator<Item = &Holder> {
        self.by_holder.range(range).map(|(holder, _)| holder)
    }

    /// Whether there are no references.
    pub fn is_empty(&self) -> bool {
        self.by_holder.is_empty()
    }

    /// All holders and their references.
    pub fn all(&self) -> impl Iterator<Item = (&Holder, &[ArtifactId])> {
        self.by_holder.iter().map(|(holder, artifacts)| (holder, artifacts.as_slice()))
    }

    /// Asserts that both indexes agree.
    pub fn check(&self) {
        let named: usize = self.by_holder.values().map(Vec::len).sum();
        let held: usize = self.by_artifact.values().map(BTreeSet::len).sum();
        assert_eq!(named, held, "what is named is held");
        for (holder, artifacts) in &self.by_holder {
            assert!(artifacts.is_sorted_by(|one, next| one < next), "each is named once");
            for artifact in artifacts {
                assert!(self.by_artifact[artifact].contains(holder), "`{holder}` holds it");
            }
        }
    }
}

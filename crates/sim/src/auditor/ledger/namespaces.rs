//! Namespaces according to the log.

use std::sync::Arc;

use baton_core::{Batch, namespace};

use super::Ledger;
use crate::auditor::{Audit, demand};
use crate::coverage::Coverage;

impl Ledger {
    pub(super) fn add_namespace(
        &mut self,
        batch: &Batch,
        event: &namespace::Event,
        coverage: &mut Coverage,
    ) -> Audit {
        let (name, revision) = (event.name(), batch.revision.0);
        let timeline = self.namespaces.entry(name.clone()).or_default();
        let there = timeline.now().is_some_and(Option::is_some);
        match event {
            namespace::Event::Created { rules, .. } => {
                demand!(!there, "namespace `{name}` was created although it was there");
                timeline.set(revision, Some(Arc::new(rules.clone())));
            }
            namespace::Event::Configured { rules, .. } => {
                demand!(there, "namespace `{name}` was configured but is not there");
                timeline.set(revision, Some(Arc::new(rules.clone())));
            }
            namespace::Event::Deleted { .. } => {
                demand!(there, "namespace `{name}` was deleted but is not there");
                timeline.set(revision, None);
                let within = self.entries.iter_mut().filter(|(place, timeline)| {
                    place.0 == *name && timeline.now().is_some_and(Option::is_some)
                });
                let mut gone = Vec::new();
                for (_, timeline) in within {
                    gone.extend(timeline.now().cloned().flatten());
                    timeline.set(revision, None);
                }
                if !gone.is_empty() {
                    coverage.met("batch: namespace deleted with entries");
                }
                for fact in gone {
                    self.let_go(batch, &fact.value, coverage);
                }
            }
        }
        Ok(())
    }
}

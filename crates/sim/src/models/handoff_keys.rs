//! The keys of hand-offs according to the log: which ones a hand-off selects, what an approval of
//! them is bound to, and what the receiver got.

use baton_core::handoff::{Handoff, Receipt, Selected};
use baton_core::{NamespaceName, Pattern};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, Breach, demand};
use crate::models::handoff::ApprovedVersions;

impl Ledger {
    /// The versions that an approval of a hand-off would be bound to after a revision.
    pub(crate) fn seen(&self, handoff: &Handoff, at: u64) -> ApprovedVersions {
        let versions = self.chosen(handoff, at).into_iter().map(|selected| {
            let entry = self.named(selected.name.as_str(), at);
            (selected.name, entry.map_or(0, |entry| entry.version))
        });
        let task = handoff.task.as_ref().and_then(|task| self.tasks.at(task, at));
        ApprovedVersions {
            versions: versions.collect(),
            result: task.and_then(|work| work.result.clone()),
        }
    }

    /// The keys that a hand-off selects after a revision: those that it names, and in the place of
    /// a pattern the existing ones that match it and are not selected otherwise.
    pub(crate) fn chosen(&self, handoff: &Handoff, at: u64) -> Vec<Selected> {
        let is_pattern = |it: &Selected| it.version.is_none() && it.name.key().contains('*');
        let mut chosen: Vec<Selected> = Vec::new();
        for selected in &handoff.keys {
            if !is_pattern(selected) {
                chosen.push(selected.clone());
                continue;
            }
            let pattern = Pattern::parse(selected.name.key()).expect("it was accepted");
            let names = self.keys_at(selected.name.namespace(), at).into_iter();
            for name in names.filter(|name| pattern.matches(name.key())) {
                let named = handoff.keys.iter().filter(|it| !is_pattern(it));
                if named.chain(&chosen).all(|other| other.name != name) {
                    chosen.push(Selected { name, version: None });
                }
            }
        }
        chosen
    }

    /// Whether the selected keys have the required versions.
    pub(crate) fn versions_fit(&self, handoff: &Handoff) -> bool {
        self.chosen(handoff, u64::MAX).iter().all(|selected| {
            let there = self.named(selected.name.as_str(), u64::MAX).map_or(0, |it| it.version);
            selected.version.is_none_or(|wanted| wanted.0 == there)
        })
    }

    /// Checks that a receipt describes every selected key correctly.
    pub(crate) fn check_receipt(&self, handoff: &Handoff, receipt: Option<&Receipt>) -> Audit {
        let Some(receipt) = receipt else { return Err(Breach("there is no receipt".to_owned())) };
        let own = NamespaceName::of_agent(&handoff.from);
        let mut taken = receipt.keys.iter();
        let mut left_out = receipt.left_out.iter();
        for selected in self.chosen(handoff, u64::MAX) {
            let name = &selected.name;
            let is_own = name.namespace() == own.as_str();
            let fits = match self.named(name.as_str(), u64::MAX) {
                None => left_out.next().is_some_and(|out| out.key == *name),
                Some(entry) => taken.next().is_some_and(|taken| {
                    taken.key == *name
                        && taken.version.0 == entry.version
                        && taken.bytes == entry.value.as_bytes().len() as u64
                        && taken.moved == (is_own && !handoff.copy)
                        && taken.copied == (is_own && handoff.copy)
                }),
            };
            demand!(fits, "`{name}` differs from {receipt:?}");
        }
        demand!(taken.next().is_none() && left_out.next().is_none(), "{receipt:?} contains more");
        Ok(())
    }
}

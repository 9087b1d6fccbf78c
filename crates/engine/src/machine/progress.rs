//! The workspaces with new commits, for followers of all of them.

use std::collections::BTreeMap;

use baton_core::{Revision, WorkspaceName};

use super::Machine;

impl Machine {
    /// Workspaces in memory or in the log with commits after the given revisions, in no order, and
    /// how far each is durable. Only their names are copied: most have no new commits.
    pub fn advanced(
        &self,
        seen: &BTreeMap<WorkspaceName, Revision>,
    ) -> Vec<(WorkspaceName, Revision)> {
        let residents = self.residents.iter().map(|(name, there)| (name, &there.history.tail));
        let tails = residents.chain(&self.tails);
        let durable = tails.map(|(name, tail)| (name, Revision(tail.next().0 - 1)));
        let is_news = |(name, durable): &(&WorkspaceName, Revision)| {
            *durable > seen.get(*name).copied().unwrap_or_default()
        };
        durable.filter(is_news).map(|(name, durable)| (name.clone(), durable)).collect()
    }
}

//! Queries of a space, and preconditions.

use super::Space;
use crate::contracts;
use crate::rejection::Rejection;
use crate::transaction::Precondition;

impl Space {
    pub(super) fn check_precondition(
        &self,
        index: usize,
        precondition: Precondition,
    ) -> Result<(), Rejection> {
        let mut entry = None;
        let holds = match &precondition {
            Precondition::Entry { namespace, key, version, exists, value } => {
                entry = self.state.entry(namespace, key);
                let found = entry.as_ref();
                let present = found.map_or(0, |entry| entry.version().0);
                version.is_none_or(|version| version.0 == present)
                    && exists.is_none_or(|exists| exists == found.is_some())
                    && value.as_ref().is_none_or(|value| {
                        found.is_some_and(|entry| entry.json().same_value(value))
                    })
            }
            Precondition::Namespace { name, exists } => {
                self.namespace.get(name).is_some() == *exists
            }
            Precondition::Agent { agent, active } => self.agent.is_active(agent) == *active,
            Precondition::Token(token) => self.is_live(*token),
            Precondition::Revision(revision) => *revision == self.revision,
        };
        if holds {
            return Ok(());
        }
        Err(Rejection::PreconditionFailed {
            index,
            precondition: Box::new(precondition),
            entry: entry.map(Box::new),
            revision: self.revision,
        })
    }

    pub(super) fn contracts(
        &self,
        query: &contracts::Query,
    ) -> Result<contracts::Reply, contracts::Rejection> {
        match query {
            contracts::Query::Show { pattern, limit, cursor } => {
                contracts::show(self, pattern.as_ref(), *limit, cursor.as_deref())
            }
            contracts::Query::Check { namespace, schema } => {
                contracts::check(self, namespace.as_ref(), schema.as_ref())
            }
        }
    }

    /// How many entries, namespaces and agents there are.
    pub(crate) fn counts(&self) -> [u64; 3] {
        let entries = self.state.namespaces().map(|(_, entries)| entries.len()).sum();
        let counts: [usize; 3] = [entries, self.namespace.len(), self.agent.len()];
        counts.map(|count| count as u64)
    }
}

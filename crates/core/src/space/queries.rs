//! Queries of a space, and preconditions.

use super::Space;
use crate::contracts;
use crate::names::AgentId;
use crate::rejection::Rejection;
use crate::transaction::Precondition;

impl Space {
    pub(super) fn check_precondition(
        &self,
        index: usize,
        precondition: Precondition,
        caller: &AgentId,
    ) -> Result<(), Rejection> {
        let (mut entry, mut holder) = (None, None);
        let (mut task_status, mut handoff_status) = (None, None);
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
            Precondition::Task { task, status, holder: by } => {
                let found = self.task.get(task);
                task_status = found.map(|found| found.status);
                holder = found.and_then(|found| Some(found.lease.as_ref()?.holder.clone()));
                found.is_some_and(|found| status.is_none_or(|status| status == found.status))
                    && by.as_ref().is_none_or(|by| holder.as_ref() == Some(by))
            }
            Precondition::Lock { name, held, holder: by } => {
                holder = self.lock.hold(name).map(|hold| hold.holder.clone());
                held.is_none_or(|held| held == holder.is_some())
                    && by.as_ref().is_none_or(|by| holder.as_ref() == Some(by))
            }
            Precondition::Handoff { handoff, status } => {
                handoff_status = self.handoff.get(handoff).map(|found| found.status);
                handoff_status == Some(*status)
            }
            Precondition::Token(token) => {
                self.check_holder(*token, caller)?;
                self.is_live(*token)
            }
            Precondition::Revision(revision) => *revision == self.revision,
        };
        if holds {
            return Ok(());
        }
        Err(Rejection::PreconditionFailed {
            index,
            precondition: Box::new(precondition),
            entry: entry.map(Box::new),
            task_status,
            handoff_status,
            holder,
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

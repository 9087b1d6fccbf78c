//! The fast path of frequent operations; see [`Space::fast_set`](baton_core::Space::fast_set).

use baton_core::{AgentId, Answer, FastSet, Reply, Timestamp, WorkspaceName, state};

use super::{Held, Machine};
use crate::admission::HeldAnswer;

impl Machine {
    /// Sets an entry, if the fast path applies and there are no watchers; otherwise it has no
    /// effect.
    pub fn fast_set(
        &mut self,
        workspace: &WorkspaceName,
        set: &FastSet<'_>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<HeldAnswer> {
        let resident = self.residents.get_mut(workspace)?;
        if !resident.watchers.is_empty() || resident.is_blocked() {
            return None;
        }
        let before = resident.space.revision();
        let local = resident.local(now);
        let entry = resident.space.fast_set(set, agent, local)?;
        resident.used_at = now;
        resident.enter(&mut self.open, workspace, before);
        // It neither starts nor ends a wait: the next deadline is unchanged.
        let bytes = self.open.add_set(resident.group_slot, &entry, resident.deadline);
        resident.bytes_since_snapshot += u64::from(bytes);
        let (revision, reply) = (entry.revision(), Reply::State(state::Reply::Entry(entry)));
        Some(Held::new(Ok(Answer { revision, reply }), self.open.number))
    }

    /// Reads an entry, if it exists and the fast path applies.
    pub fn fast_get(
        &mut self,
        workspace: &WorkspaceName,
        (namespace, key): (&str, &str),
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<HeldAnswer> {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_blocked())?;
        let entry = resident.space.fast_get(namespace, key)?;
        resident.hear(&mut self.deadlines, workspace, agent, now);
        resident.is_read = true;
        let touched = entry.revision();
        Some(resident.seen(Ok(Reply::State(state::Reply::Entry(entry))), touched, self.durable))
    }
}

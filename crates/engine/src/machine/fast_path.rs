//! The fast path of frequent operations; see [`Space::fast_set`](baton_core::Space::fast_set).

use std::sync::Arc;

use baton_core::{AgentId, Batch, FastSet, Reply, Timestamp, WorkspaceName, state};

use super::{Held, Machine};
use crate::admission::HeldAnswer;

impl Machine {
    /// Sets an entry, if the fast path applies; otherwise it has no effect.
    pub fn fast_set(
        &mut self,
        workspace: &WorkspaceName,
        set: &FastSet<'_>,
        agent: &AgentId,
        now: Timestamp,
    ) -> Option<HeldAnswer> {
        let resident = self.residents.get_mut(workspace).filter(|there| !there.is_blocked())?;
        let before = resident.space.revision();
        let local = resident.local(now);
        let mut write = resident.space.fast_set(set, agent, local)?;
        resident.used_at = now;
        resident.enter(&mut self.open, workspace, before);
        let is_watched = !resident.watchers.is_empty();
        // It neither starts nor ends a wait: the next deadline is unchanged.
        let (slot, deadline) = (resident.group_slot, resident.deadline);
        let receipt = write.receipt.take();
        let written = (&write.entry, receipt.as_ref());
        let bytes = self.open.add_set(slot, written, deadline);
        if is_watched {
            // Its receipt is internal: watches do not receive it.
            let batch = Arc::new(Batch::of_set(&write.entry));
            self.open.watched.push((workspace.clone(), batch));
        }
        resident.bytes_since_snapshot += u64::from(bytes);
        Some(Held::new(Ok(write.into_answer()), self.open.number))
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

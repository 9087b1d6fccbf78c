//! Checks that a stage of a manual pipeline can be started again when the session of its worker
//! ends.
//!
//! 1. A stage is abandoned only in the batch that ends the session of the agent that works on it.
//! 2. After that batch, that agent works on no stage that it had started before.

use std::collections::BTreeSet;

use baton_core::pipeline::{Event, StageStatus};
use baton_core::{AgentId, Batch, Event as AnyEvent};

use crate::auditor::ledger::Ledger;
use crate::auditor::{Audit, demand};
use crate::models::pipeline::{PipelineModel, StageModel};

impl Ledger {
    /// A batch is complete: checks the stages of the agents whose sessions it has ended.
    pub(crate) fn check_stage_workers(&self, batch: &Batch, ended: &BTreeSet<AgentId>) -> Audit {
        for event in &batch.events {
            if let AnyEvent::Pipeline(Event::StageAbandoned { worker, .. }) = event {
                demand!(ended.contains(worker), "`{worker}` is there, its stage was abandoned");
            }
        }
        if ended.is_empty() {
            return Ok(());
        }
        for (name, before) in self.pipelines.all_at(batch.revision.0 - 1) {
            let Some(after) = self.pipelines.at(name, batch.revision.0) else { continue };
            for (stage, worker, attempts) in running(before) {
                let stays = running(after).any(|now| now == (stage, worker, attempts));
                let is_kept = stays && ended.contains(worker);
                demand!(!is_kept, "`{worker}` went, and stage {stage} of `{name}` stayed");
            }
        }
        Ok(())
    }
}

impl StageModel {
    /// It can be started again.
    pub(super) fn abandoned(&mut self, worker: &AgentId, by_hand: bool) -> Audit {
        demand!(by_hand, "it has tasks, which are released");
        let is_at_work = self.status == StageStatus::Running;
        demand!(is_at_work && self.worker.as_ref() == Some(worker), "`{worker}` was not at it");
        (self.status, self.input) = (StageStatus::Ready, None);
        Ok(())
    }
}

/// The stages that agents work on, with their numbers, workers and attempts.
fn running(state: &PipelineModel) -> impl Iterator<Item = (usize, &AgentId, u64)> {
    let stages = state.stages.iter().enumerate().filter(|_| !state.automatic);
    stages
        .filter(|(_, model)| model.status == StageStatus::Running)
        .filter_map(|(stage, model)| Some((stage, model.worker.as_ref()?, model.attempts)))
}

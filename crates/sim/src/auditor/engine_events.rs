//! The commits that the engine may make on its own.

use std::collections::BTreeSet;

use baton_core::agent::Event as AgentEvent;
use baton_core::artifact::Event as ArtifactEvent;
use baton_core::checkpoint::{Event as CheckpointEvent, Why};
use baton_core::contract::Event as ContractEvent;
use baton_core::secret::Event as SecretEvent;
use baton_core::state::{Event as StateEvent, Removal};
use baton_core::task::Event as TaskEvent;
use baton_core::waiting::wait::Step;
use baton_core::{AgentId, Batch, Event};

use super::{Audit, demand};
use crate::auditor::ledger::EntryModel;
use crate::models::pipeline;
use crate::models::reaction;

/// Whether the engine may do this on its own: because of time, or because a caller is gone.
pub fn is_by_engine(event: &Event) -> bool {
    const CAUSED: &str = "passed expired dropped gave_up withdrawn ready failed cancelled settled \
                          answered undelivered taken_back handed_off \
                          returned died timed_out lost rerouted handlers_gone";
    match event {
        Event::State(event) => {
            let caused = [Removal::Expired, Removal::LetGo];
            matches!(event, StateEvent::Deleted { removal, .. } if caused.contains(removal))
        }
        Event::Agent(event) => matches!(event, AgentEvent::Lost { .. }),
        // The session of a holder ended, or the offer of a task that it had left behind.
        Event::Task(TaskEvent::Abandoned { .. } | TaskEvent::Released { .. }) => true,
        Event::Lock(_)
        | Event::Message(_)
        | Event::Stream(_)
        | Event::Semaphore(_)
        | Event::Barrier(_)
        | Event::Task(_)
        | Event::Join(_)
        | Event::Wait(_)
        | Event::Handoff(_) => {
            let (_, what) = event.kind().split_once('.').unwrap_or_default();
            matches!(event.wait(), Some(Step::Granted(_)))
                || CAUSED.split(' ').any(|caused| caused == what)
        }
        Event::Checkpoint(event) => {
            matches!(event, CheckpointEvent::Pruned { why: Why::Age, .. })
        }
        Event::Artifact(event) => matches!(event, ArtifactEvent::Expired { .. }),
        Event::Secret(event) => matches!(event, SecretEvent::Expired { .. }),
        // The answer to a waiting call.
        Event::Receipt(receipt) => receipt.agent.is_some(),
        Event::Pipeline(event) => pipeline::is_by_engine(event),
        Event::Reaction(event) => reaction::is_by_engine(event),
        Event::Contract(event) => matches!(event, ContractEvent::Broken { .. }),
        Event::Namespace(_)
        | Event::Topic(_)
        | Event::Rule(_)
        | Event::Spend(_)
        | Event::UserEvent(_)
        | Event::Workspace(_)
        | Event::Awaited(_) => false,
    }
}

/// An entry is removed without a request only for a reason.
pub fn check_removal(
    batch: &Batch,
    before: &EntryModel,
    removal: Removal,
    ended: &BTreeSet<AgentId>,
) -> Audit {
    match removal {
        Removal::Expired => {
            demand!(batch.agent == AgentId::engine(), "an entry was expired by an agent");
            demand!(
                before.expires_at.is_some_and(|moment| moment <= batch.time),
                "an entry expired at {} although it ends at {:?}",
                batch.time,
                before.expires_at
            );
        }
        Removal::LetGo => demand!(
            before.bound_to.as_ref().is_some_and(|agent| ended.contains(agent)),
            "an entry was released although the session that it is bound to has not ended"
        ),
        Removal::Deleted | Removal::TransferredAway | Removal::Synced => {}
    }
    Ok(())
}

//! What the engine may do by itself.

use baton_core::Event;
use baton_core::agent::Event as AgentEvent;
use baton_core::artifact::Event as ArtifactEvent;
use baton_core::checkpoint::{Event as CheckpointEvent, Why};
use baton_core::secret::Event as SecretEvent;
use baton_core::state::{Event as StateEvent, Removal};
use baton_core::wait::Step;

use super::{pipelines, reactions};

/// Whether the engine may do this by itself: because of time, or because somebody is gone.
pub fn is_caused(event: &Event) -> bool {
    const CAUSED: &str = "expired dropped gave_up withdrawn ready failed cancelled settled \
                          answered undelivered taken_back handed_off";
    match event {
        Event::State(event) => {
            let caused = [Removal::Expired, Removal::LetGo];
            matches!(event, StateEvent::Deleted { removal, .. } if caused.contains(removal))
        }
        Event::Agent(event) => matches!(event, AgentEvent::Lost { .. }),
        Event::Lock(_)
        | Event::Message(_)
        | Event::Stream(_)
        | Event::Semaphore(_)
        | Event::Barrier(_)
        | Event::Task(_)
        | Event::Join(_)
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
        // An answer to somebody who waited.
        Event::Receipt(receipt) => receipt.agent.is_some(),
        Event::Pipeline(event) => pipelines::is_caused(event),
        Event::Reaction(event) => reactions::is_caused(event),
        Event::Namespace(_)
        | Event::Topic(_)
        | Event::Rule(_)
        | Event::Bus(_)
        | Event::Workspace(_)
        | Event::Awaited(_) => false,
    }
}

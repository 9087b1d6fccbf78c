//! The empty namespace of a forgotten agent is deleted.

use crate::agent::Event;
use crate::names::NamespaceName;
use crate::namespace;
use crate::signal::Consequence;
use crate::space::Space;

/// Fleets whose agents have a new id every time would otherwise fill the workspace with unused
/// namespaces. One with entries stays, because they may still be needed.
pub(super) fn a_forgotten_agent_leaves_no_empty_namespace(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    match event {
        Event::Forgotten { agent } => {
            let name = NamespaceName::of_agent(agent);
            let is_empty = space.namespace.get(&name).is_some() && space.state.count(&name) == 0;
            let delete = is_empty.then(|| namespace::Command::Delete { name }.into());
            delete.into_iter().collect()
        }
        Event::Joined { .. } | Event::Seen { .. } | Event::Left { .. } | Event::Lost { .. } => {
            Vec::new()
        }
    }
}

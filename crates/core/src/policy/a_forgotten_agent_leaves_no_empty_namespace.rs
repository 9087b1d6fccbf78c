//! An agent that is forgotten leaves no empty namespace behind.

use crate::agent::Event;
use crate::command::Command;
use crate::names::NamespaceName;
use crate::namespace;
use crate::space::Space;

/// Fleets whose agents have a new id every time would otherwise fill the workspace with namespaces
/// that nobody ever used. One with entries stays: somebody may want to take them over.
pub(super) fn a_forgotten_agent_leaves_no_empty_namespace(
    space: &Space,
    event: &Event,
) -> Vec<Command> {
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

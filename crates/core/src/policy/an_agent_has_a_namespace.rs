//! An agent gets its own namespace for private state with its first session.

use crate::agent::Event;
use crate::names::NamespaceName;
use crate::namespace;
use crate::signal::Consequence;

/// The namespace outlives the session: its state can still be read, and transferred to a successor.
pub(super) fn an_agent_has_a_namespace(event: &Event) -> Vec<Consequence> {
    match event {
        Event::Joined { agent, .. } => {
            vec![namespace::Signal::Ensure { name: NamespaceName::of_agent(agent) }.into()]
        }
        Event::Seen { .. } | Event::Left { .. } | Event::Lost { .. } | Event::Forgotten { .. } => {
            Vec::new()
        }
    }
}

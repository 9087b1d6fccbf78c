//! An agent gets its own namespace for private state with its first session.

use crate::agent::Event;
use crate::command::Command;
use crate::names::NamespaceName;
use crate::namespace;

/// The namespace outlives the session: its state can still be read, and transferred to a successor.
pub(super) fn an_agent_has_a_namespace(event: &Event) -> Vec<Command> {
    match event {
        Event::Joined { agent, .. } => {
            vec![namespace::Command::Ensure { name: NamespaceName::of_agent(agent) }.into()]
        }
        Event::Seen { .. } | Event::Left { .. } | Event::Lost { .. } | Event::Forgotten { .. } => {
            Vec::new()
        }
    }
}

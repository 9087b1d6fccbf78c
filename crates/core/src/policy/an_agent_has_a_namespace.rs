//! An agent has a namespace of its own, for its private state, from its first session on.

use crate::agent::Event;
use crate::command::Command;
use crate::names::NamespaceName;
use crate::namespace;

/// The namespace outlives the session: its state can still be read, and transferred to whoever
/// takes over.
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

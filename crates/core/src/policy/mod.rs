//! Policies: where one primitive follows another, as functions named like sentences.
//!
//! A policy reads the space and one event and returns commands. They run in the same batch as the
//! event, round after round until nothing follows any more, at most
//! [`POLICY_ROUNDS_MAX`](crate::limits::POLICY_ROUNDS_MAX) rounds. Primitives do not know each
//! other; the whole coupling of the domain stands in this folder.

mod a_forgotten_agent_leaves_no_empty_namespace;
mod an_agent_has_a_namespace;
mod an_ended_session_lets_go;

use a_forgotten_agent_leaves_no_empty_namespace::a_forgotten_agent_leaves_no_empty_namespace;
use an_agent_has_a_namespace::an_agent_has_a_namespace;
use an_ended_session_lets_go::an_ended_session_lets_go;

use crate::command::Command;
use crate::event::Event;
use crate::space::Space;

/// What follows from an event.
pub fn follow(space: &Space, event: &Event) -> Vec<Command> {
    match event {
        Event::Agent(event) => {
            let mut commands = an_ended_session_lets_go(event);
            commands.extend(an_agent_has_a_namespace(event));
            commands.extend(a_forgotten_agent_leaves_no_empty_namespace(space, event));
            commands
        }
        Event::State(_) | Event::Namespace(_) | Event::Workspace(_) | Event::Receipt(_) => {
            Vec::new()
        }
    }
}

/// Whether anything can follow from an event. What nothing follows from cannot be refused any more
/// once it has happened by itself.
pub fn may_follow(event: &Event) -> bool {
    match event {
        Event::Agent(_) => true,
        Event::State(_) | Event::Namespace(_) | Event::Workspace(_) | Event::Receipt(_) => false,
    }
}

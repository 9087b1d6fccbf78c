//! An agent that leaves, is lost, or replaces its session lets go of all that the session held.

use crate::agent::Event;
use crate::command::Command;
use crate::names::AgentId;
use crate::{barrier, handoff, join, lock, message, semaphore, state, stream, task, wait};

pub(super) fn an_ended_session_lets_go(event: &Event) -> Vec<Command> {
    match event {
        #[cfg(feature = "planted")]
        Event::Lost { .. } if crate::planted::is("policy.lost_agent_keeps") => Vec::new(),
        #[cfg(feature = "planted")]
        Event::Lost { because: Some(_), .. } if crate::planted::is("policy.child_keeps") => {
            Vec::new()
        }
        // A new session ends the one before: what that held is not inherited. Without one before,
        // the agent keeps what it acquired without a session.
        Event::Joined { agent, replaces: Some(_), .. }
        | Event::Left { agent }
        | Event::Lost { agent, .. } => letting_go(agent),
        Event::Joined { replaces: None, .. } | Event::Seen { .. } | Event::Forgotten { .. } => {
            Vec::new()
        }
    }
}

/// The commands that release what an agent holds. Every primitive that binds something to a session
/// adds its command here, so that everything is released in the batch that ends the session.
pub(crate) fn letting_go(agent: &AgentId) -> Vec<Command> {
    let agent = || agent.clone();
    vec![
        state::Command::LetGo { agent: agent() }.into(),
        message::Command::LetGo { agent: agent() }.into(),
        stream::Command::LetGo { agent: agent() }.into(),
        lock::Command::LetGo { agent: agent() }.into(),
        semaphore::Command::LetGo { agent: agent() }.into(),
        barrier::Command::LetGo { agent: agent() }.into(),
        task::Command::LetGo { agent: agent() }.into(),
        join::Command::LetGo { agent: agent() }.into(),
        handoff::Command::LetGo { agent: agent() }.into(),
        wait::Command::LetGo { agent: agent() }.into(),
    ]
}

//! An agent that leaves, is lost, or replaces its session releases all that the session held.

use crate::agent::Event;
use crate::signal::{Consequence, Signal};

pub(super) fn an_ended_session_lets_go(event: &Event) -> Vec<Consequence> {
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
        | Event::Lost { agent, .. } => {
            Signal::let_go(agent).into_iter().map(Consequence::from).collect()
        }
        Event::Joined { replaces: None, .. } | Event::Seen { .. } | Event::Forgotten { .. } => {
            Vec::new()
        }
    }
}

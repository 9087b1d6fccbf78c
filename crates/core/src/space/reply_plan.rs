//! The reply to a command, built once its events and their consequences are applied.

use super::Space;
use crate::event::Event;
use crate::reply::Reply;
use crate::state::{self, Warning};
use crate::wait::as_next;

/// Builds a reply from the tables.
type Build = dyn FnOnce(&Space) -> Reply;

/// Which reply to build once the events of a command have been applied.
pub(crate) enum ReplyPlan {
    /// The entry of this event.
    Written { event: usize, warnings: Vec<Warning> },
    /// This reply.
    Reply(Reply),
    /// The reply that is built from the tables afterwards.
    After(Box<Build>),
    /// The reply about what was received, as the reply to `agent.next`.
    Next(Box<ReplyPlan>),
    /// None yet: the call waits.
    Waits,
}

impl ReplyPlan {
    /// The reply that is made of the tables once the events are applied.
    pub(crate) fn after<R: Into<Reply>>(reply: impl FnOnce(&Space) -> R + 'static) -> Self {
        Self::After(Box::new(|space| reply(space).into()))
    }
}

impl Space {
    /// Builds the reply from the current tables; none if the call waits.
    #[inline]
    pub(super) fn reply(&self, plan: ReplyPlan, events: &[Event]) -> Option<Reply> {
        match plan {
            ReplyPlan::Written { event, warnings } => {
                let Event::State(event) = &events[event] else {
                    panic!("a write makes an event of shared state");
                };
                let (namespace, key) = event.entry_key();
                let entry = self.state.entry(namespace, key).expect("it was just written");
                Some(Reply::State(state::Reply::Entry(entry.warned(warnings))))
            }
            ReplyPlan::Reply(reply) => Some(reply),
            ReplyPlan::After(reply) => Some(reply(self)),
            ReplyPlan::Next(plan) => self.reply(*plan, events).map(as_next),
            ReplyPlan::Waits => None,
        }
    }
}

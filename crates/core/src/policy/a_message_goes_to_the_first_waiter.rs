//! Mail is delivered to the first waiting call, in the same commit.

use crate::message::{self, Event};
use crate::names::AgentId;
use crate::signal::Consequence;
use crate::space::Space;

/// So clients need not poll, and no call waits for mail that is available.
pub(super) fn a_message_goes_to_the_first_waiter(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.mail_stays") {
        return Vec::new();
    }
    let to = arrived(event).filter(|to| is_awaited(space, to));
    to.map(|to| message::Signal::Deliver { to: to.clone() }.into()).into_iter().collect()
}

/// Whether it may affect a waiting call.
pub(super) fn may_be_received(space: &Space, event: &Event) -> bool {
    arrived(event).is_some_and(|to| is_awaited(space, to))
}

fn is_awaited(space: &Space, to: &AgentId) -> bool {
    space.message.receivers().of(to).next().is_some()
}

/// The owner of the inbox that has more mail after this event.
fn arrived(event: &Event) -> Option<&AgentId> {
    match event {
        Event::Sent(sent) => Some(&sent.to),
        Event::Returned { to, .. }
        | Event::Requeued { to, .. }
        | Event::Rerouted { next: to, .. } => Some(to),
        Event::Delivered { .. }
        | Event::Acked { .. }
        | Event::Died { .. }
        | Event::Expired { .. }
        | Event::Replied { .. }
        | Event::TimedOut { .. }
        | Event::Lost { .. }
        | Event::Rejoined { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. }
        | Event::Polled { .. }
        | Event::HandlerAdded { .. }
        | Event::HandlerRemoved { .. }
        | Event::HandlersGone { .. } => None,
    }
}

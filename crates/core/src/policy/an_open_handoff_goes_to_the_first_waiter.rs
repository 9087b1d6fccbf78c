//! A hand-off is delivered to the first waiting call that matches, in the same commit.

use crate::command::Command;
use crate::handoff::{self, Event};
use crate::names::HandoffId;
use crate::space::Space;

/// So clients need not poll.
pub(super) fn an_open_handoff_goes_to_the_first_waiter(
    space: &Space,
    event: &Event,
) -> Vec<Command> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.handoff_stays") {
        return Vec::new();
    }
    let Some(handoff) = opened(event).filter(|_| space.handoff.waits().len() > 0) else {
        return Vec::new();
    };
    vec![handoff::Command::Deliver { handoff: handoff.clone() }.into()]
}

/// Whether it may affect a waiting call.
pub(super) fn may_be_delivered(space: &Space, event: &Event) -> bool {
    opened(event).is_some() && space.handoff.waits().len() > 0
}

/// The hand-off that can be delivered after this event.
fn opened(event: &Event) -> Option<&HandoffId> {
    match event {
        Event::Offered(handoff) => Some(&handoff.id),
        Event::Approved { handoff, .. } | Event::Undelivered { handoff } => Some(handoff),
        Event::Executed(_)
        | Event::Refused(_)
        | Event::Delivered { .. }
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Cancelled { .. }
        | Event::Completed { .. }
        | Event::Failed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. } => None,
    }
}

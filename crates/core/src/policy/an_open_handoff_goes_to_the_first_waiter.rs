//! A hand-off is delivered to the first waiting call that matches, in the same commit.

use crate::agent;
use crate::handoff::{self, Event};
use crate::names::HandoffId;
use crate::signal::Consequence;
use crate::space::Space;

/// So clients need not poll.
pub(super) fn an_open_handoff_goes_to_the_first_waiter(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.handoff_stays") {
        return Vec::new();
    }
    let Some(handoff) = opened(event).filter(|_| space.handoff.waits().len() > 0) else {
        return Vec::new();
    };
    vec![handoff::Signal::Deliver { handoff: handoff.clone() }.into()]
}

/// The first session of an agent does not end its waiting calls, and may bring the capabilities
/// that a hand-off needs.
pub(super) fn a_handoff_goes_to_an_agent_that_joined(
    space: &Space,
    event: &agent::Event,
) -> Vec<Consequence> {
    let agent::Event::Joined { agent, capabilities, .. } = event else { return Vec::new() };
    let waits = space.handoff.waits_of(agent).count();
    if waits == 0 {
        return Vec::new();
    }
    let next = space.handoff.next_for(agent, capabilities, space.time(), waits);
    let deliver =
        |handoff: &handoff::Handoff| handoff::Signal::Deliver { handoff: handoff.id.clone() };
    next.into_iter().map(deliver).map(Consequence::from).collect()
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
        | Event::Passed(_)
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

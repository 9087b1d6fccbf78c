//! A call that waits for several things is removed from all queues when one of them answers it.

use crate::event::Event;
use crate::numbers::WaitId;
use crate::primitive::Table;
use crate::space::Space;
use crate::waiting::wait::Left;
use crate::{handoff, message, task};

/// Whether a call waits in several queues under one number, as `agent.next` does.
pub(crate) fn is_in_several_queues(space: &Space, wait: WaitId) -> bool {
    let queues = [
        space.task.is_waiting(wait),
        space.handoff.is_waiting(wait),
        space.message.is_waiting(wait),
    ];
    queues.into_iter().filter(|is_waiting| *is_waiting).count() > 1
}

/// The events that remove it from the queues in which it still waits. They are applied at once, not
/// in the next round: nothing may be granted to it twice.
pub(crate) fn an_answered_call_leaves_its_other_queues(space: &Space, wait: WaitId) -> Vec<Event> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.answered_call_stays") {
        return Vec::new();
    }
    let left = Left::Elsewhere;
    let mut events: Vec<Event> = Vec::new();
    if let Some(waiting) = space.task.claims().get(wait) {
        let claimant = waiting.wait.agent.clone();
        events.push(task::Event::GaveUp { wait, claimant, left }.into());
    }
    if let Some(waiter) = space.handoff.waiter(wait) {
        let receiver = waiter.wait.agent.clone();
        events.push(handoff::Event::GaveUp { wait, receiver, left }.into());
    }
    if let Some(waiter) = space.message.receivers().get(wait) {
        let receiver = waiter.wait.agent.clone();
        events.push(message::Event::GaveUp { wait, receiver, left, message: None }.into());
    }
    events
}

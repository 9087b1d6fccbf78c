//! A free lock is granted to the first waiting call, in the same commit.

use crate::lock::{self, Event};
use crate::signal::Consequence;
use crate::space::Space;

/// So no other call can acquire it between the release and the next hold.
pub(super) fn a_free_lock_goes_to_the_first_in_line(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.free_lock_stays") {
        return Vec::new();
    }
    let name = event.name();
    if !is_the_end_of_a_hold(event) || space.lock.first_in_line(name).is_none() {
        return Vec::new();
    }
    vec![lock::Signal::HandOver { name: name.clone() }.into()]
}

/// Whether the lock is free after this event.
pub(super) fn is_the_end_of_a_hold(event: &Event) -> bool {
    match event {
        Event::Released { .. } | Event::Expired { .. } | Event::Dropped { .. } => true,
        Event::Acquired { .. }
        | Event::Renewed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. } => false,
    }
}

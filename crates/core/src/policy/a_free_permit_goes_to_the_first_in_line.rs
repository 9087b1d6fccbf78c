//! Free permits are granted to the first waiting calls, in the same commit.

use crate::semaphore::{self, Event};
use crate::signal::Consequence;
use crate::space::Space;

/// Several permits may become free at once, with one event each: the first command grants all of
/// them.
pub(super) fn a_free_permit_goes_to_the_first_in_line(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    let name = event.name();
    let first = space.semaphore.line(name).next();
    let fits = first.is_some_and(|first| first.weight <= space.semaphore.free(name));
    if !fits || !is_awaited(space, event) {
        return Vec::new();
    }
    vec![semaphore::Signal::HandOver { name: name.clone() }.into()]
}

/// Whether a call waits for what this event may have made free: permits that were returned or
/// added, or the first place in the queue, where a call may have waited for more of them.
pub(super) fn is_awaited(space: &Space, event: &Event) -> bool {
    match event {
        #[cfg(feature = "planted")]
        Event::GaveUp { .. } if crate::planted::is("policy.departure_frees_nothing") => false,
        #[cfg(feature = "planted")]
        Event::Resized { .. } if crate::planted::is("policy.growth_frees_nothing") => false,
        Event::Released { name, .. }
        | Event::Expired { name, .. }
        | Event::Dropped { name, .. }
        | Event::Resized { name, .. }
        | Event::GaveUp { name, .. } => space.semaphore.line(name).next().is_some(),
        Event::Created { .. }
        | Event::Acquired { .. }
        | Event::Renewed { .. }
        | Event::Queued { .. }
        | Event::Forgotten { .. } => false,
    }
}

//! Free permits are granted to the first waiting calls, in the same commit.

use crate::command::Command;
use crate::semaphore::{self, Event};
use crate::space::Space;

/// Several permits may become free at once, with one event each: the first command grants all of
/// them.
pub(super) fn a_free_permit_goes_to_the_first_in_line(
    space: &Space,
    event: &Event,
) -> Vec<Command> {
    let name = event.name();
    if !is_awaited(space, event) || space.semaphore.free(name) == 0 {
        return Vec::new();
    }
    vec![semaphore::Command::HandOver { name: name.clone() }.into()]
}

/// Whether this is the end of a permit that a call waits for.
pub(super) fn is_awaited(space: &Space, event: &Event) -> bool {
    match event {
        Event::Released { name, .. }
        | Event::Expired { name, .. }
        | Event::Dropped { name, .. } => space.semaphore.line(name).next().is_some(),
        Event::Created { .. }
        | Event::Acquired { .. }
        | Event::Renewed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. }
        | Event::Forgotten { .. } => false,
    }
}

//! New frames of a stream, and its end, answer all waiting calls.

use crate::names::StreamName;
use crate::signal::Consequence;
use crate::space::Space;
use crate::stream::{self, Event};

/// All in the same commit, so that all readers see the same.
pub(super) fn a_growing_stream_wakes_its_readers(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.stream_untold") {
        return Vec::new();
    }
    let stream = changed(event).filter(|stream| is_awaited(space, stream));
    let stream = stream.cloned();
    stream.map(|stream| stream::Signal::Tell { stream }.into()).into_iter().collect()
}

/// Whether it may affect a waiting call.
pub(super) fn may_be_read(space: &Space, event: &Event) -> bool {
    changed(event).is_some_and(|stream| is_awaited(space, stream))
}

fn is_awaited(space: &Space, stream: &StreamName) -> bool {
    space.stream.wait_queues().of(stream).next().is_some()
}

/// The stream that has grown or ended with this event.
fn changed(event: &Event) -> Option<&StreamName> {
    match event {
        Event::Sent { stream, .. } | Event::Closed { stream, .. } => Some(stream),
        Event::Created { .. }
        | Event::Deleted { .. }
        | Event::Queued { .. }
        | Event::Told { .. }
        | Event::GaveUp { .. } => None,
    }
}

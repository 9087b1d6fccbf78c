//! The results of calls that wait for a hand-off.

use std::sync::Arc;

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Event, Reply};
use crate::waiting::wait::Left;

/// The result of the waiting call, right after this event.
pub(super) fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Delivered { handoff, .. } => {
            let handoff = table.get(handoff).expect("it was just delivered");
            Ok(Reply::Received(Some(Arc::clone(handoff))))
        }
        Event::GaveUp { left: Left::SessionEnded, receiver, .. } => {
            Err(Rejection::SessionEnded { agent: receiver.clone() })
        }
        Event::GaveUp {
            left: Left::Timeout | Left::Gone | Left::Elsewhere | Left::TooHeavy,
            ..
        }
        | Event::Offered(_)
        | Event::Executed(_)
        | Event::Refused(_)
        | Event::Approved { .. }
        | Event::Undelivered { .. }
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Cancelled { .. }
        | Event::Completed { .. }
        | Event::Failed { .. }
        | Event::Queued { .. } => Ok(Reply::Received(None)),
    }
}

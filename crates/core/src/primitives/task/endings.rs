//! The results of waiting claims.

use crate::task::{Event, Rejection, Reply, Table};
use crate::waiting::wait::Left;

/// The result of the waiting call, right after this event.
pub fn ending(table: &Table, event: &Event) -> Result<Reply, Rejection> {
    match event {
        Event::Claimed { task, .. } => {
            let task = table.shown(task, Vec::new()).expect("it was just claimed");
            Ok(Reply::Claimed(Some(Box::new(task))))
        }
        Event::GaveUp { left: Left::SessionEnded, claimant, .. } => {
            Err(Rejection::SessionEnded { agent: claimant.clone() })
        }
        Event::GaveUp {
            left: Left::Timeout | Left::Gone | Left::Elsewhere | Left::TooHeavy,
            ..
        }
        | Event::Created(_)
        | Event::Queued { .. }
        | Event::Renewed { .. }
        | Event::Progressed { .. }
        | Event::Updated { .. }
        | Event::Released { .. }
        | Event::Ready { .. }
        | Event::Offered { .. }
        | Event::Abandoned { .. }
        | Event::TakenBack { .. }
        | Event::HandedOver { .. }
        | Event::HandedOff { .. }
        | Event::Completed { .. }
        | Event::Submitted { .. }
        | Event::Failed { .. }
        | Event::Cancelled { .. }
        | Event::Reviewed { .. }
        | Event::Retried { .. } => Ok(Reply::Claimed(None)),
    }
}

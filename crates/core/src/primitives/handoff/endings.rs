//! How hand-offs end with their task, and the results of calls that wait for one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::refusals::Rejection;
use super::table::Table;
use super::vocabulary::{Event, Followed, Reply};
use crate::json::Json;
use crate::names::TaskId;
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
        | Event::Passed(_)
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

/// Ends the hand-offs of a task after a change of the task.
pub(super) fn follow(table: &Table, task: &TaskId, what: &Followed) -> Vec<Event> {
    let concerned = table.unfinished_of(task).filter(|handoff| match what {
        Followed::HandedOn { handoff: by } => handoff.id != *by,
        Followed::Done { .. } | Followed::Lost { .. } => true,
    });
    let events = concerned.map(|handoff| {
        let id = handoff.id.clone();
        match (handoff.status.is_open(), what) {
            (true, what) => {
                let reason = match what {
                    Followed::Done { .. } => "the task is done".to_owned(),
                    Followed::Lost { reason } => reason.clone(),
                    Followed::HandedOn { handoff } => format!("it was handed on by `{handoff}`"),
                };
                Event::Cancelled { handoff: id, reason: Some(reason) }
            }
            (false, Followed::Done { result }) => {
                let (result, changes) = (result.clone(), BTreeMap::new());
                Event::Completed { handoff: id, result, changes }
            }
            (false, Followed::HandedOn { handoff }) => {
                let result = Json::of(&json!({ "handed_on": handoff })).expect("a name is JSON");
                Event::Completed { handoff: id, result: Some(result), changes: BTreeMap::new() }
            }
            (false, Followed::Lost { reason }) => {
                let error = Json::of(&json!({ "reason": reason })).expect("a text is JSON");
                Event::Failed { handoff: id, error }
            }
        }
    });
    events.collect()
}

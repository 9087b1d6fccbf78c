//! How a hand-off moves a task between agents. The rules of hand-offs decide who may give and
//! accept it; the code here only moves it, and ensures that it always has at most one holder.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Record, Returns, Status};
use crate::json::Json;
use crate::names::{AgentId, HandoffId, TaskId};
use crate::space::stamp::Stamp;
use crate::task::{Cause, Event, Outcome, Table};
use crate::time::Timestamp;

/// Why a task is released whose holder offered it and is gone.
const ABANDONED: &str = "the session of the agent that offered it has ended";

/// Why a task waits for review that neither its receiver nor its giver has claimed.
const NOT_TAKEN_UP: &str = "not_taken_up";

/// How a hand-off moves a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reassignment {
    /// Its holder has offered it to another agent.
    Offer {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
    },
    /// The offer ended without acceptance: the holder keeps it, or if it is gone any agent may
    /// claim it.
    TakeBack {
        /// The task.
        task: TaskId,
        /// The hand-off that offered it.
        handoff: HandoffId,
    },
    /// Another agent has accepted it.
    HandOver {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
        /// The new holder.
        to: AgentId,
        /// The lease in milliseconds; that of the giver if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
    /// Its holder handed it to another agent, which has to claim it.
    HandOff {
        /// The task.
        task: TaskId,
        /// The hand-off.
        handoff: HandoffId,
        /// The receiving agent.
        to: AgentId,
        /// The action if the task is not claimed.
        returns: Returns,
    },
    /// It is handed around in a loop: it waits for review.
    Escalate {
        /// The task.
        task: TaskId,
        /// The error.
        error: Json,
    },
}

/// Applies a hand-off to a task. Does nothing if the task has changed in the meantime.
pub fn pass(table: &Table, reassignment: Reassignment, stamp: &Stamp) -> Vec<Event> {
    let offered = |task, handoff| {
        let record: Option<&Record> = table.get(task);
        let lease = record.and_then(|record| record.lease.as_deref());
        lease.filter(|lease| lease.handoff.as_ref() == Some(handoff))
    };
    let event = match reassignment {
        Reassignment::Offer { task, handoff } => {
            let is_held = table.get(&task).is_some_and(|record| record.lease.is_some());
            is_held.then_some(Event::Offered { task, handoff })
        }
        Reassignment::TakeBack { task, handoff } => offered(&task, &handoff).map(|lease| {
            if lease.abandoned {
                Event::Released { task, reason: Some(ABANDONED.to_owned()) }
            } else {
                Event::TakenBack { task, handoff }
            }
        }),
        Reassignment::HandOver { task, handoff, to, lease_ms } => {
            let given_ms = offered(&task, &handoff).map(|lease| lease.lease_ms);
            given_ms.map(|given_ms| {
                let lease_ms = lease_ms.unwrap_or(given_ms);
                Event::HandedOver { task, handoff, holder: to, token: stamp.token(), lease_ms }
            })
        }
        Reassignment::HandOff { task, handoff, to, returns } => {
            let is_held = table.get(&task).is_some_and(|record| record.lease.is_some());
            is_held.then_some(Event::HandedOff { task, handoff, to, returns })
        }
        Reassignment::Escalate { task, error } => {
            let is_open = table.get(&task).is_some_and(|record| record.lease.is_some());
            let (cause, outcome) = (Cause::HandoffLoop, Outcome::Review);
            is_open.then_some(Event::Failed { task, error, cause, outcome })
        }
    };
    event.into_iter().collect()
}

/// Whether a task has this error because nobody has claimed it in time.
pub fn is_not_taken_up(error: &Json) -> bool {
    error.to_value().get("reason").is_some_and(|reason| reason == NOT_TAKEN_UP)
}

/// A task that was not claimed in time returns to the giver and, if that agent does not claim it
/// either, waits for review.
pub fn give_back(record: &Record, now: Timestamp) -> Event {
    assert_eq!(record.status, Status::HandedOff, "only what was handed off is given back");
    let task = record.id.clone();
    let terms = record.terms.as_ref().expect("what was handed off has terms");
    let Returns { to, within_ms, .. } = terms.returns.clone().expect("and returns at last");
    let handoff = terms.handed_by.clone().expect("by some hand-off");
    let Some(to) = to else {
        let holder = terms.assigned_agent.as_ref();
        let error = Json::of(&json!({ "reason": NOT_TAKEN_UP, "agent": holder }));
        let error = error.expect("two names are JSON");
        return Event::Failed { task, error, cause: Cause::NotTakenUp, outcome: Outcome::Review };
    };
    let returns = Returns { to: None, at: now.after(within_ms), within_ms };
    Event::HandedOff { task, handoff, to, returns }
}

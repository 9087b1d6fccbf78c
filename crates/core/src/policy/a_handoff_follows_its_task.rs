//! The hand-off of a task ends with the task.

use crate::handoff::{self, Followed};
use crate::names::TaskId;
use crate::signal::Consequence;
use crate::space::Space;
use crate::task::{Cause, Event};

/// Completing the task completes the hand-off that moved it; losing it fails the hand-off. An offer
/// of a task that has moved on is cancelled.
pub(super) fn a_handoff_follows_its_task(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.handoff_left_behind") {
        return Vec::new();
    }
    let Some((task, what)) = moved_on(event) else { return Vec::new() };
    if !space.handoff.is_live(task) {
        return Vec::new();
    }
    vec![handoff::Signal::Follow { task: task.clone(), what }.into()]
}

/// Whether a hand-off may be affected.
pub(super) fn may_be_followed(space: &Space, event: &Event) -> bool {
    event.task().is_some_and(|task| space.handoff.is_live(task)) && moved_on(event).is_some()
}

/// The task that its holder no longer holds.
fn moved_on(event: &Event) -> Option<(&TaskId, Followed)> {
    let lost = |task, reason: &str| Some((task, Followed::Lost { reason: reason.to_owned() }));
    match event {
        // The receiver has done its part, whatever the review decides.
        Event::Completed { task, result, .. } | Event::Submitted { task, result, .. } => {
            Some((task, Followed::Done { result: result.clone() }))
        }
        Event::Failed { task, cause, .. } => match cause {
            Cause::Reported => lost(task, "the work failed"),
            Cause::LeaseExpired => lost(task, "the lease ran out"),
            Cause::AgentGone => lost(task, "the agent was gone"),
            Cause::Deadline => lost(task, "the task was not finished in time"),
            Cause::NotTakenUp => lost(task, "the receiver did not claim it in time"),
            Cause::HandoffLoop => lost(task, "it was handed round in circles"),
        },
        Event::Cancelled { task, .. } => lost(task, "the task was cancelled"),
        Event::Released { task, .. } => lost(task, "the task was released"),
        Event::HandedOver { task, handoff, .. } | Event::HandedOff { task, handoff, .. } => {
            Some((task, Followed::HandedOn { handoff: handoff.clone() }))
        }
        Event::Created(_)
        | Event::Claimed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. }
        | Event::Renewed { .. }
        | Event::Progressed { .. }
        | Event::Updated { .. }
        | Event::Ready { .. }
        | Event::Offered { .. }
        | Event::Abandoned { .. }
        | Event::TakenBack { .. }
        | Event::Reviewed { .. }
        | Event::Retried { .. } => None,
    }
}

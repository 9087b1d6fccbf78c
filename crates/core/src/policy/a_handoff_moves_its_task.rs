//! A hand-off moves its task, in the same commit.

use crate::handoff::Event;
use crate::handoff::{Handoff, Status};
use crate::names::{HandoffId, TaskId};
use crate::signal::Consequence;
use crate::space::Space;
use crate::task;
use crate::task::{Reassignment, Returns};

/// Offered, accepted or returned: the task always has exactly one holder.
pub(super) fn a_handoff_moves_its_task(space: &Space, event: &Event) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.task_stays_behind") && matches!(event, Event::Accepted { .. }) {
        return Vec::new();
    }
    if let Event::Completed { handoff, .. } = event {
        return completed(space, handoff).into_iter().map(Consequence::from).collect();
    }
    let reassignment = match event {
        Event::Offered(handoff) => handoff
            .task
            .clone()
            .map(|task| Reassignment::Offer { task, handoff: handoff.id.clone() }),
        Event::Executed(handoff) => handed_off(handoff),
        Event::Refused(handoff) => escalated(handoff),
        Event::Accepted { handoff, receiver, lease_ms, .. } => {
            of_task(space, handoff).map(|(handoff, task)| Reassignment::HandOver {
                task,
                handoff: handoff.id.clone(),
                to: receiver.clone(),
                lease_ms: *lease_ms,
            })
        }
        Event::Rejected { handoff, .. }
        | Event::Expired { handoff, .. }
        | Event::Cancelled { handoff, .. } => of_task(space, handoff)
            .map(|(handoff, task)| Reassignment::TakeBack { task, handoff: handoff.id.clone() }),
        Event::Completed { .. }
        | Event::Passed(_)
        | Event::Approved { .. }
        | Event::Delivered { .. }
        | Event::Undelivered { .. }
        | Event::Failed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. } => None,
    };
    reassignment.into_iter().map(|reassignment| task::Signal::Pass(reassignment).into()).collect()
}

/// Whether a task may be affected.
pub(super) fn may_move_a_task(event: &Event) -> bool {
    match event {
        Event::Offered(_)
        | Event::Executed(_)
        | Event::Refused(_)
        | Event::Accepted { .. }
        | Event::Rejected { .. }
        | Event::Expired { .. }
        | Event::Cancelled { .. }
        | Event::Completed { .. } => true,
        Event::Passed(_)
        | Event::Approved { .. }
        | Event::Delivered { .. }
        | Event::Undelivered { .. }
        | Event::Failed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. } => false,
    }
}

fn of_task<'a>(space: &'a Space, handoff: &HandoffId) -> Option<(&'a Handoff, TaskId)> {
    let handoff = space.handoff.get(handoff)?;
    Some((handoff, handoff.task.clone()?))
}

fn handed_off(handoff: &Handoff) -> Option<Reassignment> {
    let within_ms = handoff.deadline.since(handoff.created_at);
    let returns = Returns { to: Some(handoff.from.clone()), at: handoff.deadline, within_ms };
    Some(Reassignment::HandOff {
        task: handoff.task.clone()?,
        handoff: handoff.id.clone(),
        to: handoff.receiver.clone()?,
        returns,
    })
}

/// A task that is handed around in a loop, if its giver requested a review in that case.
fn escalated(handoff: &Handoff) -> Option<Reassignment> {
    let is_loop = handoff.steps.last().is_some_and(|step| step.step == "brakes");
    let (task, error) = (handoff.task.clone()?, handoff.error.clone()?);
    is_loop.then_some(Reassignment::Escalate { task, error })
}

/// Completing a hand-off completes its task.
fn completed(space: &Space, handoff: &HandoffId) -> Option<task::Command> {
    let (handoff, task) = of_task(space, handoff)?;
    assert_eq!(handoff.status, Status::Completed, "the event has happened");
    let lease = space.task.get(&task)?.lease.as_ref()?;
    let is_receiver = handoff.receiver.as_ref() == Some(&lease.holder);
    let complete = task::Complete {
        task,
        token: lease.token,
        result: handoff.result.clone(),
        artifacts: None,
        then_claim: None,
    };
    is_receiver.then(|| task::Command::Complete(Box::new(complete)))
}

//! A ready task is assigned to the first waiting claim that matches, in the same commit.

use crate::names::TaskId;
use crate::signal::Consequence;
use crate::space::{Space, TablesView};
use crate::task::{self, Event, Verdict, budgets};

/// So no other claim can get it first, and no claim waits for a task that is ready.
pub(super) fn a_ready_task_goes_to_the_first_waiter(
    space: &Space,
    event: &Event,
) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.ready_task_stays") {
        return Vec::new();
    }
    let Some(id) = made_ready(event) else { return Vec::new() };
    let ready = space.task.get(id).filter(|record| record.ready);
    let view = TablesView::of(space);
    if ready.and_then(|record| budgets::waiter_for(&space.task, &view, record)).is_none() {
        return Vec::new();
    }
    vec![task::Signal::Assign { task: id.clone() }.into()]
}

/// Whether it may affect a waiting call.
pub(super) fn may_be_waited_for(space: &Space, event: &Event) -> bool {
    made_ready(event).is_some() && !space.task.claims().is_empty()
}

/// The task that is ready after this event.
fn made_ready(event: &Event) -> Option<&TaskId> {
    match event {
        Event::Created(created) => Some(&created.task).filter(|_| created.ready),
        Event::Released { task, .. }
        | Event::Ready { task }
        | Event::HandedOff { task, .. }
        | Event::Reviewed { task, verdict: Verdict::Retry, .. } => Some(task),
        Event::Reviewed { verdict: Verdict::Complete | Verdict::Fail, .. }
        | Event::Claimed { .. }
        | Event::Queued { .. }
        | Event::GaveUp { .. }
        | Event::Renewed { .. }
        | Event::Progressed { .. }
        | Event::Updated { .. }
        | Event::Offered { .. }
        | Event::Abandoned { .. }
        | Event::TakenBack { .. }
        | Event::HandedOver { .. }
        | Event::Completed { .. }
        | Event::Submitted { .. }
        | Event::Failed { .. }
        | Event::Cancelled { .. }
        | Event::Retried { .. } => None,
    }
}

//! A join settles in the commit that finishes the last task it needs.

use crate::join;
use crate::limits;
use crate::signal::Consequence;
use crate::space::Space;
use crate::task;

/// If too many settle at once, for example because an agent with a thousand tasks is lost, they do
/// not fit into this commit: they are due immediately and settle in later commits.
pub(super) fn a_join_settles_when_its_tasks_have_finished(space: &Space) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.ripe_join_waits") {
        return Vec::new();
    }
    let ripe = space.join.ripe().len();
    if ripe == 0 || ripe > limits::JOINS_SETTLED_AT_ONCE_MAX {
        return Vec::new();
    }
    vec![join::Signal::Settle.into()]
}

/// Whether a join may settle because of this.
pub(super) fn may_settle(space: &Space, event: &task::Event) -> bool {
    let group = match event {
        task::Event::Created(created) => created.group.as_ref(),
        task::Event::Claimed { .. }
        | task::Event::Queued { .. }
        | task::Event::GaveUp { .. }
        | task::Event::Renewed { .. }
        | task::Event::Progressed { .. }
        | task::Event::Updated { .. }
        | task::Event::Released { .. }
        | task::Event::Ready { .. }
        | task::Event::Offered { .. }
        | task::Event::Abandoned { .. }
        | task::Event::TakenBack { .. }
        | task::Event::HandedOver { .. }
        | task::Event::HandedOff { .. }
        | task::Event::Completed { .. }
        | task::Event::Submitted { .. }
        | task::Event::Failed { .. }
        | task::Event::Cancelled { .. }
        | task::Event::Reviewed { .. }
        | task::Event::Retried { .. } => None,
    };
    let is_about = |task| space.join.of_task(task).next().is_some();
    space.join.ripe().len() > 0
        || event.task().is_some_and(is_about)
        || group.is_some_and(|group| space.join.of_group(group).next().is_some())
}

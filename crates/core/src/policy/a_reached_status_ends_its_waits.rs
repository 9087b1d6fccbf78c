//! Calls that wait for a status are answered in the commit that reaches it.

use crate::limits;
use crate::signal::Consequence;
use crate::space::Space;
use crate::wait::{self, Target};

/// If too many can be answered at once, for example because a task with many subtasks is
/// cancelled, they are due immediately and are answered in later commits.
pub(super) fn a_reached_status_ends_its_waits(space: &Space) -> Vec<Consequence> {
    #[cfg(feature = "planted")]
    if crate::planted::is("policy.reached_status_waits") {
        return Vec::new();
    }
    let due = space.wait.due().len();
    if due == 0 || due > limits::STATUS_WAITS_ANSWERED_MAX {
        return Vec::new();
    }
    vec![wait::Signal::Answer.into()]
}

/// Whether calls may be answered after an event about this.
pub(super) fn may_end_waits(space: &Space, target: impl FnOnce() -> Option<Target>) -> bool {
    !space.wait.is_idle()
        && (space.wait.due().len() > 0
            || target().is_some_and(|target| space.wait.of(&target).next().is_some()))
}

//! Waits for a status.

use baton_core::wait::{Event as Fact, Goal};
use baton_core::waiting::wait::Left;
use baton_core::{Event, Timestamp, WaitId, handoff, task};

use super::{ada, handoff_id};

pub(super) fn wait_variant(event: &Fact) -> &'static str {
    match event {
        Fact::Queued { .. } => "wait queued",
        Fact::Answered { .. } => "wait answered",
        Fact::GaveUp { .. } => "wait gave up",
    }
}

pub(super) fn waits() -> Vec<(&'static str, Event)> {
    let (wait, waiter, until) = (WaitId(70_000), ada, Timestamp(1_794_700_800_123));
    let task = |statuses: &[task::Status]| Goal::Task {
        id: super::task(),
        statuses: statuses.iter().copied().collect(),
    };
    let handoff =
        || Goal::Handoff { id: handoff_id(), statuses: [handoff::Status::Accepted].into() };
    let facts = [
        (
            "wait.queued",
            Fact::Queued {
                wait,
                waiter: waiter(),
                until,
                goal: task(&[task::Status::InProgress, task::Status::WaitingReview]),
            },
        ),
        (
            "wait.queued with no statuses",
            Fact::Queued { wait, waiter: waiter(), until, goal: task(&[]) },
        ),
        ("wait.answered", Fact::Answered { wait, waiter: waiter(), goal: handoff() }),
        (
            "wait.gave_up",
            Fact::GaveUp { wait, waiter: waiter(), goal: task(&[]), left: Left::Timeout },
        ),
    ];
    facts.into_iter().map(|(name, fact)| (name, Event::Wait(fact))).collect()
}

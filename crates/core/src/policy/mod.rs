//! Policies: the effects of one primitive on another, as functions named like sentences.
//!
//! A policy reads the space and one event and returns commands and signals. They are executed in
//! the same batch as the event, in rounds until there are no more, at most
//! [`POLICY_ROUNDS_MAX`](crate::limits::POLICY_ROUNDS_MAX) rounds. Primitives do not know each
//! other; all coupling between them is in this folder.

mod a_finished_task_ends_its_stage;
mod a_forgotten_agent_leaves_no_empty_namespace;
mod a_free_lock_goes_to_the_first_in_line;
mod a_free_permit_goes_to_the_first_in_line;
mod a_growing_stream_wakes_its_readers;
mod a_handoff_follows_its_task;
mod a_handoff_moves_its_task;
mod a_join_settles_when_its_tasks_have_finished;
mod a_larger_budget_lets_tasks_start;
mod a_message_goes_to_the_first_waiter;
mod a_reached_status_ends_its_waits;
mod a_reaction_follows_its_event;
mod a_ready_stage_becomes_a_task;
mod a_ready_task_goes_to_the_first_waiter;
mod a_stage_that_is_over_needs_no_task;
mod a_started_stage_is_handed_over;
mod an_abandoned_stage_may_fail_its_pipeline;
mod an_agent_has_a_namespace;
mod an_answered_call_leaves_its_other_queues;
mod an_ended_session_lets_go;
mod an_open_handoff_goes_to_the_first_waiter;

use a_finished_task_ends_its_stage::{a_finished_task_ends_its_stage, is_of_a_stage};
use a_forgotten_agent_leaves_no_empty_namespace::a_forgotten_agent_leaves_no_empty_namespace;
use a_free_lock_goes_to_the_first_in_line::{
    a_free_lock_goes_to_the_first_in_line, is_the_end_of_a_hold,
};
use a_free_permit_goes_to_the_first_in_line::{
    a_free_permit_goes_to_the_first_in_line, is_awaited,
};
use a_growing_stream_wakes_its_readers::{a_growing_stream_wakes_its_readers, may_be_read};
use a_handoff_follows_its_task::{a_handoff_follows_its_task, may_be_followed};
use a_handoff_moves_its_task::{a_handoff_moves_its_task, may_move_a_task};
use a_join_settles_when_its_tasks_have_finished::{
    a_join_settles_when_its_tasks_have_finished, may_settle,
};
use a_larger_budget_lets_tasks_start::{a_larger_budget_lets_tasks_start, may_let_tasks_start};
use a_message_goes_to_the_first_waiter::{a_message_goes_to_the_first_waiter, may_be_received};
use a_reached_status_ends_its_waits::{a_reached_status_ends_its_waits, may_end_waits};
pub(crate) use a_reaction_follows_its_event::a_reaction_follows_its_event;
use a_ready_stage_becomes_a_task::a_ready_stage_becomes_a_task;
pub(crate) use a_ready_stage_becomes_a_task::work_of;
use a_ready_task_goes_to_the_first_waiter::{
    a_ready_task_goes_to_the_first_waiter, may_be_waited_for,
};
use a_stage_that_is_over_needs_no_task::{a_stage_that_is_over_needs_no_task, may_concern_tasks};
use a_started_stage_is_handed_over::{a_started_stage_is_handed_over, may_be_handed_over};
use an_abandoned_stage_may_fail_its_pipeline::an_abandoned_stage_may_fail_its_pipeline;
use an_agent_has_a_namespace::an_agent_has_a_namespace;
pub(crate) use an_answered_call_leaves_its_other_queues::{
    an_answered_call_leaves_its_other_queues, is_in_several_queues,
};
use an_ended_session_lets_go::an_ended_session_lets_go;
use an_open_handoff_goes_to_the_first_waiter::{
    a_handoff_goes_to_an_agent_that_joined, an_open_handoff_goes_to_the_first_waiter,
    may_be_delivered,
};

use crate::event::Event;
use crate::join;
use crate::signal::Consequence;
use crate::space::Space;
use crate::wait::Target;

/// The commands and signals that follow from an event.
pub fn follow(space: &Space, event: &Event) -> Vec<Consequence> {
    match event {
        Event::Agent(event) => {
            let mut commands = an_ended_session_lets_go(event);
            commands.extend(an_agent_has_a_namespace(event));
            commands.extend(a_forgotten_agent_leaves_no_empty_namespace(space, event));
            commands.extend(a_handoff_goes_to_an_agent_that_joined(space, event));
            commands
        }
        Event::Message(event) => a_message_goes_to_the_first_waiter(space, event),
        Event::Stream(event) => a_growing_stream_wakes_its_readers(space, event),
        Event::Lock(event) => a_free_lock_goes_to_the_first_in_line(space, event),
        Event::Semaphore(event) => a_free_permit_goes_to_the_first_in_line(space, event),
        Event::Task(event) => {
            // First, so that a call sees the status that the event leads to.
            let mut commands = a_reached_status_ends_its_waits(space);
            commands.extend(a_ready_task_goes_to_the_first_waiter(space, event));
            commands.extend(a_join_settles_when_its_tasks_have_finished(space));
            commands.extend(a_finished_task_ends_its_stage(space, event));
            commands.extend(a_handoff_follows_its_task(space, event));
            commands
        }
        Event::Spend(event) => a_larger_budget_lets_tasks_start(space, event),
        Event::Pipeline(event) => {
            let mut commands = a_ready_stage_becomes_a_task(space, event);
            commands.extend(a_stage_that_is_over_needs_no_task(space, event));
            commands.extend(a_started_stage_is_handed_over(space, event));
            commands.extend(an_abandoned_stage_may_fail_its_pipeline(space, event));
            commands
        }
        Event::Handoff(event) => {
            let mut commands = a_reached_status_ends_its_waits(space);
            commands.extend(a_handoff_moves_its_task(space, event));
            commands.extend(an_open_handoff_goes_to_the_first_waiter(space, event));
            commands
        }
        Event::Join(join::Event::Created { .. }) => {
            a_join_settles_when_its_tasks_have_finished(space)
        }
        _ => Vec::new(),
    }
}

/// Whether anything can follow from an event. If not, a commit with this event alone cannot be
/// refused after it was applied.
pub fn may_follow(space: &Space, event: &Event) -> bool {
    match event {
        Event::Agent(_) => true,
        Event::Message(event) => may_be_received(space, event),
        Event::Stream(event) => may_be_read(space, event),
        Event::Lock(event) => {
            is_the_end_of_a_hold(event) && space.lock.first_in_line(event.name()).is_some()
        }
        Event::Semaphore(event) => is_awaited(space, event),
        Event::Task(event) => {
            may_be_waited_for(space, event)
                || may_settle(space, event)
                || is_of_a_stage(space, event)
                || may_be_followed(space, event)
                || may_end_waits(space, || event.task().cloned().map(Target::Task))
        }
        Event::Spend(event) => may_let_tasks_start(space, event),
        Event::Pipeline(event) => may_concern_tasks(event) || may_be_handed_over(event),
        Event::Handoff(event) => {
            may_move_a_task(event)
                || may_be_delivered(space, event)
                || may_end_waits(space, || event.handoff().cloned().map(Target::Handoff))
        }
        Event::Join(event) => matches!(event, join::Event::Created { .. }),
        _ => false,
    }
}

//! Waits for a status as text.

use super::super::handoffs::shown_handoff;
use super::shown_one_task;
use crate::handoff;
use crate::primitive::Event as _;
use crate::wait::{Event, Goal, Reply, Work};

pub(super) fn rendered(event: &Event) -> String {
    let line = event.kind();
    match event {
        Event::Queued { wait, waiter, until, goal } => {
            format!("{line} {} by {waiter} call={wait} until {}", wanted(goal), until.0)
        }
        Event::Answered { wait, waiter, goal } => {
            format!("{line} {} by {waiter} call={wait}", wanted(goal))
        }
        Event::GaveUp { wait, waiter, goal, left } => {
            format!("{line} {} by {waiter} call={wait} {left:?}", wanted(goal))
        }
    }
}

fn wanted(goal: &Goal) -> String {
    let (id, words): (&str, Vec<&str>) = match goal {
        Goal::Task { id, statuses } => (id.as_str(), statuses.iter().map(|it| it.word()).collect()),
        Goal::Handoff { id, statuses } => {
            (id.as_str(), statuses.iter().map(|it| it.word()).collect())
        }
    };
    format!("{id} [{}]", words.join(", "))
}

pub(super) fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Task(task) => task.as_deref().map_or("null".into(), shown_one_task),
        Reply::Handoff(found) => shown_handoff(&handoff::Reply::Received(found.clone())),
        Reply::Next(None) => "null".into(),
        Reply::Next(Some(Work::Handoff(found))) => {
            format!("handoff {}", shown_handoff(&handoff::Reply::Received(Some(found.clone()))))
        }
        Reply::Next(Some(Work::Message(message))) => format!("message {}", message.id),
        Reply::Next(Some(Work::Task(task))) => format!("task {}", shown_one_task(task)),
    }
}

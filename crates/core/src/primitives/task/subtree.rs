//! The subtasks of a task whose holder was lost.

use std::collections::BTreeSet;

use super::{Cause, Event, Table};
use crate::limits;
use crate::names::TaskId;
use crate::space::stamp::Stamp;

/// These events, and those that end the leases below the tasks that are lost with them: no agent
/// works for a holder that has gone. The subtasks return to the queue, and no attempt counts as
/// failed.
pub(super) fn with_released(table: &Table, mut events: Vec<Event>, stamp: &Stamp) -> Vec<Event> {
    let released = released_below(table, &events, stamp);
    events.extend(released);
    events
}

fn released_below(table: &Table, events: &[Event], stamp: &Stamp) -> Vec<Event> {
    if !stamp.ends_below || !table.links().has_children() {
        return Vec::new();
    }
    #[cfg(feature = "planted")]
    if crate::planted::is("task.work_below_goes_on") {
        return Vec::new();
    }
    let is_lost = |event: &Event| {
        let causes = [Cause::AgentGone, Cause::LeaseExpired];
        matches!(event, Event::Failed { cause, .. } if causes.contains(cause))
    };
    let mut seen: BTreeSet<&TaskId> = events.iter().filter_map(Event::task).collect();
    let mut released = Vec::new();
    for lost in events.iter().filter(|event| is_lost(event)).filter_map(Event::task) {
        let mut open = vec![lost];
        while let Some(parent) = open.pop() {
            for task in table.links().children(parent) {
                open.push(task);
                let is_held = table.get(task).is_some_and(|record| {
                    record.lease.as_ref().is_some_and(|lease| !lease.abandoned)
                });
                if is_held && seen.insert(task) {
                    let reason = format!("the holder of task `{lost}`, above it, was lost");
                    released.push(Event::Released { task: task.clone(), reason: Some(reason) });
                }
            }
            if released.len() >= limits::TASK_SUBTREE_MAX {
                return released;
            }
        }
    }
    released
}

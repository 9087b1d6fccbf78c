//! Joins as text.

use super::brief;
use crate::join::{Event, Every, Join, Need, Part, Reply};
use crate::primitive::Event as _;

pub(super) fn rendered(event: &Event) -> String {
    let line = format!("{} {}", event.kind(), event.join());
    match event {
        Event::Created { need, group, tasks, deadline, .. } => {
            let tasks: Vec<_> = tasks.iter().map(ToString::to_string).collect();
            let over = group.as_ref().map_or(tasks.join(", "), |group| format!("group {group}"));
            let until = deadline.map_or(String::new(), |moment| format!(" until {}", moment.0));
            format!("{line} over [{over}] need={}{until}", needed(*need))
        }
        Event::Settled { status, reason, .. } => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            format!("{line} {status:?}{reason}")
        }
        Event::Queued { waiter, wait, until, .. } => {
            format!("{line} by {waiter} call={wait} until {}", until.0)
        }
        Event::Answered { waiter, wait, .. } => format!("{line} by {waiter} call={wait}"),
        Event::GaveUp { waiter, wait, left, .. } => {
            format!("{line} by {waiter} call={wait} {left:?}")
        }
    }
}

pub(super) fn shown(reply: &Reply) -> String {
    let part = |part: &Part| {
        let Part { task, status, result, error, late, omitted } = part;
        let result = result.as_ref().or(error.as_ref());
        let result = result.map_or(String::new(), |json| format!("={}", brief(json)));
        let late = if *late { " late" } else { "" };
        let omitted = if *omitted { " omitted" } else { "" };
        format!("{task} {}{result}{late}{omitted}", status.word())
    };
    let whole = |join: &Join| {
        let parts: Vec<_> = join.members.iter().map(part).collect();
        format!("{} {:?} [{}]", join.id, join.status, parts.join(", "))
    };
    match reply {
        Reply::Join(join) => whole(join),
        Reply::Settled(join) => join.as_ref().map_or("null".into(), |join| whole(join)),
    }
}

fn needed(need: Need) -> String {
    match need {
        Need::Number(number) => number.to_string(),
        Need::Every(Every::All) => "all".into(),
    }
}

//! The event bus and reactions as text.

use super::brief;
use crate::primitive::Event as _;
use crate::reaction::{Event, Reaction, Reply};
use crate::user_event;

pub(super) fn rendered_user_event(event: &user_event::Event) -> String {
    let user_event::Event::Emitted { kind, payload } = event;
    format!("{kind}{}", payload.as_ref().map_or(String::new(), |it| format!(" {}", brief(it))))
}

pub(super) fn rendered(event: &Event) -> String {
    let line = format!("{} {}", event.kind(), event.reaction());
    match event {
        Event::Added { commands, webhook, enabled, replaced, .. } => {
            let does = webhook.as_ref().map_or(String::new(), |it| format!(" calls {}", it.url));
            let off = if *enabled { "" } else { " off" };
            let replaced = if *replaced { " replaced" } else { "" };
            format!("{line} {}{does}{off}{replaced}", commands.len())
        }
        Event::Ran { by, cause, depth, events, .. } => {
            format!("{line} by {by} on {cause} deep {depth} did {events}")
        }
        Event::Failed { cause, command, code, .. } => {
            let at = command.map_or(String::new(), |index| format!(" at {index}"));
            format!("{line} on {cause}{at} {code}")
        }
        Event::Stopped { cause, limit, max, .. } => format!("{line} on {cause} {limit:?} {max}"),
        Event::Called { call, body, .. } => format!("{line} #{call} {} bytes", body.as_str().len()),
        Event::CallBegun { call, attempt, until, .. } => {
            format!("{line} #{call} try {attempt} until {}", until.0)
        }
        Event::CallDone { call, attempt, status, .. } => {
            format!("{line} #{call} try {attempt} {status}")
        }
        Event::CallFailed { call, attempt, again_at, .. } => {
            format!("{line} #{call} try {attempt} again at {}", again_at.0)
        }
        Event::CallDead { call, attempt, .. } => format!("{line} #{call} try {attempt}"),
        Event::Sealed { .. }
        | Event::Removed { .. }
        | Event::Enabled { .. }
        | Event::Disabled { .. } => line,
    }
}

pub(super) fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Reaction(reaction) => one(reaction),
        Reply::Reactions { reactions, cursor } => {
            let names: Vec<_> = reactions.iter().map(|found| found.name.as_str()).collect();
            let next = cursor.as_ref().map_or(String::new(), |cursor| format!(" next={cursor}"));
            format!("[{}]{next}", names.join(", "))
        }
        Reply::Calls { calls, next_at } => {
            let calls: Vec<_> = calls.iter().map(|it| format!("#{}", it.number)).collect();
            let next = next_at.map_or(String::new(), |moment| format!(" next at {}", moment.0));
            format!("calls [{}]{next}", calls.join(", "))
        }
        Reply::Done => "nothing".into(),
    }
}

fn one(reaction: &Reaction) -> String {
    let Reaction { name, added_by, enabled, runs, failures, calls, .. } = reaction;
    let state = if *enabled { "on" } else { "off" };
    let trouble = reaction.trouble.as_ref().map_or("", |trouble| trouble.code.as_str());
    format!("{name} {state} by {added_by} runs={runs} failures={failures}{trouble} calls={calls}")
}

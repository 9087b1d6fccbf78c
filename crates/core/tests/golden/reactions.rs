//! Examples of emitted events, and of events of reactions.

use baton_core::reaction::{self, Condition, Limit, On, Secret, Webhook};
use baton_core::{Event, EventType, Json, ReactionName, Timestamp, user_event};

use crate::{ada, json};

pub(crate) fn emitted() -> Vec<(&'static str, Event)> {
    let kind = || EventType::parse("deploy.finished").unwrap();
    let event = |payload| Event::UserEvent(user_event::Event::Emitted { kind: kind(), payload });
    vec![
        ("deploy.finished", event(None)),
        ("deploy.finished with a payload", event(Some(json(r#"{"version":7}"#)))),
    ]
}

fn name() -> ReactionName {
    ReactionName::parse("note").unwrap()
}

pub(crate) fn calls() -> Vec<(&'static str, Event)> {
    use reaction::Event::{CallBegun, CallDead, CallDone, CallFailed, Called};
    let (reaction, moment) = (name(), Timestamp(1_794_700_800_123));
    let (call, attempt, detail) = (7, 2, "status 500".to_owned());
    let events = vec![
        (
            "reaction.called",
            Called { reaction: name(), call, body: json("{\"event\":{}}"), give_up_at: moment },
        ),
        ("reaction.call_begun", CallBegun { reaction: name(), call, attempt, until: moment }),
        ("reaction.call_done", CallDone { reaction: name(), call, attempt, status: 204 }),
        (
            "reaction.call_failed",
            CallFailed {
                reaction: name(),
                call,
                attempt,
                detail: detail.clone(),
                again_at: moment,
            },
        ),
        ("reaction.call_dead", CallDead { reaction, call, attempt, detail }),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Reaction(event))).collect()
}

pub(crate) fn reactions() -> Vec<(&'static str, Event)> {
    use reaction::Event::{Disabled, Enabled, Failed, Ran, Removed, Sealed, Stopped};
    let command = |text: &str| -> Json { json(text) };
    let on = || On {
        kind: Some("deploy.*".parse().unwrap()),
        subject: Some("events/**".parse().unwrap()),
        condition: Some(Condition::compile("has(event.payload)").unwrap()),
    };
    let added = |on, commands, webhook, enabled, replaced| reaction::Event::Added {
        reaction: name(),
        on,
        commands,
        webhook,
        enabled,
        replaced,
    };
    let simple = On { subject: None, condition: None, ..on() };
    let webhook = Webhook {
        url: "http://hooks.example/done".into(),
        timeout_ms: 10_000,
        retries: 5,
        signed: true,
    };
    let note = command(r#"{"command":"event.emit","payload":"{{payload}}","type":"noted"}"#);
    let events = vec![
        ("reaction.added", added(simple, vec![note.clone()], None, true, false)),
        ("reaction.added with everything", added(on(), vec![note], Some(webhook), false, true)),
        ("reaction.sealed", Sealed { reaction: name(), secret: Secret::new("hush".into()) }),
        ("reaction.removed", Removed { reaction: name() }),
        ("reaction.enabled", Enabled { reaction: name() }),
        ("reaction.disabled", Disabled { reaction: name() }),
        ("reaction.ran", Ran { reaction: name(), by: ada(), cause: 0, depth: 1, events: 2 }),
        (
            "reaction.failed",
            Failed {
                reaction: name(),
                cause: 0,
                command: Some(1),
                code: "state.not_found".into(),
                detail: "there is no `plan`".into(),
            },
        ),
        ("reaction.stopped", Stopped { reaction: name(), cause: 9, limit: Limit::Depth, max: 8 }),
        (
            "reaction.stopped with too many runs",
            Stopped { reaction: name(), cause: 9, limit: Limit::Runs, max: 1_000 },
        ),
    ];
    events.into_iter().map(|(name, event)| (name, Event::Reaction(event))).collect()
}

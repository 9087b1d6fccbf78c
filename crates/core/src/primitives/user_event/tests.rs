//! Scenarios of the event bus.

use super::{History, RESERVED, Rejection};
use crate::space::batch::Batch;
use crate::testing::{World, check_codes, scenarios};
use crate::wire::OPERATIONS;

scenarios! {
    an_emitted_event_is_recorded_like_any_other => [
        (0, "ada", r#"event.emit deploy.finished payload={"version":7}"#,
            r#"deploy.finished {"version":7}"#),
        (1, "bob", "event.emit ping", "ping"),
        (1, "bob", "event.emit ping payload=null", "ping null"),
        (2, "bob", r#"all: event.emit build.done & state.set shared/build "green""#,
            r#"build.done; state.set shared/build v1 = "green""#),
        (3, "ada", "#k event.emit deploy.begun", "deploy.begun; receipt.kept k"),
        (4, "ada", "#k event.emit deploy.begun",
            r#"r5: {"emitted":{"type":"deploy.begun","subject":"events/deploy.begun"}}"#),
        (5, "ada", r#"event.history type="deploy.*""#, "about the past"),
    ]

    no_agent_emits_the_events_of_a_task => [
        (0, "ada", "event.emit task.completed", "refused event.reserved_type"),
        (0, "ada", "event.emit task", "refused event.reserved_type"),
        (0, "ada", "event.emit reaction.ran.twice", "refused event.reserved_type"),
        (0, "ada", "event.emit tasks.completed", "tasks.completed"),
        (0, "ada", "all: event.emit ping & event.emit state.set",
            "refused transaction.command_refused 1 event.reserved_type"),
        (0, "ada", "event.emit large payload=bytes:262145", "refused event.too_large"),
        (0, "ada", "event.emit large payload=bytes:262144", "large 262144 bytes"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = ["event.out_of_range", "event.bad_field"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn event_types_of_baton_are_reserved() {
    for operation in OPERATIONS {
        let (primitive, _) = operation.parts();
        assert!(RESERVED.contains(&primitive), "{primitive}");
    }
    assert!(RESERVED.is_sorted());
}

#[test]
fn invalid_queries_are_refused() {
    let asked = |limit, cursor: Option<&str>| History {
        limit,
        cursor: cursor.map(str::to_owned),
        ..History::default()
    };
    assert_eq!(asked(None, None).limit(), Ok(100));
    for limit in [0, 10_001, u64::MAX] {
        let refused = asked(Some(limit), None).limit().unwrap_err();
        assert_eq!(refused.code(), "event.out_of_range");
    }
    let page_start = asked(None, Some("12.3")).page_start().unwrap().unwrap();
    assert_eq!((page_start.revision.0, page_start.delivered), (12, 3));
    for cursor in ["", "x", "1.x", "-1", "1.2.3"] {
        let refused = asked(None, Some(cursor)).page_start();
        assert!(matches!(refused, Err(Rejection::BadField(_))), "{cursor}");
    }
}

#[test]
fn filters_ask_for_type_subject_and_source() {
    let mut world = World::new(crate::space::Space::default());
    world.run(0, "ada", "event.emit deploy.finished");
    world.run(0, "ada", "state.set shared/a 1");
    let wants = |batch: &Batch, text: &str| {
        let asked: History = serde_json::from_str(text).unwrap();
        asked.wants(batch, 0)
    };
    let [emitted, set] = world.batches() else { panic!("two commits") };
    for (text, both) in [
        ("{}", [true, true]),
        (r#"{"type":"deploy.*"}"#, [true, false]),
        (r#"{"type":"state.set"}"#, [false, true]),
        (r#"{"subject":"state/**"}"#, [false, true]),
        (r#"{"source":"ada"}"#, [true, true]),
        (r#"{"source":"bob"}"#, [false, false]),
    ] {
        assert_eq!([wants(emitted, text), wants(set, text)], both, "{text}");
    }
}

//! The fast path and the general path, side by side.

use proptest::prelude::*;

use super::FastSet;
use crate::command::{Command, Request};
use crate::names::{AgentId, IdempotencyKey};
use crate::reply::Answer;
use crate::space::{CallOutcome, Space, StorageQuota};
use crate::testing::{Picture, read_command};
use crate::time::Timestamp;

/// Commands between two sets that make the fast path inapplicable, or applicable again.
const BETWEEN: &[&str] = &[
    "state.delete shared/a",
    "state.set shared/a 7 ttl_ms=40",
    "state.set shared/b 7 if_absent",
    "state.set notes/a 7",
    "time",
    r#"contract.declare c keys=[{"key":"shared/a","type":"number"}] on_break="refuse""#,
    "contract.delete c force=true",
    "namespace.create notes",
    r#"namespace.configure notes rules={"append_only":true}"#,
    "namespace.configure notes rules={}",
    "namespace.delete notes",
];

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

fn commit(space: &mut Space, request: Request, by: &AgentId, now: Timestamp) -> Option<Answer> {
    match space.commit(request, by, now).ok()?.outcome {
        CallOutcome::Answered(answer) => Some(answer),
        CallOutcome::Waits(_) => panic!("no command waits"),
    }
}

/// Sets by the fast path if it applies, otherwise by the general one; returns which.
fn set(
    space: &mut Space,
    request: Request,
    by: &AgentId,
    now: Timestamp,
) -> (Option<Answer>, bool) {
    let before = Picture::of(space);
    let set = FastSet::of(&request).expect("it is as plain as can be");
    if let Some(write) = space.fast_set(&set, by, now) {
        return (Some(write.into_answer()), true);
    }
    assert_eq!(Picture::of(space), before, "what is not plain has changed something");
    (commit(space, request, by, now), false)
}

/// Executes the actions that are due.
fn expire(space: &mut Space, now: Timestamp) {
    for signal in space.due(now) {
        space.signal(vec![signal], now).unwrap();
    }
}

fn read(text: &str) -> Request {
    let command: Command = read_command(text);
    command.into()
}

proptest! {
    #[test]
    fn both_ways_lead_to_the_same(
        steps in prop::collection::vec(
            prop_oneof![
                3 => (0..3_usize, 0..2_usize, 0..4_u64, 0..6_usize).prop_map(|step| {
                    let (key, place, version, once) = step;
                    let (key, place) = (["a", "b", "c"][key], ["shared", "notes"][place]);
                    let condition = match version {
                        3 => String::new(),
                        version => format!(" expected_version={version}"),
                    };
                    let once = ["x", "y", "z"].get(once).copied();
                    (Some(once), format!("state.set {place}/{key} {version}{condition}"))
                }),
                1 => prop::sample::select(BETWEEN).prop_map(|text| (None, text.to_owned())),
            ],
            1..40,
        ),
        times in prop::collection::vec(0..100_u64, 40),
        entries_max in prop::option::of(0..5_u64),
        bytes_max in prop::option::of(0..150_u64),
    ) {
        let (mut general, mut short) = (Space::default(), Space::default());
        let quota = Some(StorageQuota { entries_max, bytes_max });
        general.set_quota(quota);
        short.set_quota(quota);
        for ((set_once, text), time) in steps.iter().zip(times) {
            let by = agent(if time % 2 == 0 { "ada" } else { "bob" });
            let now = Timestamp(1_000 + time);
            if text == "time" {
                expire(&mut general, now);
                expire(&mut short, now);
                continue;
            }
            let key = set_once.flatten().map(|key| IdempotencyKey::parse(key).unwrap());
            let request = || Request { idempotency_key: key.clone(), ..read(text) };
            let expected = commit(&mut general, request(), &by, now);
            let came = match set_once {
                Some(_) => set(&mut short, request(), &by, now).0,
                None => commit(&mut short, request(), &by, now),
            };
            prop_assert_eq!(came, expected, "{}", text);
            prop_assert_eq!(Picture::of(&short), Picture::of(&general), "{}", text);
        }
    }
}

#[test]
fn most_sets_take_the_fast_path_and_rules_or_reactions_disable_it() {
    let (ada, now) = (agent("ada"), Timestamp(1));
    let plainly = |space: &mut Space, text: &str| set(space, read(text), &ada, now).1;
    let mut space = Space::default();
    assert!(!plainly(&mut space, "state.set shared/a 1"), "the first of a namespace makes a shelf");
    assert!(plainly(&mut space, "state.set shared/a 2"));
    assert!(plainly(&mut space, "state.set shared/new 2 expected_version=0"));
    assert!(!plainly(&mut space, "state.set shared/a 2 expected_version=1"), "it has another");
    assert!(!plainly(&mut space, "state.set nowhere/a 2"), "there is no such namespace");
    let long = "k".repeat(crate::limits::KEY_BYTES_MAX + 1);
    for key in ["", "a\u{1}", &long] {
        let set = FastSet {
            namespace: "shared",
            key,
            value: "1",
            expected_version: None,
            idempotency_key: None,
            is_minimal: false,
        };
        assert!(space.fast_set(&set, &ada, now).is_none(), "no key: {key:?}");
    }
    commit(&mut space, read("state.set shared/gone 1 ttl_ms=50"), &ada, now).unwrap();
    assert!(!plainly(&mut space, "state.set shared/gone 3"), "it ended by itself");
    commit(&mut space, read("state.set shared/gone 1 ttl_ms=50"), &ada, now).unwrap();
    assert!(plainly(&mut space, "state.set shared/a 3"), "another entry ends by itself");
    assert!(space.fast_get("shared", "gone").unwrap().expires_at().is_some());
    expire(&mut space, Timestamp(99));
    assert!(!plainly(&mut space, "state.set shared/gone 3"), "it continues after its last version");
    let quota =
        |entries_max| Some(StorageQuota { entries_max: Some(entries_max), bytes_max: None });
    space.set_quota(quota(3));
    assert!(!plainly(&mut space, "state.set shared/a 4"), "the quota may be reached");
    space.set_quota(quota(9));
    assert!(plainly(&mut space, "state.set shared/a 4"));
    assert_eq!(space.fast_get("shared", "a").unwrap().value(), b"4");
    assert!(space.fast_get("shared", "b").is_none());
}

use baton_core::{Json, Key, NamespaceName, Revision, Timestamp, Version, workspace};
use proptest::prelude::*;
use serde::Serialize;

use super::*;

#[derive(Serialize)]
struct Body<'a> {
    agent: &'a AgentId,
    events: &'a [Event],
}

fn assert_as_serde(agent: &AgentId, events: &[Event]) {
    let mut by_hand = Vec::new();
    let (agent, events) = (agent.clone(), events.to_vec());
    let batch = Batch { revision: Revision(7), time: Timestamp(9), agent, events };
    body(&mut by_hand, &batch);
    let Batch { agent, events, .. } = &batch;
    let by_serde = rmp_serde::to_vec_named(&Body { agent, events }).unwrap();
    assert!(by_hand == by_serde, "{events:?}");
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0..0x101_u64, 0xff00..0x1_0100_u64, 0xffff_ff00..0x1_0000_0100_u64, any::<u64>()]
}

fn any_agent() -> impl Strategy<Value = AgentId> {
    "[a-z]{1,100}".prop_map(|name| AgentId::parse(&name).unwrap())
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let all = [Operation::Set, Operation::Patched, Operation::Transferred, Operation::Copied];
    prop::sample::select(all.to_vec())
}

fn any_event() -> impl Strategy<Value = Event> {
    let place = ("[a-z]{1,40}", prop_oneof!["[a-zé]{1,12}", "k{250,260}", "k{28,36}"]);
    let length = prop_oneof![0..300_usize, 0xfff0..0x1_0010_usize];
    let source = prop::option::weighted(0.2, (any_agent(), any_number()));
    let ending = (prop::option::of(any_number()), prop::option::of(any_agent()));
    (place, length, any_number(), any_operation(), ending, source, 0..13_usize).prop_map(
        |(place, length, version, operation, (expires_at, bound_to), source, which)| {
            let namespace = NamespaceName::parse(&place.0).unwrap();
            let key = Key::parse(&place.1).unwrap();
            let version = Version(version);
            match which {
                0 => Event::Workspace(workspace::Event::Configured {
                    retention: workspace::Retention::default(),
                }),
                1..5 => {
                    let removals = [
                        Removal::Deleted,
                        Removal::Expired,
                        Removal::LetGo,
                        Removal::TransferredAway,
                    ];
                    let removal = removals[which - 1];
                    Event::State(state::Event::Deleted { namespace, key, version, removal })
                }
                _ => Event::State(state::Event::Set {
                    source: source.map(|(agent, revision)| Source {
                        namespace: namespace.clone(),
                        version,
                        revision: Revision(revision),
                        agent,
                    }),
                    namespace,
                    key,
                    value: Json::of(&"v".repeat(length)).unwrap(),
                    version,
                    operation,
                    expires_at: expires_at.map(Timestamp),
                    bound_to,
                }),
            }
        },
    )
}

proptest! {
    #[test]
    fn the_bytes_are_those_of_serde(
        agent in any_agent(),
        events in prop_oneof![
            prop::collection::vec(any_event(), 0..3),
            prop::collection::vec(any_event(), 14..18),
        ]
    ) {
        assert_as_serde(&agent, &events);
    }
}

#[test]
fn many_events_have_a_longer_head() {
    let retention = workspace::Retention::default();
    let event = Event::Workspace(workspace::Event::Configured { retention });
    for count in [0, 15, 16, 0xffff, 0x1_0000] {
        assert_as_serde(&AgentId::engine(), &vec![event.clone(); count]);
    }
}

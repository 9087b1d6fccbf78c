use baton_core::{Batch, Timestamp, WorkspaceName, workspace};
use proptest::prelude::*;
use serde::Serialize;

use super::*;
use crate::codec::{PREFIX, decode, encode, frame, subjects};

fn namespace(name: &str) -> NamespaceName {
    NamespaceName::parse(name).unwrap()
}

/// The two events of a key that moves from `ada` to `bob`.
fn moved(key: &str, number: u64, by: &str) -> [Event; 2] {
    let (key, version) = (Key::parse(key).unwrap(), Version(number));
    let source = Source {
        namespace: namespace("ada"),
        version,
        revision: Revision(number + 300),
        agent: AgentId::parse(by).unwrap(),
    };
    let arrived = state::Event::Set {
        namespace: namespace("bob"),
        key: key.clone(),
        value: Json::of(&number).unwrap(),
        version: Version(number + 1),
        operation: Operation::Transferred,
        expires_at: None,
        bound_to: None,
        source: Some(source),
    };
    let removal = Removal::TransferredAway;
    let left = state::Event::Deleted { namespace: namespace("ada"), key, version, removal };
    [arrived, left].map(Event::State)
}

fn other() -> Event {
    let retention = workspace::Retention::default();
    Event::Workspace(workspace::Event::Configured { retention })
}

fn batch(events: Vec<Event>) -> Batch {
    let agent = AgentId::parse("cem").unwrap();
    Batch { revision: Revision(7), time: Timestamp(9), agent, events }
}

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, &WorkspaceName::parse("w").unwrap(), batch, None);
    bytes
}

fn schema(frame: &[u8]) -> u8 {
    frame[PREFIX + 1]
}

/// The bytes that are in logs: they may not change.
#[test]
fn keys_that_move_together_are_one_record() {
    let events = [moved("a", 1, "eve"), moved("b", 2, "eve")].concat();
    let expected: Vec<u8> = [
        b"\x83\xa5agent\xa3cem\xa6events\x90\xa5moved\x91".as_slice(),
        b"\x85\xa2at\x00\xa4from\xa3ada\xa2to\xa3bob\xa2by\xa3eve\xa4keys\x92",
        b"\x95\xa1a\xc4\x011\x02\x01\xcd\x01\x2d",
        b"\x95\xa1b\xc4\x012\x03\x02\xcd\x01\x2e",
    ]
    .concat();
    let bytes = encoded(&batch(events.clone()));
    assert!(bytes.ends_with(&expected), "{}", bytes.escape_ascii());
    assert_eq!(schema(&bytes), 2);
    assert_eq!(decode(&bytes).unwrap().events, events);
}

/// Data that was written by a version without the record.
#[test]
fn the_same_keys_are_read_as_single_events() {
    #[derive(Serialize)]
    struct Body<'a> {
        agent: &'a AgentId,
        events: &'a [Event],
    }
    let batch = batch([moved("a", 1, "eve"), moved("b", 2, "eve")].concat());
    let body = Body { agent: &batch.agent, events: &batch.events };
    let mut bytes = Vec::new();
    let (workspace, head) = (WorkspaceName::parse("w").unwrap(), (batch.revision, batch.time));
    frame(&mut bytes, &workspace, head, None, |group| {
        group.extend(rmp_serde::to_vec_named(&body).unwrap());
        1
    });
    assert_eq!(decode(&bytes), Ok(batch));
}

#[test]
fn other_pairs_of_events_are_not_combined_into_a_move() {
    let [arrived, left] = moved("a", 1, "eve");
    let [_, left_later] = moved("a", 2, "eve");
    let [_, another] = moved("b", 1, "eve");
    let mut expiring = arrived.clone();
    if let Event::State(state::Event::Set { expires_at, .. }) = &mut expiring {
        *expires_at = Some(Timestamp(5));
    }
    let pairs = [
        [arrived.clone(), left_later],
        [arrived.clone(), another],
        [expiring, left.clone()],
        [left.clone(), arrived.clone()],
        [arrived.clone(), arrived.clone()],
    ];
    for pair in pairs {
        let batch = batch([pair.clone(), pair].concat());
        let bytes = encoded(&batch);
        assert_eq!((schema(&bytes), decode(&bytes)), (1, Ok(batch)));
    }
    let alone = batch(vec![other(), arrived, left, other()]);
    assert_eq!(schema(&encoded(&alone)), 1);
}

#[test]
fn a_record_without_a_place_is_damage() {
    let record = |at| Moved {
        at,
        from: namespace("ada"),
        to: namespace("bob"),
        by: AgentId::parse("eve").unwrap(),
        keys: Vec::new(),
    };
    assert_eq!(restore(vec![other()], vec![record(0), record(1)]), Some(vec![other()]));
    assert_eq!(restore(vec![other()], vec![record(2)]), None);
    assert_eq!(restore(vec![other()], vec![record(1), record(0)]), None);
}

fn some_events() -> impl Strategy<Value = Vec<Event>> {
    let by = prop::sample::select(vec!["eve", "zoe"]);
    let some =
        ("[a-c]{1,40}", 0..100_000_u64, by, 0..5_usize).prop_map(|(key, number, by, which)| {
            let [arrived, left] = moved(&key, number, by);
            match which {
                0 => vec![other()],
                1 => vec![left],
                2 => vec![arrived],
                _ => vec![arrived, left],
            }
        });
    prop::collection::vec(some, 0..40).prop_map(|events| events.concat())
}

proptest! {
    #[test]
    fn every_batch_is_read_as_it_was_written(events in some_events()) {
        let batch = batch(events);
        let bytes = encoded(&batch);
        let mut found = Vec::new();
        subjects(&bytes, |parts| found.push(parts.concat())).unwrap();
        prop_assert_eq!(found, batch.events.iter().map(Event::subject).collect::<Vec<_>>());
        prop_assert_eq!(decode(&bytes), Ok(batch));
    }
}

use baton_core::{
    AgentId, Answer, Json, Key, NamespaceName, Reply, Revision, Timestamp, Version, WorkspaceName,
    lock, reaction, workspace,
};
use proptest::prelude::*;
use serde::Serialize;

use super::*;
use crate::codec::{CodecError, PREFIX, decode, encode, frame, subjects};

fn other() -> Event {
    let retention = workspace::Retention::default();
    Event::Workspace(workspace::Event::Configured { retention })
}

fn batch(events: Vec<Event>) -> Batch {
    let agent = AgentId::parse("cem").unwrap();
    Batch { revision: Revision(7), time: Timestamp(9), agent, events }
}

/// An event that sets a value.
fn set(key: &str, value: u64, version: u64, (expires_at, is_bound): (Option<u64>, bool)) -> Event {
    Event::State(state::Event::Set {
        namespace: NamespaceName::shared(),
        key: Key::parse(key).unwrap(),
        value: Json::of(&value).unwrap(),
        version: Version(version),
        operation: state::Operation::Set,
        expires_at: expires_at.map(Timestamp),
        bound_to: is_bound.then(|| AgentId::parse("cem").unwrap()),
        source: None,
    })
}

fn plain(key: &str, value: u64, version: u64) -> Event {
    set(key, value, version, (None, false))
}

/// The receipt of the request that caused this event.
fn receipt_of(event: &Event) -> Receipt {
    let batch = batch(Vec::new());
    let entry = entry_of(event, &batch.moment()).unwrap();
    Receipt::written(IdempotencyKey::parse("req-1").unwrap(), 300, entry)
}

fn encoded(batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, &WorkspaceName::parse("w").unwrap(), batch, None);
    bytes
}

fn schema(frame: &[u8]) -> u8 {
    frame[PREFIX + 1]
}

fn found(frame: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    subjects(frame, |parts| found.push(parts.concat())).unwrap();
    found
}

/// A batch is read as it was written, and so are its subjects.
#[track_caller]
fn assert_read(batch: &Batch, expected: u8) {
    let bytes = encoded(batch);
    assert_eq!(schema(&bytes), expected, "{batch:?}");
    assert_eq!(decode(&bytes).as_ref(), Ok(batch));
    assert_eq!(found(&bytes), batch.events.iter().map(Event::subject).collect::<Vec<_>>());
}

/// The bytes that are in logs: they may not change.
#[test]
fn a_receipt_names_the_event_with_its_answer() {
    let event = plain("a", 1, 2);
    let batch = batch(vec![event.clone(), Event::Receipt(receipt_of(&event))]);
    let expected: Vec<u8> = [
        b"\x83\xa5agent\xa3cem\xa4kept\x94\x01\x00\xa5req-1\xcd\x01\x2c\xa6events\x91".as_slice(),
        b"\x81\xa5state\x81\xa3set\x84\xa9namespace\xa6shared\xa3key\xa1a",
        b"\xa5value\xc4\x011\xa7version\x02",
    ]
    .concat();
    let bytes = encoded(&batch);
    assert!(bytes.ends_with(&expected), "{}", bytes.escape_ascii());
    assert_read(&batch, 3);
    let Event::Receipt(receipt) = decode(&bytes).unwrap().events.remove(1) else {
        panic!("the receipt is in its place")
    };
    assert!(matches!(receipt.answer, StoredAnswer::Written(_)));
}

/// Data that was written by a version without the record.
#[test]
fn the_same_receipt_is_read_as_a_single_event() {
    #[derive(Serialize)]
    struct Body<'a> {
        agent: &'a AgentId,
        events: &'a [Event],
    }
    let event = plain("a", 1, 2);
    let batch = batch(vec![event.clone(), Event::Receipt(receipt_of(&event))]);
    let body = Body { agent: &batch.agent, events: &batch.events };
    let mut bytes = Vec::new();
    let (workspace, head) = (WorkspaceName::parse("w").unwrap(), (batch.revision, batch.time));
    frame(&mut bytes, &workspace, head, None, |group| {
        group.extend(rmp_serde::to_vec_named(&body).unwrap());
        1
    });
    let read = decode(&bytes).unwrap();
    assert_eq!(read, batch);
    assert_eq!(found(&bytes), ["state/shared/a", "receipts/req-1"]);
    // Written anew, it has the new form: its answer is the same entry.
    let Event::Receipt(receipt) = &read.events[1] else { panic!("the receipt is in its place") };
    assert!(matches!(receipt.answer, StoredAnswer::Encoded(_)));
    assert_eq!(receipt.answer(), receipt_of(&event).answer());
}

#[test]
fn an_answer_that_is_not_the_entry_of_an_event_is_written() {
    let event = plain("a", 1, 2);
    let receipt = || Event::Receipt(receipt_of(&event));
    // The event has another key, value, version, expiry or binding, or comes after the receipt.
    let others = [
        plain("b", 1, 2),
        plain("a", 3, 2),
        plain("a", 1, 3),
        set("a", 1, 2, (Some(5), false)),
        set("a", 1, 2, (None, true)),
    ];
    for other in others {
        assert_read(&batch(vec![other, receipt()]), 1);
    }
    assert_read(&batch(vec![receipt(), event.clone()]), 1);
    // It is of another time or revision, by another author, or of a call that waited.
    let pair = vec![event.clone(), receipt()];
    assert_read(&Batch { time: Timestamp(8), ..batch(pair.clone()) }, 1);
    assert_read(&Batch { revision: Revision(8), ..batch(pair.clone()) }, 1);
    assert_read(&Batch { agent: AgentId::parse("ada").unwrap(), ..batch(pair) }, 1);
    let awaited = Receipt { agent: AgentId::parse("ada").ok(), ..receipt_of(&event) };
    assert_read(&batch(vec![event.clone(), Event::Receipt(awaited)]), 1);
    let answer = Answer { revision: Revision(7), reply: Reply::Lock(lock::Reply::Hold(None)) };
    let hold = Receipt::of(IdempotencyKey::parse("req-1").unwrap(), 300, &answer);
    assert_read(&batch(vec![event, Event::Receipt(hold)]), 1);
}

#[test]
fn a_receipt_has_its_place_among_other_events() {
    let special = set("a", 1, 2, (Some(70_000), true));
    let receipt = || Event::Receipt(receipt_of(&special));
    // The key may have been written before, and again by a reaction.
    let first = plain("a", 5, 1);
    assert_read(&batch(vec![first.clone(), special.clone(), receipt()]), 3);
    assert_read(&batch(vec![special.clone(), other(), receipt(), other()]), 3);
    let ran = Event::Reaction(reaction::Event::Ran {
        reaction: "r".try_into().unwrap(),
        by: AgentId::parse("eve").unwrap(),
        cause: 0,
        depth: 1,
        events: 1,
    });
    let again = plain("a", 6, 3);
    assert_read(&batch(vec![special.clone(), receipt(), ran, again]), 3);
    for count in [13, 14, 15, 125, 126, 127, 128, 254, 255, 256, 257] {
        let mut events = vec![other(); count];
        events.extend([special.clone(), receipt(), other()]);
        assert_read(&batch(events), 3);
    }
}

#[test]
fn a_record_without_a_place_or_an_answer_is_damage() {
    let event = plain("a", 1, 2);
    let written = |at: u64, of: u64, events: &[Event]| {
        #[derive(Serialize)]
        struct Body<'a> {
            agent: &'a str,
            kept: (u64, u64, &'a str, u64),
            events: &'a [Event],
        }
        let body = Body { agent: "cem", kept: (at, of, "req-1", 300), events };
        let mut bytes = Vec::new();
        let head = (Revision(7), Timestamp(9));
        frame(&mut bytes, &WorkspaceName::parse("w").unwrap(), head, None, |group| {
            group.extend(rmp_serde::to_vec_named(&body).unwrap());
            3
        });
        bytes
    };
    let expected = batch(vec![event.clone(), Event::Receipt(receipt_of(&event))]);
    assert_eq!(decode(&written(1, 0, &expected.events[..1])), Ok(expected));
    for (at, of, events) in [
        (2, 0, vec![event.clone()]),
        (u64::MAX, 0, vec![event.clone()]),
        (1, 1, vec![event.clone()]),
        (0, 0, vec![event.clone()]),
        (1, 0, vec![other()]),
        (0, 0, Vec::new()),
    ] {
        let bytes = written(at, of, &events);
        assert!(matches!(decode(&bytes), Err(CodecError::Corrupt { .. })), "{at} {of} {events:?}");
        if at != 1 && at != 0 {
            assert!(subjects(&bytes, |_| {}).is_err(), "{at}");
        }
    }
}

fn some_events() -> impl Strategy<Value = Vec<Event>> {
    let some = (0..3_usize, 0..4_u64, 1..4_u64, 0..6_usize, prop::option::of(0..3_u64));
    let some = some.prop_map(|(key, value, version, which, expires_at)| {
        let event = set(["a", "b", "c"][key], value, version, (expires_at, value == 3));
        match which {
            0 => vec![other()],
            1 => vec![Event::Receipt(receipt_of(&event))],
            2 => vec![event.clone(), Event::Receipt(receipt_of(&event))],
            _ => vec![event],
        }
    });
    prop::collection::vec(some, 0..12).prop_map(|events| events.concat())
}

proptest! {
    #[test]
    fn every_batch_is_read_as_it_was_written(events in some_events()) {
        let batch = batch(events);
        let bytes = encoded(&batch);
        prop_assert_eq!(found(&bytes), batch.events.iter().map(Event::subject).collect::<Vec<_>>());
        prop_assert_eq!(decode(&bytes), Ok(batch));
    }
}

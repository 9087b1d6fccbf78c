use baton_core::{AgentId, Batch, Event, Revision, Timestamp, WorkspaceName, messagepack};
use serde::Deserialize;

use super::*;
use crate::codec::{encode, subjects};

#[derive(Deserialize)]
struct Golden {
    examples: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    name: String,
    bytes: String,
}

/// Every event of the golden file, of all editions, as bytes.
fn golden() -> Vec<(String, Vec<u8>)> {
    let text = include_str!("../../../../../spec/events.json");
    let golden: Golden = serde_json::from_str(text).unwrap();
    let bytes = |text: &str| {
        let digits = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
        digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()).collect()
    };
    golden.examples.into_iter().map(|it| (it.name, bytes(&it.bytes))).collect()
}

fn record(events: Vec<Event>) -> Vec<u8> {
    let (agent, workspace) = (AgentId::engine(), WorkspaceName::parse("research").unwrap());
    let batch = Batch { revision: Revision(7), time: Timestamp(9), agent, events };
    let mut record = Vec::new();
    encode(&mut record, &workspace, &batch, None);
    record
}

fn found(record: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    subjects(record, |parts| found.push(parts.concat())).unwrap();
    found
}

#[test]
fn the_subject_of_every_event_is_that_of_the_decoded_one() {
    let mut events = Vec::new();
    let (mut read, mut all) = (0, 0);
    for (name, bytes) in golden() {
        assert_eq!(skip(&bytes), Some(&b""[..]), "`{name}` is skipped as a whole");
        let event: Event = messagepack::from_slice(&bytes).unwrap();
        all += 1;
        if let Some(parts) = subject(&bytes) {
            read += 1;
            assert_eq!(parts, event.subject_parts(), "`{name}`");
        }
        assert_eq!(found(&record(vec![event.clone()])), [event.subject()], "`{name}`");
        events.push(event);
    }
    assert!(read * 3 > all, "{read} of {all} are read without decoding them");
    let expected: Vec<String> = events.iter().map(Event::subject).collect();
    assert_eq!(found(&record(events)), expected);
}

#[test]
fn truncated_bodies_are_not_read() {
    for (name, bytes) in golden() {
        for end in 0..bytes.len() {
            assert_eq!(skip(&bytes[..end]), None, "`{name}` until {end}");
        }
    }
}

use serde_json::{Value, json};

use super::super::baton::{self, CompareAndSet, Event, Json};
use super::super::driver::{Answers, Element, Requests};
use super::assert_needs_every_byte;
use crate::samples::{key, value};

/// The JSON of a client's frame with a two-byte length.
pub(crate) fn json_of(frame: &[u8]) -> (Value, usize) {
    let (head, length) = match frame[1] & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes([frame[2], frame[3]]))),
        length => (2, usize::from(length)),
    };
    let (mask, end) = (&frame[head..head + 4], head + 4 + length);
    let payload = frame[head + 4..end].iter().zip(mask.iter().cycle());
    let payload: Vec<u8> = payload.map(|(byte, mask)| byte ^ mask).collect();
    (serde_json::from_slice(&payload).expect("requests are JSON"), end)
}

fn text(payload: &str) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    assert!(length < 126);
    [&[0x81, length][..], payload.as_bytes()].concat()
}

#[test]
fn requests_are_those_of_the_wire() {
    let (request, _) = json_of(&baton::set_value(7, "a/b", r#"{"n":1}"#));
    let expected = json!({
        "id": 7, "workspace": "bench", "agent": "ada", "command": "state.set",
        "namespace": "shared", "key": "a/b", "value": { "n": 1 },
    });
    assert_eq!(request, expected);
    let (request, _) = json_of(&baton::get(3));
    let expected = json!({
        "id": 3, "workspace": "bench", "agent": "ada", "command": "state.get",
        "namespace": "shared", "key": key(3),
    });
    assert_eq!(request, expected);
}

#[test]
fn every_write_expects_the_version_that_the_one_before_made() {
    let mut writes = CompareAndSet::new("k", &value(1));
    let mut out = Vec::new();
    (0..11).for_each(|_| writes.next(&mut out));
    let mut at = 0;
    for version in 0..11 {
        let (request, bytes) = json_of(&out[at..]);
        assert_eq!(request["expected_version"], version);
        assert_eq!(request["id"], version);
        assert_eq!(request["command"], "state.set");
        assert_eq!(request["value"].to_string().len(), 200);
        at += bytes;
    }
    assert_eq!(at, out.len());
}

#[test]
fn a_put_has_the_value_as_its_body() {
    let request = String::from_utf8(baton::put(5, 4747)).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let path = format!("PUT /v1/bench/state/shared/{} HTTP/1.1\r\n", key(5));
    assert!(head.starts_with(&path), "{head}");
    assert!(head.contains("\r\nContent-Length: 200"));
    assert!(head.contains("\r\nHost: 127.0.0.1:4747"));
    assert_eq!(body, value(5));
}

#[test]
fn an_answer_with_a_revision_is_a_success() {
    for answer in [
        r#"{"id":7,"revision":42,"result":{"value":{"error":1}}}"#,
        r#"{"revision":42,"id":7,"result":{}}"#,
        r#"{ "id": 7, "revision": 42, "result": {} }"#,
    ] {
        assert_needs_every_byte(|| Json, &text(answer), true);
    }
}

#[test]
fn an_answer_with_an_error_is_a_refusal() {
    for answer in [
        r#"{"id":7,"error":{"code":"state.conflict"}}"#,
        r#"{"error":{"code":"request.malformed"}}"#,
        r#"{"revision":1,"error":{}}"#,
        r#"{"watch":7,"event":{"revision":3}}"#,
        "not JSON",
        "",
    ] {
        let taken = Json.take(&text(answer), &mut Vec::new());
        assert!(taken.unwrap_err().starts_with("refused: "), "{answer}");
    }
}

#[test]
fn a_watcher_gets_events_only() {
    let event = text(r#"{"watch":1,"event":{"revision":3,"last":true}}"#);
    assert_needs_every_byte(|| Event, &event, true);
    for other in [r#"{"watch":1,"error":{"resume_from":3}}"#, r#"{"id":1,"revision":1}"#] {
        assert!(Event.take(&text(other), &mut Vec::new()).is_err(), "{other}");
    }
}

#[test]
fn a_ping_is_answered_and_not_counted() {
    let mut replies = Vec::new();
    let taken = Json.take(&[0x89, 1, b'!'], &mut replies);
    assert_eq!(taken, Ok(Some(Element::other(3))));
    assert_eq!(replies[0], 0x8A);
    assert_eq!(Json.take(&[0x8A, 0], &mut Vec::new()), Ok(Some(Element::other(2))));
}

//! Malformed frames: a bad request is answered, a protocol violation ends the connection with the
//! matching code. Other connections are not affected.

use baton_server::Settings;
use serde_json::{Value, json};

use crate::callers::socket::{BINARY, CLOSE, PING, Socket, TEXT, frame};
use crate::harness::{Harness, settings};

fn set(id: u64, value: impl Into<Value>) -> Value {
    json!({"id": id, "workspace": "w", "command": "state.set", "namespace": "shared", "key": "k",
           "value": value.into()})
}

#[tokio::test]
async fn an_invalid_frame_is_answered_and_the_connection_stays_open() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for (text, id, code) in [
        ("", None, "request.bad_json"),
        ("7", None, "request.malformed"),
        ("[]", None, "request.malformed"),
        ("{", None, "request.bad_json"),
        ("{}", None, "request.missing_field"),
        (r#"{"command":"ping"}"#, None, "request.missing_field"),
        (r#"{"id":-1,"command":"ping"}"#, None, "request.bad_field"),
        (r#"{"id":1.5,"command":"ping"}"#, None, "request.bad_field"),
        (r#"{"id":"1","command":"ping"}"#, None, "request.bad_field"),
        (r#"{"id":18446744073709551616,"command":"ping"}"#, None, "request.bad_field"),
        (r#"{"id":1,"id":1,"command":"ping"}"#, None, "request.duplicate_field"),
        (r#"{"id":1}"#, Some(1), "request.missing_field"),
        (r#"{"id":2,"command":"ping","colour":1}"#, Some(2), "request.unknown_field"),
        (r#"{"id":3,"command":"fly"}"#, Some(3), "request.unknown_command"),
        (r#"{"id":4,"command":"unwatch"}"#, Some(4), "request.missing_field"),
        (r#"{"id":5,"command":"unwatch","watch":"x"}"#, Some(5), "request.bad_field"),
        (r#"{"id":6,"command":"unwatch","watch":9}"#, Some(6), "request.bad_field"),
        (
            r#"{"id":7,"command":"state.get","namespace":"a","key":"b"}"#,
            Some(7),
            "request.missing_field",
        ),
        (
            r#"{"id":8,"command":"workspace.get","workspace":"no spaces"}"#,
            Some(8),
            "request.bad_field",
        ),
        (
            r#"{"id":9,"command":"workspace.get","workspace":"w","agent":""}"#,
            Some(9),
            "request.bad_field",
        ),
        (r#"{"id":10,"command":"watch","pattern":"**"}"#, Some(10), "request.missing_field"),
        (
            r#"{"id":11,"command":"workspace.configure","workspace":"w","idempotency_key":""}"#,
            Some(11),
            "request.bad_field",
        ),
        (r#"{"id":18446744073709551615,"command":"x"}"#, Some(u64::MAX), "request.unknown_command"),
    ] {
        socket.send_bytes(&frame(TEXT, text.as_bytes())).await;
        let answer = socket.next().await;
        assert_eq!(answer.get("id").and_then(Value::as_u64), id, "{text}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{text}: {answer}");
        for field in ["kind", "detail", "hint"] {
            assert!(answer["error"][field].is_string(), "{text}: {answer}");
        }
    }
    socket.send_bytes(&frame(BINARY, b"\x80")).await;
    assert_eq!(socket.next().await["error"]["code"], "request.malformed");
    let whole = set(77, "x").to_string();
    for cut in 0..whole.len() {
        socket.send_bytes(&frame(TEXT, &whole.as_bytes()[..cut])).await;
        let answer = socket.next().await;
        assert!(answer["error"]["code"].is_string(), "{answer}");
        assert!(answer.get("id").is_none_or(|id| *id == 77), "another's number: {answer}");
    }
    assert_eq!(socket.ask(set(78, 1)).await["result"]["version"], 1);
}

#[tokio::test]
async fn malformed_message_pack_is_answered_and_the_connection_stays_open() {
    let harness = Harness::new().await;
    let mut socket = Socket::connect(harness.address, Some("baton.v1.msgpack")).await;
    let deep = [vec![0x91; 100], vec![0xC0]].concat();
    for bytes in [
        &b""[..],
        b"\xC1",
        b"\x81",
        b"\x81\x01\x01",
        b"\xC4\x01x",
        b"\xD4\x01x",
        b"\xCB\x7F\xF8\0\0\0\0\0\0",
        b"\xCA\x7F\x80\0\0",
        b"\xA1\xFF",
        b"\xDF\xFF\xFF\xFF\xFF",
        b"\xDD\xFF\xFF\xFF\xFF",
        b"\xDB\xFF\xFF\xFF\xFF",
        b"\x80\x80",
        &deep,
    ] {
        socket.send_bytes(&frame(BINARY, bytes)).await;
        let answer = socket.next().await;
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        assert!(code.starts_with("request."), "{bytes:?}: {answer}");
    }
    socket.send_bytes(&frame(TEXT, b"{}")).await;
    assert_eq!(socket.next().await["error"]["code"], "request.malformed");
    assert_eq!(socket.ask(set(1, 1)).await["result"]["version"], 1);
}

#[tokio::test]
async fn protocol_errors_end_the_connection_with_a_code() {
    let few = Settings { message_bytes_max: 1_000, ..settings() };
    let harness = Harness::with(few).await;
    let mut bystander = harness.socket().await;
    let mut unmasked = frame(TEXT, b"{}");
    unmasked[1] &= 0x7F;
    let text = |first: u8| frame(first, b"{}");
    let fragments = [frame(0x01, &[b' '; 600]), frame(0x80, &[b' '; 600])].concat();
    for (what, bytes, code) in [
        ("unmasked", unmasked, 1002),
        ("reserved bit 1", text(0xC1), 1002),
        ("reserved bit 2", text(0xA1), 1002),
        ("reserved bit 3", text(0x91), 1002),
        ("opcode 3", text(0x83), 1002),
        ("opcode 7", text(0x87), 1002),
        ("opcode 11", text(0x8B), 1002),
        ("opcode 15", text(0x8F), 1002),
        ("a continuation of nothing", text(0x80), 1002),
        ("a message within another", [text(0x01), text(TEXT)].concat(), 1002),
        ("a ping in parts", text(0x09), 1002),
        ("a long ping", frame(PING, &[0; 126]), 1002),
        ("a length of three bytes too many", vec![TEXT, 0xFF, 0, 0, 0, 0, 0, 0, 0, 9], 1002),
        ("a length of one byte too many", vec![TEXT, 0xFE, 0, 9], 1002),
        ("a giant length", vec![TEXT, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255], 1009),
        ("an impossible length", vec![TEXT, 0xFF, 255, 255, 255, 255, 255, 255, 255, 255], 1009),
        ("a large length", vec![TEXT, 0xFE, 0x04, 0x00], 1009),
        ("fragments too large together", fragments, 1009),
        ("text that is not UTF-8", frame(TEXT, b"\"\xFF\""), 1007),
        ("a close code of one byte", frame(CLOSE, &[3]), 1002),
        ("a close code that means nothing", frame(CLOSE, &[3, 237]), 1002),
        ("a reason that is not UTF-8", frame(CLOSE, &[3, 232, 0xFF]), 1007),
        ("a close", frame(CLOSE, &[3, 232, b'b']), 1000),
        ("a close without a code", frame(CLOSE, b""), 1000),
    ] {
        let mut socket = harness.socket().await;
        socket.send_bytes(&bytes).await;
        assert_eq!(socket.closed_with().await, Some(code), "{what}");
        assert_eq!(bystander.ask(json!({"command": "ping"})).await["result"], json!({}));
    }
    drop(bystander);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_answered_with_the_limit() {
    let few = Settings { message_bytes_max: 1_000, ..settings() };
    let harness = Harness::with(few).await;
    let mut announced = vec![TEXT, 0xFE];
    announced.extend([0x04, 0x00]);
    let fragments = [frame(0x01, &[b' '; 600]), frame(0x80, &[b' '; 600])].concat();
    for bytes in [announced, fragments] {
        let mut socket = harness.socket().await;
        socket.send(&set(1, 1)).await;
        socket.send_bytes(&bytes).await;
        assert_eq!(socket.answer(1).await["result"]["value"], 1);
        let refused = socket.next().await;
        assert_eq!(refused["id"], json!(null));
        assert_eq!(refused["error"]["code"], "request.too_large");
        assert_eq!(refused["error"]["max"], 1_000);
        assert!(refused["error"]["detail"].as_str().unwrap().contains("1000"), "{refused}");
        assert_eq!(socket.closed_with().await, Some(1009));
    }
    harness.becomes_idle().await;
}

#[tokio::test]
async fn requests_before_a_protocol_error_are_answered() {
    let harness = Harness::new().await;
    for (last, code) in [(frame(0xC1, b""), 1002), (frame(CLOSE, &[3, 233]), 1001)] {
        let mut socket = harness.socket().await;
        let mut bytes: Vec<u8> = (1..=20).flat_map(|id| socket.framed(&set(id, id))).collect();
        bytes.extend(last);
        // More follows, which is not read any more.
        bytes.extend((21..=40).flat_map(|id| socket.framed(&set(id, id))));
        socket.send_bytes(&bytes).await;
        for id in 1..=20 {
            assert_eq!(socket.answer(id).await["result"]["value"], id);
        }
        assert_eq!(socket.closed_with().await, Some(code));
        assert_eq!(harness.http().await.get("/v1/w/state/shared/k").await.json()["value"], 20);
    }
    harness.becomes_idle().await;
}

#[tokio::test]
async fn peers_that_vanish_leave_nothing_behind() {
    let harness = Harness::new().await;
    let whole = harness.socket().await.framed(&set(1, "x".repeat(50_000)));
    let watch = json!({"id": 1, "workspace": "w", "command": "watch", "pattern": "**"});
    for cut in [0, 1, 2, 5, 20_000, whole.len() - 1, whole.len()] {
        let mut socket = harness.socket().await;
        socket.send(&watch).await;
        socket.answer(1).await;
        socket.send_bytes(&whole[..cut]).await;
    }
    let mut half = harness.socket().await;
    half.send(&watch).await;
    half.answer(1).await;
    tokio::io::AsyncWriteExt::shutdown(&mut half.stream).await.unwrap();
    assert!(half.frame().await.is_none(), "who says no more is not served any more");
    harness.becomes_idle().await;
}

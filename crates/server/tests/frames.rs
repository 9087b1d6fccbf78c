//! The WebSocket: all operations in both sub-protocols, many requests at a time.

use serde_json::{Value, json};

use crate::callers::socket::{PING, PONG, Socket, TEXT, frame};
use crate::commands::vocabulary;
use crate::harness::{Harness, settings};

fn set(id: u64, key: &str, value: impl Into<Value>) -> Value {
    json!({"id": id, "workspace": "w", "command": "state.set", "namespace": "shared", "key": key,
           "value": value.into()})
}

async fn does_everything(harness: &Harness, protocol: Option<&str>, workspace: &str) {
    let mut socket = Socket::connect(harness.address, protocol).await;
    for (mut command, shown) in vocabulary() {
        command["workspace"] = json!(workspace);
        // The target of the fork is taken for the others.
        if command["command"] == "workspace.fork" {
            command["to"] = json!(format!("copy-of-{workspace}"));
        }
        let answer = socket.ask(command.clone()).await;
        assert!(answer["revision"].is_u64(), "{command}: {answer}");
        assert!(answer["result"].pointer(shown).is_some(), "{command}: {answer}");
    }
    let both = [("a", 1), ("b", 2)].map(|(key, value)| {
        json!({"command": "state.set", "namespace": "shared", "key": key, "value": value})
    });
    let transaction = json!({"command": "transaction", "commands": both, "workspace": workspace});
    let answer = socket.ask(transaction).await;
    assert_eq!(answer["results"][1]["value"], 2, "{answer}");
    let pong = json!({"id": 5, "revision": 0, "result": {}});
    assert_eq!(socket.ask(json!({"id": 5, "command": "ping"})).await, pong);
    let refused = socket.ask(json!({"command": "state.fly", "workspace": workspace})).await;
    assert_eq!(refused["error"]["code"], "request.unknown_command");
    assert_eq!(refused["error"]["command"], "state.fly");
}

#[tokio::test]
async fn both_sub_protocols_do_everything() {
    let harness = Harness::new().await;
    does_everything(&harness, None, "plain").await;
    does_everything(&harness, Some("baton.v1.json"), "json").await;
    does_everything(&harness, Some("baton.v1.msgpack"), "msgpack").await;
    harness.becomes_idle().await;
}

#[tokio::test]
async fn the_first_known_sub_protocol_is_chosen() {
    let harness = Harness::new().await;
    let offered = [("sec-websocket-protocol", "soap, baton.v1.msgpack,baton.v1.json")];
    let (response, mut socket) = Socket::shake_hands(harness.address, &offered).await;
    assert_eq!(response.header("sec-websocket-protocol"), Some("baton.v1.msgpack"));
    assert_eq!(socket.ask(json!({"command": "ping"})).await["result"], json!({}));
}

#[tokio::test]
async fn values_are_the_same_on_every_interface() {
    let harness = Harness::new().await;
    let mut http = harness.http().await;
    let mut json = harness.socket().await;
    let mut packed = Socket::connect(harness.address, Some("baton.v1.msgpack")).await;
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "18446744073709551615",
        "-9223372036854775808",
        "1e300",
        "0.1",
        "-0.0",
        "123456789012345678901234567890",
        "\"\"",
        "\"\\u0000 \\\" \\\\ \u{1F600}\"",
        "[]",
        "{}",
        "[1,[2,[3]]]",
        "{\"a\":{\"b\":[null,false]},\"\":1}",
        "{\"a\":1,\"a\":2}",
    ];
    for text in values {
        let response = http.request("PUT", "/v1/w/state/shared/v", &[], text).await;
        assert_eq!(response.status, 200, "{text}: {}", response.json());
        let get = json!({"command": "state.get", "namespace": "shared", "key": "v"});
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(http.get("/v1/w/state/shared/v").await.json()["value"], expected);
        assert_eq!(json.ask(get.clone()).await["result"]["value"], expected);
        assert_eq!(packed.ask(get.clone()).await["result"]["value"], expected);
        let set =
            json!({"command": "state.set", "namespace": "shared", "key": "v", "value": expected});
        packed.ask(set).await;
        assert_eq!(http.get("/v1/w/state/shared/v").await.json()["value"], expected);
    }
    let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
    assert_eq!(http.request("PUT", "/v1/w/state/shared/v", &[], &deep).await.status, 200);
    let get = json!({"command": "state.get", "namespace": "shared", "key": "v"});
    let expected: Value = serde_json::from_str(&deep).unwrap();
    assert_eq!(packed.ask(get.clone()).await["result"]["value"], expected);
    let set = json!({"command": "state.set", "namespace": "shared", "key": "v", "value": expected});
    assert_eq!(packed.ask(set).await["result"]["version"], 36);
}

#[tokio::test]
async fn writes_of_one_connection_keep_their_order_and_answers_their_numbers() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    let count = 3_000_u64;
    let mut bytes = Vec::new();
    for id in 0..count {
        bytes.extend(socket.framed(&set(id, "n", id)));
        if id % 10 == 0 {
            let history = json!({"id": 100_000 + id, "workspace": "w", "command": "state.history",
                                 "namespace": "shared", "key": "n", "limit": 1});
            bytes.extend(socket.framed(&history));
        }
        if id % 7 == 0 {
            let get = json!({"id": 200_000 + id, "workspace": "w", "command": "state.get",
                             "namespace": "shared", "key": "n"});
            bytes.extend(socket.framed(&get));
        }
    }
    let sent = bytes.len();
    let mut answers = std::collections::BTreeMap::new();
    let expected = count + count.div_ceil(10) + count.div_ceil(7);
    // All at once: what does not fit into the socket buffers waits, and nothing may wait forever.
    let (mut at, mut heard) = (0, 0);
    while heard < expected {
        while at < sent {
            match socket.bare().try_write(&bytes[at..]) {
                Ok(count) => at += count,
                Err(_) => break,
            }
        }
        let answer = socket.next().await;
        assert!(answer.get("error").is_none(), "{answer}");
        answers.insert(answer["id"].as_u64().unwrap(), answer);
        heard += 1;
    }
    assert_eq!(answers.len() as u64, expected, "every request has one answer");
    for id in 0..count {
        assert_eq!(answers[&id]["revision"], id + 1);
        if id % 7 == 0 {
            // A query sees everything that was sent before it.
            assert_eq!(answers[&(200_000 + id)]["result"]["value"], id);
        }
        if id % 10 == 0 {
            assert!(answers[&(100_000 + id)]["result"]["changes"].is_array());
        }
    }
}

#[tokio::test]
async fn more_questions_about_the_past_than_may_be_in_flight_are_answered_all() {
    let few = baton_server::Settings { in_flight_max: 4, past_threads_max: 2, ..settings() };
    let harness = Harness::with(few).await;
    let mut socket = harness.socket().await;
    socket.send(&set(0, "n", 1)).await;
    let mut bytes = Vec::new();
    for id in 1..=50_u64 {
        let history =
            json!({"id": id, "workspace": "w", "command": "state.history", "namespace": "shared"});
        bytes.extend(socket.framed(&history));
        bytes.extend(socket.framed(&json!({"id": 100 + id, "command": "ping"})));
    }
    // The next message has arrived in part, and must not be lost during the wait.
    let last = socket.framed(&set(200, "n", 2));
    bytes.extend(&last[..9]);
    socket.send_bytes(&bytes).await;
    for id in 1..=50 {
        let answer = socket.answer(id).await;
        assert_eq!(answer["result"]["changes"].as_array().unwrap().len(), 1, "{answer}");
        socket.answer(100 + id).await;
    }
    socket.send_bytes(&last[9..]).await;
    assert_eq!(socket.answer(200).await["result"]["version"], 2);
    // Other connections are not affected.
    assert_eq!(harness.http().await.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn fragments_and_signs_of_life_between_them_are_one_message() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    let text = set(1, "k", "grüße").to_string().into_bytes();
    let cut = text.iter().position(|byte| *byte > 127).unwrap() + 1;
    let mut bytes = frame(TEXT & 0x7F, &text[..cut]);
    bytes.extend(frame(PING, b"well?"));
    bytes.extend(frame(0, b""));
    bytes.extend(frame(PONG, b"yes"));
    bytes.extend(frame(0x80, &text[cut..]));
    for byte in bytes {
        socket.send_bytes(&[byte]).await;
    }
    assert_eq!(socket.frame().await, Some((PONG, b"well?".to_vec())));
    assert_eq!(socket.answer(1).await["result"]["value"], "grüße");
}

#[tokio::test]
async fn a_large_message_is_accepted_and_one_larger_than_a_value_is_refused() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    let answer = socket.ask(set(1, "big", "x".repeat((1 << 20) - 2))).await;
    assert_eq!(answer["result"]["version"], 1);
    let answer = socket.ask(set(2, "big", "x".repeat(1 << 20))).await;
    assert_eq!(answer["error"]["code"], "state.value_too_large");
    let commands: Vec<Value> = (0..3)
        .map(|number| {
            let mut one = set(0, &format!("big-{number}"), "y".repeat(1_000_000));
            one.as_object_mut().unwrap().retain(|name, _| name != "id" && name != "workspace");
            one
        })
        .collect();
    let answer = socket.ask(json!({"id": 3, "command": "transaction", "commands": commands})).await;
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(3), "{}", answer["error"]);
}

#[tokio::test]
async fn a_text_as_the_number_of_a_frame_is_refused_as_such() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for (request, code) in [
        (json!({"id": "a", "command": "ping"}), "request.bad_field"),
        (json!({"command": "ping"}), "request.missing_field"),
    ] {
        socket.send(&request).await;
        let error = socket.next().await["error"].clone();
        assert_eq!((&error["code"], &error["field"]), (&json!(code), &json!("id")), "{error}");
    }
}

#[tokio::test]
async fn a_key_makes_a_repeated_frame_harmless() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    socket.ask(set(1, "n", 0)).await;
    let add = json!({"command": "state.patch", "namespace": "shared", "key": "n", "increment": 1,
                     "idempotency_key": "k", "agent": "ada"});
    for _ in 0..3 {
        let answer = socket.ask(add.clone()).await;
        assert_eq!(answer["result"]["value"], 1);
        assert_eq!(answer["result"]["updated_by"], "ada");
    }
}

#[tokio::test]
async fn a_closed_socket_is_granted_nothing() {
    let harness = Harness::new().await;
    let mut socket = Socket::connect(harness.address, None).await;
    let claim = json!({"id": 1, "workspace": "w", "command": "task.claim", "wait_ms": 60_000});
    socket.send(&claim).await;
    socket.send_bytes(&frame(0x88, &1000_u16.to_be_bytes())).await;
    // The server answers with a close frame, and then still reads for a while.
    while socket.frame().await.is_some_and(|(first, _)| first != 0x88) {}
    let mut http = harness.http().await;
    let created = http.command(&json!({"command": "task.create", "type": "x", "id": "t"})).await;
    assert_eq!(created.status, 200);
    let task = http.command(&json!({"command": "task.get", "task": "t"})).await.json();
    assert_eq!(task["result"]["status"], "pending", "{task}");
    drop(socket);
    harness.end().await;
}

//! Limits: connections, watches, requests in flight, bytes in transit.

use baton_server::Settings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::callers::http::Http;
use crate::callers::socket::{TEXT, frame};
use crate::harness::{Harness, settings};

/// Whether this many files may be open, after raising the limit of the process as far as allowed.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn may_open(files: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let _ = setrlimit(Resource::Nofile, wanted);
    let current = getrlimit(Resource::Nofile).current;
    let is_enough = current.is_none_or(|current| current >= files);
    if !is_enough {
        eprintln!("left out: {files} open files are needed, the system allows {current:?}");
    }
    is_enough
}

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

#[tokio::test]
async fn one_connection_too_many_is_refused_and_a_free_slot_is_used() {
    let harness = Harness::with(Settings { connections_max: 3, ..settings() }).await;
    let mut inside = Vec::new();
    for _ in 0..2 {
        let mut http = harness.http().await;
        assert_eq!(http.get("/healthz").await.status, 200);
        inside.push(http);
    }
    let mut socket = harness.socket().await;
    for _ in 0..100 {
        let mut outside = harness.http().await;
        outside.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        let response = outside.response().await;
        assert_eq!(response.problem(), (429, "server.too_many_connections".to_owned()));
        assert_eq!(
            (response.header("retry-after"), response.json()["max"].clone()),
            (Some("1"), json!(3))
        );
        outside.ends().await;
    }
    assert_eq!(socket.ask(set("k", 1)).await["result"]["version"], 1);
    let text = inside[0].get("/metrics").await.body;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("\nbaton_connections 3\n"), "{text}");
    assert!(text.contains("\nbaton_connections_refused_total 100\n"), "{text}");
    drop(socket);
    drop(inside);
    // A request that is sent too early is refused again; the slots become free in the end.
    loop {
        let mut http = harness.http().await;
        if http.get("/healthz").await.status == 200 {
            break;
        }
    }
}

#[tokio::test]
async fn more_in_flight_than_allowed_waits_and_is_not_lost() {
    let harness = Harness::with(Settings { in_flight_max: 3, ..settings() }).await;
    let mut socket = harness.socket().await;
    let mut bytes = Vec::new();
    for id in 1..=500_u64 {
        let mut request = set("k", id);
        request["id"] = json!(id);
        request["workspace"] = json!(if id % 50 == 0 { format!("w{id}") } else { "w".to_owned() });
        bytes.extend(socket.framed(&request));
    }
    socket.send_bytes(&bytes).await;
    for id in 1..=500 {
        assert_eq!(socket.answer(id).await["result"]["value"], id);
    }
}

#[tokio::test]
async fn the_total_of_bytes_being_received_is_bounded() {
    // One workspace has half of it at most.
    let few = Settings { receiving_bytes_max: 200_000, ..settings() };
    let harness = Harness::with(few).await;
    let head = "POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\ncontent-length: 90000\r\n\r\n";
    let mut first = harness.http().await;
    first.send(format!("{head}{}", " ".repeat(80_000))).await;
    // The refusal is sent only when there is no free slot; until then the other is served.
    let refused = loop {
        let mut second = harness.http().await;
        second.send(format!("{head}{}", " ".repeat(60_000))).await;
        second.send(" ".repeat(30_000)).await;
        let response = second.response().await;
        if response.status == 429 {
            break response;
        }
        assert_eq!(response.problem(), (400, "request.bad_json".to_owned()));
    };
    assert_eq!(refused.problem(), (429, "request.too_many".to_owned()));
    let mut socket = harness.socket().await;
    let large = frame(TEXT, &vec![b' '; 200_000]);
    socket.send_bytes(&large[..150_000]).await;
    assert_eq!(socket.closed_with().await, Some(1013));
    // Small requests are always accepted.
    assert_eq!(harness.socket().await.ask(set("k", 1)).await["result"]["version"], 1);
    drop((first, socket));
    harness.becomes_idle().await;
    let mut socket = harness.socket().await;
    let big = socket.ask(set("k", "x".repeat(80_000))).await;
    assert_eq!(big["result"]["version"], 2, "the room is free again");
}

#[tokio::test]
async fn a_large_message_leaves_no_memory_allocated() {
    let few = Settings { receiving_bytes_max: 100_000, ..settings() };
    let harness = Harness::with(few).await;
    let mut sockets = Vec::new();
    for number in 0..10 {
        let mut socket = harness.socket().await;
        let key = format!("k{number}");
        let text = json!({"id": 1, "workspace": "w", "command": "state.set", "namespace": "shared",
                          "key": key, "value": "x".repeat(70_000)});
        let text = text.to_string().into_bytes();
        // In fragments, and followed by the beginning of the next message.
        let mut bytes = frame(0x01, &text[..40_000]);
        bytes.extend(frame(0x80, &text[40_000..]));
        bytes.push(TEXT);
        socket.send_bytes(&bytes).await;
        assert_eq!(socket.answer(1).await["result"]["version"], 1);
        sockets.push(socket);
    }
    assert_eq!(harness.metric("baton_websockets").await, 10);
}

#[tokio::test]
async fn two_thousand_connections_with_requests_one_after_another_are_all_served() {
    let count = 2_000;
    if !may_open(2 * count + 200) {
        return;
    }
    let harness = Harness::new().await;
    let mut callers = Vec::new();
    for _ in 0..count {
        callers.push(Http::connect(harness.address).await);
    }
    for round in 0..3_u64 {
        for (number, http) in callers.iter_mut().enumerate() {
            let body = set(&format!("k{number}"), round).to_string();
            let head = "POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\n";
            http.send(format!("{head}content-length: {}\r\n\r\n{body}", body.len())).await;
        }
        for (number, http) in callers.iter_mut().enumerate() {
            let response = http.response().await;
            assert_eq!(response.status, 200);
            let entry = response.json()["result"].clone();
            assert_eq!(entry["key"], format!("k{number}"));
            assert_eq!(entry["version"], round + 1);
        }
    }
    assert_eq!(harness.metric("baton_connections").await, count + 1);
    drop(callers);
    harness.becomes_idle().await;
}

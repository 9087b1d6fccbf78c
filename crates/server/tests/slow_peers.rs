//! Slow peers: each is disconnected after the respective deadline, and none of them affects others.

use std::time::Duration;

use baton_server::Settings;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::callers::http::Http;
use crate::callers::socket::{PING, PONG, Socket, frame};
use crate::harness::{Harness, SHORT, settings};

const LONG: Duration = Duration::from_hours(1);

/// Only one deadline is short, so that nothing else can end the connection.
fn patient() -> Settings {
    Settings {
        head_deadline: LONG,
        body_deadline: LONG,
        write_deadline: LONG,
        ping_every: LONG,
        ..settings()
    }
}

fn set(key: &str, value: impl Into<Value>) -> Value {
    json!({"command": "state.set", "namespace": "shared", "key": key, "value": value.into()})
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let harness = Harness::with(Settings { head_deadline: SHORT, ..patient() }).await;
    let mut silent = harness.http().await;
    assert_eq!(silent.ends().await, b"", "nothing was asked, so nothing is said");
    let mut idle = harness.http().await;
    assert_eq!(idle.get("/healthz").await.status, 200);
    assert_eq!(idle.ends().await, b"", "an idle connection is closed after its last answer");
    harness.becomes_idle().await;
}

#[tokio::test]
async fn an_endless_head_times_out() {
    let harness = Harness::with(Settings { head_deadline: SHORT, ..patient() }).await;
    for beginning in ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: localhost\r\nx-half"] {
        let mut http = harness.http().await;
        http.send(beginning).await;
        http.ends().await;
    }
    // A byte now and then does not extend the deadline.
    let mut dripping = harness.http().await;
    dripping.send("GET / HTTP/1.1\r\n").await;
    while dripping.stream.write_all(b"x").await.is_ok() {
        tokio::task::yield_now().await;
    }
    drop(dripping);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_body_that_does_not_end_is_answered_with_a_timeout() {
    let harness = Harness::with(Settings { body_deadline: SHORT, ..patient() }).await;
    let head = "POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\n";
    for rest in [
        "content-length: 100\r\n\r\n",
        "content-length: 100\r\n\r\n{\"command\"",
        "transfer-encoding: chunked\r\n\r\n5\r\n{\"com\r\n",
    ] {
        let mut http = harness.http().await;
        http.send(format!("{head}{rest}")).await;
        let response = http.response().await;
        assert_eq!(response.problem(), (408, "request.timeout".to_owned()), "{rest}");
        assert_eq!(response.json()["deadline_ms"], 100);
        http.ends().await;
    }
    // A peer that vanishes within its body needs no handling.
    let mut http = harness.http().await;
    http.send(format!("{head}content-length: 100\r\n\r\n{{")).await;
    drop(http);
    harness.becomes_idle().await;
}

#[tokio::test]
async fn an_endless_message_times_out() {
    let harness = Harness::with(Settings { body_deadline: SHORT, ..patient() }).await;
    let mut socket = harness.socket().await;
    let whole = socket.framed(&json!({"id": 1, "command": "ping"}));
    let fragment = frame(0x01, b"{");
    for beginning in [&whole[..1], &whole[..10], &fragment] {
        let mut socket = harness.socket().await;
        socket.send_bytes(beginning).await;
        assert_eq!(socket.closed_with().await, Some(1008));
    }
    // Between two messages there is no deadline.
    for _ in 0..3 {
        socket.send_bytes(&whole[..5]).await;
        socket.send_bytes(&whole[5..]).await;
        socket.answer(1).await;
    }
    let mut late = harness.socket().await;
    late.send_bytes(&whole[..5]).await;
    assert_eq!(late.closed_with().await, Some(1008), "meanwhile a deadline has passed");
    socket.send_bytes(&whole).await;
    socket.answer(1).await;
    drop((socket, late));
    harness.becomes_idle().await;
}

#[tokio::test]
async fn a_silent_socket_is_pinged_and_then_closed() {
    let harness = Harness::with(Settings { ping_every: SHORT, ..patient() }).await;
    let mut silent = harness.socket().await;
    let mut alive = harness.socket().await;
    for _ in 0..6 {
        assert_eq!(alive.frame().await, Some((PING, Vec::new())));
        alive.send_bytes(&frame(PONG, b"")).await;
    }
    assert_eq!(silent.frame().await, Some((PING, Vec::new())));
    assert_eq!(silent.closed_with().await, Some(1001));
    assert_eq!(alive.ask(json!({"command": "ping"})).await["result"], json!({}));
}

/// Writes until the socket buffers are full, and beyond.
async fn flood(harness: &Harness) {
    let mut writer = harness.socket().await;
    let ballast = "x".repeat(500_000);
    for _ in 0..25 {
        assert_eq!(writer.ask(set("k", ballast.as_str())).await["error"], Value::Null);
    }
}

#[tokio::test]
async fn a_watcher_that_never_reads_is_dropped() {
    let harness = Harness::with(Settings { write_deadline: SHORT, ..patient() }).await;
    let mut events = Http::narrow(harness.address).await;
    events.send("GET /v1/w/watch HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    events.head().await;
    let mut socket = Socket::narrow(harness.address).await;
    let watch = json!({"command": "watch", "pattern": "**"});
    assert_eq!(socket.ask(watch).await["error"], Value::Null);
    assert_eq!(harness.metric("baton_watches").await, 2);
    flood(&harness).await;
    harness.becomes_idle().await;
    drop((events, socket));
}

#[tokio::test]
async fn a_caller_that_never_reads_its_answers_is_disconnected() {
    let harness = Harness::with(Settings { write_deadline: SHORT, ..patient() }).await;
    let mut http = harness.http().await;
    let (greedy, pipelining) = harness.greedy_peers(&mut http).await;
    // Others are served in the meantime.
    for _ in 0..20 {
        assert_eq!(http.get("/healthz").await.status, 200);
    }
    harness.becomes_idle_but(1).await;
    drop((greedy, pipelining));
}

#[tokio::test]
async fn a_client_that_never_stops_sending_does_not_starve_others() {
    let harness = Harness::with(patient()).await;
    let mut bystander = harness.http().await;
    let mut floods = Vec::new();
    for _ in 0..2 {
        let socket = harness.socket().await;
        let ping = socket.framed(&json!({"id": 1, "command": "ping"})).repeat(2_000);
        floods.push((socket, ping));
    }
    for (socket, ping) in &mut floods {
        let _ = socket.bare().try_write(ping);
    }
    for _ in 0..20 {
        for (socket, ping) in &mut floods {
            let mut taken = vec![0; 1 << 20];
            let _ = socket.bare().try_read(&mut taken);
            let _ = socket.bare().try_write(ping);
        }
        assert_eq!(bystander.get("/healthz").await.status, 200);
    }
}

#[tokio::test]
async fn thousands_of_slow_sockets_do_not_delay_the_others() {
    let wanted = 5_000;
    if !crate::limits::may_open(2 * wanted + 200) {
        return;
    }
    let harness = Harness::with(patient()).await;
    let mut slow = Vec::new();
    for number in 0..wanted {
        let mut http = Http::connect(harness.address).await;
        match number % 4 {
            0 => {}
            1 => http.send("POST /v1/w/comm").await,
            2 => {
                let head = "POST /v1/w/commands HTTP/1.1\r\nhost: localhost\r\n";
                http.send(format!("{head}content-length: 9\r\n\r\n{{")).await;
            }
            _ => {
                http.send(crate::callers::socket::handshake(&[])).await;
                assert_eq!(http.head().await.0, 101);
                http.send([0x81]).await;
            }
        }
        slow.push(http);
    }
    let mut http = harness.http().await;
    let mut socket = harness.socket().await;
    for number in 0..50 {
        assert_eq!(http.command(&set("k", number)).await.json()["result"]["value"], number);
        assert_eq!(socket.ask(set("k", number)).await["result"]["value"], number);
    }
    assert_eq!(harness.metric("baton_connections").await, wanted + 3);
    drop((slow, http, socket));
    harness.becomes_idle().await;
}

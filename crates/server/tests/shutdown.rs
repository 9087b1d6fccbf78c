//! A server shuts down: acknowledged writes are durable, waiting calls are answered or refused,
//! watchers get the revision to resume from, and the port and the data are free for the next server
//! at once.

use std::collections::BTreeMap;
use std::time::Duration;

use baton_server::{ListenError, Server, Settings};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::callers::socket::CLOSE;
use crate::harness::{Harness, SHORT, settings, within};

fn set(id: u64, key: &str, value: impl Into<Value>) -> Value {
    json!({"id": id, "workspace": "w", "command": "state.set", "namespace": "shared", "key": key,
           "value": value.into()})
}

#[tokio::test]
async fn acknowledged_writes_are_there_when_the_data_is_reopened_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    for round in 0..3_u64 {
        let baton = baton::open(folder.path()).await.expect("the folder is free at once");
        let harness = Harness::on(baton, settings()).await;
        let address = harness.address;
        let mut sockets = Vec::new();
        for number in 0..8_u64 {
            let mut socket = harness.socket().await;
            let requests = (0..200).map(|id| set(id, &format!("k{number}"), round * 1_000 + id));
            let bytes: Vec<u8> = requests.flat_map(|request| socket.framed(&request)).collect();
            socket.send_bytes(&bytes).await;
            sockets.push(socket);
        }
        // Some of it is answered, some is in flight, some has not been read yet.
        sockets[0].answer(3).await;
        let (baton, running) = harness.begin_shutdown();
        drop(baton);
        for (number, socket) in sockets.iter_mut().enumerate() {
            while let Some((first, payload)) = socket.frame().await {
                if first == CLOSE {
                    assert_eq!(payload.first_chunk(), Some(&1001_u16.to_be_bytes()));
                    break;
                }
                let answer: Value = serde_json::from_slice(&payload).unwrap();
                match answer["result"]["value"].as_u64() {
                    Some(value) => drop(acknowledged.insert(format!("k{number}"), value)),
                    None => assert_eq!(answer["error"]["kind"], "unavailable", "{answer}"),
                }
            }
        }
        drop(sockets);
        within(running).await.unwrap();
        TcpListener::bind(address).await.expect("the port is free");
        let baton = baton::open(folder.path()).await.expect("the folder is free at once");
        let workspace = baton.workspace("w").unwrap();
        for (key, value) in &acknowledged {
            let entry = workspace.state("shared").get(key).await.unwrap();
            let found: u64 = serde_json::from_slice(entry.value()).unwrap();
            assert!(found >= *value, "{key} was acknowledged with {value} and is {found}");
        }
        baton.close().await;
    }
}

#[tokio::test]
async fn watchers_learn_where_to_resume() {
    let harness = Harness::new().await;
    let mut socket = harness.socket().await;
    for id in [1, 2] {
        let watch = json!({"id": id, "workspace": "w", "command": "watch", "pattern": "state/**"});
        socket.ask(watch).await;
    }
    let mut events = harness.http().await;
    events.send("GET /v1/w/watch HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    events.head().await;
    for id in 10..15 {
        socket.ask(set(id, "k", id)).await;
    }
    let (_, running) = harness.begin_shutdown();
    for watch in [1, 2] {
        for revision in 1..=5 {
            assert_eq!(socket.pushed(watch).await["event"]["revision"], revision);
        }
        let ended = socket.pushed(watch).await;
        assert_eq!(ended["error"]["code"], "watch.interrupted", "{ended}");
        assert_eq!(ended["error"]["resume_from"], 6);
    }
    assert_eq!(socket.closed_with().await, Some(1001));
    let mut text = String::new();
    while let Some(chunk) = events.chunk().await {
        text.push_str(str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("event: error\ndata: {\"code\":\"watch.interrupted\""), "{text}");
    assert!(text.contains("\"resume_from\":6"), "{text}");
    drop((socket, events));
    within(running).await.unwrap();
}

#[tokio::test]
async fn idle_connections_end_with_the_server_and_new_ones_are_refused() {
    let harness = Harness::new().await;
    let address = harness.address;
    let mut idle = harness.http().await;
    assert_eq!(idle.get("/healthz").await.status, 200);
    let mut silent = harness.http().await;
    let mut socket = harness.socket().await;
    let (_, running) = harness.begin_shutdown();
    assert_eq!(idle.ends().await, b"");
    assert_eq!(silent.ends().await, b"");
    assert_eq!(socket.closed_with().await, Some(1001));
    drop((idle, silent, socket));
    within(running).await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the server no longer listens");
}

#[tokio::test]
async fn a_request_that_is_still_arriving_is_refused_with_a_reason() {
    let harness = Harness::new().await;
    let head = "host: localhost\r\ncontent-length: 9\r\n\r\n";
    let mut half = harness.http().await;
    half.send(format!("PUT /v1/w/state/shared/k HTTP/1.1\r\n{head}12")).await;
    let mut upload = harness.http().await;
    upload.send(format!("PUT /v1/w/artifacts HTTP/1.1\r\n{head}12")).await;
    assert_eq!(harness.metric("baton_connections").await, 3);
    let (_, running) = harness.begin_shutdown();
    for mut peer in [half, upload] {
        assert_eq!(peer.response().await.problem(), (503, "server.closing".to_owned()));
    }
    within(running).await.unwrap();
}

#[tokio::test]
async fn a_request_whose_head_is_incomplete_is_not_waited_for() {
    let patient = Settings { farewell: Duration::from_hours(1), ..settings() };
    let harness = Harness::with(patient).await;
    let mut fresh = harness.http().await;
    fresh.send("GET /v1/default/st").await;
    let mut used = harness.http().await;
    assert_eq!(used.get("/healthz").await.status, 200);
    used.send("GET /v1/default/st").await;
    // The server has read what was sent.
    assert_eq!(harness.metric("baton_connections").await, 3);
    let (_, running) = harness.begin_shutdown();
    within(running).await.unwrap();
    drop((fresh, used));
}

#[tokio::test]
async fn connections_that_do_not_close_are_dropped() {
    let short = Settings { farewell: SHORT, ..settings() };
    let folder = tempfile::tempdir().unwrap();
    let harness = Harness::on(baton::open(folder.path()).await.unwrap(), short).await;
    // One that never reads its response, one in the middle of a body, one in a handshake.
    let mut http = harness.http().await;
    let (greedy, pipelining) = harness.greedy_peers(&mut http).await;
    let mut half = harness.http().await;
    half.send("PUT /v1/w/state/shared/k HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n")
        .await;
    assert_eq!(harness.metric("baton_connections").await, 5);
    drop(harness.end().await);
    let baton = baton::open(folder.path()).await.expect("the engine is no longer in use");
    baton.close().await;
    drop((http, greedy, pipelining, half));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_references_to_the_engine_are_dropped_before_the_server_ends() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..20 {
        let baton = baton::open(folder.path()).await;
        let baton = baton.unwrap_or_else(|error| panic!("round {round}: {error}"));
        let harness = Harness::on(baton, settings()).await;
        let mut http = harness.http().await;
        assert_eq!(http.put("/v1/w/state/shared/k", &json!(round)).await.status, 200);
        let mut socket = harness.socket().await;
        socket.ask(json!({"id": 1, "command": "watch", "pattern": "**"})).await;
        let (baton, running) = harness.begin_shutdown();
        drop(baton);
        assert_eq!(socket.closed_with().await, Some(1001));
        drop((http, socket));
        within(running).await.unwrap();
    }
}

#[tokio::test]
async fn queries_before_the_shutdown_are_answered_or_refused() {
    let harness = Harness::with(Settings { past_threads_max: 1, ..settings() }).await;
    let mut socket = harness.socket().await;
    socket.ask(set(1, "k", 1)).await;
    let mut bytes = Vec::new();
    for id in 10..40_u64 {
        let history =
            json!({"id": id, "workspace": "w", "command": "state.history", "namespace": "shared"});
        bytes.extend(socket.framed(&history));
    }
    socket.send_bytes(&bytes).await;
    socket.answer(10).await;
    let (_, running) = harness.begin_shutdown();
    for id in 11..40 {
        let answer = socket.answer(id).await;
        let is_answer = answer["result"]["changes"].is_array();
        assert!(is_answer || answer["error"]["kind"] == "unavailable", "{answer}");
    }
    assert_eq!(socket.closed_with().await, Some(1001));
    drop(socket);
    within(running).await.unwrap();
}

#[tokio::test]
async fn an_unavailable_address_is_refused_with_a_code() {
    let harness = Harness::new().await;
    let taken = Settings { listen: harness.address, ..settings() };
    let error = Server::bind(harness.baton.clone(), taken).await.err().unwrap();
    assert!(matches!(error, ListenError::Taken { .. }), "{error}");
    assert_eq!(error.code(), "server.address_taken");
    let open = Settings { listen: "0.0.0.0:0".parse().unwrap(), ..settings() };
    let error = Server::bind(harness.baton.clone(), open).await.err().unwrap();
    assert_eq!(error.code(), "server.not_loopback");
    assert!(!error.hint().is_empty());
}

#[tokio::test]
async fn a_server_that_stops_when_idle_runs_while_a_client_is_connected() {
    let short = Settings { idle_max: Some(SHORT), ..settings() };
    let harness = Harness::with(short).await;
    let address = harness.address;
    let mut socket = harness.socket().await;
    // Several times as long as the server may be idle.
    tokio::time::sleep(SHORT * 5).await;
    assert_eq!(socket.ask(set(1, "k", 1)).await["result"]["version"], 1);
    drop(socket);
    within(harness.ended()).await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "the server no longer listens");
}

//! A quiet workspace beside a noisy one.
//!
//! The server runs on the thread of the test. Frames that are written without awaiting are in the
//! sockets before the server sees any of them: the order of answers is determined by the server
//! alone.

use std::io::ErrorKind;
use std::task::{Context, Waker};
use std::time::Duration;

use baton_server::Settings;
use serde_json::{Value, json};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

use crate::callers::http::bare;
use crate::callers::socket::Socket;
use crate::harness::{Harness, settings, within};

const NOISY: usize = 16;
const EACH: usize = 400;

fn get(workspace: &str, id: usize) -> Value {
    json!({"id": id, "workspace": workspace, "command": "state.get", "namespace": "shared",
           "key": "k"})
}

fn set(workspace: &str, id: usize) -> Value {
    json!({"id": id, "workspace": workspace, "command": "state.set", "namespace": "shared",
           "key": "k", "value": id})
}

/// A connection to a workspace that is active.
async fn joined(harness: &Harness, workspace: &str) -> Socket {
    let mut socket = harness.socket().await;
    socket.send(&set(workspace, 1)).await;
    assert!(socket.answer(1).await["revision"].is_u64());
    socket
}

/// Writes everything at once, without letting the server run.
fn write(socket: &Socket, bytes: &[u8]) {
    let written = socket.bare().try_write(bytes).expect("there is room");
    assert_eq!(written, bytes.len(), "it has to fit into the socket");
}

/// Writes requests to all of them, without letting the server run.
fn flood(sockets: &[Socket], request: fn(&str, usize) -> Value) {
    for socket in sockets {
        let requests = (0..EACH).flat_map(|id| socket.framed(&request("noisy", id)));
        write(socket, &requests.collect::<Vec<_>>());
    }
}

/// Whether anything has arrived, without letting the server run.
fn has_come(stream: &TcpStream) -> bool {
    let mut room = [0];
    let mut context = Context::from_waker(Waker::noop());
    stream.poll_peek(&mut context, &mut ReadBuf::new(&mut room)).is_ready()
}

/// How many unread bytes have arrived, without letting the server run.
fn unread(socket: &Socket) -> usize {
    let mut room = vec![0; 1 << 20];
    match socket.bare().try_read(&mut room) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

async fn noisy_sockets(harness: &Harness) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for _ in 0..NOISY {
        sockets.push(joined(harness, "noisy").await);
    }
    sockets
}

#[tokio::test]
async fn a_question_does_not_wait_for_the_questions_of_another_workspace() {
    let harness = Harness::new().await;
    let noisy = noisy_sockets(&harness).await;
    let mut quiet = joined(&harness, "quiet").await;
    flood(&noisy, get);
    write(&quiet, &quiet.framed(&get("quiet", 2)));
    let answer = quiet.answer(2).await;
    assert_eq!(answer["result"]["value"], 1, "{answer}");
    let response: usize = noisy.iter().map(unread).sum();
    let in_all = NOISY * EACH * answer.to_string().len();
    assert!(response < in_all / 4, "{response} bytes of about {in_all} were sent before");
}

#[tokio::test]
async fn and_every_request_is_answered_in_order() {
    let harness = Harness::new().await;
    let mut noisy = noisy_sockets(&harness).await;
    let mut quiet = joined(&harness, "quiet").await;
    flood(&noisy, set);
    write(&quiet, &quiet.framed(&set("quiet", 2)));
    assert_eq!(quiet.answer(2).await["result"]["value"], 2);
    for socket in &mut noisy {
        for id in 0..EACH {
            let answer = socket.next().await;
            assert_eq!((&answer["id"], &answer["result"]["value"]), (&json!(id), &json!(id)));
        }
    }
}

/// More entries than the serving thread encodes itself.
async fn fill(socket: &mut Socket) {
    for key in 0..100 {
        let set = json!({"command": "state.set", "workspace": "noisy", "namespace": "shared",
                         "key": format!("k{key}"), "value": "x".repeat(1_000)});
        assert_eq!(socket.ask(set).await["error"], Value::Null);
    }
}

fn watch(id: u64) -> Value {
    json!({"id": id, "workspace": "noisy", "command": "watch", "pattern": "state/**",
           "snapshot": true})
}

#[tokio::test]
async fn encoding_a_large_snapshot_of_a_watch_delays_no_other_client() {
    // Without the threads that encode what is large, it is never sent.
    let harness = Harness::with(Settings { encoders_max: 0, ..settings() }).await;
    let mut noisy = joined(&harness, "noisy").await;
    let mut quiet = joined(&harness, "quiet").await;
    fill(&mut noisy).await;
    noisy.send(&watch(1_000)).await;
    let mut events = harness.http().await;
    let head = "GET /v1/noisy/watch?snapshot=true&pattern=state/** HTTP/1.1\r\nhost: localhost";
    events.send(format!("{head}\r\n\r\n")).await;
    for id in 2..200 {
        quiet.send(&set("quiet", id)).await;
        assert_eq!(quiet.answer(id as u64).await["result"]["value"], id);
    }
    assert_eq!(unread(&noisy), 0);
    let mut bytes = vec![0; 1 << 20];
    let count = bare(&events.stream).try_read(&mut bytes).expect("the watch has started");
    let text = String::from_utf8_lossy(&bytes[..count]);
    assert!(text.contains(": watching"), "{text}");
    assert!(!text.contains("event: snapshot"), "{text}");
}

#[tokio::test]
async fn a_large_snapshot_of_a_watch_comes_before_its_events() {
    let harness = Harness::new().await;
    let (mut noisy, mut other) = (joined(&harness, "noisy").await, harness.socket().await);
    fill(&mut noisy).await;
    noisy.send(&watch(1_000)).await;
    let from = noisy.answer(1_000).await["result"]["from"].as_u64();
    let snapshot = noisy.pushed(1_000).await;
    assert_eq!(snapshot["snapshot"]["revision"].as_u64().map(|at| at + 1), from);
    assert_eq!(snapshot["snapshot"]["entries"].as_array().map(Vec::len), Some(101));
    other.send(&set("noisy", 7)).await;
    let event = noisy.pushed(1_000).await;
    assert_eq!(event["event"]["revision"].as_u64(), from, "{event}");
}

#[tokio::test]
async fn a_list_of_commands_over_http_is_scheduled_fairly_too() {
    let harness = Harness::new().await;
    let list: Vec<Value> = (0..1_000)
        .map(|_| json!({"command": "state.get", "namespace": "shared", "key": "k"}))
        .collect();
    let body = Value::from(list).to_string();
    let head = "POST /v1/noisy/commands HTTP/1.1\r\nhost: localhost\r\ncontent-length";
    let request = format!("{head}: {}\r\n\r\n{body}", body.len());
    let mut noisy = Vec::new();
    for _ in 0..8 {
        let mut http = harness.http().await;
        http.put("/v1/noisy/state/shared/k", &json!(1)).await;
        noisy.push(http);
    }
    let mut quiet = joined(&harness, "quiet").await;
    for http in &mut noisy {
        http.send(request.clone()).await;
    }
    write(&quiet, &quiet.framed(&get("quiet", 2)));
    assert_eq!(quiet.answer(2).await["result"]["value"], 1);
    let response = noisy.iter().filter(|http| has_come(bare(&http.stream))).count();
    assert!(response < 4, "{response} of 8 lists were decided before");
    for http in &mut noisy {
        let response = http.response().await;
        assert_eq!(response.json().as_array().map(Vec::len), Some(1_000), "{response:?}");
    }
}

#[tokio::test]
async fn a_server_stops_although_many_calls_are_queued() {
    let patient = Settings { farewell: Duration::from_hours(1), ..settings() };
    let harness = Harness::with(patient).await;
    let noisy = noisy_sockets(&harness).await;
    let mut quiet = joined(&harness, "quiet").await;
    flood(&noisy, get);
    write(&quiet, &quiet.framed(&get("quiet", 2)));
    quiet.answer(2).await;
    let (_, running) = harness.begin_shutdown();
    drop((noisy, quiet));
    within(running).await.expect("it ends well");
}

#[tokio::test]
async fn nor_for_its_watchers() {
    let harness = Harness::new().await;
    let mut noisy = noisy_sockets(&harness).await;
    for socket in &mut noisy {
        let watch =
            json!({"id": 9, "workspace": "noisy", "command": "watch", "pattern": "state/**"});
        socket.send(&watch).await;
        assert!(socket.answer(9).await["revision"].is_u64());
    }
    let mut writer = joined(&harness, "noisy").await;
    let mut quiet = joined(&harness, "quiet").await;
    // Every one of these is pushed to all watchers.
    let sets: Vec<u8> = (0..EACH).flat_map(|id| writer.framed(&set("noisy", id + 10))).collect();
    write(&writer, &sets);
    writer.answer(10).await;
    write(&quiet, &quiet.framed(&get("quiet", 2)));
    quiet.answer(2).await;
    let response: usize = noisy.iter().map(unread).sum();
    let in_all = NOISY * EACH * 200;
    assert!(response < in_all / 2, "{response} bytes of about {in_all} were sent before");
}

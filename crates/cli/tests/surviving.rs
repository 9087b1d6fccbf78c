//! A watch survives `kill -9` and a restart of the server, without gaps or duplicates; leases,
//! locks and sessions survive a server that was stopped for longer than they last.

use std::time::Duration;

use baton_client::{Item, Options, Watch, Workspace, connect_with};
use baton_core::state::{Command, History, Set};
use baton_core::{Json, Key, NamespaceName};
use serde_json::{Value, json};

use rustix::process::Signal;

use crate::process::{Running, Server, send};

const WRITES: u64 = 240;
const KILLS: u64 = 4;

/// A change: its revision, key and value.
type Seen = (u64, String, String);

fn set(key: &str, value: u64) -> Command {
    let (key, value) = (Key::parse(key).unwrap(), Json::of(&value).unwrap());
    Command::Set(Set::new(NamespaceName::shared(), key, value))
}

/// Writes through all interruptions. Every third commit has two events, which must stay together.
async fn write(workspace: Workspace, acknowledged: tokio::sync::watch::Sender<u64>) {
    let state = workspace.state("shared");
    for number in 1..=WRITES {
        if number % 3 == 0 {
            let both = workspace.transaction().command(set("left", number));
            both.command(set("right", number)).commit().await.unwrap();
        } else {
            state.set(&format!("key/{}", number % 7), number).await.unwrap();
        }
        acknowledged.send_replace(number);
    }
}

/// The changes that a watch of the client library reports.
async fn see(mut watch: Watch) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(item) = watch.next().await {
        let Item::Event(notice) = item.unwrap() else { panic!("no snapshot was requested") };
        let event: Value = serde_json::from_slice(&notice.json()).unwrap();
        seen.push(change(&event));
        if notice.subject() == "state/shared/end" {
            break;
        }
    }
    seen
}

/// The changes that `baton watch` prints.
fn read(mut watch: Running) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    while seen.last().is_none_or(|(_, key, _)| key != "end") {
        seen.push(change(&serde_json::from_str(&watch.line()).unwrap()));
    }
    seen
}

fn change(event: &Value) -> Seen {
    let revision = event["revision"].as_u64().unwrap();
    (revision, event["key"].as_str().unwrap().to_owned(), event["value"].to_string())
}

/// The history according to the server, oldest first.
async fn history(workspace: &Workspace) -> Vec<Seen> {
    let mut changes = Vec::new();
    let mut query = History::default();
    loop {
        let (page, cursor) = workspace.state("shared").history(query.clone()).await.unwrap();
        changes.extend(page);
        match cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => break,
        }
    }
    let seen = changes.into_iter().rev().map(|change| {
        let value = change.new_value.unwrap().as_str().to_owned();
        (change.revision.0, change.key.as_str().to_owned(), value)
    });
    seen.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_survives_kill_9_without_gap_or_duplicate() {
    let mut server = Server::start();
    // Long enough to start a server on a slow machine.
    let options = Options { request_timeout: Duration::from_mins(5), ..Options::default() };
    let client = connect_with(&server.url, options).await.unwrap();
    let workspace = client.workspace("default").unwrap().as_agent("ada").unwrap();
    let watch = workspace.watch("state/shared/**").from(1).await.unwrap();
    let words = ["watch", "state/shared/**", "--from", "1", "-o", "jsonl"];
    let program = Running::of(server.command(words));

    let (acknowledged, mut written) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(write(workspace.clone(), acknowledged));
    let seeing = tokio::spawn(see(watch));
    let reading = tokio::task::spawn_blocking(|| read(program));
    for kill in 1..=KILLS {
        written.wait_for(|number| *number >= kill * WRITES / (KILLS + 1)).await.unwrap();
        tokio::task::block_in_place(|| {
            server.kill();
            server.restart();
        });
    }
    writing.await.unwrap();
    workspace.state("shared").set("end", 0).await.unwrap();

    let history = history(&workspace).await;
    // Repeated writes had no second effect: one commit per write, and one for the end.
    assert_eq!(workspace.revision().await.unwrap().0, WRITES + 1);
    assert_eq!(history.len() as u64, WRITES + WRITES / 3 + 1);
    assert_eq!(seeing.await.unwrap(), history, "the library's watch");
    assert_eq!(reading.await.unwrap(), history, "the program's watch");
}

/// How long the lease, the lock and the session last, and how long the server is stopped.
const TTL_MS: u64 = 2_000;
const STOPPED: Duration = Duration::from_secs(4);

async fn post(url: String, body: Value) -> Value {
    let request = reqwest::Client::new().post(url).header("baton-agent", "ada");
    let request = request.header("content-type", "application/json").body(body.to_string());
    let answer = request.send().await.unwrap().bytes().await.unwrap();
    serde_json::from_slice(&answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspended_server_ends_no_hold_of_agents_it_could_not_hear() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start();
    let url = |path: &str| format!("{}/v1/default/{path}", server.url);
    // All at once, so that none of them ends before the server is stopped.
    let begun = post(
        url("transactions"),
        json!({"commands": [
            {"command": "agent.register", "agent": "ada", "ttl_ms": TTL_MS},
            {"command": "task.create", "type": "long", "id": "t"},
            {"command": "task.claim", "task": "t", "lease_ms": TTL_MS},
            {"command": "lock.acquire", "name": "door", "ttl_ms": TTL_MS},
        ]}),
    )
    .await;
    send(&server.child, Signal::STOP);
    let results = &begun["results"];
    // They arrive while the server is stopped, and wait in its socket.
    let renewals = [
        json!({"command": "agent.heartbeat", "agent": "ada", "token": results[0]["token"]}),
        json!({"command": "task.heartbeat", "task": "t", "token": results[2]["lease"]["token"]}),
        json!({"command": "lock.renew", "name": "door", "token": results[3]["token"]}),
    ];
    let renewals = renewals.map(|renewal| tokio::spawn(post(url("commands"), renewal)));
    tokio::time::sleep(STOPPED).await;
    send(&server.child, Signal::CONT);
    for renewal in renewals {
        let answer = renewal.await.unwrap();
        assert!(answer["result"].is_object(), "{answer} after {begun}");
    }
    let events = reqwest::get(url("events")).await.unwrap().bytes().await.unwrap();
    let events = String::from_utf8(events.to_vec()).unwrap();
    assert!(events.contains("task.claimed"), "{events}");
    for lost in ["agent.lost", "task.failed", "task.released", "lock.dropped"] {
        assert!(!events.contains(lost), "{lost}: {events}");
    }
}

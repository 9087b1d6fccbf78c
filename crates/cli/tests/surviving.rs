//! A watch survives `kill -9` and a restart of the server, without gaps or duplicates.

use std::time::Duration;

use baton_client::{Item, Options, Watch, Workspace, connect_with};
use baton_core::state::{Command, History, Set};
use baton_core::{Json, Key, NamespaceName};
use serde_json::Value;

use crate::process::{Running, Server};

const WRITES: u64 = 240;
const KILLS: u64 = 4;

/// A change: its revision, key and value.
type Seen = (u64, String, String);

fn set(key: &str, value: u64) -> Command {
    let (key, value) = (Key::parse(key).unwrap(), Json::of(&value).unwrap());
    Command::Set(Set::new(NamespaceName::shared(), key, value))
}

/// Writes through all interruptions. Every third commit has two events, which must stay together.
async fn write(workspace: Workspace, told: tokio::sync::watch::Sender<u64>) {
    let state = workspace.state("shared");
    for number in 1..=WRITES {
        if number % 3 == 0 {
            let both = workspace.transaction().command(set("left", number));
            both.command(set("right", number)).commit().await.unwrap();
        } else {
            state.set(&format!("key/{}", number % 7), number).await.unwrap();
        }
        told.send_replace(number);
    }
}

/// The changes that a watch of the client library reports.
async fn see(mut watch: Watch) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(item) = watch.next().await {
        let Item::Event(notice) = item.unwrap() else { panic!("nobody asked for a snapshot") };
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

    let (told, mut written) = tokio::sync::watch::channel(0);
    let writing = tokio::spawn(write(workspace.clone(), told));
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

//! Data written by earlier versions can still be opened, with the same history and state.
//!
//! `data/c90efe2/folder` was written by the program of that commit: it run `spec/scenarios` on
//! the engine in files, each scenario in its own workspace. Its events are in the log, in archived
//! runs and in snapshots. `data/c90efe2/answers.jsonl` is what that program
//! answered about the folder: every event of every workspace, and the answers to the list queries.
//!
//! `BATON_GOLDEN=write` writes the answers again. Only a change that the changelog announces may
//! alter them; the folder itself is never rewritten.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use baton::Caller;
use baton::clock::ManualClock;
use baton::log::{FileLog, Options as FileOptions};
use baton::{Baton, Item, Options};
use baton_core::wire::{Call, Frame, Watch as Wanted, write_answer};
use baton_core::{AgentId, Pattern, Revision, WorkspaceName};
use baton_scenario::backends::BEGINNING;
use serde_json::{Value, json};

/// How many workspaces there are: `scenario-1` and so on. One scenario left its own empty.
const WORKSPACES: u32 = 53;

/// Queries that together read every table of a workspace.
const QUERIES: [&str; 18] = [
    "agent.list",
    "artifact.list",
    "checkpoint.list",
    "handler.list",
    "handoff.list",
    "handoff.stats",
    "lock.list",
    "namespace.list",
    "pipeline.list",
    "reaction.list",
    "rule.list",
    "secret.list",
    "semaphore.list",
    "state.list",
    "stream.list",
    "task.list",
    "task.stats",
    "topic.list",
];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/c90efe2")
}

/// Copies a folder, because opening it prepares further files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room for a folder");
    for item in fs::read_dir(from).expect("the folder is there") {
        let item = item.expect("it can be read").path();
        let target = to.join(item.file_name().expect("it has a name"));
        if item.is_dir() {
            copy(&item, &target);
        } else {
            fs::copy(&item, &target).expect("there is room for a file");
        }
    }
}

/// A query, parsed as by every API.
fn ask(baton: &Baton, runtime: &tokio::runtime::Runtime, caller: &Caller, query: &str) -> Value {
    let frame = match query {
        "state.list" => json!({"command": query, "namespace": "shared"}),
        "checkpoint.list" => json!({"command": query, "task": "t-0000000001"}),
        _ => json!({"command": query}),
    };
    let text = frame.to_string();
    let frame = Frame::parse(&text).expect("it is a frame");
    let Call::Query(query) = frame.call().expect("it is a query") else { panic!("{query} asks") };
    match runtime.block_on(baton.ask(caller, query)) {
        Ok(answer) => {
            let mut text = b"{".to_vec();
            write_answer(&mut text, &answer);
            text.push(b'}');
            serde_json::from_slice(&text).expect("answers are JSON")
        }
        Err(error) => json!({"error": baton_core::wire::Problem::from(&error)}),
    }
}

async fn events(baton: &Baton, caller: &Caller, up_to: u64) -> Vec<Value> {
    let pattern = Pattern::parse("**").expect("it is valid");
    let mut events = Vec::new();
    if up_to == 0 {
        return events;
    }
    let (types, from) = (Vec::new(), Some(Revision(1)));
    let wanted = Wanted { pattern, types, from, snapshot: false, waits: true };
    let mut watch = baton.watch(caller, wanted).await.expect("it can be watched");
    while watch.resume_from() <= Revision(up_to) {
        match watch.next().await {
            Some(Ok(Item::Event(notice))) => {
                events.push(serde_json::from_slice(&notice.json()).expect("notices are JSON"));
            }
            other => panic!("an event was expected, not {other:?}"),
        }
    }
    events
}

/// All answers about the folder, one per line.
fn answers(folder: &Path) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("there is room for a runtime");
    let log = FileLog::open(FileOptions { segment_bytes: 256 << 10, ..FileOptions::new(folder) });
    let log = log.expect("the folder is ours alone");
    // The clock is before the first scenario, so that nothing is due.
    let baton = Baton::on(log, ManualClock::at(BEGINNING), Options::default());
    let baton = baton.expect("the folder opens");
    let mut lines = String::new();
    for number in 1..=WORKSPACES {
        let name = format!("scenario-{number}");
        let workspace = WorkspaceName::parse(&name).expect("the name is valid");
        let agent = AgentId::engine();
        let caller = Caller { workspace, agent, idempotency_key: None, sees_tokens: true };
        let revision = ask(&baton, &runtime, &caller, "namespace.list")["revision"].as_u64();
        let revision = revision.expect("an answer has a revision");
        let mut write = |line: Value| writeln!(lines, "{line}").expect("text grows");
        for event in runtime.block_on(events(&baton, &caller, revision)) {
            write(json!({"workspace": name, "event": event}));
        }
        for query in QUERIES {
            let answer = ask(&baton, &runtime, &caller, query);
            write(json!({"workspace": name, "query": query, "answer": answer}));
        }
    }
    runtime.block_on(baton.close());
    lines
}

#[test]
fn data_of_an_earlier_version_opens_unchanged() {
    let work = tempfile::tempdir().expect("there is room for a folder");
    copy(&data().join("folder"), work.path());
    let came = answers(work.path());
    let golden = data().join("answers.jsonl");
    if std::env::var_os("BATON_GOLDEN").is_some_and(|value| value == "write") {
        fs::write(&golden, &came).expect("the file can be written");
        return;
    }
    let expected = fs::read_to_string(&golden).expect("the answers are there");
    for (line, (expected, came)) in expected.lines().zip(came.lines()).enumerate() {
        assert_eq!(expected, came, "line {}", line + 1);
    }
    assert_eq!(expected.lines().count(), came.lines().count());
}

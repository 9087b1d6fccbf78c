//! A workspace as one file: an import has the content of a fork, a damaged file is refused, and
//! nothing is imported partially.

use std::io::{Cursor, Read, Write};
use std::sync::{Arc, Mutex};

use baton::core::history::Manner;
use baton::core::wire::{Call, Frame};
use baton::core::{AgentId, Kind, Mutation, Query, Reply, Revision, workspace};
use baton::log::Log;
use baton::log::faulty::FaultyDisk;
use baton::{Baton, Caller, Error, Workspace, export};
use serde_json::json;

use crate::harness::{calm, everything, in_memory, in_memory_with, on_disk, restless, workspace};
use crate::time_travel::{live, named, questions};

/// An output that can be inspected afterwards, and records its largest piece.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut kept = self.0.lock().unwrap();
        kept.0.extend_from_slice(bytes);
        kept.1 = kept.1.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }
}

pub(crate) async fn exported(workspace: &Workspace) -> Vec<u8> {
    let kept = Kept::default();
    workspace.export(kept.clone()).await.unwrap();
    kept.bytes()
}

async fn import(baton: &Baton, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
    named(baton, name).import(Cursor::new(bytes)).await.map(drop)
}

/// The answers to all queries about the present, except the origin.
async fn answers(workspace: &Workspace) -> Vec<Result<Reply, Error>> {
    let mut answers = Vec::new();
    for query in questions() {
        let is_about_itself = matches!(query, Query::Workspace(workspace::Query::Get));
        let answer = workspace.ask(query).await.map(|answer| answer.reply);
        if !is_about_itself {
            answers.push(answer);
        }
    }
    answers
}

/// A workspace with an object of every kind, and with leases.
async fn lived_in(baton: &Baton) -> Workspace {
    let ada = workspace(baton);
    for round in 0..5 {
        live(&ada, round).await;
    }
    ada.artifacts().put(&b"a report"[..]).name("report").await.unwrap();
    ada.artifacts().put(Cursor::new(vec![7; 300_000])).await.unwrap();
    ada.messages().send("bob", json!("there is mail")).await.unwrap();
    ada.topics().publish("news", json!("it rains")).await.unwrap();
    ada.namespaces().create("notes").await.unwrap();
    ada.state("notes").set("brief", json!(1)).ttl_ms(60_000).await.unwrap();
    ada
}

#[tokio::test]
async fn an_import_equals_a_fork() {
    let (baton, _, clock) = in_memory_with(restless());
    let ada = lived_in(&baton).await;
    let file = exported(&ada).await;
    let about = export::verify(&file[..]).unwrap();
    assert_eq!(
        (about.workspace.as_str(), about.revision),
        ("research", ada.revision().await.unwrap())
    );
    // On another server, whose clock shows the same time.
    let (elsewhere, _, other_clock) = in_memory_with(restless());
    other_clock.advance(0);
    clock.advance(0);
    let there = named(&elsewhere, "carried");
    let founded = there.import(Cursor::new(file.clone())).await.unwrap();
    let forked = ada.fork("copy").await.unwrap();
    assert_eq!((founded.revision, founded.origin.manner), (forked.revision, Manner::Import));
    assert_eq!(founded.origin.workspace.as_str(), "research");
    let copy = named(&baton, "copy");
    assert_eq!(answers(&there).await, answers(&copy).await);
    assert_eq!(
        everything(&there, None, 100).await.unwrap(),
        everything(&copy, None, 100).await.unwrap()
    );
    // Nothing is held, and the bytes exist.
    assert!(there.locks().get("door").await.unwrap().hold.is_none());
    for artifact in ada.artifacts().list().await.unwrap() {
        let id = artifact.artifact.as_str();
        let here = ada.artifacts().read(id).await.unwrap().rest().await;
        let carried = there.artifacts().read(id).await.unwrap().rest().await;
        assert_eq!(here.unwrap(), carried.unwrap());
    }
    // It can be used and exported again, and that export can be imported.
    there.state("shared").set("plan", json!("mine")).await.unwrap();
    let again = exported(&there).await;
    import(&baton, "back", again).await.unwrap();
}

#[tokio::test]
async fn the_past_can_be_exported_too() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    let at = ada.revision().await.unwrap();
    ada.state("shared").set("plan", json!(2)).await.unwrap();
    let file = exported(&ada.at(at)).await;
    import(&baton, "then", file).await.unwrap();
    let then = everything(&named(&baton, "then"), None, 10).await.unwrap();
    assert_eq!(then.len(), 1);
    assert_eq!(crate::harness::value(&then[0]), json!(1));
    let error = ada.at(Revision(99)).export(Kept::default()).await.unwrap_err();
    assert_eq!(error.code(), "history.not_yet");
    let error = named(&baton, "mistyped").export(Kept::default()).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), ("workspace.unknown_subject", Kind::NotFound));
}

#[tokio::test]
async fn no_secret_leaves_with_an_export() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let secret = ada.secrets().put(b"hunter2-hunter2".to_vec()).await.unwrap();
    ada.state("shared").set("login", json!({"secret": secret.secret})).await.unwrap();
    let file = exported(&ada).await;
    assert!(!file.windows(7).any(|window| window == b"hunter2"));
    import(&baton, "copy", file).await.unwrap();
    let copy = named(&baton, "copy");
    assert!(copy.secrets().list().await.unwrap().is_empty());
    let error = copy.secrets().reveal(secret.secret.as_str()).await.unwrap_err();
    assert_eq!(error.code(), "secret.not_found");
    // The reference is unchanged, and in the origin the value still exists.
    assert_eq!(everything(&copy, None, 10).await.unwrap().len(), 1);
    assert_eq!(ada.secrets().reveal(secret.secret.as_str()).await.unwrap(), b"hunter2-hunter2");
}

fn caller(workspace: &Workspace) -> Caller {
    let (workspace, agent) = (workspace.name().clone(), AgentId::parse("ada").unwrap());
    Caller { workspace, agent, idempotency_key: None, sees_tokens: false }
}

/// A fork as it is sent to another engine.
async fn sent(baton: &Baton, workspace: &Workspace) -> Vec<u8> {
    let kept = Kept::default();
    baton.send_fork(&caller(workspace), None, Box::new(kept.clone())).await.unwrap();
    kept.bytes()
}

async fn receive(baton: &Baton, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
    let to = named(baton, name).name().clone();
    baton.receive_fork(to, Box::new(Cursor::new(bytes))).await?;
    Ok(())
}

#[tokio::test]
async fn a_fork_for_another_engine_equals_a_local_one() {
    let (baton, _, _) = in_memory();
    let ada = lived_in(&baton).await;
    let secret = ada.secrets().put(b"hunter2-hunter2".to_vec()).await.unwrap();
    let (elsewhere, _, _) = in_memory();
    receive(&elsewhere, "copy", sent(&baton, &ada).await).await.unwrap();
    ada.fork("copy").await.unwrap();
    let (here, there) = (named(&baton, "copy"), named(&elsewhere, "copy"));
    assert_eq!(answers(&there).await, answers(&here).await);
    let all = everything(&there, None, 100).await.unwrap();
    assert_eq!(all, everything(&here, None, 100).await.unwrap());
    let revealed = there.secrets().reveal(secret.secret.as_str()).await.unwrap();
    assert_eq!(revealed, b"hunter2-hunter2");
}

#[tokio::test]
async fn a_fork_that_arrives_in_part_leaves_nothing_and_is_not_an_export() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.artifacts().put(&b"a report"[..]).await.unwrap();
    ada.secrets().put(b"hunter2-hunter2".to_vec()).await.unwrap();
    let (fork, file) = (sent(&baton, &ada).await, exported(&ada).await);
    let (elsewhere, log, _) = in_memory();
    for end in (0..fork.len()).step_by(7) {
        let error = receive(&elsewhere, "copy", fork[..end].to_vec()).await.unwrap_err();
        assert_eq!(error.code(), "import.damaged", "cut off at {end}");
        assert_eq!(log.list_blobs("").unwrap(), Vec::<String>::new(), "cut off at {end}");
    }
    let error = receive(&elsewhere, "copy", file).await.unwrap_err();
    assert_eq!(error.code(), "import.damaged", "an export is not a fork");
    let error = import(&elsewhere, "copy", fork.clone()).await.unwrap_err();
    assert_eq!(error.code(), "import.damaged", "a fork has secrets, and is not an export");
    receive(&elsewhere, "copy", fork).await.unwrap();
}

#[tokio::test]
async fn an_import_may_use_the_name_of_a_deleted_workspace() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    let file = exported(&ada).await;
    import(&baton, "copy", file.clone()).await.unwrap();
    let copy = named(&baton, "copy");
    let revision = copy.revision().await.unwrap();
    let delete = Query::Workspace(workspace::Query::Delete { revision });
    baton.ask(&caller(&copy), delete).await.unwrap();
    import(&baton, "copy", file).await.unwrap();
    assert!(copy.revision().await.unwrap() > revision, "its revisions continue");
    let there = everything(&named(&baton, "copy"), None, 10).await.unwrap();
    assert_eq!(there.len(), 1);
}

#[tokio::test]
async fn a_signing_secret_is_never_returned() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let call = |text: &str| Frame::parse(text).unwrap().call().unwrap();
    let add = r#"{"command":"reaction.add","name":"tell","on":{"type":"task.completed"},
        "webhook":{"url":"http://example.com/x","secret":"hunter2-hunter2"}}"#;
    let Call::Command(add) = call(add) else { panic!("it is a command") };
    let (agent, idempotency_key) = (AgentId::parse("ada").unwrap(), None);
    let workspace = ada.name().clone();
    let caller = Caller { workspace, agent, idempotency_key, sees_tokens: false };
    baton.mutate(&caller, Mutation::Command(add)).await.unwrap();
    let file = exported(&ada).await;
    assert!(!file.windows(7).any(|window| window == b"hunter2"));
    import(&baton, "copy", file).await.unwrap();
    let Call::Query(list) = call(r#"{"command":"reaction.list"}"#) else { panic!("a query") };
    let shown = named(&baton, "copy").ask(list).await.unwrap().reply;
    let shown = format!("{shown:?}");
    assert!(shown.contains("reaction.secret_not_exported"), "it is not called unsigned: {shown}");
    assert!(shown.contains("enabled: false"), "{shown}");
}

#[tokio::test]
async fn an_existing_name_is_not_overwritten() {
    let (baton, _, _) = in_memory();
    let ada = lived_in(&baton).await;
    let file = exported(&ada).await;
    import(&baton, "copy", file.clone()).await.unwrap();
    for taken in ["research", "copy"] {
        let error = import(&baton, taken, file.clone()).await.unwrap_err();
        assert_eq!((error.code(), error.kind()), ("workspace.exists", Kind::Conflict));
    }
    let id = ada.artifacts().list().await.unwrap()[0].artifact.clone();
    assert!(ada.artifacts().read(id.as_str()).await.unwrap().rest().await.is_ok());
}

#[tokio::test]
async fn any_damaged_file_is_refused_and_leaves_nothing() {
    let (baton, log, _) = in_memory();
    let ada = workspace(&baton);
    live(&ada, 1).await;
    ada.artifacts().put(&b"a report"[..]).await.unwrap();
    let file = exported(&ada).await;
    let before = log.list_blobs("").unwrap();
    let mut wrong: Vec<Vec<u8>> = Vec::new();
    for place in (0..file.len()).step_by(3) {
        let mut flipped = file.clone();
        flipped[place] ^= 1 << (place % 8);
        wrong.push(flipped);
    }
    wrong.extend((0..file.len()).step_by(41).map(|end| file[..end].to_vec()));
    wrong.push([&file[..], b"x"].concat());
    wrong.push(Vec::new());
    wrong.push(b"{\"not\": \"an export\"}".to_vec());
    for bytes in wrong {
        let error = import(&baton, "copy", bytes).await.unwrap_err();
        assert!(["import.damaged", "import.newer"].contains(&error.code()), "{error}");
        assert_eq!(error.kind(), Kind::Invalid);
    }
    assert_eq!(log.list_blobs("").unwrap(), before, "nothing is left");
    let mut newer = file.clone();
    newer[8] = 2;
    assert_eq!(import(&baton, "copy", newer).await.unwrap_err().code(), "import.newer");
    // The name is still free.
    import(&baton, "copy", file).await.unwrap();
}

#[tokio::test]
async fn parts_stay_small_however_large_the_content_is() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    ada.artifacts().put(std::io::repeat(5).take(1 << 20)).await.unwrap();
    let kept = Kept::default();
    ada.export(kept.clone()).await.unwrap();
    let (bytes, largest) = kept.0.lock().unwrap().clone();
    assert!(bytes.len() > 1 << 20 && largest <= 256 << 10, "{largest}");
    import(&baton, "copy", bytes).await.unwrap();
}

#[tokio::test]
async fn an_import_that_fails_in_the_middle_exists_completely_or_not_at_all() {
    let source = in_memory().0;
    let ada = workspace(&source);
    for number in 0..50 {
        ada.state("shared").set(&format!("key-{number}"), json!("x".repeat(500))).await.unwrap();
    }
    ada.artifacts().put(&b"a report"[..]).await.unwrap();
    let (file, then) = (exported(&ada).await, everything(&ada, None, 1_000).await.unwrap());
    for operation in (0..40).step_by(2) {
        let disk = FaultyDisk::new(operation);
        let baton = on_disk(&disk, calm()).unwrap();
        workspace(&baton).state("shared").set("here", json!(1)).await.unwrap();
        disk.stop_at(disk.counts().total + operation);
        let imported = import(&baton, "copy", file.clone()).await;
        baton.close().await;
        disk.crash(operation);
        let baton = on_disk(&disk, calm()).unwrap();
        let there = everything(&named(&baton, "copy"), None, 1_000).await.unwrap();
        match imported {
            Ok(()) => assert_eq!(there, then, "failed after {operation}"),
            Err(_) => assert!(there.is_empty() || there == then, "failed after {operation}"),
        }
        // A name that does not exist yet can be used.
        if there.is_empty() {
            import(&baton, "again", file.clone()).await.unwrap();
        }
        baton.close().await;
    }
}

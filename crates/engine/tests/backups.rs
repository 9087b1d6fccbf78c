//! All workspaces as one file, taken while they are written to: it contains each of them at one
//! revision; a damaged file is refused, and nothing is restored partially.

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use baton::core::Kind;
use baton::core::access::CLOSED;
use baton::core::task::List;
use baton::error::Error as EngineError;
use baton::log::{FileLog, Log, MemoryLog, Options as FileOptions};
use baton::{Baton, Workspace, backup};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::harness::{everything, folder, in_memory, on_small_segments, open, restless};
use crate::time_travel::{live, named};

/// Names that some file systems do not distinguish.
const WORKSPACES: [&str; 3] = ["research", "Research", "team-7.b"];

/// Pieces that are written before the first workspace is reached.
const HEAD_PIECES: u64 = 4;

/// Channels that request work, and report that it is done.
type Interlude = (UnboundedSender<()>, Receiver<()>);

/// An output that lets other threads work between two pieces.
#[derive(Clone, Default)]
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    interlude: Arc<Mutex<Option<Interlude>>>,
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        if let Some((ask, done)) = &*self.interlude.lock().unwrap() {
            ask.send(()).expect("a worker runs");
            done.recv().expect("a worker has answered");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    /// A log that asks before it continues, and the other end, which answers.
    fn with_interludes() -> (Self, UnboundedReceiver<()>, Sender<()>) {
        let ((ask, asked), (answer, done)) = (unbounded_channel(), channel());
        let interlude = Arc::new(Mutex::new(Some((ask, done))));
        (Self { interlude, ..Self::default() }, asked, answer)
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

async fn backed_up(baton: &Baton) -> Vec<u8> {
    let kept = Kept::default();
    let summary = baton.backup(Box::new(kept.clone())).await.unwrap();
    assert_eq!(backup::verify(&kept.bytes()[..]).unwrap(), summary);
    kept.bytes()
}

fn restored(bytes: &[u8], folder: &Path) -> Result<backup::Summary, EngineError> {
    backup::restore_to(bytes, folder)
}

/// Objects of every kind in each workspace.
async fn lived_in(baton: &Baton) {
    for name in WORKSPACES {
        let ada = named(baton, name);
        for round in 0..20 {
            live(&ada, round).await;
        }
        ada.artifacts().put(Cursor::new(vec![b'a'; 300_000])).name("report").await.unwrap();
        ada.secrets().put("hunter2").name("key").await.unwrap();
    }
}

/// Writes during a backup.
async fn work(baton: &Baton, round: u64) {
    for name in WORKSPACES {
        let ada = named(baton, name);
        ada.state("shared").set(&format!("key-{}", round % 7), json!(round)).await.unwrap();
        ada.state("shared").set("filling", json!("x".repeat(2_000))).await.unwrap();
        if round >= HEAD_PIECES
            && let Some(artifact) = ada.artifacts().list().await.unwrap().first()
        {
            ada.artifacts().delete(artifact.artifact.as_str()).await.unwrap();
        }
        baton.compact(&ada).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_is_every_workspace_at_its_revision() {
    let (here, there) = (folder(), folder());
    let origin = on_small_segments(here.path(), restless()).unwrap();
    lived_in(&origin).await;
    let artifact = named(&origin, "research").artifacts().list().await.unwrap()[0].artifact.clone();
    let (kept, mut asked, answer) = Kept::with_interludes();
    let working = async {
        let mut round = 0;
        while asked.recv().await.is_some() {
            // Often enough to fall between any two files, seldom enough to finish soon.
            if round < 8 || round % 8 == 0 {
                work(&origin, round).await;
            }
            round += 1;
            let _ = answer.send(());
        }
        round
    };
    let taken = async {
        let summary = origin.backup(Box::new(kept.clone())).await;
        kept.interlude.lock().unwrap().take();
        summary
    };
    let (summary, rounds) = tokio::join!(taken, working);
    assert!(rounds > 20, "it was taken in {rounds} pieces");
    let summary = summary.unwrap();
    work(&origin, rounds).await;
    let target = there.path().join("restored");
    assert_eq!(restored(&kept.bytes(), &target).unwrap(), summary);
    let restored = open(&target).await;
    assert_eq!(summary.workspaces.len(), WORKSPACES.len());
    for backup::BackupEntry { workspace, revision } in summary.workspaces {
        let (one, other) =
            (named(&origin, workspace.as_str()), named(&restored, workspace.as_str()));
        assert!(one.revision().await.unwrap() > revision, "work went on");
        let at = Some(revision);
        let expected = everything(&one, at, 100).await.unwrap();
        assert!(!expected.is_empty());
        assert_eq!(everything(&other, at, 100).await.unwrap(), expected, "{workspace}");
        assert_eq!(
            one.at(revision).tasks().list(List::default()).await.unwrap(),
            other.at(revision).tasks().list(List::default()).await.unwrap()
        );
        // The history is included.
        let early = other.state("shared").get_at("plan", baton::core::Revision(1)).await.unwrap();
        assert_eq!(early.value(), br#"{"round":0}"#);
    }
    // The content that the first workspace had at its revision is included, although the origin
    // removed it before its bytes were read.
    let first = named(&restored, "Research");
    assert_eq!(first.artifacts().list().await.unwrap().len(), 1);
    let bytes = first.artifacts().read(artifact.as_str()).await.unwrap().rest().await.unwrap();
    assert_eq!(bytes.len(), 300_000);
    assert!(named(&origin, "Research").artifacts().list().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_restored_engine_continues_where_it_was() {
    let there = folder();
    let (origin, ..) = in_memory();
    let ada = named(&origin, "research");
    let held = ada.locks().acquire("door").await.unwrap().unwrap();
    let secret = ada.secrets().put("hunter2").await.unwrap();
    let once = ada.once("only-once").unwrap();
    let first = once.state("shared").increment("count", 1).await.unwrap();
    let bytes = backed_up(&origin).await;
    let target = there.path().join("data");
    restored(&bytes, &target).unwrap();
    let baton = open(&target).await;
    let ada = named(&baton, "research");
    let again = ada.once("only-once").unwrap().state("shared").increment("count", 1).await.unwrap();
    assert_eq!(again.version(), first.version(), "the answer under the key was kept");
    assert_eq!(ada.secrets().reveal(secret.secret.as_str()).await.unwrap(), b"hunter2");
    let bob = ada.as_agent("bob").unwrap();
    assert_eq!(bob.locks().acquire("door").await.unwrap(), None, "ada holds it still");
    let other = bob.locks().acquire("window").await.unwrap().unwrap();
    assert!(other.token > held.token, "tokens grow");
}

/// A restore cannot know what was issued after its backup, so those who use that must stop first.
#[tokio::test]
async fn a_token_that_was_issued_after_a_backup_is_issued_again_after_a_restore() {
    let there = folder();
    let (origin, ..) = in_memory();
    let ada = named(&origin, "research");
    ada.locks().acquire("door").await.unwrap().unwrap();
    let bytes = backed_up(&origin).await;
    let later = ada.locks().acquire("window").await.unwrap().unwrap();
    let target = there.path().join("data");
    restored(&bytes, &target).unwrap();
    let baton = open(&target).await;
    let bob = named(&baton, "research").as_agent("bob").unwrap();
    let again = bob.locks().acquire("roof").await.unwrap().unwrap();
    assert_eq!(again.token, later.token);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups_of_shards_are_joined_and_divided_again() {
    let mut parts = Vec::new();
    for name in WORKSPACES {
        let (shard, ..) = in_memory();
        named(&shard, name).state("shared").set("plan", json!(name)).await.unwrap();
        named(&shard, name).secrets().put("hunter2").name("key").await.unwrap();
        parts.push(backed_up(&shard).await);
    }
    let joined = Kept::default();
    let inputs = parts.iter().map(|part| Ok(&part[..]));
    let summary =
        backup::merge(u32::try_from(parts.len()).unwrap(), 0, inputs, Box::new(joined.clone()))
            .unwrap();
    assert_eq!(backup::verify(&joined.bytes()[..]).unwrap(), summary);
    let names = summary.workspaces.iter().map(|entry| entry.workspace.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["Research", "research", "team-7.b"]);
    // Into two logs: those that begin with a capital letter, and the others.
    let folders = [folder(), folder()];
    let logs = folders.iter().map(|it| FileLog::open(FileOptions::new(it.path())).unwrap());
    let shard_of = |name: &baton::core::WorkspaceName| usize::from(!name.as_str().starts_with('R'));
    let restored = backup::restore_shards(&joined.bytes()[..], logs.collect(), shard_of);
    assert_eq!(restored.unwrap(), summary);
    for (folder, expected) in folders.iter().zip([&WORKSPACES[1..2], &["research", "team-7.b"]]) {
        let shard = open(folder.path()).await;
        let (found, _) = named(&shard, "other").workspaces(None, None).await.unwrap();
        assert_eq!(found.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), expected);
        for name in expected {
            let entry = named(&shard, name).state("shared").get("plan").await.unwrap();
            assert_eq!(entry.json().to_value(), json!(name));
        }
    }
    // A workspace that two shards have is a mistake that must not be merged away.
    let twice = backup::merge(
        2,
        0,
        [&parts[0], &parts[0]].map(|part| Ok(&part[..])),
        Box::new(Kept::default()),
    );
    assert_eq!(twice.unwrap_err().code(), "backup.damaged");
    // A part that is missing is not seen in what is merged.
    for there in 0..parts.len() {
        let some = parts[..there].iter().map(|part| Ok(&part[..]));
        let refused = backup::merge(3, 0, some, Box::new(Kept::default())).unwrap_err();
        assert_eq!(refused.code(), "backup.damaged", "{there} of 3: {refused}");
    }
    let none = backup::merge(0, 0, Vec::<Result<&[u8], _>>::new(), Box::new(Kept::default()));
    assert_eq!(none.unwrap_err().code(), "backup.damaged");
    // A part that is cut off makes no backup.
    let cut = [&parts[0][..], &parts[1][..parts[1].len() - 1]].map(Ok);
    assert_eq!(
        backup::merge(2, 0, cut, Box::new(Kept::default())).unwrap_err().code(),
        "backup.damaged"
    );
}

/// Every shard may have a workspace of that name, since a server notes there what it has exported.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tokens_of_joined_backups_are_those_of_their_shard() {
    let mut parts = Vec::new();
    for name in WORKSPACES {
        let (shard, ..) = in_memory();
        named(&shard, name).state("shared").set("plan", json!(name)).await.unwrap();
        named(&shard, CLOSED).state("shared").set("in", json!(name)).await.unwrap();
        named(&shard, CLOSED).artifacts().put(name.as_bytes()).await.unwrap();
        parts.push(backed_up(&shard).await);
    }
    for (home, name) in (0..).zip(WORKSPACES) {
        let (there, joined) = (folder(), Kept::default());
        let inputs = parts.iter().map(|part| Ok(&part[..]));
        let summary = backup::merge(3, home, inputs, Box::new(joined.clone())).unwrap();
        assert_eq!(summary.workspaces.len(), WORKSPACES.len() + 1, "each once");
        let target = there.path().join("data");
        restored(&joined.bytes(), &target).unwrap();
        let baton = open(&target).await;
        let entry = named(&baton, CLOSED).state("shared").get("in").await.unwrap();
        assert_eq!(entry.json().to_value(), json!(name));
        for name in WORKSPACES {
            let entry = named(&baton, name).state("shared").get("plan").await.unwrap();
            assert_eq!(entry.json().to_value(), json!(name));
        }
    }
}

/// An engine that was backed up, and a folder for the restored data.
async fn small() -> (Vec<u8>, tempfile::TempDir) {
    let (origin, ..) = in_memory();
    named(&origin, "one").state("shared").set("plan", json!(1)).await.unwrap();
    let two: Workspace = named(&origin, "two");
    two.artifacts().put(&b"a report"[..]).await.unwrap();
    origin.compact(&two).await.unwrap();
    two.state("shared").set("plan", json!(2)).await.unwrap();
    (backed_up(&origin).await, folder())
}

#[tokio::test]
async fn a_flipped_or_cut_backup_is_refused_and_leaves_nothing() {
    let (bytes, there) = small().await;
    let target = there.path().join("data");
    let in_memory = |bytes: &[u8], what: &str| {
        let error = backup::restore(bytes, MemoryLog::default()).expect_err(what);
        assert_eq!(error.kind(), Kind::Invalid, "{what}: {error}");
    };
    for end in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        in_memory(&bytes[..end], &format!("cut at {end}"));
    }
    for place in (0..bytes.len()).step_by(61) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 4;
        in_memory(&flipped, &format!("byte {place}"));
    }
    let refused = |bytes: &[u8], what: &str| {
        let error = restored(bytes, &target).expect_err(what);
        let left = std::fs::read_dir(there.path()).unwrap().count();
        assert_eq!(left, 0, "{what} leaves something");
        error.code()
    };
    assert_eq!(refused(&bytes[..bytes.len() / 2], "a cut"), "backup.damaged");
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 4;
    assert_eq!(refused(&flipped, "a flipped bit"), "backup.damaged");
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(refused(&newer, "a newer one"), "backup.newer");
    let longer = [&bytes[..], b"!"].concat();
    assert_eq!(refused(&longer, "more than its end"), "backup.damaged");
    assert_eq!(refused(b"BATONEXP\x01\x00", "an export"), "backup.damaged");
    restored(&bytes, &target).unwrap();
}

#[tokio::test]
async fn existing_files_are_never_overwritten() {
    let (bytes, there) = small().await;
    let target = there.path().join("data");
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("mine"), "mine").unwrap();
    assert_eq!(restored(&bytes, &target).unwrap_err().code(), "restore.not_empty");
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 1);
    std::fs::remove_file(target.join("mine")).unwrap();
    // A restore that was killed has left this behind, or one is running.
    let staging = there.path().join("data.restoring");
    std::fs::create_dir(&staging).unwrap();
    assert_eq!(restored(&bytes, &target).unwrap_err().code(), "restore.not_empty");
    std::fs::remove_dir(&staging).unwrap();
    restored(&bytes, &target).unwrap();
    let log = FileLog::open(FileOptions::new(&target)).unwrap();
    let taken = backup::restore(&bytes[..], log).unwrap_err();
    assert_eq!(taken.code(), "restore.not_empty");
    assert!(taken.hint().contains("drop schema"), "a log is no folder: {}", taken.hint());
}

#[tokio::test]
async fn a_folder_is_backed_up_without_an_engine() {
    let (here, there) = (folder(), folder());
    let baton = open(here.path()).await;
    lived_in(&baton).await;
    let running = backup::of_folder(here.path(), Box::new(Kept::default())).unwrap_err();
    assert_eq!(running.code(), "log.in_use");
    let revision = named(&baton, "research").revision().await.unwrap();
    baton.close().await;
    let kept = Kept::default();
    let summary = backup::of_folder(here.path(), Box::new(kept.clone())).unwrap();
    let found = summary.workspaces.iter().find(|kept| kept.workspace.as_str() == "research");
    assert_eq!(found.map(|kept| kept.revision), Some(revision));
    assert_eq!(restored(&kept.bytes(), &there.path().join("data")).unwrap(), summary);
    let missing = backup::of_folder(&there.path().join("missing"), Box::new(Kept::default()));
    assert_eq!(missing.unwrap_err().code(), "log.failed");
}

#[tokio::test]
async fn an_empty_engine_has_an_empty_backup_and_a_failed_backup_is_reported() {
    let (origin, ..) = in_memory();
    let bytes = backed_up(&origin).await;
    let log = MemoryLog::default();
    assert!(backup::restore(&bytes[..], log.clone()).unwrap().workspaces.is_empty());
    assert_eq!(log.start(), log.tail());
    let nowhere = origin.backup(Box::new(&mut [][..])).await.unwrap_err();
    assert_eq!(nowhere.code(), "engine.storage");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_not_shortened_during_a_backup_and_is_again_after_it() {
    let (origin, log, _) = in_memory();
    let ada = named(&origin, "research");
    ada.state("shared").set("plan", json!(1)).await.unwrap();
    let (kept, mut asked, answer) = Kept::with_interludes();
    let working = async {
        asked.recv().await.unwrap();
        origin.compact(&ada).await.unwrap();
        kept.interlude.try_lock().expect_err("it is being written");
        assert!(log.start() < log.tail());
        answer.send(()).unwrap();
        while asked.recv().await.is_some() {
            answer.send(()).unwrap();
        }
    };
    let taken = async {
        origin.backup(Box::new(kept.clone())).await.unwrap();
        kept.interlude.lock().unwrap().take();
    };
    tokio::join!(taken, working);
    ada.state("shared").set("plan", json!(2)).await.unwrap();
    origin.compact(&ada).await.unwrap();
    assert_eq!(log.start(), log.tail());
}

#[tokio::test]
async fn a_backup_is_restored_to_shards_and_taken_from_them() {
    let (there, again) = (folder(), folder());
    let (origin, ..) = in_memory();
    lived_in(&origin).await;
    let bytes = backed_up(&origin).await;
    let whole = backup::verify(&bytes[..]).unwrap();
    let divided = there.path().join("data");
    // The shard of a workspace, as a server would choose it.
    let shard_of = |name: &baton::core::WorkspaceName| name.as_str().len() % 3;
    let summary = backup::restore_to_shards(&bytes[..], &divided, 3, shard_of).unwrap();
    assert_eq!(summary.workspaces, whole.workspaces);
    assert_eq!(baton::open(&divided).await.unwrap_err().code(), "log.divided");
    let one = backup::of_folder(&divided, Box::new(Kept::default())).unwrap_err();
    assert_eq!(one.code(), "log.divided");
    let kept = Kept::default();
    let home = |shards: u32| u32::try_from(CLOSED.len()).unwrap() % shards;
    let summary = backup::of_shards(&divided, home, Box::new(kept.clone())).unwrap();
    assert_eq!(summary.workspaces, whole.workspaces);
    let back = again.path().join("data");
    assert_eq!(restored(&kept.bytes(), &back).unwrap().workspaces, whole.workspaces);
    let found = open(&back).await;
    for name in WORKSPACES {
        let (was, is) = (named(&origin, name), named(&found, name));
        let was = everything(&was, None, 100).await.unwrap();
        assert_eq!(was, everything(&is, None, 100).await.unwrap(), "{name}");
    }
    let full = backup::of_shards(&divided, home, Box::new(&mut [][..])).unwrap_err();
    assert_eq!(full.code(), "engine.storage");
}

#[tokio::test]
async fn a_backup_of_a_damaged_shard_names_the_damage() {
    let (origin, ..) = in_memory();
    lived_in(&origin).await;
    let (bytes, there) = (backed_up(&origin).await, folder());
    let divided = there.path().join("data");
    let shard_of = |name: &baton::core::WorkspaceName| usize::from(name.as_str() == "research");
    backup::restore_to_shards(&bytes[..], &divided, 2, shard_of).unwrap();
    let segment = divided.join("shard-1/log/00000000000000000000.segment");
    let mut content = std::fs::read(&segment).unwrap();
    content[4096 + 2000] ^= 1;
    std::fs::write(&segment, content).unwrap();
    let refused = backup::of_shards(&divided, |_| 0, Box::new(Kept::default())).unwrap_err();
    assert_eq!(refused.code(), "log.corrupt");
}

//! Checkpoints: saved states are restored byte for byte, whatever happens to the process; and
//! common parts of states are on disk once.

use std::fs;
use std::path::Path;

use baton::Baton;
use baton::core::checkpoint::Prune;
use baton::core::{CheckpointId, Json, TaskId};

use crate::harness::{calm, folder, in_memory_with, on_memory, restless};

/// A paragraph of 1 KB that looks like no other.
fn paragraph(place: usize, edition: usize) -> String {
    let mut seed = (place * 1_000 + edition) as u64;
    let mut letter = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((seed >> 33) % 26).unwrap())
    };
    (0..1_000).map(&mut letter).collect()
}

/// A state of 100 KB that differs from the one before in a paragraph.
fn state(number: usize) -> String {
    let edition = |place: usize| if number >= place { 1 + (number - place) / 100 } else { 0 };
    let paragraphs: Vec<String> = (0..100).map(|place| paragraph(place, edition(place))).collect();
    format!("[\"{}\"]", paragraphs.join("\", \""))
}

async fn save_all(baton: &Baton, numbers: std::ops::Range<usize>) {
    let checkpoints = baton.workspace("w").unwrap().checkpoints();
    for number in numbers {
        let json = Json::parse(state(number)).unwrap();
        let saved = checkpoints.save("t", json).await.unwrap();
        assert_eq!(saved.number, number as u64 + 1);
        assert_eq!(saved.state, None, "the caller has the state already");
    }
}

async fn check_all(baton: &Baton, numbers: std::ops::Range<usize>) {
    let checkpoints = baton.workspace("w").unwrap().checkpoints();
    for number in numbers {
        let id = CheckpointId::of_number(number as u64 + 1);
        let found = checkpoints.get(id.as_str()).await.unwrap();
        assert_eq!(found.state.unwrap().as_str(), state(number), "checkpoint {number}");
    }
}

/// The size of all files but the log, which is preallocated.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let entries = entries.filter(|entry| entry.file_name() != "log");
    let bytes = |entry: fs::DirEntry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { bytes_in(&entry.path()) } else { about.len() }
    };
    entries.map(bytes).sum()
}

/// Sixty states are 6 MB. The archive and the snapshot contain a hundred paragraphs each, and the
/// sixty that changed.
#[tokio::test]
async fn common_parts_of_states_are_on_disk_once() {
    let folder = folder();
    let baton = baton::open_with(folder.path(), calm()).await.unwrap();
    save_all(&baton, 0..60).await;
    baton.compact(&baton.workspace("w").unwrap()).await.unwrap();
    baton.close().await;
    let bytes = bytes_in(folder.path());
    assert!(bytes < 600_000, "{bytes} bytes of archive and snapshot");
    let baton = baton::open_with(folder.path(), calm()).await.unwrap();
    check_all(&baton, 0..60).await;
    save_all(&baton, 60..63).await;
    baton.close().await;
    let baton = baton::open_with(folder.path(), calm()).await.unwrap();
    check_all(&baton, 0..63).await;
    baton.close().await;
}

/// Snapshots and archives among saves, forks, prunes and restores; then the same from the log.
#[tokio::test]
async fn states_survive_whatever_the_engine_does_in_the_background() {
    let (baton, log, clock) = in_memory_with(restless());
    save_all(&baton, 0..30).await;
    let checkpoints = baton.workspace("w").unwrap().checkpoints();
    let fifth = CheckpointId::of_number(5);
    checkpoints.label(fifth.as_str(), Some("fifth")).await.unwrap();
    let forked = checkpoints.fork(fifth.as_str(), "u").await.unwrap();
    let task = TaskId::parse("t").unwrap();
    let prune = Prune { keep: Some(10), ..Prune::of(&task) };
    let (pruned, bytes) = checkpoints.prune(prune).await.unwrap();
    assert_eq!(pruned, 19, "all but ten, and one with a label");
    assert!(bytes < 40_000, "{bytes} bytes were in no other, most paragraphs are in many");
    let restored = checkpoints.restore(fifth.as_str()).await.unwrap();
    assert_eq!(restored.state.unwrap().as_str(), state(4));
    baton.close().await;
    let baton = on_memory(&log, &clock, restless());
    check_all(&baton, 20..30).await;
    check_all(&baton, 4..5).await;
    let checkpoints = baton.workspace("w").unwrap().checkpoints();
    let found = checkpoints.get(forked.id.as_str()).await.unwrap();
    assert_eq!(found.state.unwrap().as_str(), state(4));
    assert_eq!(checkpoints.latest("t").await.unwrap().unwrap().id, fifth);
    let gone = checkpoints.get(CheckpointId::of_number(6).as_str()).await.unwrap_err();
    assert_eq!(gone.code(), "checkpoint.not_found");
    baton.close().await;
}

/// An agent that lost its lease cannot save, even if the lease was lost while no server ran.
#[tokio::test]
async fn an_expired_lease_saves_nothing() {
    let (baton, log, clock) = in_memory_with(calm());
    let workspace = baton.workspace("w").unwrap().as_agent("ada").unwrap();
    workspace.tasks().create("write").id("t").await.unwrap();
    let claimed = workspace.tasks().claim().await.unwrap().unwrap();
    let token = claimed.lease.unwrap().token;
    let refused = workspace.checkpoints().save("t", 1).await.unwrap_err();
    assert_eq!(refused.code(), "checkpoint.stale_token");
    workspace.under(token).checkpoints().save("t", 1).await.unwrap();
    workspace.tasks().release("t", token, None).await.unwrap();
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    let workspace = baton.workspace("w").unwrap().as_agent("ada").unwrap();
    let refused = workspace.under(token).checkpoints().save("t", 2).await.unwrap_err();
    assert_eq!(refused.code(), "checkpoint.stale_token");
    let latest = workspace.checkpoints().latest("t").await.unwrap().unwrap();
    assert_eq!(latest.state.unwrap().as_str(), "1");
    baton.close().await;
}

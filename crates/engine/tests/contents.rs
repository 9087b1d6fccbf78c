//! Artifacts are read back byte for byte, stay while they are referenced, and leave nothing behind;
//! secrets are in one blob and nowhere else.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use baton::core::state::History;
use baton::log::Log;
use baton::log::faulty::{FaultyDisk, Operation};
use baton::{Baton, Error, Item, Options};
use baton::{Caller, PutOptions};
use serde_json::json;

use crate::harness::{
    calm, eventually, folder, in_memory, in_memory_with, on_disk, on_memory, open, restless,
    workspace,
};

/// Bytes that differ from block to block.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|place| u8::try_from((place / 7 + place / 65_536) % 251).unwrap()).collect()
}

/// The blobs with contents.
fn blobs(log: &impl Log) -> Vec<String> {
    let mut names = log.list_blobs("artifacts/").unwrap();
    names.extend(log.list_blobs("secrets/").unwrap());
    names
}

fn caller(baton: &Baton) -> Caller {
    let workspace = workspace(baton);
    let (workspace, agent) = (workspace.name().clone(), workspace.agent().clone());
    Caller { workspace, agent, idempotency_key: None, sees_tokens: false }
}

#[tokio::test]
async fn stored_bytes_are_returned_and_stored_once() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    for length in [0, 1, 255 << 10, 256 << 10, (256 << 10) + 1, (1 << 20) + 77] {
        let content = bytes(length);
        let put = ada.artifacts().put(std::io::Cursor::new(content.clone())).name("x").await;
        let put = put.unwrap();
        assert!(!put.known, "{length} bytes are new");
        assert_eq!(put.artifact.bytes, length as u64);
        let id = put.artifact.artifact.as_str().to_owned();
        let again = ada.artifacts().put(std::io::Cursor::new(content.clone())).await.unwrap();
        assert!(again.known && again.artifact.artifact == put.artifact.artifact);
        assert_eq!(ada.artifacts().read(&id).await.unwrap().rest().await.unwrap(), content);
        let from = length / 2;
        let rest = ada.artifacts().read_from(&id, from as u64).await.unwrap();
        assert_eq!(rest.rest().await.unwrap(), content[from..]);
    }
    let known = ada.artifacts().list().await.unwrap();
    assert_eq!(known.len(), 6);
    drop(ada);
    baton.close().await;
    let baton = open(folder.path()).await;
    let artifacts = workspace(&baton).artifacts();
    for there in &known {
        let read = artifacts.read(there.artifact.as_str()).await.unwrap().rest().await.unwrap();
        assert_eq!(read, bytes(usize::try_from(there.bytes).unwrap()));
    }
    assert_eq!(stored_files(folder.path(), "artifacts").len(), 6, "each content is there once");
}

fn stored_files(folder: &Path, part: &str) -> Vec<PathBuf> {
    let all = files_below(folder);
    all.into_iter().filter(|path| path.to_string_lossy().contains(&format!("/{part}/"))).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[tokio::test]
async fn referenced_artifacts_stay_and_others_are_removed_with_their_blobs() {
    let (baton, log, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    let put = ada.artifacts().put(&b"kept"[..]).keep_ms(1_000).await.unwrap().artifact.artifact;
    let lost = ada.artifacts().put(&b"lost"[..]).keep_ms(1_000).await.unwrap().artifact.artifact;
    ada.state("shared").set("file", json!({"artifact": put})).await.unwrap();
    let refused = ada.artifacts().delete(put.as_str()).await.unwrap_err();
    assert_eq!(refused.code(), "artifact.in_use");
    clock.advance(10_000);
    // Any call lets due deadlines take effect.
    eventually("the unnamed one is gone", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        ada.artifacts().get(lost.as_str()).await.is_err() && blobs(&log).len() == 1
    })
    .await;
    let read = ada.artifacts().read(put.as_str()).await.unwrap();
    assert_eq!(read.rest().await.unwrap(), b"kept");
    ada.state("shared").delete("file").await.unwrap();
    ada.artifacts().delete(put.as_str()).await.unwrap();
    eventually("its blob is gone", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        blobs(&log).is_empty()
    })
    .await;
    let gone = ada.artifacts().read(put.as_str()).await.map(|_| ()).unwrap_err();
    assert_eq!(gone.code(), "artifact.not_found");
}

/// The points at which a process may end between a blob and its record.
#[tokio::test]
async fn a_process_that_ends_between_blob_and_record_leaves_nothing() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    ada.artifacts().put(&b"recorded"[..]).await.unwrap();
    let mut whole = baton.upload(&caller(&baton)).unwrap();
    whole.write(b"never recorded").unwrap();
    drop(whole.commit().unwrap());
    let mut half = baton.upload(&caller(&baton)).unwrap();
    half.write(b"half").unwrap();
    drop(half);
    assert_eq!(blobs(&log).len(), 2, "what was not committed never was");
    drop(ada);
    baton.close().await;
    let baton = on_memory(&log, &clock, restless());
    let ada = workspace(&baton);
    eventually("the orphan is gone", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        blobs(&log).len() == 1
    })
    .await;
    let there = &ada.artifacts().list().await.unwrap()[0];
    let read = ada.artifacts().read(there.artifact.as_str()).await.unwrap();
    assert_eq!(read.rest().await.unwrap(), b"recorded");
}

#[tokio::test]
async fn a_sweep_keeps_blobs_that_are_about_to_be_recorded() {
    let (baton, log, _) = in_memory_with(restless());
    let ada = workspace(&baton);
    let mut upload = baton.upload(&caller(&baton)).unwrap();
    upload.write(b"slowly").unwrap();
    let stored = upload.commit().unwrap();
    // A removal makes the engine sweep, while the record is still in flight.
    let other = ada.artifacts().put(&b"other"[..]).await.unwrap().artifact.artifact;
    ada.artifacts().delete(other.as_str()).await.unwrap();
    eventually("the other one is swept", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        blobs(&log).len() == 1
    })
    .await;
    let put = baton.record(&caller(&baton), stored, PutOptions::default(), None).await.unwrap();
    let read = ada.artifacts().read(put.artifact.artifact.as_str()).await.unwrap();
    assert_eq!(read.rest().await.unwrap(), b"slowly");
}

/// A source that returns nothing.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("it broke"))
    }
}

#[tokio::test]
async fn a_refused_upload_leaves_no_blob() {
    let (baton, log, _) = in_memory();
    let artifacts = workspace(&baton).artifacts();
    let other = format!("sha256:{}", "0".repeat(64));
    let refused = artifacts.put(&b"x"[..]).expected(&other).await.unwrap_err();
    assert_eq!(refused.code(), "artifact.mismatch");
    let refused = artifacts.put(&b"x"[..]).keep_ms(1).await.unwrap_err();
    assert_eq!(refused.code(), "artifact.out_of_range");
    let refused = artifacts.put(&b"x"[..]).name("").await.unwrap_err();
    assert_eq!(refused.code(), "request.bad_name");
    let refused = workspace(&baton).secrets().put(vec![b'x'; 70_000]).await.unwrap_err();
    assert_eq!(refused.code(), "secret.too_large");
    assert_eq!(blobs(&log), Vec::<String>::new());
    let broken = artifacts.put(Broken).await.unwrap_err();
    assert_eq!(broken.code(), "engine.storage");
    assert_eq!(blobs(&log), Vec::<String>::new());
}

/// How many files of artifacts there are on a disk.
fn artifact_files(disk: &FaultyDisk) -> usize {
    let files = disk.files().into_iter();
    files.filter(|(path, _)| path.to_string_lossy().contains("/artifacts/")).count()
}

#[tokio::test]
async fn a_full_disk_refuses_an_upload_and_keeps_nothing_of_it() {
    let disk = FaultyDisk::new(7);
    let baton = on_disk(&disk, Options { disk_free_bytes_min: 0, ..calm() }).unwrap();
    let ada = workspace(&baton);
    ada.state("shared").set("before", 1).await.unwrap();
    let used = disk.bytes_used();
    disk.set_capacity(Some(used + (1 << 20)));
    let full = ada.artifacts().put(std::io::Cursor::new(bytes(4 << 20))).await.unwrap_err();
    assert_eq!((full.code(), full.is_unknown()), ("engine.full", false));
    assert_eq!(artifact_files(&disk), 0, "nothing half is left");
    disk.set_capacity(None);
    let put = ada.artifacts().put(std::io::Cursor::new(bytes(4 << 20))).await.unwrap();
    assert!(!put.known);
    ada.state("shared").set("after", 1).await.unwrap();
}

/// The reserve is for commands that free space.
#[tokio::test]
async fn an_upload_does_not_use_up_the_reserve_of_the_disk() {
    const RESERVE: u64 = 1 << 20;
    let disk = FaultyDisk::new(7);
    let options = Options {
        disk_free_bytes_min: RESERVE,
        compaction_interval: std::time::Duration::from_millis(1),
        ..Options::default()
    };
    let baton = on_disk(&disk, options).unwrap();
    let ada = workspace(&baton);
    let kept = ada.artifacts().put(std::io::Cursor::new(bytes(100))).await.unwrap();
    let capacity = disk.bytes_used() + RESERVE + (600 << 10);
    disk.set_capacity(Some(capacity));
    for length in [4 << 20, 2 << 20] {
        let low = ada.artifacts().put(std::io::Cursor::new(bytes(length))).await.unwrap_err();
        assert_eq!((low.code(), low.is_unknown()), ("engine.disk_low", false), "{length} bytes");
        assert_eq!(artifact_files(&disk), 1, "nothing half is left");
    }
    // It becomes low while bytes arrive: they are not recorded, and not kept.
    disk.set_capacity(None);
    eventually("the engine sees that", async || baton.check_disk_space().is_ok()).await;
    let mut upload = baton.upload(&caller(&baton)).unwrap();
    upload.write(&bytes(1_000)).unwrap();
    disk.set_capacity(Some(disk.bytes_used() + (RESERVE / 4) * 3));
    eventually("the engine sees that", async || baton.check_disk_space().is_err()).await;
    let stored = upload.commit().unwrap();
    let low = baton.record(&caller(&baton), stored, PutOptions::default(), None).await;
    assert_eq!(low.unwrap_err().code(), "engine.disk_low");
    assert_eq!(artifact_files(&disk), 1, "nothing is left");
    assert_eq!(ada.artifacts().list().await.unwrap(), [kept.artifact]);
}

/// Every write and sync of an upload fails once; either it is refused and nothing is left, or it is
/// complete.
#[tokio::test]
async fn a_disk_that_fails_somewhere_leaves_all_or_nothing() {
    for nth in 1..12 {
        for operation in [Operation::Name, Operation::Write, Operation::Sync] {
            let disk = FaultyDisk::new(nth);
            let baton = on_disk(&disk, calm()).unwrap();
            let ada = workspace(&baton);
            ada.state("shared").set("before", 1).await.unwrap();
            let content = bytes(700 << 10);
            disk.fail_nth(operation, nth);
            let put = ada.artifacts().put(std::io::Cursor::new(content.clone())).await;
            drop(ada);
            baton.close().await;
            disk.crash(nth);
            let baton = on_disk(&disk, restless()).unwrap();
            let artifacts = workspace(&baton).artifacts();
            let there = artifacts.list().await.unwrap();
            if put.is_ok() {
                assert_eq!(there.len(), 1, "{operation:?} {nth}: what was answered is there");
            }
            for artifact in there {
                let read = artifacts.read(artifact.artifact.as_str()).await.unwrap();
                assert_eq!(read.rest().await.unwrap(), content, "{operation:?} {nth}");
            }
        }
    }
}

#[tokio::test]
async fn a_damaged_blob_is_refused_by_name_and_block() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    let content = bytes(600 << 10);
    let put = ada.artifacts().put(std::io::Cursor::new(content.clone())).await.unwrap();
    let id = put.artifact.artifact.as_str().to_owned();
    let path = stored_files(folder.path(), "artifacts").remove(0);
    let mut stored = std::fs::read(&path).unwrap();
    stored[300 << 10] ^= 1;
    std::fs::write(&path, &stored).unwrap();
    let mut reading = ada.artifacts().read(&id).await.unwrap();
    assert_eq!(reading.next().await.unwrap().unwrap(), content[..256 << 10], "the first is sound");
    let damaged = reading.next().await.unwrap_err();
    assert_eq!(damaged.code(), "engine.corrupt");
    assert!(damaged.to_string().contains("block 1"), "{damaged}");
    std::fs::write(&path, &stored[..stored.len() - 1]).unwrap();
    let damaged = ada.artifacts().read(&id).await.map(|_| ()).unwrap_err();
    assert_eq!(damaged.code(), "engine.corrupt");
    std::fs::remove_file(&path).unwrap();
    let gone = ada.artifacts().read(&id).await.map(|_| ()).unwrap_err();
    assert_eq!(gone.code(), "engine.corrupt");
}

/// The value is returned to callers that reveal it, and is in one blob; everything else has the
/// reference.
#[tokio::test]
async fn the_value_of_a_secret_is_in_one_blob_and_nowhere_else() {
    const VALUE: &str = "the-value-that-nobody-may-see-4711";
    let folder = folder();
    let baton = baton::open_with(folder.path(), Options { ..restless() }).await.unwrap();
    let ada = workspace(&baton);
    let mut watch = ada.watch("**").await.unwrap();
    let secret = ada.once("k").unwrap().secrets().put(VALUE).name("key").await.unwrap();
    let id = secret.secret.as_str().to_owned();
    ada.state("shared").set("login", json!({"password": {"secret": id}})).await.unwrap();
    assert_eq!(ada.secrets().reveal(&id).await.unwrap(), VALUE.as_bytes());
    ada.state("shared").set("done", 1).await.unwrap();
    let mut outputs = Vec::new();
    for _ in 0..4 {
        let Item::Event(notice) = watch.next().await.unwrap().unwrap() else { panic!("an event") };
        outputs.push(String::from_utf8(notice.json().to_vec()).unwrap());
    }
    assert!(outputs.iter().any(|text| text.contains("secret.revealed")), "{outputs:?}");
    outputs.push(format!("{:?}", ada.secrets().list().await.unwrap()));
    outputs.push(format!("{:?}", ada.secrets().get(&id).await.unwrap()));
    outputs.push(format!("{:?}", ada.state("shared").get("login").await.unwrap()));
    outputs.push(format!("{:?}", ada.state("shared").history(History::default()).await.unwrap()));
    outputs.push(format!("{ada:?} {baton:?}"));
    baton.compact(&ada).await.unwrap();
    drop((watch, ada));
    baton.close().await;
    for output in outputs {
        assert!(!output.contains(VALUE), "{output}");
    }
    let contains = |path: &PathBuf| {
        let content = std::fs::read(path).unwrap();
        content.windows(VALUE.len()).any(|part| part == VALUE.as_bytes())
    };
    let files = files_below(folder.path());
    assert!(files.iter().any(|path| path.to_string_lossy().contains("snapshot-")));
    let found: Vec<_> = files.into_iter().filter(contains).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string_lossy().contains("/secrets/"));
    assert_eq!(std::fs::metadata(&found[0]).unwrap().permissions().mode() & 0o777, 0o600);

    // After it is deleted it is in no file at all.
    let baton = baton::open_with(folder.path(), restless()).await.unwrap();
    let ada = workspace(&baton);
    ada.secrets().delete(&id).await.unwrap();
    eventually("its blob is gone", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        stored_files(folder.path(), "secrets").is_empty()
    })
    .await;
    assert_eq!(ada.secrets().reveal(&id).await.unwrap_err().code(), "secret.not_found");
    drop(ada);
    baton.close().await;
    assert!(!files_below(folder.path()).iter().any(contains));
}

/// A source that generates this many bytes.
struct Zeros(u64);

impl Read for Zeros {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = usize::try_from(self.0).unwrap_or(usize::MAX).min(buffer.len());
        buffer[..count].fill(0);
        self.0 -= count as u64;
        Ok(count)
    }
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

/// The largest content that fits on the disk passes through the memory of a few blocks.
#[tokio::test]
async fn a_large_artifact_passes_through_little_memory() -> Result<(), Error> {
    const LENGTH: u64 = 96 << 20;
    let folder = folder();
    let baton = open(folder.path()).await;
    let artifacts = workspace(&baton).artifacts();
    artifacts.put(Zeros(1 << 20)).await?;
    let before = resident_bytes();
    let put = artifacts.put(Zeros(LENGTH)).await?;
    let mut reading = artifacts.read(put.artifact.artifact.as_str()).await?;
    let mut read = 0;
    while let Some(piece) = reading.next().await? {
        read += piece.len() as u64;
    }
    assert_eq!(read, LENGTH);
    let growth = resident_bytes().saturating_sub(before);
    assert!(growth < LENGTH / 4, "memory grew by {growth} bytes");
    Ok(())
}

#[tokio::test]
async fn a_fork_has_its_own_copies_of_contents() {
    let (baton, log, _) = in_memory_with(restless());
    let ada = workspace(&baton);
    let put = ada.artifacts().put(&b"shared"[..]).await.unwrap().artifact.artifact;
    let secret = ada.secrets().put("hidden").await.unwrap().secret;
    ada.state("shared").set("tick", 0).await.unwrap();
    ada.fork("copy").await.unwrap();
    ada.artifacts().delete(put.as_str()).await.unwrap();
    ada.secrets().delete(secret.as_str()).await.unwrap();
    eventually("the origin's are gone", async || {
        ada.state("shared").set("tick", 1).await.unwrap();
        blobs(&log).len() == 2
    })
    .await;
    let copy = baton.workspace("copy").unwrap();
    let read = copy.artifacts().read(put.as_str()).await.unwrap();
    assert_eq!(read.rest().await.unwrap(), b"shared");
    assert_eq!(copy.secrets().reveal(secret.as_str()).await.unwrap(), b"hidden");
}

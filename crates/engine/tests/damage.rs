//! Damaged data, data of a newer program and data in use are refused with a specific error. Data
//! that can still be read is correct, and nothing panics or hangs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton::clock::ManualClock;
use baton::core::state::History;
use baton::core::{AgentId, Batch, Event, Kind, Revision, WorkspaceName, workspace as rules};
use baton::log::faulty::FaultyDisk;
use baton::log::{Log, MemoryLog};
use baton::{Baton, Error, codec};
use serde_json::Value;

use crate::harness::{
    BEGINNING, calm, everything, folder, on_disk_with, on_memory, open, set, shared, value,
    workspace,
};

const CHILD_FOLDER: &str = "BATON_SECOND_PROCESS_FOLDER";

/// The child of the test below. It does nothing unless a folder was named.
#[tokio::test]
async fn child_that_opens_a_folder() {
    let Ok(folder) = std::env::var(CHILD_FOLDER) else { return };
    let error = baton::open(folder).await.expect_err("the parent has it open");
    println!("\nrefused with {}: {error}", error.code());
}

#[tokio::test]
async fn a_folder_can_be_open_once_in_all_processes() {
    let folder = folder();
    let baton = open(folder.path()).await;
    shared(&baton).set("kept", 1).await.unwrap();
    let again = baton::open(folder.path()).await.map(|_| ()).unwrap_err();
    assert_eq!((again.code(), again.kind()), ("log.in_use", Kind::Unavailable));
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "damage::child_that_opens_a_folder", "--nocapture"])
        .env(CHILD_FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(said.contains("refused with log.in_use: "), "{said}");
    assert!(
        said.contains(&format!("process {}", std::process::id())),
        "who has it is said: {said}"
    );
    shared(&baton).set("kept", 2).await.unwrap();

    // A handle that still exists keeps the folder open.
    let handle = shared(&baton);
    baton.close().await;
    assert_eq!(baton::open(folder.path()).await.map(|_| ()).unwrap_err().code(), "log.in_use");
    drop(handle);
    let baton = open(folder.path()).await;
    assert_eq!(shared(&baton).get("kept").await.unwrap().version().0, 2);
}

#[tokio::test]
async fn a_closed_engine_says_so() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    ada.state("shared").set("a", 1).await.unwrap();
    let clone = baton.clone();
    baton.close().await;
    for error in [
        ada.state("shared").set("a", 2).await.map(|_| ()).unwrap_err(),
        ada.state("shared").get("a").await.map(|_| ()).unwrap_err(),
        ada.state("shared").get_at("a", Revision(1)).await.map(|_| ()).unwrap_err(),
        ada.watch("**").await.map(|_| ()).unwrap_err(),
        clone.workspace("other").unwrap().revision().await.map(|_| ()).unwrap_err(),
        clone.compact(&ada).await.unwrap_err().into(),
    ] {
        assert_eq!(error.code(), "engine.closed");
    }
    clone.close().await;
}

/// A record as a program with this schema would write it.
fn record(schema: u8) -> Vec<u8> {
    let batch = Batch {
        revision: Revision(1),
        time: BEGINNING,
        agent: AgentId::engine(),
        events: vec![Event::Workspace(rules::Event::Configured {
            retention: rules::Retention::default(),
        })],
    };
    let mut bytes = Vec::new();
    codec::encode(&mut bytes, &WorkspaceName::parse("research").unwrap(), &batch, None);
    // Length and checksum come first, then the codec and the schema.
    bytes[9] = schema;
    let checksum = crc32fast::hash(&bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

#[tokio::test]
async fn a_batch_newer_than_the_program_is_refused_not_guessed() {
    let clock = ManualClock::at(BEGINNING);
    let log = MemoryLog::default();
    log.append(log.tail(), &record(1)).unwrap();
    drop(on_memory(&log, &clock, calm()));
    log.append(log.tail(), &record(99)).unwrap();
    let newer = Baton::on(log, clock, calm()).map(|_| ()).unwrap_err();
    assert_eq!(newer.code(), "engine.newer");
    assert!(newer.to_string().contains("schema 99"), "{newer}");
}

#[tokio::test]
async fn a_log_newer_than_the_program_is_refused_not_guessed() {
    let folder = folder();
    let baton = open(folder.path()).await;
    shared(&baton).set("a", 1).await.unwrap();
    baton.close().await;
    let segment = folder.path().join("log/00000000000000000000.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    let untouched = bytes.clone();
    for header in [0, 2_048] {
        bytes[header + 8] = 77;
        let checksum = crc32fast::hash(&bytes[header..header + 32]);
        bytes[header + 32..header + 36].copy_from_slice(&checksum.to_le_bytes());
    }
    std::fs::write(&segment, bytes).unwrap();
    let newer = baton::open(folder.path()).await.map(|_| ()).unwrap_err();
    assert_eq!(newer.code(), "log.newer");
    assert!(newer.to_string().contains("77"), "{newer}");
    std::fs::write(&segment, untouched).unwrap();
    assert_eq!(shared(&open(folder.path()).await).get("a").await.unwrap().version().0, 1);
}

#[tokio::test]
async fn a_record_that_is_no_batch_is_damage() {
    let log = MemoryLog::default();
    log.append(log.tail(), b"this is not a batch").unwrap();
    let damaged = Baton::on(log, ManualClock::at(BEGINNING), calm()).map(|_| ()).unwrap_err();
    assert_eq!(damaged.code(), "engine.corrupt");
}

#[tokio::test]
async fn a_gap_between_revisions_is_damage() {
    let (log, clock) = (MemoryLog::default(), ManualClock::at(BEGINNING));
    log.append(log.tail(), &record(1)).unwrap();
    log.append(log.tail(), &record(1)).unwrap();
    let damaged = Baton::on(log, clock, calm()).map(|_| ()).unwrap_err();
    assert_eq!(damaged.code(), "engine.corrupt");
}

/// So small that archived batches leave the log.
const SEGMENT_BYTES: u64 = 12 << 10;

/// A disk with every kind of file that the engine writes, and the written values, by revision.
async fn rich_disk() -> (FaultyDisk, Vec<BTreeMap<String, Value>>) {
    let disk = FaultyDisk::new(11);
    let baton = on_disk_with(&disk, SEGMENT_BYTES, calm()).unwrap();
    let ada = workspace(&baton);
    let mut moments = vec![BTreeMap::new()];
    for number in 0..90_u64 {
        let mut moment: BTreeMap<String, Value> = moments.last().cloned().unwrap_or_default();
        let key = format!("key:{:02}", number % 13);
        let value = serde_json::json!({"number": number, "ballast": "y".repeat(80)});
        ada.transaction().command(set(&key, &value)).commit().await.unwrap();
        moment.insert(key, value);
        moments.push(moment);
        if number == 29 || number == 59 {
            baton.compact(&ada).await.unwrap();
        }
    }
    baton.close().await;
    (disk, moments)
}

/// The result of opening and reading everything.
#[derive(Debug)]
enum Outcome {
    /// Everything was correct, up to this revision.
    Right(u64),
    /// It was refused, with this code.
    Refused(String),
}

async fn read_all(disk: &FaultyDisk, moments: &[BTreeMap<String, Value>]) -> Result<u64, Error> {
    let baton = on_disk_with(disk, SEGMENT_BYTES, calm())?;
    let ada = workspace(&baton);
    let last = ada.revision().await?;
    let picture = |entries: Vec<baton::core::Entry>| -> BTreeMap<String, Value> {
        entries.iter().map(|entry| (entry.key().to_owned(), value(entry))).collect()
    };
    let moment = |at: Revision| &moments[usize::try_from(at.0).unwrap()];
    assert_eq!(picture(everything(&ada, None, 100).await?), *moment(last), "the present is right");
    for at in [5, 31, 45, 62, 80].map(Revision).into_iter().filter(|at| *at <= last) {
        assert_eq!(picture(everything(&ada, Some(at), 100).await?), *moment(at), "{at} is right");
    }
    let (changes, _) = ada.state("shared").history(History::default()).await?;
    assert_eq!(changes.len() as u64, last.0, "all changes are there");
    Ok(last.0)
}

async fn outcome(disk: &FaultyDisk, moments: &[BTreeMap<String, Value>]) -> Outcome {
    match read_all(disk, moments).await {
        Ok(revision) => Outcome::Right(revision),
        Err(error) => Outcome::Refused(error.code().to_owned()),
    }
}

fn is_acceptable(outcome: &Outcome, last: u64) -> bool {
    match outcome {
        // The last record of a log cannot be distinguished from one that was torn by a power cut.
        Outcome::Right(revision) => (last - 1..=last).contains(revision),
        Outcome::Refused(code) => ["log.corrupt", "engine.corrupt"].contains(&code.as_str()),
    }
}

fn files(disk: &FaultyDisk) -> Vec<(PathBuf, u64)> {
    let is_data = |path: &Path| {
        path.extension().is_some_and(|extension| extension == "segment")
            || path.to_string_lossy().contains("workspaces")
    };
    disk.files().into_iter().filter(|(path, _)| is_data(path)).collect()
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_refused_or_harmless() {
    let (disk, moments) = rich_disk().await;
    let files = files(&disk);
    let kinds =
        |word: &str| files.iter().filter(|(path, _)| path.to_string_lossy().contains(word)).count();
    assert!(kinds("run-") > 0 && kinds("snapshot-") > 0 && kinds(".segment") > 0, "{files:?}");
    let mut refused = 0;
    for (path, _) in &files {
        let bytes = disk.contents(path).unwrap();
        // Segments are mostly empty; only the used part matters.
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1;
        for step in 0..60 {
            let bit = (used as u64 * 8 * step) / 60 + step % 8;
            let disk = disk.fork();
            assert!(disk.flip_bit(path, bit));
            let outcome = outcome(&disk, &moments).await;
            assert!(is_acceptable(&outcome, 90), "{} bit {bit}: {outcome:?}", path.display());
            refused += u32::from(matches!(outcome, Outcome::Refused(_)));
        }
    }
    assert!(refused > 20, "most flips were harmless, which cannot be");
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_or_harmless() {
    let (disk, moments) = rich_disk().await;
    for (path, length) in files(&disk) {
        let bytes = disk.contents(&path).unwrap();
        let is_segment = path.extension().is_some();
        for part in 0..8 {
            let disk = disk.fork();
            let end = usize::try_from(length * part / 8).unwrap();
            disk.put(&path, &bytes[..end]);
            let outcome = outcome(&disk, &moments).await;
            // A segment without its end is a log without its end, as after a power cut.
            let acceptable = is_segment || is_acceptable(&outcome, 90);
            assert!(acceptable, "{} cut at {end}: {outcome:?}", path.display());
        }
    }
}

#[tokio::test]
async fn a_file_that_is_missing_is_noticed_or_not_needed() {
    let (disk, moments) = rich_disk().await;
    let files = files(&disk);
    let segments = files.iter().filter(|(path, _)| path.extension().is_some());
    let newest = segments.map(|(path, _)| path.clone()).max().unwrap();
    for (path, _) in &files {
        let disk = disk.fork();
        disk.delete(path);
        let outcome = outcome(&disk, &moments).await;
        let name = path.display();
        match outcome {
            Outcome::Right(90) => {}
            // Without its newest segment a log is one that ended earlier.
            Outcome::Right(_) => assert_eq!(*path, newest, "{name} was not missed: {outcome:?}"),
            Outcome::Refused(code) => {
                assert!(
                    ["log.corrupt", "engine.corrupt"].contains(&code.as_str()),
                    "{name}: {code}"
                );
            }
        }
    }
    let without = |word: &str| {
        let disk = disk.fork();
        let named = files.iter().filter(|(path, _)| path.to_string_lossy().contains(word));
        named.for_each(|(path, _)| disk.delete(path));
        disk
    };
    assert!(matches!(
        outcome(&without("run-"), &moments).await,
        Outcome::Refused(code) if code == "engine.corrupt"
    ));
    let replayed = outcome(&without("snapshot-"), &moments).await;
    assert!(matches!(replayed, Outcome::Right(90)), "without a snapshot the runs are replayed");
}

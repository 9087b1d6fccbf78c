//! A real process that writes is killed at random times, again and again.
//!
//! ```text
//!   child:   open, then four writers at once:   op 7 ── durable ──▶ prints "ack 2 7 5113"
//!   parent:  reads some acks, spins a little, SIGKILL, reads what was still in the pipe,
//!            opens the folder itself, checks, closes, starts the next child where this one ended
//! ```
//!
//! Each writer owns its keys and executes a fixed sequence of operations: the state of its keys
//! after `n` of them is computed here. So after a kill they must be in the state after the
//! acknowledged operations, or after one more: the one that was in flight.
//!
//! Checked after every kill:
//!
//! 1. No acknowledged operation is missing, and it is at the acknowledged revision.
//! 2. The operation in flight exists completely or not at all.
//! 3. Revisions are dense: there are as many as there were operations.
//!
//! The settings are small, so that segments rotate, runs are archived and merged, snapshots are
//! written and idle workspaces leave memory all the time. `BATON_CRASH_CYCLES` sets the number of
//! kills, `BATON_CRASH_SEED` their times.

use std::collections::BTreeMap;
use std::env;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use baton::core::state::{Command as StateCommand, Delete};
use baton::core::{Entry, Revision};
use baton::{Baton, Item, Options, Workspace};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::harness::{everything, folder, key, namespace, on_small_segments, restless, set, value};

const WRITERS: usize = 4;
const KEYS: u64 = 12;
const CYCLES: u64 = 30;
/// How often the complete history is read, not only its end.
const LONG_LOOK_EVERY: u64 = 10;
const FOLDER: &str = "BATON_CRASH_FOLDER";
const STARTS: &str = "BATON_CRASH_STARTS";

fn options() -> Options {
    Options { idle: Duration::from_millis(20), ..restless() }
}

/// Two writers share a workspace, and two have their own.
fn workspace_of(baton: &Baton, writer: usize) -> Workspace {
    let name = ["common", "common", "alone", "rare"][writer];
    let workspace = baton.workspace(name).expect("the name is valid");
    workspace.as_agent(&format!("writer-{writer}")).expect("the name is valid")
}

/// The `number`th operation of a writer, counted from 1.
enum Operation {
    Set {
        name: String,
    },
    /// The three always have the same value, unless one of them was written without the others.
    Together {
        names: [String; 3],
    },
    Delete {
        name: String,
    },
}

fn operation(writer: usize, number: u64) -> Operation {
    let name = |slot: u64| format!("{writer}:single:{slot}");
    match number % 5 {
        0 => Operation::Together {
            names: ["a", "b", "c"].map(|part| format!("{writer}:together:{part}")),
        },
        // Keys that the previous operation has set.
        4 => Operation::Delete { name: name((number - 1) % KEYS) },
        _ => Operation::Set { name: name(number % KEYS) },
    }
}

/// Some operations are large, so that a group does not fit into the rest of a segment.
fn payload(number: u64) -> Value {
    let bytes = if number.is_multiple_of(37) { 6_000 } else { 40 + number % 200 };
    let bytes = usize::try_from(bytes).expect("it is small");
    json!({ "operation": number, "ballast": "x".repeat(bytes) })
}

/// The keys of a writer after this many operations, each with the operation that wrote it.
fn after(writer: usize, count: u64) -> BTreeMap<String, u64> {
    let mut keys = BTreeMap::new();
    // Every key is written or deleted within two rounds over the slots.
    for number in count.saturating_sub(5 * KEYS * 2) + 1..=count {
        match operation(writer, number) {
            Operation::Set { name } => drop(keys.insert(name, number)),
            Operation::Together { names } => {
                keys.extend(names.into_iter().map(|name| (name, number)));
            }
            Operation::Delete { name } => drop(keys.remove(&name)),
        }
    }
    keys
}

async fn carry_out(workspace: &Workspace, writer: usize, number: u64) -> Revision {
    let outcome = match operation(writer, number) {
        Operation::Set { name } => {
            let written = workspace.state("shared").set(&name, payload(number)).await;
            written.map(|entry| entry.revision())
        }
        Operation::Together { names } => {
            let mut transaction = workspace.transaction();
            for name in names {
                transaction = transaction.command(set(&name, &payload(number)));
            }
            transaction.commit().await.map(|(revision, _)| revision)
        }
        Operation::Delete { name } => {
            let (namespace, key) = (namespace("shared"), key(&name));
            let delete = StateCommand::Delete(Delete {
                namespace,
                key,
                expected_version: None,
                expected_revision: None,
            });
            workspace.execute(delete).await.map(|answer| answer.revision)
        }
    };
    outcome.expect("a healthy folder takes every write")
}

/// The child. It does nothing unless the parent named a folder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_until_it_is_killed() {
    let Ok(folder) = env::var(FOLDER) else { return };
    let starts = env::var(STARTS).unwrap();
    let baton = on_small_segments(Path::new(&folder), options()).unwrap();
    let mut jobs = Vec::new();
    for (writer, start) in starts.split(',').enumerate() {
        let (workspace, start) = (workspace_of(&baton, writer), start.parse::<u64>().unwrap());
        jobs.push(tokio::spawn(async move {
            for number in start + 1.. {
                let revision = carry_out(&workspace, writer, number).await;
                let line = format!("\nack {writer} {number} {revision}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).expect("the parent listens");
                if writer == 3 {
                    // The others write some hundreds in the meantime, and this workspace leaves
                    // memory.
                    for _ in 0..2_000 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
}

#[derive(Clone, Copy, Debug)]
struct Ack {
    writer: usize,
    number: u64,
    revision: Revision,
}

fn start_child(folder: &Path, counts: [u64; WRITERS]) -> Child {
    let starts = counts.map(|count| count.to_string()).join(",");
    Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "crash::child_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(STARTS, starts)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a child can be started")
}

fn parse(line: &str) -> Option<Ack> {
    let mut words = line.strip_prefix("ack ")?.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    let writer = usize::try_from(number()?).ok()?;
    Some(Ack { writer, number: number()?, revision: Revision(number()?) })
}

/// Runs a child until it has acknowledged this many operations, and a little longer.
fn run_and_kill(folder: &Path, counts: [u64; WRITERS], acks_min: u64, spins: u64) -> Vec<Ack> {
    let mut child = start_child(folder, counts);
    let mut pipe = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut acks = Vec::new();
    let mut line = String::new();
    while (acks.len() as u64) < acks_min {
        line.clear();
        let bytes = pipe.read_line(&mut line).expect("the pipe can be read");
        assert!(bytes > 0, "the child ended by itself: {:?}", child.wait());
        acks.extend(parse(line.trim_end()));
    }
    for _ in 0..spins {
        std::hint::spin_loop();
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it can be waited for");
    // The output before it was killed counts.
    loop {
        line.clear();
        if pipe.read_line(&mut line).expect("the pipe can be read") == 0 {
            return acks;
        }
        if line.ends_with('\n') {
            acks.extend(parse(line.trim_end()));
        }
    }
}

fn written_by(entries: &[Entry], writer: usize) -> BTreeMap<String, u64> {
    let own = entries.iter().filter(|entry| entry.key().starts_with(&format!("{writer}:")));
    let number = |entry: &Entry| {
        let value = value(entry);
        let number = value["operation"].as_u64().expect("every value has a number");
        assert_eq!(value, payload(number), "a value is what was written");
        (entry.key().to_owned(), number)
    };
    own.map(number).collect()
}

/// Checks that a workspace contains what was acknowledged, and at most one more operation of each
/// of its writers. Returns the number of operations.
async fn check_state(baton: &Baton, acknowledged: [u64; WRITERS]) -> [u64; WRITERS] {
    let mut counts = [0; WRITERS];
    let mut operations: BTreeMap<String, (Workspace, u64)> = BTreeMap::new();
    for (writer, acked) in acknowledged.into_iter().enumerate() {
        let workspace = workspace_of(baton, writer);
        let entries = everything(&workspace, None, 10).await.unwrap();
        let found = written_by(&entries, writer);
        let fits = |count: &u64| after(writer, *count) == found;
        let count = [acked, acked + 1].into_iter().find(fits);
        counts[writer] = count.unwrap_or_else(|| {
            panic!("writer {writer} got {acked} acknowledged, but the log has {found:?}")
        });
        let name = workspace.name().as_str().to_owned();
        operations.entry(name).or_insert((workspace, 0)).1 += counts[writer];
    }
    for (name, (workspace, count)) in operations {
        let revision = workspace.revision().await.unwrap();
        assert_eq!(revision, Revision(count), "`{name}` has one revision for every operation");
    }
    counts
}

/// Checks that acknowledged operations happened at the acknowledged revisions.
async fn check_acks(baton: &Baton, acks: &[Ack]) {
    for ack in acks {
        let shared = workspace_of(baton, ack.writer).state("shared");
        match operation(ack.writer, ack.number) {
            Operation::Set { name } => {
                let there = shared.get_at(&name, ack.revision).await.unwrap();
                assert_eq!(there.revision(), ack.revision);
                assert_eq!(value(&there)["operation"], json!(ack.number), "{ack:?}");
            }
            Operation::Together { names } => {
                for name in names {
                    let there = shared.get_at(&name, ack.revision).await.unwrap();
                    assert_eq!(value(&there)["operation"], json!(ack.number), "{ack:?}");
                }
            }
            Operation::Delete { name } => {
                let gone = shared.get_at(&name, ack.revision).await.unwrap_err();
                assert_eq!(gone.code(), "state.not_found", "{ack:?}: {gone:?}");
                let before = Revision(ack.revision.0 - 1);
                shared.get_at(&name, before).await.unwrap();
            }
        }
    }
}

/// Reads the whole history of each workspace as a watcher does.
async fn check_history(baton: &Baton) {
    for writer in [0, 2, 3] {
        let workspace = workspace_of(baton, writer);
        let last = workspace.revision().await.unwrap();
        let mut watch = workspace.watch("**").from(1).await.unwrap();
        let mut seen = Revision(0);
        while seen < last {
            let Item::Event(notice) = watch.next().await.unwrap().unwrap() else {
                panic!("no snapshot was asked for");
            };
            let follows = notice.revision() == seen || notice.revision() == seen.next();
            assert!(follows, "{:?} came after {seen}", notice.revision());
            seen = notice.revision();
        }
    }
}

/// The names of all files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            names.extend(files(&path));
        }
        names.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    names
}

/// A different seed every time.
fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[tokio::test]
async fn a_killed_process_loses_no_acknowledged_write() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cycles = number("BATON_CRASH_CYCLES").unwrap_or(CYCLES);
    let seed = number("BATON_CRASH_SEED").unwrap_or_else(fresh_seed);
    println!("{cycles} cycles, BATON_CRASH_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let folder = folder();
    let mut counts = [0; WRITERS];
    let mut total = 0;
    for cycle in 0..cycles {
        // Sometimes at once: the child is then killed while it opens what the last one left.
        let acks_min = if chance.random_bool(0.2) { 0 } else { chance.random_range(1..600) };
        let spins = if chance.random_bool(0.5) { 0 } else { chance.random_range(0..3_000_000) };
        let acks = run_and_kill(folder.path(), counts, acks_min, spins);
        let mut acknowledged = counts;
        for ack in &acks {
            assert_eq!(ack.number, acknowledged[ack.writer] + 1, "a writer writes in order");
            acknowledged[ack.writer] = ack.number;
        }
        total += acks.len();
        println!("cycle {cycle}: {} acknowledged, {acknowledged:?}", acks.len());
        let baton = on_small_segments(folder.path(), options()).unwrap();
        counts = check_state(&baton, acknowledged).await;
        check_acks(&baton, &acks[acks.len().saturating_sub(40)..]).await;
        if cycle % LONG_LOOK_EVERY == LONG_LOOK_EVERY - 1 || cycle == cycles - 1 {
            check_history(&baton).await;
        }
        baton.close().await;
    }
    println!("{total} acknowledged operations survived {cycles} kills");
    if cycles >= CYCLES {
        let written = files(folder.path());
        let some = |word: &str| written.iter().filter(|name| name.contains(word)).count();
        let counts = ["run-", "snapshot-", ".segment"].map(some);
        println!("{counts:?} runs, snapshots and segments are left");
        assert!(counts.iter().all(|count| *count > 0), "{written:?}");
        let first = "00000000000000000000.segment";
        assert!(!written.iter().any(|name| name == first), "the log has forgotten its beginning");
    }
}

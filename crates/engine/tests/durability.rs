//! Durability: acknowledged writes stay, failures are reported, and the next call works.
//!
//! The disks here fail on purpose: power cuts in the middle of any operation, syncs that fail, and
//! no space. The check is always the same: acknowledged writes exist, refused ones do not, and
//! unknown ones exist completely or not at all. `BATON_POWER_CUT_SEEDS` sets the number of power
//! cuts.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton::core::Revision;
use baton::error::Error as EngineError;
use baton::log::faulty::{FaultyDisk, Operation};
use baton::{Baton, Error, Item, Options, Workspace};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::harness::{
    calm, eventually, everything, folder, next_event, on_disk, on_small_segments, open, restless,
    set, shared, value, value_of_bytes, workspace,
};

/// Values of a workspace by key.
async fn contents(workspace: &Workspace) -> BTreeMap<String, Value> {
    let entries = everything(workspace, None, 1_000).await.unwrap();
    entries.iter().map(|entry| (entry.key().to_owned(), value(entry))).collect()
}

#[tokio::test]
async fn acknowledged_writes_survive_closing_and_dropping() {
    let folder = folder();
    let mut expected = BTreeMap::new();
    for round in 0..6_u64 {
        let baton = on_small_segments(folder.path(), restless()).unwrap();
        assert_eq!(contents(&workspace(&baton)).await, expected);
        for number in 0..60 {
            let key = format!("key:{}", number % 25);
            shared(&baton).set(&key, json!([round, number])).await.unwrap();
            expected.insert(key, json!([round, number]));
        }
        assert_eq!(workspace(&baton).revision().await.unwrap(), Revision((round + 1) * 60));
        if round % 2 == 0 {
            baton.close().await;
        }
    }
}

/// One step of the scenario that a power cut interrupts.
async fn step(ada: &Workspace, number: u64) -> Result<Revision, Error> {
    let names = [number % 9, (number + 1) % 9, (number + 2) % 9].map(|slot| format!("key:{slot}"));
    if number.is_multiple_of(3) {
        let mut transaction = ada.transaction();
        for name in &names {
            transaction = transaction.command(set(name, &json!(number)));
        }
        return Ok(transaction.commit().await?.0);
    }
    let bytes = usize::try_from(number * 31 % 900).expect("it is small");
    let value = json!({ "number": number, "ballast": "x".repeat(bytes) });
    Ok(ada.state("shared").set(&names[0], value).await?.revision())
}

/// The keys after this many steps.
fn after(count: u64) -> BTreeMap<String, u64> {
    let mut keys = BTreeMap::new();
    for number in 1..=count {
        let slots = if number.is_multiple_of(3) { 3 } else { 1 };
        keys.extend((0..slots).map(|part| (format!("key:{}", (number + part) % 9), number)));
    }
    keys
}

fn numbers(contents: BTreeMap<String, Value>) -> BTreeMap<String, u64> {
    let number = |value: &Value| {
        value.as_u64().or(value["number"].as_u64()).expect("every value has a number")
    };
    contents.into_iter().map(|(key, value)| (key, number(&value))).collect()
}

#[tokio::test]
async fn a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged() {
    let seeds = std::env::var("BATON_POWER_CUT_SEEDS").ok().and_then(|text| text.parse().ok());
    for seed in 0..seeds.unwrap_or(12) {
        let mut chance = StdRng::seed_from_u64(seed);
        let disk = FaultyDisk::new(seed);
        disk.refuse_direct(seed % 2 == 0);
        let mut done = 0;
        for cycle in 0..5 {
            let baton = on_disk(&disk, restless()).unwrap();
            let ada = workspace(&baton);
            let found = numbers(contents(&ada).await);
            let revision = ada.revision().await.unwrap().0;
            let what = format!("seed {seed} cycle {cycle}: {done} acknowledged, {revision} there");
            assert!(revision == done || revision == done + 1, "{what}");
            assert_eq!(found, after(revision), "{what}");
            for at in (1..=revision).step_by(17) {
                let past = everything(&ada, Some(Revision(at)), 100).await.unwrap();
                let past = past.iter().map(|entry| (entry.key().to_owned(), value(entry)));
                assert_eq!(numbers(past.collect()), after(at), "{what}, at {at}");
            }
            done = revision;
            disk.stop_at(disk.counts().total + chance.random_range(0..400));
            for _ in 0..150 {
                match step(&ada, done + 1).await {
                    Ok(revision) => {
                        done += 1;
                        assert_eq!(revision, Revision(done), "{what}");
                    }
                    Err(error) => {
                        assert!(disk.is_stopped(), "{what}: {error:?}");
                        assert_eq!(error.code(), "engine.unknown_outcome", "{what}");
                        let next = step(&ada, done + 2).await.unwrap_err();
                        assert_eq!(next.code(), "engine.stopped", "{what}");
                        break;
                    }
                }
            }
            drop((ada, baton));
            disk.crash(chance.random());
        }
    }
}

#[tokio::test]
async fn a_failed_sync_stops_the_engine_and_opening_it_again_decides() {
    for seed in 0..20 {
        let disk = FaultyDisk::new(seed);
        disk.refuse_direct(true);
        disk.keep_cache_on_failed_sync(seed % 2 == 0);
        let baton = on_disk(&disk, calm()).unwrap();
        shared(&baton).set("kept", 1).await.unwrap();
        let mut watch = workspace(&baton).watch("**").await.unwrap();
        disk.fail_nth(Operation::Sync, disk.counts().sync);
        let failed = shared(&baton).set("unknown", 1).await.unwrap_err();
        assert_eq!((failed.code(), failed.is_unknown()), ("engine.unknown_outcome", true));
        assert_eq!(shared(&baton).set("after", 1).await.unwrap_err().code(), "engine.stopped");
        assert_eq!(shared(&baton).get("kept").await.unwrap_err().code(), "engine.stopped");
        let begun = workspace(&baton).watch("**").await.map(|_| ()).unwrap_err();
        assert_eq!(begun.code(), "engine.stopped");
        let interruption = watch.next().await.unwrap().unwrap_err();
        assert_eq!(interruption, EngineError::Interrupted { resume_from: Revision(2) }.into());
        drop(watch);
        baton.close().await;
        disk.crash(seed);

        let baton = on_disk(&disk, calm()).unwrap();
        let found = contents(&workspace(&baton)).await;
        assert!(found.contains_key("kept") && !found.contains_key("after"));
        let revision = workspace(&baton).revision().await.unwrap();
        assert_eq!(revision, Revision(1 + u64::from(found.contains_key("unknown"))));
        shared(&baton).set("after", 2).await.unwrap();
        baton.close().await;
        let baton = on_disk(&disk, calm()).unwrap();
        assert_eq!(workspace(&baton).revision().await.unwrap(), revision.next());
    }
}

/// Fills the disk until a write is refused. Returns how many were accepted.
async fn fill(ada: &Workspace, disk: &FaultyDisk) -> u64 {
    disk.set_capacity(Some(disk.bytes_used()));
    for number in 0..10_000 {
        match ada
            .state("shared")
            .set(&format!("filler:{}", number % 5), value_of_bytes(3_000))
            .await
        {
            Ok(_) => {}
            Err(error) if error.code() == "engine.full" => return number,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("the disk was never full");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_answers_reads_and_recovers() {
    let disk = FaultyDisk::new(1);
    let baton = on_disk(&disk, calm()).unwrap();
    let ada = workspace(&baton);
    ada.state("shared").set("kept", 1).await.unwrap();
    let mut watch = ada.watch("state/shared/kept").await.unwrap();
    for round in 1..=3_u64 {
        let written = fill(&ada, &disk).await;
        let before = ada.revision().await.unwrap();
        let full = ada.state("shared").set("kept", 99).await.unwrap_err();
        assert_eq!((full.code(), full.is_unknown()), ("engine.full", false));
        assert_eq!(ada.revision().await.unwrap(), before, "round {round}, {written} fillers");
        assert_eq!(value(&ada.state("shared").get("kept").await.unwrap()), json!(round));
        let first = ada.state("shared").get_at("kept", Revision(1)).await.unwrap();
        assert_eq!(value(&first), json!(1));
        // Watchers must resume, since pending events are lost.
        let interruption = watch.next().await.unwrap().unwrap_err();
        assert_eq!(interruption.code(), "watch.interrupted");
        let resume_from = interruption.resume_from().expect("it says where to resume");
        watch = ada.watch("state/shared/kept").from(resume_from).await.unwrap();

        disk.set_capacity(None);
        let again = ada.state("shared").set("kept", round + 1).await.unwrap();
        assert_eq!(again.revision(), before.next(), "nothing of what was refused is there");
        assert_eq!(next_event(&mut watch).await.0, before.0 + 1);
    }
    let expected = contents(&ada).await;
    drop((watch, ada, baton));
    disk.crash(1);
    let baton = on_disk(&disk, calm()).unwrap();
    assert_eq!(contents(&workspace(&baton)).await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_full_disk_refuses_every_write_of_the_group_and_loses_no_caller() {
    let disk = FaultyDisk::new(2);
    let baton = on_disk(&disk, restless()).unwrap();
    let ada = workspace(&baton);
    ada.state("shared").set("counter", 0).await.unwrap();
    let mut acknowledged = 0_u64;
    for _ in 0..4 {
        fill(&ada, &disk).await;
        let mut jobs = Vec::new();
        for _ in 0..24 {
            let state = ada.state("shared");
            jobs.push(tokio::spawn(async move { state.increment("counter", 1).await }));
        }
        for job in jobs {
            match job.await.unwrap() {
                Ok(_) => acknowledged += 1,
                Err(error) => assert_eq!(error, EngineError::Full.into()),
            }
        }
        disk.set_capacity(None);
        ada.state("shared").increment("counter", 1).await.unwrap();
        acknowledged += 1;
        let counter = ada.state("shared").get("counter").await.unwrap();
        assert_eq!(value(&counter), json!(acknowledged));
    }
}

#[tokio::test]
async fn archiving_resumes_after_a_full_disk() {
    let disk = FaultyDisk::new(3);
    let baton = on_disk(&disk, calm()).unwrap();
    let ada = workspace(&baton);
    for number in 0..50 {
        ada.state("shared").set(&format!("key:{number}"), number).await.unwrap();
    }
    let before = contents(&ada).await;
    disk.set_capacity(Some(disk.bytes_used()));
    let refused = baton.compact(&ada).await.unwrap_err();
    assert_eq!(refused.code(), "engine.storage");
    assert_eq!(contents(&ada).await, before);
    disk.set_capacity(None);
    baton.compact(&ada).await.unwrap();
    assert_eq!(contents(&ada).await, before);
    ada.state("shared").get_at("key:3", Revision(20)).await.unwrap();
    drop((ada, baton));
    disk.crash(3);
    let baton = on_disk(&disk, calm()).unwrap();
    assert_eq!(contents(&workspace(&baton)).await, before);
}

/// Every operation of the disk fails once, each in its own run, during archiving and snapshots.
/// Some failures are visible to a caller and some are not; nothing may be lost.
#[tokio::test]
async fn any_single_failed_operation_loses_nothing_that_was_acknowledged() {
    let counted = FaultyDisk::new(9);
    let total = one_failure(&counted, None).await;
    for index in (0..total + 20).step_by(3) {
        one_failure(&FaultyDisk::new(9), Some(index)).await;
    }
}

/// Opens, writes, compacts, writes and opens again. Returns the number of disk operations.
async fn one_failure(disk: &FaultyDisk, fails: Option<u64>) -> u64 {
    if let Some(index) = fails {
        disk.fail_at(index);
    }
    let mut done = 0;
    let mut tries = 0;
    while done < 40 {
        tries += 1;
        assert!(tries < 8, "one failure does not last: {fails:?}, {done}");
        let Ok(baton) = on_disk(disk, calm()) else { continue };
        let ada = workspace(&baton);
        let Ok(revision) = ada.revision().await else { continue };
        assert!(revision.0 >= done, "{fails:?}: {done} acknowledged, {revision} there");
        done = revision.0;
        while done < 40 && step(&ada, done + 1).await.is_ok() {
            done += 1;
            if done.is_multiple_of(15) {
                // It may fail; nothing depends on it.
                let _ = baton.compact(&ada).await;
            }
        }
    }
    disk.crash(fails.unwrap_or(0));
    let opened = on_disk(disk, calm());
    let baton = opened.unwrap_or_else(|error| panic!("{fails:?}: {error:?}"));
    assert_eq!(numbers(contents(&workspace(&baton)).await), after(done), "{fails:?}");
    let past = everything(&workspace(&baton), Some(Revision(20)), 100).await.unwrap();
    let past = past.iter().map(|entry| (entry.key().to_owned(), value(entry))).collect();
    assert_eq!(numbers(past), after(20), "{fails:?}");
    disk.counts().total
}

#[tokio::test]
async fn two_engines_in_one_process_are_independent() {
    let (one, other) = (folder(), folder());
    let (first, second) = (open(one.path()).await, open(other.path()).await);
    shared(&first).set("who", "first").await.unwrap();
    shared(&second).set("who", "second").await.unwrap();
    shared(&first).set("only", 1).await.unwrap();
    assert_eq!(value(&shared(&first).get("who").await.unwrap()), json!("first"));
    assert_eq!(value(&shared(&second).get("who").await.unwrap()), json!("second"));
    first.close().await;
    assert_eq!(shared(&second).get("only").await.unwrap_err().code(), "state.not_found");
    second.close().await;
}

#[tokio::test]
async fn an_engine_serves_several_runtimes_concurrently() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let baton = baton.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(async {
                    for _ in 0..50 {
                        shared(&baton).increment("counter", 1).await.unwrap();
                    }
                });
            })
        })
        .collect();
    let arrived = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let waiting = Arc::clone(&arrived);
    std::thread::spawn(move || {
        for thread in threads {
            thread.join().unwrap();
        }
        waiting.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let done = async || arrived.load(std::sync::atomic::Ordering::SeqCst);
    eventually("all threads are done", done).await;
    assert_eq!(value(&shared(&baton).get("counter").await.unwrap()), json!(150));
}

/// A read never shows what could still be lost: of two groups, the one in flight decides.
#[tokio::test]
async fn no_caller_sees_data_that_is_not_durable() {
    let disk = FaultyDisk::new(4);
    disk.refuse_direct(true);
    let baton = on_disk(&disk, Options { inline_batches_max: 0, ..calm() }).unwrap();
    let ada = workspace(&baton);
    ada.state("shared").set("key", 1).await.unwrap();
    disk.fail_nth(Operation::Sync, disk.counts().sync);
    let state = ada.state("shared");
    let (write, read, watch) = tokio::join!(
        async { state.set("key", 2).await },
        async { state.get("key").await },
        async { ada.watch("**").with_snapshot().await },
    );
    assert_eq!(write.unwrap_err().code(), "engine.unknown_outcome");
    match read {
        Ok(entry) => assert_eq!(value(&entry), json!(1)),
        Err(error) => assert!(["engine.unknown_outcome", "engine.stopped"].contains(&error.code())),
    }
    if let Ok(mut watch) = watch
        && let Some(Ok(Item::Snapshot { entries, .. })) = watch.next().await
    {
        assert!(entries.iter().all(|entry| value(entry) == json!(1)));
    }
    drop::<Baton>(baton);
}

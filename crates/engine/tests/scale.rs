//! Many workspaces, large ones, large groups and large values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton::core::limits::{BATCH_BYTES_MAX, VALUE_BYTES_MAX};
use baton::core::state::Transfer;
use baton::core::{Revision, state};
use baton::{Baton, Options, Workspace};
use serde_json::json;

use crate::harness::{
    BEGINNING, calm, eventually, everything, folder, forgetful, in_memory_with, listed, namespace,
    on_memory, on_small_segments, open, restless, set, shared, tick, value, value_of_bytes,
    workspace,
};

fn numbered(baton: &Baton, number: usize) -> Workspace {
    baton.workspace(&format!("space-{number:05}")).unwrap().as_agent("ada").unwrap()
}

async fn write_some(baton: &Baton, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        let state = numbered(baton, number).state("shared");
        state.set("first", number).await.unwrap();
        state.set("second", "two").await.unwrap();
        state.increment("first", 1).await.unwrap();
    }
}

async fn spot_check(baton: &Baton, workspaces: usize) {
    for number in (0..workspaces).step_by(workspaces / 97) {
        let workspace = numbered(baton, number);
        assert_eq!(workspace.revision().await.unwrap(), Revision(3), "workspace {number}");
        let state = workspace.state("shared");
        assert_eq!(value(&state.get("first").await.unwrap()), json!(number + 1));
        let before = state.get_at("first", Revision(2)).await.unwrap();
        assert_eq!(value(&before), json!(number), "workspace {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_workspaces_share_a_folder() {
    const WORKSPACES: usize = 10_000;
    const WRITERS: usize = 64;
    let folder = folder();
    let baton = baton::open_with(folder.path(), calm()).await.unwrap();
    let mut jobs = Vec::new();
    for writer in 0..WRITERS {
        let baton = baton.clone();
        jobs.push(tokio::spawn(async move {
            write_some(&baton, (writer..WORKSPACES).step_by(WRITERS)).await;
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(baton.resident_workspaces(), WORKSPACES);
    spot_check(&baton, WORKSPACES).await;
    baton.close().await;

    let baton = baton::open_with(folder.path(), calm()).await.unwrap();
    assert_eq!(baton.resident_workspaces(), 0, "no workspace is loaded before it is used");
    spot_check(&baton, WORKSPACES).await;
    assert!(baton.resident_workspaces() < 200);
    baton.close().await;
}

#[tokio::test]
async fn idle_workspaces_leave_memory_and_lose_nothing() {
    const WORKSPACES: usize = 1_000;
    let options = Options { idle: Duration::from_mins(1), ..forgetful() };
    let (baton, log, clock) = in_memory_with(options.clone());
    write_some(&baton, 0..WORKSPACES).await;
    assert_eq!(baton.resident_workspaces(), WORKSPACES, "a minute has not passed");
    clock.advance(59_999);
    numbered(&baton, 7).revision().await.unwrap();
    clock.advance(1);
    eventually("only the used one is in memory", async || baton.resident_workspaces() == 1).await;
    spot_check(&baton, WORKSPACES).await;
    clock.advance(60_000);
    eventually("nothing is in memory", async || baton.resident_workspaces() == 0).await;
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    spot_check(&baton, WORKSPACES).await;
    write_some(&baton, WORKSPACES..WORKSPACES + 5).await;
}

/// Writes race with the eviction of the workspace that they are for.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_workspace_that_is_evicted_again_and_again_loses_nothing() {
    let folder = folder();
    let baton =
        on_small_segments(folder.path(), Options { idle: Duration::ZERO, ..restless() }).unwrap();
    let mut jobs = Vec::new();
    for writer in 0..6_usize {
        let baton = baton.clone();
        jobs.push(tokio::spawn(async move {
            for round in 1..=120_u64 {
                let state = numbered(&baton, writer % 3).state("shared");
                let key = format!("counter:{writer}");
                let there = state.increment(&key, 1).await.unwrap();
                assert_eq!(value(&there), json!(round));
                assert_eq!(state.get(&key).await.unwrap(), there, "a writer reads its own write");
                let past = state.get_at(&key, there.revision()).await.unwrap();
                assert_eq!(past, there, "and its own past");
            }
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    for space in 0..3 {
        assert_eq!(numbered(&baton, space).revision().await.unwrap(), Revision(240));
    }
    drop(baton);
    let baton = on_small_segments(folder.path(), calm()).unwrap();
    for space in 0..3 {
        let state = numbered(&baton, space).state("shared");
        for writer in [space, space + 3] {
            assert_eq!(value(&state.get(&format!("counter:{writer}")).await.unwrap()), json!(120));
        }
    }
}

/// A snapshot of a large workspace is consistent although it is taken during writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_large_workspace_is_snapshotted_during_writes() {
    const KEYS: usize = 20_000;
    let folder = folder();
    let options = Options { snapshot_chunk: 50, ..calm() };
    let baton = baton::open_with(folder.path(), options).await.unwrap();
    let ada = workspace(&baton);
    for chunk in 0..KEYS / 1_000 {
        let keys =
            (0..1_000).map(|number| set(&format!("key:{:05}", chunk * 1_000 + number), &json!(0)));
        keys.fold(ada.transaction(), baton::Transaction::command).commit().await.unwrap();
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..3_usize {
        let (state, done) = (shared(&baton), Arc::clone(&done));
        writers.push(tokio::spawn(async move {
            let mut count = 0_usize;
            while !done.load(Ordering::SeqCst) || count < 200 {
                let key = format!("key:{:05}", (count * 7_919 + writer * 3) % KEYS);
                match count % 10 {
                    7 => drop(state.delete(&key).await),
                    8 => drop(state.set(&format!("new:{writer}:{count}"), count).await.unwrap()),
                    _ => drop(state.set(&key, count).await.unwrap()),
                }
                count += 1;
            }
            count
        }));
    }
    for _ in 0..3 {
        baton.compact(&ada).await.unwrap();
    }
    done.store(true, Ordering::SeqCst);
    for writer in writers {
        assert!(writer.await.unwrap() >= 200, "writers went on");
    }
    let expected = everything(&ada, None, 10_000).await.unwrap();
    let revision = ada.revision().await.unwrap();
    drop(ada);
    baton.close().await;
    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    assert_eq!(ada.revision().await.unwrap(), revision);
    assert_eq!(everything(&ada, None, 10_000).await.unwrap(), expected);
    // The snapshot alone, without the log after it, is the state at its revision.
    baton.compact(&ada).await.unwrap();
    drop(ada);
    baton.close().await;
    let baton = open(folder.path()).await;
    assert_eq!(everything(&workspace(&baton), None, 10_000).await.unwrap(), expected);
}

/// Many callers may request the same snapshot at once, while the engine takes another.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn snapshots_taken_at_the_same_time_do_not_disturb_each_other() {
    let folder = folder();
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    let mut jobs = Vec::new();
    for job in 0..6_usize {
        let baton = baton.clone();
        jobs.push(tokio::spawn(async move {
            for round in 0..25_usize {
                let state = shared(&baton);
                state.set(&format!("key:{}", (round * 6 + job) % 40), round).await.unwrap();
                baton.compact(&workspace(&baton)).await.unwrap();
            }
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    let expected = everything(&workspace(&baton), None, 100).await.unwrap();
    for at in [1, 50, 100, 150] {
        everything(&workspace(&baton), Some(Revision(at)), 100).await.unwrap();
    }
    drop(baton);
    let baton = on_small_segments(folder.path(), calm()).unwrap();
    assert_eq!(everything(&workspace(&baton), None, 100).await.unwrap(), expected);
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(150));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_group_makes_callers_wait_and_fails_no_call() {
    let folder = folder();
    let options = Options { group_bytes_max: 64 << 10, ..calm() };
    let baton = baton::open_with(folder.path(), options).await.unwrap();
    let mut jobs = Vec::new();
    for number in 0..60 {
        let state = shared(&baton);
        jobs.push(tokio::spawn(async move {
            state.set(&format!("key:{number}"), value_of_bytes(200_000)).await.unwrap()
        }));
    }
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(60));
    baton.close().await;
    let baton = open(folder.path()).await;
    assert_eq!(listed(&shared(&baton), "shared", None, 100).await.unwrap().len(), 60);
}

/// With default options, the largest commits at once: no group may exceed a record of the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_largest_commits_together_fit_into_the_log() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let mut jobs = Vec::new();
    for job in 0..8 {
        let ada = workspace(&baton);
        jobs.push(tokio::spawn(async move {
            // The maximum size of a commit: seven values at the limit, and nearly an eighth.
            let mut transaction = ada.transaction();
            for number in 0..7 {
                let value = value_of_bytes(VALUE_BYTES_MAX);
                transaction = transaction.command(set(&format!("{job}:{number}"), &value));
            }
            let rest = BATCH_BYTES_MAX - 7 * VALUE_BYTES_MAX - 8 * 200;
            transaction = transaction.command(set(&format!("{job}:rest"), &value_of_bytes(rest)));
            transaction.commit().await.unwrap().0
        }));
    }
    let mut revisions = Vec::new();
    for job in jobs {
        revisions.push(job.await.unwrap().0);
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (1..=8).collect::<Vec<_>>());
    baton.compact(&workspace(&baton)).await.unwrap();
    baton.close().await;
    let baton = open(folder.path()).await;
    let largest = shared(&baton).get("3:6").await.unwrap();
    assert_eq!(largest.value().len(), VALUE_BYTES_MAX);
    let past = shared(&baton).get_at("3:6", Revision(8)).await.unwrap();
    assert_eq!(past.value().len(), VALUE_BYTES_MAX);
}

#[tokio::test]
async fn thousands_that_expire_together_take_several_commits() {
    let (baton, _, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    ada.state("shared").set("stays", 1).await.unwrap();
    for chunk in 0..5 {
        let mut transaction = ada.transaction();
        for number in 0..1_000 {
            let state::Command::Set(mut brief) = set(&format!("brief:{chunk}:{number}"), &json!(1))
            else {
                unreachable!("`set` makes a command that sets");
            };
            brief.ttl_ms = Some(1_000);
            transaction = transaction.command(state::Command::Set(brief));
        }
        transaction.commit().await.unwrap();
    }
    let before = ada.revision().await.unwrap();
    clock.advance(1_000);
    tick(&baton).await;
    eventually("all have expired", async || ada.revision().await.unwrap().0 >= before.0 + 5).await;
    let left = everything(&ada, None, 10_000).await.unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(ada.revision().await.unwrap(), Revision(before.0 + 5));
}

/// An agent with the maximum number of holds is lost, and its state is handed over completely.
#[tokio::test]
async fn an_agent_with_the_maximum_of_holds_releases_all_in_one_commit() {
    let (baton, _, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    ada.agents().register().ttl_ms(1_000).await.unwrap();
    let mut transaction = ada.transaction();
    for number in 0..1_000 {
        let state::Command::Set(mut held) =
            set(&format!("{number}:{}", "k".repeat(500)), &json!(1))
        else {
            unreachable!("`set` makes a command that sets");
        };
        held.ephemeral = true;
        transaction = transaction.command(state::Command::Set(held));
    }
    transaction.commit().await.unwrap();
    let refused = ada.state("shared").set("one more", 1).ephemeral().await.unwrap_err();
    assert_eq!(refused.code(), "state.too_many_ephemeral");
    let before = ada.revision().await.unwrap();
    // Every call of ada would be a sign of life.
    let bob = ada.as_agent("bob").unwrap();
    clock.advance(2_000);
    tick(&baton).await;
    eventually("ada is lost", async || bob.revision().await.unwrap() > before).await;
    assert_eq!(bob.revision().await.unwrap(), before.next(), "in one commit");
    assert!(everything(&ada, None, 100).await.unwrap().is_empty());

    let own = ada.state("agent:ada");
    for chunk in 0..5 {
        let mut transaction = ada.transaction();
        for number in 0..1_000 {
            let state::Command::Set(mut kept) = set(&format!("{chunk}:{number}"), &json!(1)) else {
                unreachable!("`set` makes a command that sets");
            };
            kept.namespace = namespace("agent:ada");
            transaction = transaction.command(state::Command::Set(kept));
        }
        transaction.commit().await.unwrap();
    }
    let transfer = Transfer {
        from_namespace: namespace("agent:ada"),
        to_namespace: namespace("shared"),
        keys: None,
        pattern: None,
        overwrite: false,
        copy: false,
    };
    ada.execute(state::Command::Transfer(transfer)).await.unwrap();
    assert_eq!(listed(&ada.state("shared"), "shared", None, 10_000).await.unwrap().len(), 5_000);
    assert!(listed(&own, "agent:ada", None, 10).await.unwrap().is_empty());
    assert!(ada.state("shared").get("0:0").await.unwrap().updated_at() > BEGINNING);
}

/// A log that many workspaces share must not be kept long by an unused one.
#[tokio::test]
async fn one_sleeping_workspace_does_not_keep_the_log_long() {
    let folder = folder();
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    numbered(&baton, 0).state("shared").set("old", 1).await.unwrap();
    for round in 0..400 {
        shared(&baton).set(&format!("key:{}", round % 10), value_of_bytes(2_000)).await.unwrap();
    }
    let segments = || {
        let names = std::fs::read_dir(folder.path().join("log")).unwrap();
        let is_segment = |name: &std::fs::DirEntry| {
            name.path().extension().is_some_and(|extension| extension == "segment")
        };
        names.filter(|name| is_segment(name.as_ref().unwrap())).count()
    };
    // 800 kB were written into segments of 64 kB, and the log may have as much.
    eventually("the log is short", async || segments() <= 4).await;
    assert_eq!(value(&numbered(&baton, 0).state("shared").get("old").await.unwrap()), json!(1));
    drop(baton);
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    assert_eq!(value(&numbered(&baton, 0).state("shared").get("old").await.unwrap()), json!(1));
    assert_eq!(workspace(&baton).revision().await.unwrap(), Revision(400));
}

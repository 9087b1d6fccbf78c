//! Watches: every event that matches a pattern, in order, without gap or duplicate, whether it
//! happened before or after the watch started.

use std::sync::Arc;

use baton::core::{Event, Kind, Revision};
use baton::error::Error as EngineError;
use baton::{Baton, Error, Item, Options, Watch, Workspace};
use serde_json::{Value, json};

use crate::harness::{
    calm, eventually, folder, in_memory, in_memory_with, next_event, on_memory, on_small_segments,
    restless, set, shared, value, workspace,
};

async fn write(workspace: &Workspace, count: u64) {
    let state = workspace.state("shared");
    for number in 0..count {
        state.set(&format!("key:{}", number % 10), number).await.unwrap();
    }
}

/// The revisions of the next events of a watch.
async fn revisions(watch: &mut Watch, count: usize) -> Vec<u64> {
    let mut revisions = Vec::new();
    for _ in 0..count {
        revisions.push(next_event(watch).await.0);
    }
    revisions
}

/// Whether there is nothing to deliver now.
async fn is_quiet(watch: &mut Watch) -> bool {
    let mut next = std::pin::pin!(watch.next());
    std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context).is_pending()))
        .await
}

#[tokio::test]
async fn a_watch_begins_now_or_in_the_past() {
    let (baton, _, _) = in_memory_with(calm());
    let ada = workspace(&baton);
    write(&ada, 5).await;
    let mut now = ada.watch("**").await.unwrap();
    let mut past = ada.watch("**").from(2).await.unwrap();
    let mut beginning = ada.watch("**").from(0).await.unwrap();
    let mut next = ada.watch("**").from(6).await.unwrap();
    assert!(is_quiet(&mut now).await && is_quiet(&mut next).await);
    assert_eq!(next.resume_from(), Revision(6));
    // A revision that does not exist yet may never exist, as after a restore of older data.
    for from in [7, 8, u64::MAX] {
        let refused = ada.watch("**").from(from).await.unwrap_err();
        assert_eq!(refused.code(), "history.not_yet");
        let [asked, newest]: [Revision; 2] =
            ["asked", "newest"].map(|name| refused.fact(name).expect(name).to().unwrap());
        assert_eq!((asked, newest), (Revision(from), Revision(5)));
    }
    write(&ada, 5).await;
    assert_eq!(revisions(&mut now, 5).await, [6, 7, 8, 9, 10]);
    assert_eq!(revisions(&mut past, 9).await, [2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(revisions(&mut beginning, 10).await, (1..=10).collect::<Vec<_>>());
    assert_eq!(revisions(&mut next, 5).await, [6, 7, 8, 9, 10]);
    for watch in [&mut now, &mut past, &mut beginning, &mut next] {
        assert!(is_quiet(watch).await);
        assert_eq!(watch.resume_from(), Revision(11));
    }
}

#[tokio::test]
async fn the_past_is_watched_from_archived_runs_and_after_reopening() {
    let (baton, log, clock) = in_memory_with(restless());
    let ada = workspace(&baton);
    write(&ada, 130).await;
    baton.compact(&ada).await.unwrap();
    write(&ada, 30).await;
    let mut watch = ada.watch("**").from(1).await.unwrap();
    assert_eq!(revisions(&mut watch, 160).await, (1..=160).collect::<Vec<_>>());
    drop((watch, ada));
    baton.close().await;
    let baton = on_memory(&log, &clock, calm());
    let ada = workspace(&baton);
    let mut watch = ada.watch("**").from(1).await.unwrap();
    write(&ada, 10).await;
    assert_eq!(revisions(&mut watch, 170).await, (1..=170).collect::<Vec<_>>());
}

#[tokio::test]
async fn patterns_and_types_decide_which_events_arrive() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let mut tasks = ada.watch("state/shared/task:*").await.unwrap();
    let mut deleted =
        ada.watch("state/**").kind("state.deleted").kind("state.expired").await.unwrap();
    let mut agents = ada.watch("agents/*").await.unwrap();
    let mut one = ada.watch("state/notes/a").await.unwrap();
    let mut everything = ada.watch("**").await.unwrap();

    let state = ada.state("shared");
    state.set("task:1", 1).await.unwrap();
    state.set("other", 1).await.unwrap();
    ada.agents().register().await.unwrap();
    state.delete("task:1").await.unwrap();
    state.set("task:1:log", 1).await.unwrap();
    ada.namespaces().create("notes").await.unwrap();
    ada.state("notes").set("a", 1).await.unwrap();
    ada.namespaces().delete("notes").await.unwrap();
    // A receipt is internal; watchers do not see it.
    ada.once("key").unwrap().state("shared").set("end", 1).await.unwrap();

    let set = |revision, key: &str| (revision, "state.set".to_owned(), format!("state/{key}"));
    assert_eq!(next_event(&mut tasks).await, set(1, "shared/task:1"));
    assert_eq!(next_event(&mut tasks).await.1, "state.deleted");
    assert_eq!(
        next_event(&mut deleted).await,
        (4, "state.deleted".into(), "state/shared/task:1".into())
    );
    assert_eq!(next_event(&mut agents).await, (3, "agent.joined".into(), "agents/ada".into()));
    assert_eq!(next_event(&mut one).await, set(7, "notes/a"));
    // Its entries are deleted with the namespace, so watchers of one of them are notified.
    assert_eq!(
        next_event(&mut one).await,
        (8, "namespace.deleted".into(), "namespaces/notes".into())
    );
    let mut last = (0, String::new(), String::new());
    while last.2 != "state/shared/end" {
        let next = next_event(&mut everything).await;
        assert!(next.0 >= last.0 && next.1 != "receipt.kept");
        last = next;
    }
    for watch in [&mut tasks, &mut deleted, &mut agents, &mut one, &mut everything] {
        assert!(is_quiet(watch).await);
    }
}

#[tokio::test]
async fn a_notice_contains_the_complete_event_and_is_encoded_once() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    let mut watches = Vec::new();
    for _ in 0..1_000 {
        watches.push(ada.watch("state/**").await.unwrap());
    }
    ada.state("shared").set("plan", json!({"step": 1})).await.unwrap();
    let mut encoded: Vec<Arc<[u8]>> = Vec::new();
    for watch in &mut watches {
        let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
        encoded.push(notice.json());
    }
    let shown: Value = serde_json::from_slice(&encoded[0]).unwrap();
    assert_eq!(
        shown,
        json!({
            "revision": 1, "index": 0, "time": "2023-11-14T22:13:20.000Z", "agent": "ada",
            "type": "state.set", "subject": "state/shared/plan", "namespace": "shared",
            "key": "plan", "value": {"step": 1}, "version": 1,
        })
    );
    assert!(
        encoded.iter().all(|one| Arc::ptr_eq(one, &encoded[0])),
        "it was encoded more than once"
    );
}

/// The state of a watcher that started with a snapshot, updated by the events after it.
async fn follow(ada: Workspace, last: u64) -> std::collections::BTreeMap<String, Value> {
    let mut watch = ada.watch("state/shared/**").with_snapshot().await.unwrap();
    let Some(Ok(Item::Snapshot { revision, entries })) = watch.next().await else {
        panic!("it begins with a snapshot");
    };
    let mut known: std::collections::BTreeMap<_, _> =
        entries.iter().map(|entry| (entry.key().to_owned(), value(entry))).collect();
    assert!(entries.iter().all(|entry| entry.revision() <= revision));
    let mut seen = revision.0;
    while seen < last {
        let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
        assert_eq!(notice.revision().0, seen + 1, "no gap and no duplicate after a snapshot");
        seen = notice.revision().0;
        let Event::State(event) = notice.event() else { panic!("{notice:?}") };
        match event {
            baton::core::state::Event::Set { key, value, .. } => {
                known.insert(key.as_str().to_owned(), value.to_value());
            }
            baton::core::state::Event::Deleted { key, .. } => {
                known.remove(key.as_str());
            }
        }
    }
    known
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_snapshot_and_what_follows_it_fit_under_concurrent_writers() {
    const WRITERS: u64 = 4;
    const WRITES: u64 = 100;
    let folder = folder();
    let baton = on_small_segments(folder.path(), restless()).unwrap();
    let mut jobs = Vec::new();
    for writer in 0..WRITERS {
        let state = workspace(&baton).state("shared");
        jobs.push(tokio::spawn(async move {
            for number in 0..WRITES {
                let key = format!("{writer}:{}", number % 7);
                if number % 5 == 4 {
                    state.delete(&format!("{writer}:{}", (number - 1) % 7)).await.unwrap();
                } else {
                    state.set(&key, number).await.unwrap();
                }
            }
        }));
    }
    let mut followers = Vec::new();
    for _ in 0..8 {
        followers.push(tokio::spawn(follow(workspace(&baton), WRITERS * WRITES)));
        tokio::task::yield_now().await;
    }
    for job in jobs {
        job.await.unwrap();
    }
    let entries = crate::harness::everything(&workspace(&baton), None, 100).await.unwrap();
    let truth: std::collections::BTreeMap<_, _> =
        entries.iter().map(|entry| (entry.key().to_owned(), value(entry))).collect();
    for follower in followers {
        assert_eq!(follower.await.unwrap(), truth);
    }
}

#[tokio::test]
async fn a_watcher_that_falls_behind_gets_the_revision_to_resume_from() {
    let (baton, _, _) = in_memory_with(Options { watch_queue_max: 10, ..calm() });
    let ada = workspace(&baton);
    let mut slow = ada.watch("**").await.unwrap();
    write(&ada, 25).await;
    let mut seen = Vec::new();
    let resume_from = loop {
        match slow.next().await.unwrap() {
            Ok(Item::Event(notice)) => seen.push(notice.revision().0),
            Ok(item) => panic!("{item:?}"),
            Err(error) => {
                assert_eq!(error.code(), "watch.lagged");
                break error.resume_from().expect("it says where to resume");
            }
        }
    };
    assert_eq!(seen, (1..=10).collect::<Vec<_>>(), "what had arrived is delivered");
    assert_eq!(resume_from, Revision(11));
    assert!(slow.next().await.is_none(), "then it has ended");
    let mut again = ada.watch("**").from(resume_from).await.unwrap();
    assert_eq!(revisions(&mut again, 15).await, (11..=25).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_commit_larger_than_the_queue_is_delivered_whole() {
    let (baton, _, _) = in_memory_with(Options { watch_queue_max: 3, ..calm() });
    let ada = workspace(&baton);
    let mut watch = ada.watch("**").await.unwrap();
    let mut transaction = ada.transaction();
    for number in 0..9 {
        transaction = transaction.command(set(&format!("key:{number}"), &json!(number)));
    }
    transaction.commit().await.unwrap();
    assert_eq!(revisions(&mut watch, 9).await, [1; 9]);
    write(&ada, 1).await;
    assert_eq!(next_event(&mut watch).await.0, 2);
}

#[tokio::test]
async fn closing_tells_every_watcher_where_to_resume() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    write(&ada, 3).await;
    let mut now = ada.watch("**").await.unwrap();
    let mut past = ada.watch("**").from(2).await.unwrap();
    let mut next = ada.watch("**").from(4).await.unwrap();
    let waiting = tokio::spawn(async move {
        let ended = now.next().await;
        (ended, now.next().await.is_none())
    });
    tokio::task::yield_now().await;
    baton.close().await;
    let (ended, over) = waiting.await.unwrap();
    let interrupted = |resume_from| {
        let resume_from = Revision(resume_from);
        Error::from(EngineError::Interrupted { resume_from })
    };
    assert_eq!(ended.unwrap().unwrap_err(), interrupted(4));
    assert!(over);
    assert_eq!(revisions(&mut past, 2).await, [2, 3], "what happened before is still delivered");
    assert_eq!(past.next().await.unwrap().unwrap_err(), interrupted(4));
    assert_eq!(next.next().await.unwrap().unwrap_err(), interrupted(4));
    assert_eq!(ada.watch("**").await.map(|_| ()).unwrap_err().code(), "engine.closed");
    drop((past, next, ada));
    let baton = on_memory(&log, &clock, calm());
    write(&workspace(&baton), 2).await;
    let mut again = workspace(&baton).watch("**").from(4).await.unwrap();
    assert_eq!(revisions(&mut again, 2).await, [4, 5]);
}

/// The position of an event that a watch delivered: revision and index in the commit.
type Seen = (u64, usize);

async fn take(watch: &mut Watch, count: usize, seen: &mut Vec<Seen>) {
    for _ in 0..count {
        let Some(Ok(Item::Event(notice))) = watch.next().await else { panic!("an event was due") };
        seen.push((notice.revision().0, notice.index()));
    }
}

/// Watches, drops the watch after `cut` events, resumes, and returns everything that was seen.
async fn cut_at(baton: &Baton, cut: usize, past: bool, all: &[Seen]) -> Vec<Seen> {
    let ada = workspace(baton);
    let last = ada.revision().await.unwrap().0;
    let mut seen = Vec::new();
    let mut watch = ada.watch("state/**").from(if past { 1 } else { last + 1 }).await.unwrap();
    if !past {
        story(&ada).await;
    }
    take(&mut watch, cut, &mut seen).await;
    let resume_from = watch.resume_from();
    drop(watch);
    // A commit that was delivered in part counts as not delivered.
    seen.retain(|(revision, _)| *revision < resume_from.0);
    let delivered = seen.len();
    assert!(cut - delivered < 3, "only a commit that was cut in two is delivered again");
    let mut again = ada.watch("state/**").from(resume_from).await.unwrap();
    take(&mut again, all.len() - delivered, &mut seen).await;
    assert!(is_quiet(&mut again).await);
    let shift = if past { 0 } else { last };
    seen.iter().map(|(revision, index)| (revision - shift, *index)).collect()
}

/// Single writes, and commits of three events.
async fn story(ada: &Workspace) {
    for number in 0..6 {
        ada.state("shared").set("single", number).await.unwrap();
        let mut transaction = ada.transaction();
        for part in ["a", "b", "c"] {
            transaction = transaction.command(set(part, &json!(number)));
        }
        transaction.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_resumed_watch_has_no_gaps_and_no_duplicates() {
    let mut all: Vec<Seen> = Vec::new();
    for revision in 1..=12 {
        let events = if revision % 2 == 0 { 3 } else { 1 };
        all.extend((0..events).map(|index| (revision, index)));
    }
    let (baton, _, _) = in_memory_with(calm());
    story(&workspace(&baton)).await;
    for cut in 0..=all.len() {
        assert_eq!(cut_at(&baton, cut, true, &all[..]).await[..all.len()], all, "past, cut {cut}");
        let (fresh, _, _) = in_memory_with(calm());
        shared(&fresh).set("before", 0).await.unwrap();
        assert_eq!(cut_at(&fresh, cut, false, &all[..]).await, all, "live, cut {cut}");
    }
    // Nothing of a completely delivered commit is delivered again.
    let ada = workspace(&baton);
    let mut watch = ada.watch("state/**").await.unwrap();
    story(&ada).await;
    let mut seen = Vec::new();
    for (count, resume_from) in [(1, 14), (1, 14), (1, 14), (1, 15), (1, 16)] {
        take(&mut watch, count, &mut seen).await;
        assert_eq!(watch.resume_from(), Revision(resume_from), "after {seen:?}");
    }
}

#[tokio::test]
async fn a_snapshot_too_large_to_begin_with_is_refused_and_leaves_nothing_behind() {
    let (baton, _, _) = in_memory_with(Options { watch_snapshot_max: 5, ..calm() });
    let ada = workspace(&baton);
    write(&ada, 10).await;
    let refused = ada.watch("state/**").with_snapshot().await.map(|_| ()).unwrap_err();
    assert_eq!(refused, EngineError::SnapshotTooLarge { max: 5 }.into());
    let mut narrow = ada.watch("state/shared/key:1").with_snapshot().await.unwrap();
    let Some(Ok(Item::Snapshot { entries, .. })) = narrow.next().await else {
        panic!("a snapshot")
    };
    assert_eq!(entries.len(), 1);
}

#[tokio::test]
async fn a_watch_starts_with_a_snapshot_or_from_a_revision() {
    let (baton, _, _) = in_memory();
    let ada = workspace(&baton);
    write(&ada, 3).await;
    let both = ada.watch("state/**").from(1).with_snapshot().await.map(|_| ()).unwrap_err();
    assert_eq!((both.code(), both.kind()), ("request.bad_field", Kind::Invalid), "{both}");
    assert!(both.to_string().contains("`from`"), "{both}");
}

#[tokio::test]
async fn a_watcher_keeps_its_workspace_in_memory_until_it_ends() {
    let (baton, _, clock) = in_memory_with(crate::harness::forgetful());
    let ada = workspace(&baton);
    let mut watch = ada.watch("**").await.unwrap();
    clock.advance(10);
    write(&ada, 3).await;
    for _ in 0..200 {
        std::thread::yield_now();
        assert_eq!(baton.resident_workspaces(), 1, "it is watched");
    }
    assert_eq!(revisions(&mut watch, 3).await, [1, 2, 3]);
    drop(watch);
    eventually("it has left memory", async || baton.resident_workspaces() == 0).await;
    let mut watch = ada.watch("**").from(2).await.unwrap();
    assert_eq!(revisions(&mut watch, 2).await, [2, 3]);
}

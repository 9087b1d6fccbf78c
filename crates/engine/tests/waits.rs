//! Waiting calls: answered once, in order of arrival, by the commits of others; and a caller that
//! has gone leaves nothing behind.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use baton::clock::ManualClock;
use baton::core::agent::Status;
use baton::core::lock::{Acquire, Command, Hold, Lock, Query, Reply as LockReply};
use baton::core::{Kind, LockName, Reply, Token};
use baton::error::Error as EngineError;
use baton::log::Log;
use baton::log::faulty::FaultyDisk;
use baton::{Baton, Error, Options, Workspace};
use serde_json::json;

use crate::gated_log::GatedLog;
use crate::harness::{
    BEGINNING, calm, eventually, folder, forgetful, in_memory, in_memory_with, next_event, on_disk,
    on_memory, open, shared, tick, value_of_bytes, workspace,
};

fn door() -> LockName {
    LockName::parse("door").expect("the name is valid")
}

fn acquire(wait_ms: u64) -> Command {
    Command::Acquire(Acquire { name: door(), ttl_ms: None, wait_ms: Some(wait_ms) })
}

fn agent(baton: &Baton, name: &str) -> Workspace {
    workspace(baton).as_agent(name).expect("the name is valid")
}

async fn take(workspace: &Workspace, wait_ms: u64) -> Result<Option<Hold>, Error> {
    match workspace.execute(acquire(wait_ms)).await?.reply {
        Reply::Lock(LockReply::Hold(hold)) => Ok(hold),
        reply => panic!("the engine answered with {reply:?}"),
    }
}

async fn release(workspace: &Workspace, token: Token) -> Result<(), Error> {
    workspace.execute(Command::Release { name: door(), token }).await.map(drop)
}

async fn look(workspace: &Workspace) -> Lock {
    match workspace.ask(Query::Get { name: door() }).await.unwrap().reply {
        Reply::Lock(LockReply::Lock(lock)) => lock,
        reply => panic!("the engine answered with {reply:?}"),
    }
}

async fn line(workspace: &Workspace) -> Vec<String> {
    look(workspace).await.waiters.iter().map(|wait| wait.agent.to_string()).collect()
}

/// Starts to wait; the call is queued when this returns.
async fn begin(baton: &Baton, name: &str, wait_ms: u64) -> Call {
    let waiting = agent(baton, name);
    let caller = waiting.clone();
    let call = tokio::spawn(async move { take(&caller, wait_ms).await });
    eventually("the call waits", async || line(&waiting).await.contains(&name.to_owned())).await;
    call
}

type Call = tokio::task::JoinHandle<Result<Option<Hold>, Error>>;

#[tokio::test]
async fn a_lock_is_granted_in_order_of_arrival() {
    let (baton, _log, _clock) = in_memory();
    let ada = workspace(&baton);
    let mut held = take(&ada, 0).await.unwrap().expect("it is free");
    let mut holder = ada.clone();
    let mut calls = Vec::new();
    for name in ["bob", "eve", "zoe"] {
        calls.push((name, begin(&baton, name, 60_000).await));
    }
    let mut watch = ada.watch("locks/*").await.unwrap();
    for (name, call) in calls {
        release(&holder, held.token).await.unwrap();
        let next = call.await.unwrap().unwrap().expect("it was released");
        assert_eq!(next.holder.as_str(), name);
        assert!(next.token > held.token, "tokens grow");
        let released = next_event(&mut watch).await;
        let acquired = next_event(&mut watch).await;
        assert_eq!((released.1.as_str(), acquired.1.as_str()), ("lock.released", "lock.acquired"));
        assert_eq!(released.0, acquired.0, "it is handed over in the commit that frees it");
        assert_eq!(
            release(&holder, held.token).await.unwrap_err().code(),
            "lock.stale_token",
            "the releasing agent holds nothing any more"
        );
        (held, holder) = (next, ada.as_agent(name).unwrap());
    }
    assert_eq!(line(&ada).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_next_holder_of_a_lock_is_answered_before_the_previous_one() {
    let (baton, _log, _clock) = in_memory();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 60_000).await;
    release(&ada, held.token).await.unwrap();
    assert!(call.is_finished(), "it was delayed by a call that is not polled");
}

/// The same if another thread writes: it wakes both.
#[tokio::test]
async fn the_next_holder_of_a_lock_is_answered_first_on_a_slow_disk_too() {
    let log = GatedLog::default();
    let options = Options { inline_batches_max: 0, ..calm() };
    let baton = Baton::on(log.clone(), ManualClock::at(BEGINNING), options).unwrap();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 60_000).await;
    // Deferred batches are written, so that the next append is that of the release.
    shared(&baton).set("plan", 1).await.unwrap();
    log.close();
    let releasing = tokio::spawn(async move { release(&ada, held.token).await });
    eventually("the release is being written", async || log.waiting() == 1).await;
    assert!(!call.is_finished(), "it was granted before it was durable");
    log.open();
    releasing.await.unwrap().unwrap();
    assert!(call.is_finished(), "it was delayed by a call that is not polled");
}

#[tokio::test]
async fn watches_receive_events_about_waiting_calls_only_if_they_ask() {
    let (baton, _log, _clock) = in_memory();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let mut plain = ada.watch("locks/*").await.unwrap();
    let mut by_pattern = ada.watch("locks/*").kind("lock.*").await.unwrap();
    let mut by_name = ada.watch("locks/*").kind("lock.queued").await.unwrap();
    let mut all = ada.watch("locks/*").with_waits().await.unwrap();
    let call = begin(&baton, "bob", 60_000).await;
    release(&ada, held.token).await.unwrap();
    call.await.unwrap().unwrap().expect("it was released");
    for (watch, expected) in [
        (&mut plain, &["lock.released", "lock.acquired"][..]),
        (&mut by_pattern, &["lock.released", "lock.acquired"]),
        (&mut by_name, &["lock.queued"]),
        (&mut all, &["lock.queued", "lock.released", "lock.acquired"]),
    ] {
        for kind in expected {
            assert_eq!(next_event(watch).await.1, *kind);
        }
    }
}

/// No other caller is notified by it, so it is not written at once.
#[tokio::test]
async fn a_waiting_call_is_recorded_without_a_later_commit() {
    let (baton, log, _clock) = in_memory();
    take(&workspace(&baton), 0).await.unwrap().expect("it is free");
    let before = log.tail();
    let _call = tokio::spawn(async move { take(&agent(&baton, "bob"), 60_000).await });
    eventually("it is in the log", async || log.tail() > before).await;
}

#[tokio::test]
async fn a_wait_that_times_out_returns_nothing() {
    let (baton, _log, clock) = in_memory();
    let ada = workspace(&baton);
    take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 5_000).await;
    clock.advance(4_999);
    tick(&baton).await;
    assert_eq!(line(&ada).await, ["bob"], "not before its time");
    clock.advance(1);
    tick(&baton).await;
    assert_eq!(call.await.unwrap().unwrap(), None);
    assert_eq!(line(&ada).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_expired_hold_goes_to_the_next_waiter() {
    let (baton, _log, clock) = in_memory();
    let ada = workspace(&baton);
    let first = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 3_600_000).await;
    clock.advance(first.ttl_ms);
    tick(&baton).await;
    let second = call.await.unwrap().unwrap().expect("the hold is over");
    assert_eq!(second.holder.as_str(), "bob");
    assert_eq!(release(&ada, first.token).await.unwrap_err().kind(), Kind::Stale);
}

#[tokio::test]
async fn a_caller_that_leaves_is_removed_from_the_queue_and_granted_nothing() {
    let (baton, _log, _clock) = in_memory();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let gone = begin(&baton, "bob", 60_000).await;
    let stays = begin(&baton, "eve", 60_000).await;
    gone.abort();
    eventually("the line is shorter", async || line(&ada).await == ["eve"]).await;
    release(&ada, held.token).await.unwrap();
    assert_eq!(stays.await.unwrap().unwrap().unwrap().holder.as_str(), "eve");
}

#[tokio::test]
async fn a_call_dropped_after_any_number_of_polls_leaves_no_wait() {
    for polls in 0..6 {
        let (baton, _log, _clock) = in_memory();
        let ada = workspace(&baton);
        take(&ada, 0).await.unwrap().expect("it is free");
        {
            let bob = agent(&baton, "bob");
            let mut call = pin!(take(&bob, 60_000));
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..polls {
                assert!(matches!(call.as_mut().poll(&mut context), Poll::Pending));
            }
        }
        eventually("no call waits", async || line(&ada).await.is_empty()).await;
    }
}

#[tokio::test]
async fn no_call_waits_after_a_restart_and_holds_stay() {
    let folder = folder();
    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 60_000).await;
    drop(ada);
    baton.close().await;
    assert_eq!(call.await.unwrap().unwrap_err(), EngineError::Closed.into());

    let baton = open(folder.path()).await;
    let ada = workspace(&baton);
    let lock = look(&ada).await;
    assert_eq!(lock.hold.map(|hold| hold.token), Some(held.token), "a hold outlives the process");
    assert_eq!(lock.waiters, [], "a caller does not");
    release(&ada, held.token).await.unwrap();
    let next = take(&ada, 0).await.unwrap().expect("no call waits for it");
    assert!(next.token > held.token, "tokens grow over restarts");
}

#[tokio::test]
async fn a_workspace_with_a_waiting_call_stays_in_memory() {
    let (baton, _log, _clock) = in_memory_with(forgetful());
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 60_000).await;
    let other = baton.workspace("other").unwrap();
    for _ in 0..50 {
        // Unused workspaces leave memory in the meantime.
        other.state("shared").set("a", 1).await.unwrap();
        tick(&baton).await;
    }
    assert!(!call.is_finished());
    release(&ada, held.token).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap().unwrap().holder.as_str(), "bob");
}

#[tokio::test]
async fn a_waiting_agent_is_not_lost_and_has_its_full_ttl_afterwards() {
    let (baton, log, clock) = in_memory_with(calm());
    let ada = workspace(&baton);
    let hold = Acquire { name: door(), ttl_ms: Some(3_600_000), wait_ms: None };
    ada.execute(Command::Acquire(hold)).await.unwrap();
    for name in ["bob", "eve", "zoe"] {
        agent(&baton, name).agents().register().ttl_ms(1_000).await.unwrap();
    }
    let timed_out = begin(&baton, "bob", 30_000).await;
    let gone = begin(&baton, "eve", 3_600_000).await;
    let interrupted = begin(&baton, "zoe", 3_600_000).await;
    let before = ada.revision().await.unwrap();
    for _ in 0..14 {
        clock.advance(2_000);
        tick(&baton).await;
    }
    assert_eq!(ada.revision().await.unwrap(), before, "that they wait is not recorded again");
    clock.advance(2_000);
    tick(&baton).await;
    assert_eq!(timed_out.await.unwrap().unwrap(), None);
    gone.abort();
    eventually("eve has left the queue", async || line(&ada).await == ["zoe"]).await;
    let is_active = async |ada: &Workspace, name: &str| {
        ada.agents().get(name).await.unwrap().status == Status::Active
    };
    clock.advance(1_249);
    tick(&baton).await;
    for name in ["bob", "eve", "zoe"] {
        assert!(is_active(&ada, name).await, "{name} was lost early");
    }
    clock.advance(1);
    tick(&baton).await;
    // Sessions end on a thread of the engine, which may be late.
    for name in ["bob", "eve"] {
        eventually("the session has ended", async || !is_active(&ada, name).await).await;
    }
    assert!(is_active(&ada, "zoe").await, "zoe waits");
    // No call survives a restart, and every session has its whole time after one.
    baton.close().await;
    interrupted.await.unwrap().unwrap_err();
    clock.advance(3_600_000);
    let baton = on_memory(&log, &clock, calm());
    let ada = workspace(&baton);
    assert!(is_active(&ada, "zoe").await);
    clock.advance(1_249);
    tick(&baton).await;
    assert!(is_active(&ada, "zoe").await, "zoe was lost early");
    clock.advance(1_250);
    tick(&baton).await;
    eventually("zoe is lost", async || !is_active(&ada, "zoe").await).await;
}

#[tokio::test]
async fn the_same_request_again_takes_the_place_of_the_first() {
    let (baton, _log, _clock) = in_memory();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let bob = agent(&baton, "bob").once("k").unwrap();
    let first = tokio::spawn({
        let bob = bob.clone();
        async move { take(&bob, 60_000).await }
    });
    eventually("the call waits", async || line(&ada).await == ["bob"]).await;
    let eve = begin(&baton, "eve", 60_000).await;
    let second = tokio::spawn({
        let bob = bob.clone();
        async move { take(&bob, 60_000).await }
    });
    eventually("the first is answered", async || first.is_finished()).await;
    assert!(first.await.unwrap().unwrap_err().is_unknown());
    assert_eq!(line(&ada).await, ["bob", "eve"], "the place in line is kept");
    release(&ada, held.token).await.unwrap();
    let granted = second.await.unwrap().unwrap().expect("it was the first in line");
    let again = take(&bob, 60_000).await.unwrap();
    assert_eq!(again, Some(granted), "and repeated once it was answered");
    eve.abort();
}

#[tokio::test]
async fn a_failed_write_is_reported_to_waiting_calls_and_leaves_no_ghost() {
    let disk = FaultyDisk::new(7);
    let baton = on_disk(&disk, calm()).unwrap();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    let call = begin(&baton, "bob", 3_600_000).await;
    disk.set_capacity(Some(disk.bytes_used()));
    let large = value_of_bytes(100_000);
    loop {
        match shared(&baton).set("large", large.clone()).await {
            Ok(_) => {}
            Err(error) => break assert_eq!(error, EngineError::Full.into()),
        }
    }
    assert_eq!(call.await.unwrap().unwrap_err(), EngineError::Full.into());
    disk.set_capacity(None);
    eventually("no call waits", async || line(&ada).await.is_empty()).await;
    release(&ada, held.token).await.unwrap();
    assert!(take(&ada, 0).await.unwrap().is_some());
}

#[tokio::test]
async fn silence_without_a_server_ends_no_hold() {
    let (baton, log, clock) = in_memory();
    let ada = workspace(&baton);
    let held = take(&ada, 0).await.unwrap().expect("it is free");
    drop(ada);
    drop(baton);
    clock.advance(held.ttl_ms * 3);
    let baton = on_memory(&log, &clock, calm());
    let ada = workspace(&baton);
    tick(&baton).await;
    let renew = Command::Renew { name: door(), token: held.token, ttl_ms: None };
    ada.execute(renew).await.expect("it could not have been renewed before");
    clock.advance(held.ttl_ms);
    tick(&baton).await;
    eventually("the hold is over", async || look(&ada).await.hold.is_none()).await;
    assert_eq!(shared(&baton).set("a", json!(1)).await.unwrap().version().0, 1);
}

//! Tests with wrong clocks, and with suspended engines.

use std::sync::Arc;

use baton_core::wire::{Call, Frame};
use baton_core::{AgentId, Answer, Timestamp, WorkspaceName};
use baton_log::{Log, MemoryLog};

use super::name;
use crate::admission::Admission;
use crate::clock::{Clock, ManualClock};
use crate::machine::Queued;
use crate::options::Options;
use crate::shard::{Flushed, Shard};

const BEFORE: Timestamp = Timestamp(100_000_000);
const HOUR_MS: u64 = 3_600_000;

fn on<L: Log>(log: L, clock: &ManualClock) -> Shard<L> {
    Shard::open(log, Arc::new(clock.clone()), Options::default()).unwrap()
}

fn submit<L: Log>(shard: &Shard<L>, agent: &str, text: &str) -> Admission<Queued, ()> {
    let Call::Command(command) = Frame::parse(text).unwrap().call().unwrap() else {
        panic!("it is a command")
    };
    let agent = AgentId::parse(agent).unwrap();
    match shard.submit(&name(), command.into(), &agent) {
        Admission::Answer(held) => Admission::Answer(held),
        Admission::Wait(queued) => Admission::Wait(queued),
        Admission::Retry(..) => panic!("it is in memory"),
    }
}

fn say<L: Log>(shard: &Shard<L>, agent: &str, text: &str) -> Answer {
    submit(shard, agent, text).answer().expect("it is decided").open(u64::MAX).unwrap()
}

/// A task and a lock are held, then the process ends.
fn held(log: &MemoryLog) {
    let clock = ManualClock::at(BEFORE);
    let shard = on(log.clone(), &clock);
    shard.load(&name()).unwrap();
    say(
        &shard,
        "ada",
        r#"{"command":"task.create","type":"write","task":"report","max_retries":3}"#,
    );
    say(&shard, "ada", r#"{"command":"task.claim","lease_ms":60000}"#);
    say(&shard, "ada", r#"{"command":"lock.acquire","name":"door","ttl_ms":60000}"#);
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
}

fn lock_of(shard: &Shard<MemoryLog>) -> String {
    let answer = say(shard, "bob", r#"{"command":"lock.acquire","name":"other","ttl_ms":1000}"#);
    format!("{answer:?}")
}

#[test]
fn time_continues_from_the_data_if_the_clock_is_behind() {
    for behind_ms in [1, 8_000, HOUR_MS, 20 * HOUR_MS] {
        let log = MemoryLog::default();
        held(&log);
        let clock = ManualClock::at(Timestamp(BEFORE.0 - behind_ms));
        let shard = on(log, &clock);
        shard.load(&name()).unwrap();
        let door = r#"{"command":"lock.acquire","name":"door","wait_ms":600000}"#;
        let Admission::Wait(Queued { waiter: _, .. }) = submit(&shard, "bob", door) else {
            panic!("it is held")
        };
        clock.advance(59_000);
        assert!(shard.expire().is_empty());
        let space_time =
            |shard: &Shard<MemoryLog>| shard.machine().resident(&name()).unwrap().space.time();
        lock_of(&shard);
        assert_eq!(space_time(&shard), BEFORE.after(59_000), "{behind_ms}");
        let next = shard.machine().next_deadline().unwrap();
        assert_eq!(next, clock.now().after(1_000), "the lease ends by the clock: {behind_ms}");
        clock.advance(1_000);
        assert!(shard.expire().is_empty());
        assert_eq!(space_time(&shard), BEFORE.after(60_000), "{behind_ms}");
        let claimed = say(&shard, "bob", r#"{"command":"task.claim","task":"report"}"#);
        assert!(format!("{claimed:?}").contains("bob"), "the task is free again: {behind_ms}");
    }
}

#[test]
fn an_evicted_workspace_is_loaded_for_its_deadline() {
    let log = MemoryLog::default();
    held(&log);
    let clock = ManualClock::at(Timestamp(BEFORE.0 - HOUR_MS));
    let shard = on(log, &clock);
    assert!(shard.expire().is_empty(), "nothing is due yet");
    clock.advance(60_000);
    assert_eq!(shard.expire(), [name()], "it must be loaded now, not in an hour");
}

/// The lease has ended in one commit, and the task becomes ready in the next, which is due at once.
#[test]
fn what_is_due_at_once_is_due_after_a_restart_too() {
    for has_snapshot in [false, true] {
        let log = MemoryLog::default();
        held(&log);
        let clock = ManualClock::at(BEFORE);
        let shard = on(log.clone(), &clock);
        shard.load(&name()).unwrap();
        clock.advance(60_000);
        assert!(shard.machine().expire(&name(), clock.now()), "it is in memory");
        assert!(matches!(shard.flush(), Flushed::Durable { .. }));
        if has_snapshot {
            shard.snapshot(&name()).unwrap();
            shard.archive(&name()).unwrap();
        }
        drop(shard);
        let shard = on(log, &clock);
        assert_eq!(shard.expire(), [name()], "it must be loaded now");
        shard.load(&name()).unwrap();
        assert!(shard.expire().is_empty());
        let claimed = say(&shard, "bob", r#"{"command":"task.claim","task":"report"}"#);
        assert!(format!("{claimed:?}").contains("bob"), "the task is free again");
    }
}

#[test]
fn time_does_not_run_back_when_a_workspace_leaves_memory() {
    let log = MemoryLog::default();
    held(&log);
    let clock = ManualClock::at(Timestamp(BEFORE.0 - HOUR_MS));
    let shard = on(log, &clock);
    shard.load(&name()).unwrap();
    clock.advance(30_000);
    assert!(shard.machine().evict(&name()));
    assert_eq!(shard.machine().next_deadline(), Some(clock.now().after(30_000)));
    shard.load(&name()).unwrap();
    clock.advance(30_000);
    lock_of(&shard);
    let time = shard.machine().resident(&name()).unwrap().space.time();
    assert_eq!(time, BEFORE.after(60_000), "it has counted on meanwhile");
}

#[test]
fn other_workspaces_have_the_time_of_the_clock() {
    let log = MemoryLog::default();
    held(&log);
    let clock = ManualClock::at(Timestamp(BEFORE.0 - HOUR_MS));
    let shard = on(log, &clock);
    let fresh = WorkspaceName::parse("fresh").unwrap();
    shard.load(&fresh).unwrap();
    let Call::Command(set) =
        Frame::parse(r#"{"command":"event.emit","type":"x","payload":1}"#).unwrap().call().unwrap()
    else {
        panic!("it is a command")
    };
    let _ = shard.submit(&fresh, set.into(), &AgentId::parse("ada").unwrap());
    let time = shard.machine().resident(&fresh).unwrap().space.time();
    assert_eq!(time, clock.now());
}

#[test]
fn no_hold_is_lost_for_a_pause_of_the_process() {
    let log = MemoryLog::default();
    held(&log);
    let clock = ManualClock::at(BEFORE);
    let shard = on(log, &clock);
    shard.load(&name()).unwrap();
    // The process was stopped for much longer than the lease.
    clock.advance(HOUR_MS);
    shard.resume();
    assert!(shard.expire().is_empty());
    let renewed = r#"{"command":"task.heartbeat","task":"report","token":2}"#;
    say(&shard, "ada", renewed);
    clock.advance(61_000);
    assert!(shard.expire().is_empty());
    let door = r#"{"command":"lock.acquire","name":"door"}"#;
    say(&shard, "bob", door);
}

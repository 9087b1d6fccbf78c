//! Commits that take long, while other workspaces are served.

use super::*;
use crate::admission::Deferred;
use crate::error::Error;
use crate::machine::Job;

fn quiet() -> WorkspaceName {
    WorkspaceName::parse("quiet").unwrap()
}

fn command(text: &str) -> Command {
    match Frame::parse(text).unwrap().call().unwrap() {
        Call::Command(command) => command,
        _ => panic!("it is a command"),
    }
}

fn set(key: &str) -> Command {
    command(&format!(r#"{{"command":"state.set","namespace":"shared","key":"{key}","value":1}}"#))
}

fn say<L: Log>(
    shard: &Shard<L>,
    workspace: &WorkspaceName,
    command: Command,
) -> Admission<Queued, Request> {
    shard.submit(workspace, command.into(), &AgentId::parse("ada").unwrap())
}

/// Two workspaces, of which the first one reacts to every write and to every wait with writes.
fn reacting() -> Shard<MemoryLog> {
    reacting_at(&ManualClock::at(Timestamp(1_000_000)))
}

fn reacting_at(clock: &ManualClock) -> Shard<MemoryLog> {
    let log = MemoryLog::default();
    let shard = Shard::open(log, Arc::new(clock.clone()), Options::default()).unwrap();
    shard.load(&name()).unwrap();
    shard.load(&quiet()).unwrap();
    let write = r#"{"command":"state.set","namespace":"shared","key":"seen","value":"{{type}}"}"#;
    for (number, on) in [
        r#"{"subject":"state/shared/in"}"#,
        r#"{"subject":"state/shared/in"}"#,
        r#"{"type":"lock.queued"}"#,
        r#"{"type":"lock.queued"}"#,
    ]
    .iter()
    .enumerate()
    {
        let _ = say(
            &shard,
            &name(),
            command(&format!(
                r#"{{"command":"reaction.add","name":"r{number}","on":{on},
                    "do":[{write},{write},{write}]}}"#
            )),
        );
    }
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    shard.machine().limit_slices(3);
    shard
}

fn queued(admission: Admission<Queued, Request>) -> Queued {
    match admission {
        Admission::Wait(queued) => queued,
        Admission::Answer(_) | Admission::Retry(..) => panic!("it takes long"),
    }
}

fn job(shard: &Shard<MemoryLog>) -> Job {
    let mut jobs = shard.machine().take_jobs();
    assert_eq!(jobs.len(), 1, "one at a time");
    jobs.remove(0)
}

fn revision<L: Log>(shard: &Shard<L>, workspace: &WorkspaceName) -> Revision {
    shard.machine().resident(workspace).unwrap().space.revision()
}

#[test]
fn while_a_long_commit_is_finished_other_workspaces_are_served() {
    let shard = reacting();
    let long = queued(say(&shard, &name(), set("in")));
    let job = job(&shard);
    for number in 0..3 {
        let answer = say(&shard, &quiet(), set(&format!("k{number}"))).answer();
        assert!(matches!(shard.flush(), Flushed::Durable { .. }));
        let answer = answer.unwrap().open(shard.machine().durable()).unwrap();
        assert_eq!(answer.revision, Revision(number + 1));
    }
    let finished = job.run();
    assert!(long.waiter.result().is_none(), "it is not committed yet");
    shard.machine().take_back(finished, shard.clock.now());
    assert!(long.waiter.result().is_none(), "it is not durable yet");
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    let answer = long.waiter.result().unwrap().unwrap().unwrap();
    assert_eq!(answer.revision, Revision(5));
    let work: Vec<_> = shard.machine().take_heavy();
    assert!(work.iter().any(|(workspace, work)| *workspace == name() && *work > 8), "{work:?}");
    let live = shard.machine().resident(&name()).unwrap().space.head();
    let again = open(shard.log.clone());
    assert_eq!(again.machine().resident(&name()).unwrap().space.head(), live);
}

#[test]
fn no_caller_sees_a_workspace_between_two_revisions() {
    let shard = reacting();
    let clock = shard.clock.now();
    let _long = queued(say(&shard, &name(), set("in")));
    let job = job(&shard);
    let settled = RetryAfter::Settled;
    let again = say(&shard, &name(), set("other"));
    assert!(matches!(again, Admission::Retry(_, after) if after == settled));
    let query = Query::State(StateQuery::Get(Get {
        namespace: NamespaceName::shared(),
        key: key("in"),
        at: None,
    }));
    assert!(matches!(shard.ask(&name(), &query, None), Admission::Retry((), RetryAfter::Settled)));
    let ada = AgentId::parse("ada").unwrap();
    assert!(shard.fast_get(&name(), ("shared", "seen"), &ada).is_none());
    let pattern = Pattern::parse("**").unwrap();
    let filter = Filter { pattern, kinds: Vec::new(), waits: true };
    assert!(shard.watch(&name(), &filter).is_none());
    let mut machine = shard.machine();
    assert!(!machine.evict(&name()), "it stays in memory");
    assert!(machine.take_if_empty(&name(), Revision(99)).is_none());
    assert!(machine.calling().is_empty());
    machine.resume(clock);
    let settling = machine.settling(&name()).unwrap();
    machine.take_back(job.run(), clock);
    assert!(settling.take().is_some(), "those that wait are woken");
    assert!(machine.settling(&name()).is_none());
    drop(machine);
    assert!(say(&shard, &name(), set("other")).answer().is_some());
}

#[test]
fn maintenance_gets_a_workspace_before_the_requests_that_wait() {
    let shard = reacting();
    let _long = queued(say(&shard, &name(), set("in")));
    let job = job(&shard);
    let mut machine = shard.machine();
    let settling = machine.settling(&name()).unwrap();
    machine.reserve(&name());
    machine.take_back(job.run(), Timestamp(1_000_000));
    assert!(settling.take().is_none(), "maintenance is next");
    drop(machine);
    assert!(say(&shard, &name(), set("other")).is_retry());
    shard.machine().release(&name());
    assert!(settling.take().is_some());
    assert!(say(&shard, &name(), set("other")).answer().is_some());
}

#[test]
fn a_long_commit_that_is_abandoned_had_no_effect() {
    let shard = reacting();
    let long = queued(say(&shard, &name(), set("in")));
    let job = job(&shard);
    let settling = shard.machine().settling(&name()).unwrap();
    let (_, wakers) = shard.machine().abandon(shard.clock.now(), &Error::Full);
    wakers.wake();
    assert!(matches!(long.waiter.result(), Some(Err(Error::Full))));
    assert!(settling.take().is_some(), "the others find that it has to be loaded");
    shard.load(&name()).unwrap();
    shard.machine().take_back(job.run(), shard.clock.now());
    assert_eq!(revision(&shard, &name()), Revision(4));
    assert_eq!(shard.flush(), Flushed::Nothing);
}

#[test]
fn a_caller_that_leaves_while_its_wait_begins_leaves_no_wait() {
    let shard = reacting();
    let acquire = r#"{"command":"lock.acquire","name":"l","wait_ms":60000}"#;
    let bob = AgentId::parse("bob").unwrap();
    let _held = say(&shard, &name(), command(acquire));
    let long = queued(shard.submit(&name(), command(acquire).into(), &bob));
    let job = job(&shard);
    shard.machine().give_up(&long.waiter, shard.clock.now());
    shard.machine().take_back(job.run(), shard.clock.now());
    let mut machine = shard.machine();
    assert_eq!(machine.resident(&name()).unwrap().space.waits().count(), 0);
}

#[test]
fn a_call_that_waits_after_long_reactions_is_answered_when_its_time_has_come() {
    let shard = reacting();
    let acquire = r#"{"command":"lock.acquire","name":"l","wait_ms":60000}"#;
    let bob = AgentId::parse("bob").unwrap();
    let _held = say(&shard, &name(), command(acquire));
    let long = queued(shard.submit(&name(), command(acquire).into(), &bob));
    let job = job(&shard);
    shard.machine().take_back(job.run(), shard.clock.now());
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert!(long.waiter.result().is_none(), "the lock is held");
    let release = command(r#"{"command":"lock.release","name":"l","token":5}"#);
    let _ = say(&shard, &name(), release);
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert!(long.waiter.result().unwrap().unwrap().is_ok());
}

#[test]
fn deadlines_during_long_work_are_met_afterwards() {
    let clock = ManualClock::at(Timestamp(1_000_000));
    let shard = reacting_at(&clock);
    let _held =
        say(&shard, &name(), command(r#"{"command":"lock.acquire","name":"l","ttl_ms":1000}"#));
    let _long = queued(say(&shard, &name(), set("in")));
    let job = job(&shard);
    clock.advance(60_000);
    assert!(shard.expire().is_empty(), "it is in memory");
    assert_eq!(shard.machine().due(clock.now()), []);
    shard.machine().take_back(job.run(), clock.now());
    assert_eq!(shard.machine().due(clock.now()), [name()]);
    assert!(shard.expire().is_empty());
    assert_eq!(shard.machine().due(clock.now()), []);
}

#[test]
fn while_a_workspace_is_read_for_long_other_workspaces_are_served() {
    let shard = reacting();
    let _ = say(&shard, &name(), set("a"));
    let read = shard.read_apart(&name(), |space| {
        assert!(say(&shard, &quiet(), set("k")).answer().is_some());
        assert!(say(&shard, &name(), set("b")).is_retry(), "it would change what is read");
        space.revision()
    });
    let held = read.unwrap();
    assert!(held.group() > 0, "what was read is not durable yet");
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert_eq!(held.open(shard.machine().durable()), (Revision(5), Revision(5)));
    assert!(say(&shard, &name(), set("b")).answer().is_some());
    let check = Frame::parse(r#"{"command":"contract.check"}"#).unwrap().call().unwrap();
    let Call::Query(check) = check else { panic!("it is a query") };
    assert!(matches!(shard.ask(&name(), &check, None), Admission::Wait(_)), "not here");
}

#[test]
fn a_reader_that_fails_returns_the_workspace() {
    let shard = reacting();
    let read = std::panic::AssertUnwindSafe(|| {
        let _ = shard.read_apart(&name(), |_| panic!("it cannot be read"));
    });
    assert!(std::panic::catch_unwind(read).is_err());
    assert!(say(&shard, &name(), set("a")).answer().is_some());
}

/// A namespace whose values are checked.
fn checking() -> Shard<MemoryLog> {
    let shard = reacting();
    shard.machine().limit_slices(usize::MAX);
    let create = r#"{"command":"namespace.create","name":"checked",
        "rules":{"schema":{"type":"string","pattern":"^x*$"}}}"#;
    let _ = say(&shard, &name(), command(create));
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    shard.machine().limit_slices(3);
    shard
}

fn checked(letter: &str) -> Command {
    let value = letter.repeat(4_096);
    command(&format!(
        r#"{{"command":"state.set","namespace":"checked","key":"k","value":"{value}"}}"#
    ))
}

#[test]
fn while_a_large_value_is_checked_other_workspaces_are_served() {
    let shard = checking();
    let long = queued(say(&shard, &name(), checked("x")));
    let job = job(&shard);
    assert!(say(&shard, &quiet(), set("k")).answer().is_some());
    assert!(say(&shard, &name(), set("other")).is_retry(), "it may depend on it");
    shard.machine().take_back(job.run(), shard.clock.now());
    assert!(long.waiter.result().is_none(), "it is not durable yet");
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    let answer = long.waiter.result().unwrap().unwrap().unwrap();
    assert_eq!(answer.revision, Revision(6));
    let again = open(shard.log.clone());
    assert_eq!(revision(&again, &name()), Revision(6));
}

#[test]
fn while_a_large_hand_off_is_decided_other_workspaces_are_served() {
    let shard = reacting();
    let plan = "x".repeat(4_096);
    let offer = format!(r#"{{"command":"handoff.offer","to":"bob","state":{{"plan":"{plan}"}}}}"#);
    let long = queued(say(&shard, &name(), command(&offer)));
    let job = job(&shard);
    assert!(say(&shard, &quiet(), set("k")).answer().is_some());
    assert!(say(&shard, &name(), set("other")).is_retry(), "it may depend on it");
    shard.machine().take_back(job.run(), shard.clock.now());
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert!(long.waiter.result().unwrap().unwrap().is_ok());
}

#[test]
fn a_refusal_of_a_large_value_waits_until_its_cause_is_durable() {
    let shard = checking();
    let _ = say(&shard, &name(), set("before"));
    let long = queued(say(&shard, &name(), checked("y")));
    let finished = job(&shard).run();
    shard.machine().take_back(finished, shard.clock.now());
    assert!(long.waiter.result().is_none(), "what it was decided against may be lost");
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert!(long.waiter.result().unwrap().unwrap().is_err());
    // With nothing in between, it is answered at once.
    let long = queued(say(&shard, &name(), checked("y")));
    let finished = job(&shard).run();
    let mut machine = shard.machine();
    machine.take_back(finished, shard.clock.now());
    let live_wakers = machine.take_live_wakers();
    drop(machine);
    live_wakers.wake();
    assert!(long.waiter.result().unwrap().unwrap().is_err());
    assert_eq!(shard.flush(), Flushed::Nothing);
    assert!(say(&shard, &name(), set("other")).answer().is_some());
}

#[test]
fn a_list_that_looks_at_many_entries_is_read_apart() {
    let shard = reacting();
    for number in 0..50 {
        let _ = say(&shard, &name(), set(&format!("k{number}")));
    }
    let list = |fields: &str| {
        let text = format!(r#"{{"command":"state.list","namespace":"shared"{fields}}}"#);
        match Frame::parse(&text).unwrap().call().unwrap() {
            Call::Query(query) => shard.ask(&name(), &query, None),
            _ => panic!("it is a query"),
        }
    };
    assert!(list(r#","limit":10"#).answer().is_some());
    assert!(matches!(list(r#","limit":49"#), Admission::Wait(Deferred::Long)));
    assert!(matches!(list(r#","pattern":"*9","limit":10"#), Admission::Wait(Deferred::Long)));
}

/// Maintenance waits for the tables of a workspace while a reader has them. The next reader, which
/// comes when they are back, does not find that the workspace has left memory.
#[test]
fn a_reader_gets_tables_that_another_thread_has_reserved() {
    let shard = reacting();
    let _ = say(&shard, &quiet(), set("plan"));
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    shard.machine().reserve(&quiet());
    let pattern = Pattern::parse("state/**").unwrap();
    let (entries, _) = shard.matching(&quiet(), &pattern).unwrap().open(u64::MAX);
    assert_eq!(entries.len(), 1);
    // A request would have taken its turn before the thread that has reserved them.
    assert!(shard.machine().lend(&quiet()).is_none());
    drop(shard.settled(&quiet()));
}

//! Bugs found by the simulator, as readable scenarios.

mod clocks;
mod live;
mod offload;

use std::path::PathBuf;
use std::sync::Arc;

use baton_core::state::{self, Delete, Diff, Get, History, Query as StateQuery, Set};
use baton_core::wire::{Call, Frame};
use baton_core::{
    AgentId, Command, Json, Key, LockName, Mutation, NamespaceName, Pattern, Query, Request,
    Revision, Rules, Timestamp, Token, WorkspaceName, lock, namespace, workspace,
};
use baton_log::faulty::{FaultyDisk, Operation};
use baton_log::{FileLog, Log, MemoryLog, Options as LogOptions, Prepare};

use crate::admission::{Admission, HeldAnswer, RetryAfter};
use crate::clock::{Clock, ManualClock};
use crate::machine::Queued;
use crate::options::Options;
use crate::shard::{Flushed, Shard};
use crate::watch::Filter;

fn open<L: Log>(log: L) -> Shard<L> {
    let clock = Arc::new(ManualClock::at(Timestamp(1_000_000)));
    let shard = Shard::open(log, clock, Options::default()).unwrap();
    shard.load(&name()).unwrap();
    shard
}

fn name() -> WorkspaceName {
    WorkspaceName::parse("w").unwrap()
}

fn key(text: &str) -> Key {
    Key::parse(text).unwrap()
}

fn notes() -> NamespaceName {
    NamespaceName::parse("notes").unwrap()
}

fn submit<L: Log>(shard: &Shard<L>, command: impl Into<Command>) -> HeldAnswer {
    let ada = AgentId::parse("ada").unwrap();
    shard.submit(&name(), command.into().into(), &ada).answer().unwrap()
}

fn write<L: Log>(shard: &Shard<L>, namespace: NamespaceName, text: &str) {
    let value = Json::parse("1").unwrap();
    let _ = submit(shard, state::Command::Set(Set::new(namespace, key(text), value)));
}

fn write_durably<L: Log>(shard: &Shard<L>, text: &str) {
    write(shard, NamespaceName::shared(), text);
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
}

fn keep_one_revision<L: Log>(shard: &Shard<L>) {
    let (history_count, history_age_ms) = (Some(1), None);
    let _ = submit(shard, workspace::Command::Configure { history_count, history_age_ms });
}

fn get<L: Log>(shard: &Shard<L>, namespace: NamespaceName, text: &str) -> HeldAnswer {
    let query = Query::State(StateQuery::Get(Get { namespace, key: key(text), at: None }));
    shard.ask(&name(), &query, None).answer().unwrap()
}

#[test]
fn a_read_returns_no_revision_that_may_still_be_lost() {
    let shard = open(MemoryLog::default());
    write_durably(&shard, "old");
    write(&shard, NamespaceName::shared(), "new");
    let held = get(&shard, NamespaceName::shared(), "old");
    assert_eq!(held.group(), 0, "what was read is durable");
    assert_eq!(held.open(0).unwrap().revision, Revision(1));
    assert!(get(&shard, NamespaceName::shared(), "new").group() > 0);
}

#[test]
fn a_new_namespace_is_not_visible_before_it_is_durable() {
    let shard = open(MemoryLog::default());
    let (name, rules) = (notes(), Rules::default());
    let _ = submit(&shard, namespace::Command::Create { name, rules });
    let held = get(&shard, notes(), "absent");
    assert!(held.group() > 0, "that the key is absent from it tells that the namespace is there");
}

#[test]
fn a_workspace_is_loaded_from_a_base_newer_than_the_snapshot() {
    let log = MemoryLog::default();
    let shard = open(log.clone());
    write_durably(&shard, "a");
    shard.snapshot(&name()).unwrap();
    keep_one_revision(&shard);
    write_durably(&shard, "b");
    write_durably(&shard, "c");
    shard.archive(&name()).unwrap();
    write_durably(&shard, "d");
    write_durably(&shard, "e");
    assert!(shard.next_compaction_job().is_some(), "looking for chores raises the floor");
    shard.fold(&name()).unwrap();
    assert!(log.list_blobs("").unwrap().iter().any(|blob| blob.contains("base-")));

    let again = open(log);
    let revision = again.machine().resident(&name()).unwrap().space.revision();
    assert_eq!(revision, Revision(6));
}

#[test]
fn files_left_by_a_failed_attempt_are_written_again() {
    let log = MemoryLog::default();
    let shard = open(log.clone());
    write_durably(&shard, "a");
    write_durably(&shard, "b");
    let run = crate::files::File::Run { first: 1, last: 2 }.name(&name());
    log.create_blob(&run).unwrap().commit().unwrap();
    shard.archive(&name()).unwrap();
    assert_eq!(shard.batches(&name(), Revision(1), Revision(2), 1_000).unwrap().len(), 2);
}

#[test]
fn a_snapshot_that_is_newer_than_the_log_is_refused() {
    let log = MemoryLog::default();
    let shard = open(log.clone());
    write_durably(&shard, "a");
    write_durably(&shard, "b");
    shard.snapshot(&name()).unwrap();

    let shorter = MemoryLog::default();
    let first = log.read(log.start(), 1).unwrap().remove(0);
    shorter.append(shorter.tail(), &first.body).unwrap();
    let snapshot = log.list_blobs("").unwrap().remove(0);
    let blob = log.open_blob(&snapshot).unwrap().unwrap();
    let mut bytes = vec![0; usize::try_from(blob.len()).unwrap()];
    blob.read_at(0, &mut bytes).unwrap();
    let mut copy = shorter.create_blob(&snapshot).unwrap();
    copy.write(&bytes).unwrap();
    copy.commit().unwrap();

    let clock = Arc::new(ManualClock::at(Timestamp(1_000_000)));
    let again = Shard::open(shorter, clock, Options::default()).unwrap();
    assert_eq!(again.load(&name()).unwrap_err().code(), "engine.corrupt");
}

#[test]
fn history_is_not_forgotten_for_a_change_that_is_lost() {
    let disk = FaultyDisk::new(1);
    disk.refuse_direct(true);
    let options = LogOptions {
        segment_bytes: 65_536,
        prepare: Prepare::Inline,
        ..LogOptions::new(PathBuf::from("/data"))
    };
    let shard = open(FileLog::open_on(disk.clone(), options).unwrap());
    for text in ["a", "b", "c"] {
        write_durably(&shard, text);
    }
    shard.archive(&name()).unwrap();
    keep_one_revision(&shard);
    write(&shard, NamespaceName::shared(), "d");
    assert!(shard.next_compaction_job().is_some(), "looking for chores raises the floor");
    disk.fail_nth(Operation::Sync, disk.counts().sync);
    shard.fold(&name()).unwrap();
    assert!(shard.watermark().stopped().is_some(), "the write that it rests on has failed");
    shard.load(&name()).unwrap();
    let batches = shard.batches(&name(), Revision(1), Revision(3), 10_000).unwrap();
    assert_eq!(batches.len(), 3, "all of it is still there");
}

#[test]
fn a_difference_names_the_author_of_the_change() {
    let shard = open(MemoryLog::default());
    let (name_of, rules) = (notes(), Rules::default());
    let _ = submit(&shard, namespace::Command::Create { name: name_of, rules });
    write(&shard, notes(), "gone");
    let (namespace, key) = (notes(), key("gone"));
    let _ = submit(
        &shard,
        state::Command::Delete(Delete {
            namespace,
            key,
            expected_version: None,
            expected_revision: None,
        }),
    );
    let _ = submit(&shard, namespace::Command::Delete { name: notes() });
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    let name = name();
    let past = shard.past(&name, Revision(4)).unwrap();
    let changes = past.diff(&Diff { namespace: None, from: Revision(2), to: None }).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(
        (changes[0].revision, changes[0].operation.as_str()),
        (Revision(3), "state.deleted")
    );
}

#[test]
fn history_knows_that_a_namespace_went_within_the_same_commit() {
    let shard = open(MemoryLog::default());
    let create = |rules| Command::from(namespace::Command::Create { name: notes(), rules });
    let set = |text: &str| {
        let value = Json::parse(text).unwrap();
        Command::from(state::Command::Set(Set::new(notes(), key("k"), value)))
    };
    let _ = submit(&shard, create(Rules::default()));
    let _ = submit(&shard, set("1"));
    let delete = namespace::Command::Delete { name: notes() }.into();
    let commands = vec![delete, create(Rules::default()), set("2")];
    let mutation = Mutation::Transaction { require: Vec::new(), commands, optional: Vec::new() };
    let request = Request { mutation, idempotency_key: None };
    let admission = shard.submit(&name(), request, &AgentId::parse("ada").unwrap());
    assert!(admission.answer().is_some());
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));

    let name = name();
    let past = shard.past(&name, Revision(3)).unwrap();
    let (namespace, from) = (Some(notes()), Some(Revision(3)));
    let query = History { namespace, key: Some(key("k")), from, ..History::default() };
    let (changes, _) = past.history(&query).unwrap();
    let shown: Vec<_> = changes
        .iter()
        .map(|change| {
            let text = |value: &Option<Json>| value.as_ref().map(|json| json.as_str().to_owned());
            (change.operation.as_str(), text(&change.old_value), text(&change.new_value))
        })
        .collect();
    let (one, two) = (Some("1".to_owned()), Some("2".to_owned()));
    assert_eq!(shown, [("state.set", None, two), ("namespace.deleted", one, None)]);
}

/// Eviction was scheduled again and again although it could not be executed, and blocked all other
/// jobs of later workspaces.
#[test]
fn a_workspace_with_a_waiting_call_is_not_evicted() {
    let clock = ManualClock::at(Timestamp(1_000_000));
    let shard = Shard::open(MemoryLog::default(), Arc::new(clock.clone()), Options::default());
    let shard = shard.unwrap();
    shard.load(&name()).unwrap();
    let take = |agent: &str, wait_ms| {
        let (name, ttl_ms) = (LockName::parse("door").unwrap(), Some(3_600_000));
        let acquire = lock::Command::Acquire(lock::Acquire { name, ttl_ms, wait_ms });
        let agent = AgentId::parse(agent).unwrap();
        let request = Command::from(acquire).into();
        shard.submit(&self::name(), request, &agent)
    };
    assert!(matches!(take("ada", None), Admission::Answer(_)));
    let Admission::Wait(Queued { waiter, .. }) = take("bob", Some(3_600_000)) else {
        panic!("it is held")
    };
    let idle_ms = u64::try_from(Options::default().idle.as_millis()).unwrap();
    let do_everything = || {
        clock.advance(idle_ms);
        while let Some(job) = shard.next_compaction_job() {
            shard.flush();
            assert!(shard.compact_next().unwrap(), "{job:?} cannot be done");
        }
    };
    do_everything();
    assert!(shard.is_resident(&name()), "a call waits in it");
    shard.machine().give_up(&waiter, clock.now());
    do_everything();
    assert!(!shard.is_resident(&name()), "no call waits any more");
}

/// A lease expired in one commit and its task became ready in the next. Between the two, callers
/// that knew of the expiry still could not claim the task.
#[test]
fn consequences_of_expiry_that_are_due_follow_with_it() {
    let clock = ManualClock::at(Timestamp(1_000_000));
    let shard = Shard::open(MemoryLog::default(), Arc::new(clock.clone()), Options::default());
    let shard = shard.unwrap();
    shard.load(&name()).unwrap();
    let say = |text: &str| {
        let Call::Command(command) = Frame::parse(text).unwrap().call().unwrap() else {
            panic!("it is a command")
        };
        submit(&shard, command).open(u64::MAX).unwrap()
    };
    say(r#"{"command":"task.create","type":"write","task":"report","max_retries":3}"#);
    say(r#"{"command":"task.claim","lease_ms":60000}"#);
    clock.advance(120_000);
    assert!(shard.expire().is_empty(), "it is in memory");
    assert!(shard.machine().due(clock.now()).is_empty(), "nothing is left to do");
    let answer = say(r#"{"command":"task.claim","task":"report"}"#);
    assert_eq!(answer.revision, Revision(5), "created, claimed, expired, ready, claimed");
}

/// The wake-up of the driver was decided by a planned time that it changed after reading the
/// deadlines and without the lock: a deadline in between was missed.
#[test]
fn a_deadline_before_the_alarm_wakes_the_driver() {
    let shard = open(MemoryLog::default());
    let take = |name: &str, ttl_ms| {
        let (name, ttl_ms) = (LockName::parse(name).unwrap(), Some(ttl_ms));
        let _ =
            submit(&shard, lock::Command::Acquire(lock::Acquire { name, ttl_ms, wait_ms: None }));
    };
    let alarm = |shard: &Shard<MemoryLog>| shard.machine().set_alarm(Timestamp(1_000_000));
    assert_eq!(alarm(&shard), None);
    take("door", 60_000);
    assert!(shard.machine().needs_wakeup(), "it would never look");
    assert_eq!(alarm(&shard), Some(Timestamp(1_060_000)));
    assert!(!shard.machine().needs_wakeup(), "it looks in time");
    take("gate", 90_000);
    assert!(!shard.machine().needs_wakeup(), "it looks before that");
    take("window", 30_000);
    assert!(shard.machine().needs_wakeup(), "it would look too late");
}

/// A wait is flushed on its own only if another caller is notified of it.
#[test]
fn a_wait_is_urgent_if_it_is_watched() {
    let shard = open(MemoryLog::default());
    let take = |agent: &str| {
        let (name, wait_ms) = (LockName::parse("door").unwrap(), Some(60_000));
        let acquire = lock::Command::Acquire(lock::Acquire { name, ttl_ms: None, wait_ms });
        let agent = AgentId::parse(agent).unwrap();
        match shard.submit(&self::name(), Command::from(acquire).into(), &agent) {
            Admission::Wait(Queued { is_urgent, .. }) => Some(is_urgent),
            Admission::Answer(_) => None,
            Admission::Retry(..) => panic!("it is loaded"),
        }
    };
    assert_eq!(take("ada"), None, "it is free");
    assert_eq!(take("bob"), Some(false), "it is not watched");
    let pattern = Pattern::parse("locks/*").unwrap();
    let filter = Filter { pattern, kinds: Vec::new(), waits: true };
    let _watch = shard.watch(&name(), &filter);
    assert_eq!(take("eve"), Some(true), "it is watched");
}

#[test]
fn deferred_work_is_done_soon_and_wakes_the_driver_once() {
    let shard = open(MemoryLog::default());
    let mut machine = shard.machine();
    assert_eq!(machine.set_alarm(Timestamp(1_000)), None);
    machine.defer_write(Timestamp(2_000));
    assert!(machine.needs_wakeup(), "it would never look");
    assert_eq!(machine.set_alarm(Timestamp(2_000)), Some(Timestamp(2_005)), "more may follow");
    machine.defer_write(Timestamp(2_003));
    assert!(!machine.needs_wakeup(), "it looks by itself");
    assert_eq!(machine.set_alarm(Timestamp(2_005)), Some(Timestamp(2_010)));
    assert_eq!(machine.set_alarm(Timestamp(2_010)), None, "nothing was left any more");
}

#[test]
fn a_question_about_an_absent_workspace_leaves_nothing_in_memory() {
    let shard = open(MemoryLog::default());
    let query = Query::State(StateQuery::Get(Get {
        namespace: NamespaceName::shared(),
        key: key("k"),
        at: None,
    }));
    for number in 0..10_000 {
        let absent = WorkspaceName::parse(&format!("absent-{number}")).unwrap();
        let Admission::Retry((), after) = shard.ask(&absent, &query, None) else {
            panic!("it was not looked for yet")
        };
        assert_eq!(after, RetryAfter::Find);
        shard.find(&absent).unwrap();
        let answer = shard.ask(&absent, &query, None).answer().expect("it is known to be absent");
        assert_eq!(answer.open(0).unwrap_err().code(), "state.not_found");
    }
    assert_eq!(shard.machine().residents().len(), 1);

    // As soon as something happens there, it is queried.
    let late = WorkspaceName::parse("absent-9999").unwrap();
    shard.load(&late).unwrap();
    let value = Json::parse("1").unwrap();
    let set = state::Command::Set(Set::new(NamespaceName::shared(), key("k"), value));
    let ada = AgentId::parse("ada").unwrap();
    let _ = shard.submit(&late, Command::from(set).into(), &ada);
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    assert!(shard.machine().evict(&late));
    let Admission::Retry((), RetryAfter::Find) = shard.ask(&late, &query, None) else {
        panic!("it has left memory")
    };
    shard.find(&late).unwrap();
    let answer = shard.ask(&late, &query, None).answer().expect("it was loaded");
    assert!(answer.open(u64::MAX).is_ok());
}

#[test]
fn the_number_of_workspaces_in_memory_is_limited() {
    let options = Options { residents_max: 64, ..Options::default() };
    let clock = ManualClock::at(Timestamp(1_000_000));
    let shard = Shard::open(MemoryLog::default(), Arc::new(clock.clone()), options).unwrap();
    let ada = AgentId::parse("ada").unwrap();
    let named = |number: usize| WorkspaceName::parse(&format!("w{number}")).unwrap();
    for number in 0..500 {
        clock.advance(1);
        shard.load(&named(number)).unwrap();
        if number.is_multiple_of(2) {
            let value = Json::parse("1").unwrap();
            let set = state::Command::Set(Set::new(NamespaceName::shared(), key("k"), value));
            let _ = shard.submit(&named(number), Command::from(set).into(), &ada);
            assert!(matches!(shard.flush(), Flushed::Durable { .. }));
        }
        assert!(shard.machine().residents().len() <= 64);
    }
    assert!(shard.is_resident(&named(499)) && !shard.is_resident(&named(0)));
    shard.load(&named(0)).unwrap();
    let revision = shard.machine().resident(&named(0)).unwrap().space.revision();
    assert_eq!(revision, Revision(1), "what was written is not lost");
}

/// The log does not have its batches any more, and no snapshot has its deadline.
#[test]
fn the_deadline_of_a_workspace_that_was_archived_without_a_snapshot_is_known() {
    let log = MemoryLog::default();
    let shard = open(log.clone());
    let (lock, ttl_ms) = (LockName::parse("deploy").unwrap(), Some(3_000));
    let acquire = lock::Acquire { name: lock.clone(), ttl_ms, wait_ms: None };
    let _ = submit(&shard, lock::Command::Acquire(acquire));
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    shard.archive(&name()).unwrap();
    drop(shard);
    let reopen = || {
        let clock = Arc::new(ManualClock::at(Timestamp(1_010_000)));
        Shard::open(log.clone(), clock, Options::default()).unwrap()
    };
    let shard = reopen();
    assert_eq!(shard.machine().next_deadline(), Some(Timestamp(1_003_000)));
    assert_eq!(shard.machine().residents(), [], "it need not be loaded for that");
    shard.load(&name()).unwrap();
    let _ = submit(&shard, lock::Command::Release { name: lock, token: Token(1) });
    assert!(matches!(shard.flush(), Flushed::Durable { .. }));
    shard.archive(&name()).unwrap();
    drop(shard);
    assert_eq!(reopen().machine().next_deadline(), None);
}

/// It was 11,365 bytes with two events for each key (ADR 36).
#[test]
fn the_keys_of_a_hand_off_are_one_record() {
    let shard = open(MemoryLog::default());
    let say = |agent: &str, text: &str| {
        let Ok(Call::Command(command)) = Frame::parse(text).unwrap().call() else {
            panic!("{text}")
        };
        let agent = AgentId::parse(agent).unwrap();
        let held = shard.submit(&name(), command.into(), &agent).answer().unwrap();
        assert!(matches!(shard.flush(), Flushed::Durable { .. }));
        held.open(u64::MAX).unwrap().revision
    };
    say("bob", r#"{"command":"agent.register","agent":"bob"}"#);
    say("ada", r#"{"command":"agent.register","agent":"ada"}"#);
    say("ada", r#"{"command":"task.create","task":"draft","type":"work"}"#);
    let token = say("ada", r#"{"command":"task.claim","task":"draft"}"#);
    let (value, mut keys) = ("a".repeat(198), Vec::new());
    for number in 10..30 {
        let set = r#"{"command":"state.set","namespace":"agent:ada","key":"part-"#;
        say("ada", &format!(r#"{set}{number}","value":"{value}"}}"#));
        keys.push(format!("agent:ada/part-{number}"));
    }
    let hand_off = serde_json::json!({
        "command": "handoff.execute", "to": "bob", "task": "draft", "token": token, "keys": keys,
    });
    let revision = say("ada", &hand_off.to_string());
    let bytes = shard.frame(&name(), revision).unwrap().len();
    assert!(bytes < 7_000, "{bytes} bytes");
}

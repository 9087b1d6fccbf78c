//! Scenarios of reactions.

use super::{Command, Outcome, Rejection, Reply};
use crate::command::Request;
use crate::limits;
use crate::names::AgentId;
use crate::space::{CallOutcome as Became, CommitProgress, Space};
use crate::testing::{World, check, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    a_reaction_is_added_switched_replaced_and_removed => [
        (0, "ada", "reaction.list", "[record-active-agents, record-completed-tasks]"),
        (0, "ada", "reaction.remove note", "refused reaction.not_found"),
        (0, "ada", "reaction.enable note", "refused reaction.not_found"),
        (0, "ada", "reaction.get note", "refused reaction.not_found"),
        (0, "ada", r#"reaction.add note on={"type":"deploy.*"}
            do=[{"command":"state.set","namespace":"shared","key":"last","value":"{{payload}}"}]"#,
            "reaction.added note 1"),
        (1, "bob", r#"event.emit deploy.done payload={"n":1}"#,
            "deploy.done {\"n\":1}; reaction.ran note by ada on 0 deep 0 did 1; \
             state.set shared/last v1 = {\"n\":1}"),
        (1, "bob", "state.get shared/last", r#"shared/last v1 = {"n":1} r2 at 1 by ada"#),
        (1, "bob", "event.emit build.done", "build.done"),
        (2, "bob", "reaction.disable note", "reaction.disabled note"),
        (2, "bob", "reaction.disable note", "r4: note off by ada runs=1 failures=0 calls=0"),
        (2, "bob", "event.emit deploy.done", "deploy.done"),
        (2, "bob", "reaction.enable note", "reaction.enabled note"),
        (2, "bob", "event.emit deploy.done",
            "deploy.done; reaction.failed note on 0 at 0 reaction.missing_field"),
        (3, "bob", r#"reaction.add note on={"subject":"events/**"} enabled=false
            do=[{"command":"event.emit","type":"noted"}]"#,
            "reaction.added note 1 off replaced"),
        (3, "bob", "event.emit deploy.done", "deploy.done"),
        (3, "bob", "reaction.get note", "note off by bob runs=0 failures=0 calls=0"),
        (3, "bob", "reaction.list limit=1", "[note] next=note"),
        (3, "bob", r#"reaction.list limit=2 cursor="note""#,
            "[record-active-agents, record-completed-tasks]"),
        (3, "bob", "reaction.list limit=0", "refused reaction.out_of_range"),
        (3, "bob", "reaction.remove note", "reaction.removed note"),
    ]

    a_reaction_that_can_never_run_is_refused_when_it_is_added => [
        (0, "ada", r#"reaction.add a on={} do=[{"command":"event.emit","type":"x"}]"#,
            "refused reaction.pointless"),
        (0, "ada", r#"reaction.add a on={"type":"x"}"#, "refused reaction.pointless"),
        (0, "ada", r#"reaction.add a on={"type":"x"} do=[{"command":"state.fly"}]"#,
            "refused reaction.bad_command"),
        (0, "ada", r#"reaction.add a on={"type":"x"} do=[{"command":"event.emit","type":"x"},
            {"command":"state.set","key":"{{about}}","value":1,"colour":2}]"#,
            "refused reaction.bad_command"),
        (0, "ada", r#"reaction.add a on={"type":"x"}
            do=[{"command":"reaction.disable","name":"a"}]"#,
            "refused reaction.bad_command"),
        (0, "ada", r#"reaction.add a on={"type":"x"} webhook={"url":"ftp://example.org"}"#,
            "refused reaction.bad_webhook"),
        (0, "ada", r#"reaction.add a on={"type":"x"} webhook={"url":"http://a","secret":""}"#,
            "refused reaction.bad_webhook"),
        (0, "ada", r#"reaction.add a on={"type":"x"} webhook={"url":"http://a","timeout_ms":5}"#,
            "refused reaction.out_of_range"),
        (0, "ada", r#"reaction.add record-active-agents on={"type":"x"}
            do=[{"command":"event.emit","type":"x"}]"#, "refused reaction.built_in"),
        (0, "ada", "reaction.remove record-active-agents", "refused reaction.built_in"),
    ]

    a_reaction_fails_alone_and_leaves_nothing => [
        (0, "ada", r#"reaction.add a on={"type":"go"} do=[
            {"command":"state.set","namespace":"shared","key":"one","value":1},
            {"command":"task.create","type":"t","id":"t-1"},
            {"command":"lock.acquire","name":"l"},
            {"command":"state.set","namespace":"shared","key":"one","value":2,
                "expected_version":9}]"#,
            "reaction.added a 4"),
        (0, "ada", r#"reaction.add b on={"type":"go"} do=[
            {"command":"state.set","namespace":"shared","key":"two","value":"{{agent}}"}]"#,
            "reaction.added b 1"),
        (1, "bob", "all: event.emit go & state.set shared/own 1",
            "go; state.set shared/own v1 = 1; \
             reaction.failed a on 0 at 3 state.version_conflict; \
             reaction.ran b by ada on 0 deep 0 did 1; state.set shared/two v1 = \"bob\""),
        (1, "bob", "state.list shared", "[shared/own, shared/two]"),
        (1, "bob", "task.list", "[]"),
        (1, "bob", "lock.get l", "l free line=[]"),
        (1, "bob", "reaction.get a",
            "a on by ada runs=0 failures=1state.version_conflict calls=0"),
        // A token granted in a failed run is granted again.
        (2, "bob", "lock.acquire m", "lock.acquired m by bob token=4"),
        // An event before it that cannot be undone stays.
        (3, "bob", "event.emit go", "go; reaction.failed a on 0 at 3 state.version_conflict; \
             reaction.ran b by ada on 0 deep 0 did 1; state.set shared/two v2 = \"bob\""),
    ]

    a_condition_is_evaluated_over_the_event => [
        (0, "ada", r#"reaction.add hot on={"type":"reading","where":"event.payload.celsius>30"}
            do=[{"command":"task.create","type":"cool","id":"cool-{{payload.room}}"}]"#,
            "reaction.added hot 1"),
        (1, "bob", r#"event.emit reading payload={"celsius":20,"room":"a"}"#,
            r#"reading {"celsius":20,"room":"a"}"#),
        (1, "bob", r#"event.emit reading payload={"celsius":31,"room":"a"}"#,
            "reading {\"celsius\":31,\"room\":\"a\"}; \
             reaction.ran hot by ada on 0 deep 0 did 1; task.created cool-a cool ready"),
        (1, "bob", "event.emit reading", "reading; reaction.failed hot on 0 reaction.no_answer"),
        (2, "bob", "task.get cool-a", "cool-a pending"),
    ]

    loops_end => [
        (0, "ada", r#"reaction.add ping on={"type":"ping"}
            do=[{"command":"event.emit","type":"pong"}]"#,
            "reaction.added ping 1"),
        (0, "ada", r#"reaction.add pong on={"type":"pong"}
            do=[{"command":"event.emit","type":"ping"}]"#,
            "reaction.added pong 1"),
        (1, "bob", "event.emit ping", "5 ping; 4 pong; 8 reaction.ran; 1 reaction.stopped"),
        (1, "bob", "state.set shared/a 1", "state.set shared/a v1 = 1"),
        (1, "bob", r#"reaction.add twice on={"type":"p*ng"}
            do=[{"command":"event.emit","type":"ping"},{"command":"event.emit","type":"pong"}]"#,
            "reaction.added twice 2"),
        (2, "bob", "event.emit ping",
            "750 ping; 751 pong; 1000 reaction.ran; 3 reaction.stopped"),
    ]

    built_in_reactions => [
        (0, "ada", "reaction.enable record-completed-tasks",
            "reaction.enabled record-completed-tasks"),
        (0, "ada", "reaction.enable record-active-agents", "reaction.enabled record-active-agents"),
        (1, "bob", "agent.register bob ttl_ms=1000",
            "agent.joined bob token=3 ttl=1000; namespace.created agent:bob; \
             reaction.ran record-active-agents by ada on 0 deep 0 did 1; state.set \
             shared/active_agents/bob v1 = \
             {\"agent\":\"bob\",\"capabilities\":[],\"since\":\"1970-01-01T00:00:00.001Z\"}"),
        (2, "ada", r#"task.create write id="t-1""#, "task.created t-1 write ready"),
        (2, "bob", "task.claim", "task.claimed t-1 by bob token=5"),
        (3, "bob", r#"task.complete t-1 token=5 result="done""#,
            "task.completed t-1; reaction.ran record-completed-tasks by ada on 0 deep 0 did 1; \
             state.set shared/completed_tasks/t-1 v1 = \
             {\"at\":\"1970-01-01T00:00:00.003Z\",\"by\":\"bob\",\"result\":\"done\",\
             \"task\":\"t-1\"}"),
        (9_000, "bob", "time",
            "agent.lost bob; reaction.ran record-active-agents by ada on 0 deep 0 did 1; \
             state.deleted shared/active_agents/bob v1"),
    ]

    a_call_that_waits_may_be_served_by_a_reaction => [
        (0, "ada", r#"reaction.add work on={"type":"task.queued"}
            do=[{"command":"task.create","type":"t","id":"made"}]"#, "reaction.added work 1"),
        (1, "bob", "#k task.claim wait_ms=5000",
            "task.queued bob call=2 until 5001; receipt.awaited k; \
             reaction.ran work by ada on 0 deep 0 did 3; task.created made t ready; \
             task.claimed made by bob token=2 call=2; receipt.kept k; call 2 waits; \
             call 2: made in_progress by bob token=2 until 300001 attempts=1 retries=0"),
        (2, "bob", "#k task.claim wait_ms=5000",
            "r2: made in_progress by bob token=2 until 300001 attempts=1 retries=0"),
        (3, "bob", r#"reaction.add wait on={"type":"go"}
            do=[{"command":"lock.acquire","name":"l","wait_ms":100}]"#, "reaction.added wait 1"),
        (3, "bob", "event.emit go", "go; reaction.ran wait by bob on 0 deep 0 did 1; \
            lock.acquired l by bob token=4"),
        (3, "ada", r#"reaction.add wait on={"type":"go"}
            do=[{"command":"lock.acquire","name":"l","wait_ms":100}]"#,
            "reaction.added wait 1 replaced"),
        (3, "bob", "event.emit go", "go; reaction.failed wait on 0 at 0 transaction.cannot_wait"),
    ]

    a_call_is_made_once_at_a_time_and_ends => [
        (0, "ada", r#"reaction.add tell on={"type":"go"}
            webhook={"url":"http://a/x","secret":"hush","timeout_ms":1000,"retries":1}"#,
            "reaction.added tell 0 calls http://a/x; reaction.sealed tell"),
        (1, "bob", "event.emit go",
            "go; reaction.ran tell by ada on 0 deep 0 did 1; reaction.called tell #1 147 bytes"),
        (1, "bob", "event.emit go",
            "go; reaction.ran tell by ada on 0 deep 0 did 1; reaction.called tell #2 147 bytes"),
        (2, "baton", "reaction.take max=9", "reaction.call_begun tell #1 try 1 until 31002"),
        (2, "baton", "reaction.take max=9", "r4: calls []"),
        (3, "baton", r#"reaction.settle call=1 attempt=1
            outcome={"failed":{"detail":"500","again":true}}"#,
            "reaction.call_failed tell #1 try 1 again at 1003"),
        (4, "baton", "reaction.take max=9", "r5: calls [] next at 1003"),
        (1_003, "baton", "reaction.take max=9", "reaction.call_begun tell #1 try 2 until 32003"),
        (1_004, "baton", r#"reaction.settle call=1 attempt=1 outcome={"done":{"status":200}}"#,
            "nothing"),
        (1_004, "baton", r#"reaction.settle call=1 attempt=2 outcome={"done":{"status":204}}"#,
            "reaction.call_done tell #1 try 2 204"),
        (1_005, "baton", "reaction.take max=0", "r7: calls [] next at 1005"),
        (1_005, "baton", "reaction.take max=1", "reaction.call_begun tell #2 try 1 until 32005"),
        (32_004, "baton", "time", "nothing"),
        (32_005, "baton", "time", "reaction.call_failed tell #2 try 1 again at 33005"),
        (33_005, "baton", "reaction.take max=1", "reaction.call_begun tell #2 try 2 until 64005"),
        (33_006, "baton", r#"reaction.settle call=2 attempt=2
            outcome={"failed":{"detail":"500","again":true}}"#,
            "reaction.call_dead tell #2 try 2"),
        (33_006, "bob", "reaction.get tell",
            "tell on by ada runs=2 failures=1reaction.call_dead calls=0"),
        (33_007, "bob", "event.emit go",
            "go; reaction.ran tell by ada on 0 deep 0 did 1; reaction.called tell #3 148 bytes"),
        (33_007, "bob", "reaction.get tell",
            "tell on by ada runs=3 failures=1reaction.call_dead calls=1"),
        (86_433_006, "bob", "time", "nothing"),
        (86_433_007, "bob", "time", "reaction.call_dead tell #3 try 0"),
        (86_433_008, "bob", "event.emit go",
            "go; reaction.ran tell by ada on 0 deep 0 did 1; reaction.called tell #4 148 bytes"),
        (86_433_008, "bob", "reaction.remove tell", "reaction.removed tell"),
        (86_433_009, "baton", "reaction.take max=9", "r15: calls []"),
    ]

    reactions_of_a_transaction_are_all_there_or_none => [
        (0, "ada", r#"all: reaction.add a on={"type":"x"} do=[{"command":"event.emit","type":"y"}]
            & reaction.enable record-active-agents & reaction.remove b"#,
            "refused transaction.command_refused 2 reaction.not_found"),
        (0, "ada", "event.emit x", "x"),
        // A reaction that is added in a commit runs on that commit.
        (0, "ada", r#"all: event.emit x
            & reaction.add a on={"type":"x"} do=[{"command":"event.emit","type":"y"}]"#,
            "x; reaction.added a 1; reaction.ran a by ada on 0 deep 0 did 1; y"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere =
        ["reaction.too_many", "reaction.too_large", "reaction.missing_field", "reaction.no_answer"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &[]);
}

const ADD: &str = r#"on={"type":"x"} do=[{"command":"event.emit","type":"y"}]"#;

#[test]
fn the_number_of_reactions_is_limited() {
    let mut world = check(&[]);
    for number in 0..limits::REACTIONS_MAX {
        let added = world.run(0, "ada", &format!("reaction.add r{number} {ADD}"));
        assert_eq!(added, format!("reaction.added r{number} 1"));
    }
    assert_eq!(world.run(0, "ada", &format!("reaction.add z {ADD}")), "refused reaction.too_many");
    let replaced = world.run(0, "ada", &format!("reaction.add r7 {ADD}"));
    assert_eq!(replaced, "reaction.added r7 1 replaced");
    let rendered = world.run(0, "ada", "event.emit x");
    assert_eq!(rendered, "256 reaction.ran; 1 x; 256 y");
}

#[test]
fn a_reaction_is_of_bounded_size() {
    let mut world = check(&[]);
    let many = vec![r#"{"command":"event.emit","type":"y"}"#; limits::REACTION_COMMANDS_MAX + 1];
    let many = format!(r#"reaction.add a on={{"type":"x"}} do=[{}]"#, many.join(","));
    assert_eq!(world.run(0, "ada", &many), "refused reaction.too_many");
    let large = "x".repeat(limits::REACTION_BYTES_MAX);
    let large = format!(
        r#"reaction.add a on={{"type":"x"}}
            do=[{{"command":"event.emit","type":"y","payload":"{large}"}}]"#
    );
    assert_eq!(world.run(0, "ada", &large), "refused reaction.too_large");
}

#[test]
fn queued_webhook_calls_are_bounded() {
    let mut world = check(&[(
        0,
        "ada",
        r#"reaction.add tell on={"type":"go"} webhook={"url":"http://a"}"#,
        "reaction.added tell 0 calls http://a",
    )]);
    for _ in 0..limits::WEBHOOK_CALLS_MAX {
        assert!(world.run(0, "ada", "event.emit go").contains("reaction.called"));
    }
    let rendered = world.run(0, "ada", "event.emit go");
    assert_eq!(rendered, "go; reaction.failed tell on 0 reaction.too_many");
}

#[test]
fn a_large_commit_stays_although_its_reactions_have_no_room() {
    let mut world = check(&[]);
    let add = r#"reaction.add a on={"type":"state.set"}
        do=[{"command":"event.emit","type":"copied","payload":"{{value}}"}]"#;
    world.run(0, "ada", add);
    let rendered = world.run(0, "ada", "many 33 state.set shared/k{} bytes:250000");
    assert!(
        rendered.contains("33 state.set") && rendered.contains("33 reaction.failed"),
        "{rendered}"
    );
}

/// The signing secret is returned only with the call to make, and nowhere else.
#[test]
fn a_secret_is_in_no_public_event_and_in_no_answer() {
    let mut space = Space::default();
    let ada = AgentId::parse("ada").unwrap();
    let text = r#"{"name":"tell","on":{"type":"go"},
        "webhook":{"url":"http://a","secret":"hush-hush"}}"#;
    let add = Command::Add(Box::new(serde_json::from_str(text).unwrap()));
    let mut ask = |command: crate::Command| {
        let committed = space.commit(Request::from(command), &ada, Timestamp(5)).unwrap();
        for event in committed.batch.iter().flat_map(|batch| &batch.events) {
            let rendered = serde_json::to_string(event).unwrap();
            assert_eq!(rendered.contains("hush-hush"), !event.is_public(), "{rendered}");
            assert!(!format!("{event:?}").contains("hush-hush"));
        }
        let Became::Answered(answer) = committed.outcome else { panic!("it does not wait") };
        answer.reply
    };
    let added = ask(add.into());
    assert!(!serde_json::to_string(&added).unwrap().contains("hush-hush"));
    ask(serde_json::from_str(r#"{"event":{"emit":{"type":"go"}}}"#).unwrap());
    let taken = ask(Command::Take { max: 1 }.into());
    let crate::Reply::Reaction(Reply::Calls { calls, .. }) = taken else { panic!("calls") };
    assert_eq!(calls[0].secret.as_ref().unwrap().reveal(), "hush-hush");
    let outcome = Outcome::Done { status: 200 };
    ask(Command::Settle { call: 1, attempt: 1, outcome }.into());
}

/// A workspace with reactions that each execute these commands on events of a type.
fn reacting(reactions: usize, on: &str, commands: &str) -> Space {
    let (mut space, ada) = (Space::default(), AgentId::parse("ada").unwrap());
    for number in 0..reactions {
        let text = format!(r#"{{"name":"r{number}","on":{on},"do":{commands}}}"#);
        let add = Command::Add(Box::new(serde_json::from_str(&text).unwrap()));
        space.commit(Request::from(crate::Command::from(add)), &ada, Timestamp(1)).unwrap();
    }
    space
}

fn write(key: &str) -> Request {
    let text = format!(r#"{{"command":"state.set","namespace":"shared","key":"{key}","value":1}}"#);
    Request::from(crate::wire::command_of(&text).unwrap())
}

/// 16 writes per run, which every reaction has to be compared with.
const SEEN: &str = r#"{"type":"state.set","where":"event.key.startsWith(\"in/\")"}"#;

fn sixteen() -> String {
    let set = |number| {
        let what = r#""command":"state.set","namespace":"shared""#;
        format!(r#"{{{what},"key":"seen-{number}","value":"{{{{key}}}}"}}"#)
    };
    format!("[{}]", (0..16).map(set).collect::<Vec<_>>().join(","))
}

#[test]
fn a_suspended_commit_has_the_same_result_as_an_immediate_one() {
    let ada = AgentId::parse("ada").unwrap();
    let chain = r#"[{"command":"event.emit","type":"go"},{"command":"lock.acquire","name":"l"}]"#;
    for (on, commands) in [
        (SEEN, sixteen()),
        (r#"{"type":"state.set"}"#, sixteen()),
        (r#"{"type":"*"}"#, chain.to_owned()),
    ] {
        let mut whole = reacting(7, on, &commands);
        let expected = whole.commit(write("in/a"), &ada, Timestamp(9)).unwrap();
        for work_max in [0, 1, 2, 17, 100, 1_000, 100_000] {
            let mut space = reacting(7, on, &commands);
            let begun = space.begin_commit(write("in/a"), &ada, Timestamp(9), work_max).unwrap();
            let committed = match begun {
                CommitProgress::Done(committed) => {
                    assert!(committed.work <= work_max, "no more than is allowed");
                    committed
                }
                CommitProgress::Suspended(suspended) => {
                    assert!(expected.work >= work_max, "no less than is allowed");
                    assert_eq!(*suspended.outcome(), expected.outcome);
                    space.finish_commit(*suspended)
                }
            };
            assert_eq!(committed.batch, expected.batch);
            assert_eq!(committed.work, expected.work);
            space.check();
            assert_eq!(space.head(), whole.head());
        }
    }
}

#[test]
fn reactions_that_a_limit_has_stopped_are_not_considered_again() {
    let ada = AgentId::parse("ada").unwrap();
    let mut space = reacting(limits::REACTIONS_MAX, SEEN, &sixteen());
    let committed = space.commit(write("in/a"), &ada, Timestamp(9)).unwrap();
    let events = committed.batch.unwrap().events.len();
    assert!(events > limits::REACTIONS_MAX * 17, "all of them ran");
    // Each of the 4,096 writes would have to be compared with 256 conditions.
    let looks = committed.work - events;
    assert!(looks <= 2 * limits::REACTION_LOOKS_MAX, "{looks} looks");
}

fn write_long(bytes: usize) -> Request {
    let value = "x".repeat(bytes);
    let text =
        format!(r#"{{"command":"state.set","namespace":"shared","key":"in/a","value":"{value}"}}"#);
    Request::from(crate::wire::command_of(&text).unwrap())
}

/// Sixteen copies of a large event are a single run, which nothing interrupts.
#[test]
fn a_long_run_is_not_started_on_the_serving_thread() {
    let ada = AgentId::parse("ada").unwrap();
    let copy = |key: usize| {
        format!(
            r#"{{"command":"state.set","namespace":"shared","key":"copy-{key}",
                "value":"{{{{value}}}}"}}"#
        )
    };
    let commands = format!("[{}]", (0..16).map(copy).collect::<Vec<_>>().join(","));
    let expected = reacting(1, SEEN, &commands).commit(write_long(40_000), &ada, Timestamp(9));
    let expected = expected.unwrap();
    let mut space = reacting(1, SEEN, &commands);
    let begun = space.begin_commit(write_long(40_000), &ada, Timestamp(9), 64).unwrap();
    let CommitProgress::Suspended(suspended) = begun else { panic!("it is left to a worker") };
    assert_eq!(suspended.events(), 1, "no effect of the reaction is there yet");
    let committed = space.finish_commit(*suspended);
    assert_eq!((committed.batch, committed.work), (expected.batch, expected.work));
    let begun = reacting(1, SEEN, &commands).begin_commit(write("in/a"), &ada, Timestamp(9), 64);
    assert!(matches!(begun, Ok(CommitProgress::Done(_))), "a small one runs at once");
}

#[test]
fn work_grows_with_bytes_also_those_of_runs_that_fail() {
    let ada = AgentId::parse("ada").unwrap();
    let set = r#""command":"state.set","namespace":"shared","value":"{{value}}""#;
    let copy = format!(r#"[{{{set},"key":"copy"}}]"#);
    let work = |reactions: usize, commands: &str, bytes: usize| {
        let mut space = reacting(reactions, SEEN, commands);
        let committed = space.commit(write_long(bytes), &ada, Timestamp(9)).unwrap();
        space.check();
        committed.work
    };
    assert!(work(1, &copy, 200_000) >= work(1, &copy, 10) + 2 * (200_000 / 4_096));
    let failing =
        format!(r#"[{{{set},"key":"copy"}},{{"command":"lock.release","name":"none","token":1}}]"#);
    assert!(work(1, &failing, 200_000) >= work(1, &failing, 10) + 2 * (200_000 / 4_096));
    assert!(work(1, &failing, 10) > 4, "what is undone counts");
    let sixteen: Vec<String> = (0..16).map(|at| format!(r#"{{{set},"key":"k{at}"}}"#)).collect();
    let sixteen = format!("[{}]", sixteen.join(","));
    let (few, many) = (work(8, &sixteen, 1_000_000), work(64, &sixteen, 1_000_000));
    // Each reaction is still compared with the event; filling the batch again would cost sixteen
    // times that.
    let looks = 56 * 2 * (1_000_100 / 4_096);
    assert!(many <= few + looks, "{many} after {few}: a full batch is not filled again");
}

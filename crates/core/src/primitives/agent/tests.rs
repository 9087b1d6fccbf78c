//! Scenarios of agents.

use std::collections::BTreeSet;

use super::{Agent, Rejection, Status};
use crate::limits;
use crate::names::AgentId;
use crate::numbers::{Revision, Token};
use crate::space::Space;
use crate::testing::{World, check, check_codes, check_coverage, scenarios, story};
use crate::time::Timestamp;

scenarios! {
    a_session_begins_and_ends => [
        (0, "ada", "agent.get ada",          "refused agent.not_found"),
        (0, "ada", "agent.heartbeat ada",    "refused agent.not_found"),
        (0, "ada", "agent.leave ada",        "refused agent.not_found"),
        (5, "ada", r#"agent.register ada capabilities=["rust","write"] metadata={"model":"m"}"#,
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (5, "bob", "agent.get ada",          "ada active token=1 seen=5"),
        (6, "ada", "agent.leave ada token=1", "agent.left ada"),
        (7, "bob", "agent.get ada",          "ada left token=1 seen=5"),
        (7, "ada", "agent.heartbeat ada",    "refused agent.ended"),
        (7, "ada", "agent.heartbeat ada token=1", "refused agent.ended"),
        (7, "ada", "agent.leave ada",        "refused agent.ended"),
        (8, "ada", "agent.register ada",     "agent.joined ada token=3 ttl=60000"),
        (9, "ada", "agent.leave ada",        "agent.left ada"),
    ]

    a_replaced_session_is_refused => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (1, "ada", "agent.register ada",           "agent.joined ada token=2 ttl=60000"),
        (2, "ada", "agent.heartbeat ada token=1",  "refused agent.stale_token"),
        (2, "ada", "agent.leave ada token=1",      "refused agent.stale_token"),
        (2, "ada", "agent.heartbeat ada token=9",  "refused agent.stale_token"),
        (2, "ada", "agent.leave ada token=2",      "agent.left ada"),
        (2, "ada", "agent.leave ada token=1",      "refused agent.stale_token"),
    ]

    frequent_heartbeats_are_not_recorded => [
        (0,    "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (100,  "ada", "agent.heartbeat ada",       "r1: ada active token=1 seen=0"),
        (249,  "ada", "agent.heartbeat ada token=1", "r1: ada active token=1 seen=0"),
        (250,  "ada", "agent.heartbeat ada",       "agent.seen ada"),
        (499,  "ada", "agent.heartbeat ada",       "r2: ada active token=1 seen=250"),
        (500,  "ada", "agent.heartbeat ada",       "agent.seen ada"),
    ]

    no_agent_is_lost_before_its_ttl => [
        (0,    "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (249,  "ada", "agent.heartbeat ada",       "r1: ada active token=1 seen=0"),
        // The heartbeat at 249 was not recorded, and still counts for a second.
        (1248, "bob", "time",                      "nothing"),
        (1249, "bob", "time",                      "nothing"),
        (1250, "bob", "time",                      "agent.lost ada"),
        (1250, "bob", "agent.get ada",             "ada lost token=1 seen=0"),
        (1251, "ada", "agent.heartbeat ada token=1", "refused agent.ended"),
        (1252, "ada", "agent.register ada ttl_ms=100", "agent.joined ada token=3 ttl=100"),
        (1300, "ada", "agent.heartbeat ada",       "agent.seen ada"),
        (1424, "bob", "time",                      "nothing"),
        (1425, "bob", "time",                      "agent.lost ada"),
    ]

    no_agent_is_lost_during_its_waiting_call => [
        (0,     "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "lock.acquire door ttl_ms=60000",
            "lock.acquired door by bob token=2"),
        (0,     "ada", "lock.acquire door wait_ms=10000",
            "lock.queued door by ada call=3 until 10000; call 3 waits"),
        (1250,  "bob", "time",                     "nothing"),
        (8000,  "bob", "time",                     "nothing"),
        (8000,  "bob", "agent.get ada",            "ada active token=1 seen=0"),
        (10000, "bob", "time",
            "lock.gave_up door by ada call=3 Timeout; call 3: null"),
        // The end of the wait is the last sign of life.
        (11249, "bob", "time",                     "nothing"),
        (11250, "bob", "time",                     "agent.lost ada"),
    ]

    no_agent_is_lost_early_after_its_waiting_call => [
        (0,     "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "lock.acquire door ttl_ms=60000",
            "lock.acquired door by bob token=2"),
        (0,     "ada", "lock.acquire door wait_ms=10000",
            "lock.queued door by ada call=3 until 10000; call 3 waits"),
        // The wait ends before ada would be lost.
        (1200,  "bob", "lock.release door token=2",
            "lock.released door token=2; lock.acquired door by ada token=4 call=3; \
             call 3: door by ada token=4 until 301200"),
        (2449,  "bob", "time",                     "nothing"),
        (2450,  "bob", "time",                     "agent.lost ada; lock.dropped door token=4"),
    ]

    the_end_of_a_call_whose_caller_has_gone_is_a_sign_of_life => [
        (0,     "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "lock.acquire door ttl_ms=60000",
            "lock.acquired door by bob token=2"),
        (0,     "ada", "lock.acquire door wait_ms=3600000",
            "lock.queued door by ada call=3 until 3600000; call 3 waits"),
        (9000,  "bob", "time",                     "nothing"),
        (9500,  "baton", "gone",
            "lock.gave_up door by ada call=3 Gone; call 3: null"),
        (10749, "bob", "time",                     "nothing"),
        (10750, "bob", "time",                     "agent.lost ada"),
    ]

    a_refused_end_of_a_session_forgets_no_sign_of_life => [
        (0,     "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "lock.acquire door ttl_ms=60000",
            "lock.acquired door by bob token=2"),
        (0,     "ada", "lock.acquire door wait_ms=3600000",
            "lock.queued door by ada call=3 until 3600000; call 3 waits"),
        (500,   "baton", "gone",
            "lock.gave_up door by ada call=3 Gone; call 3: null"),
        // Both undo the end of a session: nothing has happened to it.
        (600,   "bob", "all: agent.leave ada & agent.heartbeat eve",
            "refused transaction.command_refused 1 agent.not_found"),
        (600,   "bob", "all: agent.register ada ttl_ms=9000 & agent.heartbeat eve",
            "refused transaction.command_refused 1 agent.not_found"),
        (1749,  "bob", "time",                     "nothing"),
        (1750,  "bob", "time",                     "agent.lost ada"),
    ]

    a_waiting_call_keeps_neither_a_lease_nor_another_session => [
        (0,     "boss", "agent.register boss ttl_ms=2000",
            "agent.joined boss token=1 ttl=2000; namespace.created agent:boss"),
        (0,     "ada", r#"agent.register ada parent="boss" ttl_ms=1000"#,
            "agent.joined ada token=2 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "agent.register bob ttl_ms=1000",
            "agent.joined bob token=3 ttl=1000; namespace.created agent:bob"),
        (0,     "ada", r#"task.create w id="a" max_retries=0"#, "task.created a w ready"),
        (0,     "ada", "task.claim lease_ms=1500", "task.claimed a by ada token=5"),
        (0,     "ada", "inbox.receive wait_ms=10000",
            "message.queued ada call=6 until 10000; call 6 waits"),
        (1250,  "eve", "time",                     "agent.lost bob"),
        (1500,  "eve", "time",
            r#"task.failed a {"holder":"ada","reason":"lease_expired","token":5} for good"#),
        // Its supervisor does not wait.
        (2500,  "eve", "time",
            "agent.lost boss; agent.lost ada below boss; \
             message.gave_up ada call=6 SessionEnded; call 6: refused message.session_ended"),
    ]

    no_agent_is_lost_for_a_silence_while_the_engine_was_stopped => [
        (0,     "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0,     "bob", "agent.register bob ttl_ms=2000",
            "agent.joined bob token=2 ttl=2000; namespace.created agent:bob"),
        (0,     "bob", "agent.leave bob",          "agent.left bob"),
        (90000, "baton", "wake",                   "awake"),
        (90000, "baton", "time",                   "nothing"),
        (90001, "cho", "agent.register cho ttl_ms=100",
            "agent.joined cho token=4 ttl=100; namespace.created agent:cho"),
        (90126, "baton", "time",                   "agent.lost cho"),
        (90200, "ada", "agent.heartbeat ada",      "agent.seen ada"),
        (91449, "baton", "time",                   "nothing"),
        (91450, "baton", "time",                   "agent.lost ada"),
        (95000, "baton", "wake",                   "awake"),
        (99000, "baton", "time",                   "nothing"),
    ]

    invalid_fields_of_an_agent_are_refused => [
        (0, "ada", "agent.register ada ttl_ms=99",           "refused agent.ttl_out_of_range"),
        (0, "ada", "agent.register ada ttl_ms=86400001",     "refused agent.ttl_out_of_range"),
        (0, "ada", r#"agent.register ada capabilities=[""]"#, "refused agent.bad_capabilities"),
        (0, "ada", r#"agent.register ada capabilities=["a\n"]"#, "refused agent.bad_capabilities"),
        (0, "ada", "agent.register ada metadata=bytes:65537", "refused agent.metadata_too_large"),
        (0, "ada", "agent.register ada metadata=bytes:65536 ttl_ms=86400000",
            "agent.joined ada token=1 ttl=86400000; namespace.created agent:ada"),
        (0, "ada", "agent.register ada ttl_ms=1",            "refused agent.ttl_out_of_range"),
        (0, "ada", "agent.get ada",                          "ada active token=1 seen=0"),
    ]

    a_session_ends_with_that_of_its_supervisor => [
        (0, "boss", "agent.register boss",
            "agent.joined boss token=1 ttl=60000; namespace.created agent:boss"),
        (0, "ada", r#"agent.register ada parent="boss""#,
            "agent.joined ada token=2 ttl=60000; namespace.created agent:ada"),
        (0, "bob", r#"agent.register bob parent="ada""#,
            "agent.joined bob token=3 ttl=60000; namespace.created agent:bob"),
        (0, "bob", r#"agent.register boss parent="bob""#, "refused agent.cycle"),
        (0, "cho", r#"agent.register cho parent="cho""#,  "refused agent.cycle"),
        (0, "cho", r#"agent.register cho parent="zoe""#,  "refused agent.no_parent"),
        (1, "bob", "lock.acquire door",                "lock.acquired door by bob token=4"),
        (1, "ada", "lock.acquire door wait_ms=9",
            "lock.queued door by ada call=5 until 10; call 5 waits"),
        // The lock is not granted to an agent whose session ends in the same commit.
        (2, "boss", "agent.leave boss",
            "agent.left boss; agent.lost ada below boss; agent.lost bob below boss; \
             lock.gave_up door by ada call=5 SessionEnded; lock.dropped door token=4; \
             call 5: refused lock.session_ended"),
        (3, "cho", r#"agent.register cho parent="ada""#, "refused agent.no_parent"),
    ]

    agents_are_found_by_capability => [
        (0, "ada", r#"agent.register ada capabilities=["write"]"#,
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "bob", r#"agent.register bob capabilities=["write","review"]"#,
            "agent.joined bob token=2 ttl=60000; namespace.created agent:bob"),
        (0, "cho", "agent.register cho ttl_ms=100",
            "agent.joined cho token=3 ttl=100; namespace.created agent:cho"),
        (1, "ada", "agent.list",                       "[ada, bob, cho]"),
        (1, "ada", r#"agent.list capability="write""#, "[ada, bob]"),
        (1, "ada", r#"agent.list capability="review""#, "[bob]"),
        (1, "ada", r#"agent.list capability="fly""#,   "[]"),
        (1, "ada", "agent.list limit=2",               "[ada, bob] next=bob"),
        (1, "ada", r#"agent.list limit=2 cursor="bob""#, "[cho]"),
        (1, "ada", r#"agent.list limit=1 capability="write""#, "[ada] next=ada"),
        (1, "ada", "agent.list limit=0",               "refused agent.limit_out_of_range"),
        (1, "ada", "agent.list limit=10001",           "refused agent.limit_out_of_range"),
        (1, "ada", "agent.leave ada",                  "agent.left ada"),
        (125, "ada", "time",                           "agent.lost cho"),
        (126, "ada", r#"agent.list status="active""#,  "[bob]"),
        (126, "ada", r#"agent.list status="left""#,    "[ada]"),
        (126, "ada", r#"agent.list status="lost""#,    "[cho]"),
        (126, "ada", r#"agent.list status="left" capability="review""#, "[]"),
    ]
}

/// The setup by bob, and the waiting call of ada.
const WAITING_CALLS: [(&[&str], &str); 11] = [
    (&[], "agent.next wait_ms=3600000"),
    (&[], "task.claim wait_ms=3600000"),
    (&[r#"task.create w id="a""#], "task.wait a wait_ms=3600000"),
    (&[], "inbox.receive wait_ms=3600000"),
    (&["inbox.receive wait_ms=3600000"], "message.request bob 1 timeout_ms=3600000"),
    (&[], "handoff.receive wait_ms=3600000"),
    (&["lock.acquire door ttl_ms=3600000"], "lock.acquire door wait_ms=3600000"),
    (&["semaphore.acquire gpu permits=1 ttl_ms=3600000"], "semaphore.acquire gpu wait_ms=3600000"),
    (&[], "barrier.arrive gate count=2 wait_ms=3600000"),
    (
        &[r#"task.create w id="a""#, r#"join.create id="j" tasks=["a"]"#],
        "join.wait j wait_ms=3600000",
    ),
    (&["stream.create s"], "stream.receive s wait_ms=3600000"),
];

#[test]
fn every_waiting_call_keeps_the_session_of_its_caller() {
    for (before, call) in WAITING_CALLS {
        let mut world = check(&[(
            0,
            "ada",
            "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada",
        )]);
        for asked in before {
            assert!(!world.run(0, "bob", asked).starts_with("refused"), "{asked}");
        }
        let waits = world.run(0, "ada", call);
        assert!(waits.contains(" waits"), "{call}: {waits}");
        for time in [1_250, 2_500, 600_000] {
            assert_eq!(world.run(time, "bob", "time"), "nothing", "{call} at {time}");
        }
        world.run(600_001, "baton", "gone");
        assert_eq!(world.run(601_000, "bob", "time"), "nothing", "{call}");
        let lost = world.run(601_251, "bob", "time");
        assert!(lost.starts_with("agent.lost ada"), "{call}: {lost}");
    }
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = ["agent.too_many", "agent.too_deep"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    let elsewhere = ["agent.forgotten"];
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &elsewhere);
}

/// A batch that cannot be committed would be retried forever.
#[test]
fn many_agents_are_lost_in_several_batches_each_with_its_releases() {
    let joined = "agent.joined a0 token=1 ttl=1000; namespace.created agent:a0; \
                  agent.joined a1 token=2 ttl=1000; namespace.created agent:a1";
    let mut world = check(&[(0, "ada", "many 2 agent.register a{} ttl_ms=1000", joined)]);
    for number in 0..2 {
        let asked = format!("many 1000 state.set shared/{number}:{{}} 1 ephemeral");
        assert_eq!(world.run(0, &format!("a{number}"), &asked), "1000 state.set");
    }
    let all = "1 agent.lost; 1000 state.let_go | 1 agent.lost; 1000 state.let_go";
    world.check(&[(9999, "baton", "time", all)]);
}

#[test]
fn capabilities_are_few_and_short() {
    let mut world = check(&[]);
    let names =
        |count: usize| serde_json::json!((0..count).map(|n| n.to_string()).collect::<Vec<_>>());
    let long = |bytes: usize| serde_json::json!(["x".repeat(bytes)]);
    let mut run = |names| world.run(0, "ada", &format!("agent.register ada capabilities={names}"));
    assert_eq!(run(names(limits::CAPABILITIES_MAX + 1)), "refused agent.bad_capabilities");
    assert_eq!(run(long(limits::CAPABILITY_BYTES_MAX + 1)), "refused agent.bad_capabilities");
    let joined = "agent.joined ada token=1 ttl=60000; namespace.created agent:ada";
    assert_eq!(run(names(limits::CAPABILITIES_MAX)), joined);
    assert_eq!(run(long(limits::CAPABILITY_BYTES_MAX)), "agent.joined ada token=2 ttl=60000");
}

/// A workspace with the maximum number of agents.
fn full(status: Status) -> World {
    let mut head = Space::default().head();
    head.revision = Revision(1);
    head.time = Timestamp(5);
    head.agents = (0..limits::AGENTS_MAX as u64)
        .map(|number| Agent {
            id: AgentId::parse(&format!("a{number}")).unwrap(),
            status,
            capabilities: BTreeSet::new(),
            metadata: None,
            ttl_ms: 60_000,
            token: Token(1),
            registered_at: Timestamp(0),
            last_seen_at: Timestamp(0),
            // The agent that ended first is not the first by name.
            ended_at: (status != Status::Active).then(|| Timestamp(u64::from(number != 7))),
            parent: None,
        })
        .collect();
    World::new(Space::restore(head, Vec::new()))
}

#[test]
fn the_session_that_ended_first_is_evicted_first() {
    full(Status::Lost).check(&[
        (
            5,
            "ada",
            "agent.register ada",
            "agent.forgotten a7; agent.joined ada token=2 ttl=60000; namespace.created agent:ada",
        ),
        (5, "ada", "agent.get a7", "refused agent.not_found"),
        (
            5,
            "ada",
            "agent.register a1",
            "agent.joined a1 token=3 ttl=60000; namespace.created agent:a1",
        ),
    ]);
}

#[test]
fn a_workspace_full_of_active_agents_takes_no_other() {
    full(Status::Active).check(&[
        (5, "ada", "agent.register ada", "refused agent.too_many"),
        (5, "ada", "agent.leave a1", "agent.left a1"),
        (
            5,
            "ada",
            "agent.register ada",
            "agent.forgotten a1; agent.joined ada token=3 ttl=60000; namespace.created agent:ada",
        ),
        (6, "ada", "agent.leave ada", "agent.left ada"),
        (
            7,
            "bob",
            "agent.register bob",
            "agent.forgotten ada; agent.joined bob token=5 ttl=60000; \
             namespace.deleted agent:ada; namespace.created agent:bob",
        ),
        (8, "bob", "state.set agent:bob/notes 1", "state.set agent:bob/notes v1 = 1"),
        (8, "bob", "agent.leave bob", "agent.left bob"),
        (
            9,
            "cy",
            "agent.register cy",
            "agent.forgotten bob; agent.joined cy token=8 ttl=60000; namespace.created agent:cy",
        ),
    ]);
}

#[test]
fn the_log_of_an_agent_that_dies_reads_as_a_story() {
    let log = story(&[
        (
            0,
            "ada",
            "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada",
        ),
        (
            10,
            "ada",
            "state.set shared/leader 1 ephemeral if_absent",
            "state.set shared/leader v1 = 1 with ada",
        ),
        (20, "bob", "state.set shared/leader 2 if_absent", "refused state.exists"),
        (30, "ada", "state.set agent:ada/draft 3", "state.set agent:ada/draft v1 = 3"),
        (1250, "baton", "time", "agent.lost ada; state.let_go shared/leader v1"),
        (
            1260,
            "bob",
            "agent.register bob",
            "agent.joined bob token=5 ttl=60000; namespace.created agent:bob",
        ),
        (
            1270,
            "bob",
            "all: if agent ada active=false & state.set shared/leader 2 ephemeral if_absent \
            & state.transfer agent:ada agent:bob",
            "state.set shared/leader v2 = 2 with bob; \
             state.transferred agent:bob/draft v1 = 3 from agent:ada v1 r3 by ada; \
             state.transferred_away agent:ada/draft v1",
        ),
    ]);
    insta::assert_snapshot!(log, @r"
    r1 at 0, ada:
        agent.joined ada token=1 ttl=1000
        namespace.created agent:ada
    r2 at 10, ada:
        state.set shared/leader v1 = 1 with ada
    r3 at 30, ada:
        state.set agent:ada/draft v1 = 3
    r4 at 1250, baton:
        agent.lost ada
        state.let_go shared/leader v1
    r5 at 1260, bob:
        agent.joined bob token=5 ttl=60000
        namespace.created agent:bob
    r6 at 1270, bob:
        state.set shared/leader v2 = 2 with bob
        state.transferred agent:bob/draft v1 = 3 from agent:ada v1 r3 by ada
        state.transferred_away agent:ada/draft v1
    ");
}

/// The tokens of all agents below are void with the first commit.
#[test]
fn agents_below_end_in_several_commits_if_one_cannot_hold_all_releases() {
    let mut world = check(&[(
        0,
        "boss",
        "agent.register boss ttl_ms=86400000",
        "agent.joined boss token=1 ttl=86400000; namespace.created agent:boss",
    )]);
    for number in 0..11 {
        let agent = format!("a{number}");
        let register = format!("agent.register {agent} parent=\"boss\" ttl_ms=86400000");
        assert!(world.run(0, &agent, &register).starts_with("agent.joined"));
        let asked = format!("many 1000 state.set shared/{number}:{{}} 1 ephemeral");
        assert_eq!(world.run(0, &agent, &asked), "1000 state.set");
    }
    world.check(&[
        (0, "a7", "lock.acquire door", "lock.acquired door by a7 token=24"),
        (1, "boss", "agent.leave boss", "agent.left boss"),
        (1, "a7", "lock.release door token=24", "refused agent.ended"),
        (1, "a7", "under 24 state.set shared/plan 1", "refused agent.ended"),
        (1, "bob", "agent.register bob parent=\"a7\"", "refused agent.no_parent"),
    ]);
    let mut all = ["1 agent.lost; 1000 state.let_go"; 11];
    all[8] = "1 agent.lost; 1 lock.dropped; 1000 state.let_go";
    assert_eq!(world.run(1, "baton", "time"), all.join(" | "));
    world.check(&[(2, "bob", r#"agent.list status="active""#, "[]")]);
}

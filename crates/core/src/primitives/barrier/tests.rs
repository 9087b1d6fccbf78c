//! Scenarios of barriers.

use super::Rejection;
use crate::barrier::{Arrive, Command as Ask};
use crate::command::{Command, Mutation, Request};
use crate::limits;
use crate::names::{AgentId, BarrierName, IdempotencyKey};
use crate::space::Space;
use crate::testing::{World, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    the_last_to_arrive_opens_it_for_all => [
        (0, "ada", "barrier.get gate",                "gate g1 of ? [] waiting=0"),
        (0, "ada", "barrier.arrive gate count=3 wait_ms=100",
            "barrier.arrived gate g1 by ada count=3 call=1 until 100; call 1 waits"),
        (1, "bob", "barrier.arrive gate count=3",     "barrier.arrived gate g1 by bob count=3"),
        (1, "bob", "barrier.get gate",                "gate g1 of 3 [ada, bob] waiting=1"),
        (2, "eve", "barrier.arrive gate count=3 wait_ms=100",
            "barrier.arrived gate g1 by eve count=3; barrier.opened gate g1; \
             barrier.passed gate g1 by ada call=1; call 1: gate g1 open 3/3"),
        (2, "eve", "barrier.get gate",                "gate g2 of ? [] waiting=0"),
        // The next generation may need another number of arrivals.
        (3, "ada", "barrier.arrive gate count=1",
            "barrier.arrived gate g2 by ada count=1; barrier.opened gate g2"),
        (3, "ada", "barrier.get gate",                "gate g3 of ? [] waiting=0"),
        (100, "ada", "time",                          "nothing"),
    ]

    all_agree_on_the_count_and_each_agent_counts_once => [
        (0, "ada", "barrier.arrive gate count=0",     "refused barrier.out_of_range"),
        (0, "ada", "barrier.arrive gate count=10001", "refused barrier.out_of_range"),
        (0, "ada", "barrier.arrive gate count=2 wait_ms=3600001", "refused barrier.out_of_range"),
        (0, "ada", "barrier.arrive gate count=2",     "barrier.arrived gate g1 by ada count=2"),
        (0, "ada", "barrier.arrive gate count=2",     "refused barrier.already_arrived"),
        (0, "bob", "barrier.arrive gate count=3",     "refused barrier.count_differs"),
        (0, "bob", "barrier.arrive gate count=1",     "refused barrier.count_differs"),
        (0, "bob", "barrier.arrive gate count=2",
            "barrier.arrived gate g1 by bob count=2; barrier.opened gate g1"),
        (0, "bob", "barrier.arrive gate count=2",     "barrier.arrived gate g2 by bob count=2"),
    ]

    a_wait_that_ends_withdraws_the_arrival => [
        (0, "ada", "barrier.arrive gate count=2 wait_ms=100",
            "barrier.arrived gate g1 by ada count=2 call=1 until 100; call 1 waits"),
        (99, "ada", "time",                           "nothing"),
        (100, "ada", "time",
            "barrier.withdrawn gate g1 by ada call=1 Timeout; call 1: gate g1 closed 0/2"),
        // Without arrivals, the previous number is not binding.
        (100, "bob", "barrier.arrive gate count=3 wait_ms=100",
            "barrier.arrived gate g1 by bob count=3 call=3 until 200; call 3 waits"),
        (100, "ada", "barrier.arrive gate count=3",   "barrier.arrived gate g1 by ada count=3"),
        (100, "bob", "gone",
            "barrier.withdrawn gate g1 by bob call=3 Gone; call 3: gate g1 closed 1/3"),
        (100, "eve", "barrier.arrive gate count=3",   "barrier.arrived gate g1 by eve count=3"),
        (100, "bob", "barrier.arrive gate count=3",
            "barrier.arrived gate g1 by bob count=3; barrier.opened gate g1"),
    ]

    the_end_of_a_session_withdraws_its_arrivals => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "barrier.arrive east count=2 wait_ms=100",
            "barrier.arrived east g1 by ada count=2 call=2 until 100; call 2 waits"),
        (0, "ada", "barrier.arrive west count=2",     "barrier.arrived west g1 by ada count=2"),
        (0, "bob", "barrier.arrive west count=3",     "refused barrier.count_differs"),
        (1, "ada", "agent.leave ada",
            "agent.left ada; barrier.withdrawn east g1 by ada call=2 SessionEnded; \
             barrier.withdrawn west g1 by ada SessionEnded; \
             call 2: refused barrier.session_ended"),
        (1, "bob", "barrier.arrive west count=3",     "barrier.arrived west g1 by bob count=3"),
    ]

    a_reset_discards_all_arrivals => [
        (0, "ada", "barrier.reset gate",              "r0: gate g1 of ? [] waiting=0"),
        (0, "ada", "barrier.arrive gate count=4 wait_ms=100",
            "barrier.arrived gate g1 by ada count=4 call=1 until 100; call 1 waits"),
        (0, "bob", "barrier.arrive gate count=4",     "barrier.arrived gate g1 by bob count=4"),
        (0, "eve", "barrier.arrive gate count=4 wait_ms=100",
            "barrier.arrived gate g1 by eve count=4 call=3 until 100; call 3 waits"),
        (1, "fay", "barrier.reset gate",
            "barrier.withdrawn gate g1 by ada call=1; barrier.withdrawn gate g1 by eve call=3; \
             barrier.reset gate g1; call 1: gate g1 closed 2/4; call 3: gate g1 closed 1/4"),
        (1, "fay", "barrier.reset gate",              "r4: gate g2 of ? [] waiting=0"),
        (1, "bob", "barrier.arrive gate count=2",     "barrier.arrived gate g2 by bob count=2"),
    ]

    a_repeated_arrival_takes_the_place_of_the_first => [
        (0, "ada", "#a barrier.arrive gate count=2 wait_ms=100",
            "barrier.arrived gate g1 by ada count=2 call=1 until 100; receipt.awaited a; \
             call 1 waits"),
        (0, "ada", "#a barrier.arrive gate count=2 wait_ms=100", "call 1 waits on"),
        (0, "bob", "barrier.arrive gate count=2",
            "barrier.arrived gate g1 by bob count=2; barrier.opened gate g1; \
             barrier.passed gate g1 by ada call=1; receipt.kept a; call 1: gate g1 open 2/2"),
        (0, "ada", "#a barrier.arrive gate count=2 wait_ms=100", "r2: gate g1 open 2/2"),
    ]

    a_rejected_transaction_leaves_no_arrival => [
        (0, "ada", "all: barrier.arrive gate count=2 wait_ms=9",
            "refused transaction.command_refused 0 transaction.cannot_wait"),
        (0, "ada", "barrier.arrive gate count=2",     "barrier.arrived gate g1 by ada count=2"),
        (0, "bob", "all: barrier.arrive gate count=2 & barrier.reset gate & agent.heartbeat bob",
            "refused transaction.command_refused 2 agent.not_found"),
        (0, "bob", "all: barrier.reset gate & barrier.arrive new count=2 & agent.heartbeat bob",
            "refused transaction.command_refused 2 agent.not_found"),
        (0, "bob", "barrier.get gate",                "gate g1 of 2 [ada] waiting=0"),
        (0, "bob", "all: barrier.arrive gate count=2 wait_ms=9 & barrier.arrive gate count=2",
            "barrier.arrived gate g1 by bob count=2; barrier.opened gate g1; \
             barrier.arrived gate g2 by bob count=2"),
    ]

    the_barriers_of_an_agent_are_limited => [
        (0, "ada", "many 500 barrier.arrive b{} count=2", "500 barrier.arrived"),
        (0, "ada", "barrier.arrive new count=2",      "refused barrier.too_many"),
        // The arrival that opens it does not stay.
        (0, "ada", "barrier.arrive new count=1",
            "barrier.arrived new g1 by ada count=1; barrier.opened new g1"),
        (0, "bob", "barrier.arrive b7 count=2",
            "barrier.arrived b7 g1 by bob count=2; barrier.opened b7 g1"),
    ]
}

/// A space with the maximum number of barriers, each of which needs this many arrivals.
fn full(count: u64) -> World {
    let mut space = Space::default();
    for number in 0..limits::BARRIERS_MAX {
        let agent = AgentId::parse(&format!("a{}", number / 100)).unwrap();
        let name = BarrierName::parse(&format!("b{number:05}")).unwrap();
        let ask = Ask::Arrive(Arrive { name, count, wait_ms: None });
        let now = Timestamp(number as u64);
        space.commit(Command::from(ask).into(), &agent, now).unwrap();
    }
    World::new(space)
}

#[test]
fn generations_grow_even_when_a_barrier_was_forgotten() {
    let mut world = full(1);
    world.check(&[
        (
            20_000,
            "ada",
            "barrier.arrive b00000 count=1",
            "barrier.arrived b00000 g2 by ada count=1; barrier.opened b00000 g2",
        ),
        (
            20_000,
            "ada",
            "barrier.arrive new count=1",
            "barrier.forgotten b00001 g2; barrier.arrived new g1 by ada count=1; \
             barrier.opened new g1",
        ),
        (20_000, "ada", "barrier.get b00001", "b00001 g3 of ? [] waiting=0"),
        (
            20_000,
            "ada",
            "barrier.arrive b00001 count=2",
            "barrier.forgotten b00002 g2; barrier.arrived b00001 g3 by ada count=2",
        ),
        (20_000, "ada", "barrier.get b00000", "b00000 g3 of ? [] waiting=0"),
    ]);
}

#[test]
fn a_barrier_with_arrivals_is_not_evicted() {
    let mut world = full(2);
    world.check(&[(20_000, "ada", "barrier.arrive new count=1", "refused barrier.too_many")]);
}

#[test]
fn the_maximum_of_waiting_calls_is_answered_in_one_commit() {
    let mut space = Space::default();
    let name = BarrierName::parse(&"n".repeat(limits::HOLD_NAME_BYTES_MAX)).unwrap();
    let count = limits::BARRIER_WAITS_MAX as u64 + 1;
    let arrive = |number: usize, name: &BarrierName| {
        let agent = format!("{number:0width$}", width = limits::AGENT_BYTES_MAX);
        let arrive = Arrive { name: name.clone(), count, wait_ms: Some(1_000) };
        let key = IdempotencyKey::parse(&"k".repeat(limits::IDEMPOTENCY_KEY_BYTES_MAX)).unwrap();
        let mutation = Mutation::Command(Ask::Arrive(arrive).into());
        let request = Request { mutation, idempotency_key: Some(key) };
        (request, AgentId::parse(&agent).unwrap())
    };
    for number in 1..=limits::BARRIER_WAITS_MAX {
        let (request, agent) = arrive(number, &name);
        let committed = space.commit(request, &agent, Timestamp(0)).unwrap();
        assert!(committed.ended.is_empty());
    }
    let (other, agent) = arrive(0, &BarrierName::parse("other").unwrap());
    let refused = space.commit(other, &agent, Timestamp(0)).unwrap_err();
    assert_eq!(refused.code(), "barrier.too_many");
    let (last, agent) = arrive(0, &name);
    let committed = space.commit(last, &agent, Timestamp(0)).unwrap();
    assert_eq!(committed.ended.len(), limits::BARRIER_WAITS_MAX);
    space.check();
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &["barrier.forgotten"]);
}

//! Scenarios of semaphores.

use super::Rejection;
use crate::command::Command;
use crate::limits;
use crate::names::{AgentId, SemaphoreName};
use crate::semaphore::{Acquire, Command as Ask};
use crate::space::Space;
use crate::testing::{World, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    the_number_of_holders_is_limited_and_the_rest_is_queued => [
        (0, "ada", "semaphore.acquire gpu",               "refused semaphore.not_found"),
        (0, "ada", "semaphore.get gpu",                   "refused semaphore.not_found"),
        (0, "ada", "semaphore.acquire gpu permits=2",
            "semaphore.created gpu permits=2; semaphore.acquired gpu by ada token=1"),
        (1, "bob", "semaphore.acquire gpu permits=2",     "semaphore.acquired gpu by bob token=2"),
        (1, "eve", "semaphore.acquire gpu",               "r2: null"),
        (2, "eve", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by eve call=3 until 102; call 3 waits"),
        (2, "fay", "semaphore.acquire gpu wait_ms=100 ttl_ms=500",
            "semaphore.queued gpu by fay call=4 until 102; call 4 waits"),
        (2, "ada", "semaphore.get gpu",
            "gpu 0/2 held=[ada=1, bob=2] line=[eve, fay]"),
        (3, "bob", "semaphore.release gpu token=2",
            "semaphore.released gpu token=2; semaphore.acquired gpu by eve token=5 call=3; \
             call 3: gpu by eve token=5 until 300003"),
        (3, "bob", "semaphore.release gpu token=2",       "refused semaphore.stale_token"),
        (4, "ada", "semaphore.release gpu token=1",
            "semaphore.released gpu token=1; semaphore.acquired gpu by fay token=6 call=4; \
             call 4: gpu by fay token=6 until 504"),
        (5, "fay", "semaphore.release gpu token=6",       "semaphore.released gpu token=6"),
        (5, "fay", "semaphore.release gpu token=5",       "refused request.not_holder"),
        (5, "eve", "semaphore.release cpu token=5",       "refused semaphore.stale_token"),
        (5, "fay", "semaphore.get gpu",                   "gpu 1/2 held=[eve=5] line=[]"),
    ]

    the_first_call_sets_the_number_of_permits => [
        (0, "ada", "semaphore.acquire gpu permits=0",     "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire gpu permits=10001", "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire gpu permits=10000",
            "semaphore.created gpu permits=10000; semaphore.acquired gpu by ada token=1"),
        (0, "bob", "semaphore.acquire gpu permits=9999",  "refused semaphore.permits_differ"),
        (0, "bob", "semaphore.acquire gpu permits=0",     "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.release gpu token=1",       "semaphore.released gpu token=1"),
        // The number of permits stays although no permit is held.
        (0, "bob", "semaphore.acquire gpu permits=1",     "refused semaphore.permits_differ"),
        (0, "bob", "semaphore.acquire gpu",               "semaphore.acquired gpu by bob token=3"),
        (0, "bob", "semaphore.acquire gpu",               "semaphore.acquired gpu by bob token=4"),
    ]

    permits_that_become_free_together_are_granted_together => [
        (0, "ada", "semaphore.acquire gpu permits=3 ttl_ms=100",
            "semaphore.created gpu permits=3; semaphore.acquired gpu by ada token=1"),
        (0, "ada", "many 2 semaphore.acquire gpu ttl_ms=100",
            "semaphore.acquired gpu by ada token=2; semaphore.acquired gpu by ada token=3"),
        (0, "bob", "semaphore.acquire gpu wait_ms=1000",
            "semaphore.queued gpu by bob call=3 until 1000; call 3 waits"),
        (0, "eve", "semaphore.acquire gpu wait_ms=1000",
            "semaphore.queued gpu by eve call=4 until 1000; call 4 waits"),
        (99,  "ada", "time",                              "nothing"),
        (100, "ada", "time",
            "semaphore.expired gpu token=1; semaphore.expired gpu token=2; \
             semaphore.expired gpu token=3; semaphore.acquired gpu by bob token=5 call=3; \
             semaphore.acquired gpu by eve token=6 call=4; \
             call 3: gpu by bob token=5 until 300100; call 4: gpu by eve token=6 until 300100"),
        (100, "ada", "semaphore.list",                    "[gpu 1/3 held=[bob=5, eve=6] line=[]]"),
    ]

    a_holder_takes_as_many_permits_as_its_weight => [
        (0, "ada", "semaphore.acquire gpu permits=4 weight=5", "refused semaphore.too_heavy"),
        (0, "ada", "semaphore.acquire gpu permits=4 weight=0", "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire gpu permits=4 weight=10001",
            "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire gpu permits=4 weight=3",
            "semaphore.created gpu permits=4; semaphore.acquired gpu by ada token=1 weight=3"),
        (1, "bob", "semaphore.acquire gpu weight=5",      "refused semaphore.too_heavy"),
        (1, "bob", "semaphore.acquire gpu weight=2",      "r1: null"),
        (1, "bob", "semaphore.acquire gpu weight=1",      "semaphore.acquired gpu by bob token=2"),
        (1, "bob", "semaphore.get gpu", "gpu 0/4 held=[ada=1 weight=3, bob=2] line=[]"),
        (2, "ada", "semaphore.renew gpu token=1 ttl_ms=1000",
            "semaphore.renewed gpu token=1 ttl=1000"),
        (3, "ada", "semaphore.release gpu token=1",       "semaphore.released gpu token=1"),
        (3, "bob", "semaphore.get gpu",                   "gpu 3/4 held=[bob=2] line=[]"),
    ]

    a_heavy_call_is_not_overtaken => [
        (0, "ada", "semaphore.acquire gpu permits=3",
            "semaphore.created gpu permits=3; semaphore.acquired gpu by ada token=1"),
        (0, "bob", "semaphore.acquire gpu weight=3 wait_ms=100",
            "semaphore.queued gpu by bob call=2 until 100 weight=3; call 2 waits"),
        // Two permits are free, but the next ones are for the call that waits.
        (1, "eve", "semaphore.acquire gpu",               "r2: null"),
        (1, "eve", "semaphore.acquire gpu wait_ms=500",
            "semaphore.queued gpu by eve call=3 until 501; call 3 waits"),
        (1, "fay", "semaphore.acquire gpu weight=2 wait_ms=500",
            "semaphore.queued gpu by fay call=4 until 501 weight=2; call 4 waits"),
        (1, "ada", "semaphore.get gpu",
            "gpu 2/3 held=[ada=1] line=[bob weight=3, eve, fay weight=2]"),
        // The head of the queue leaves: those behind it get what is free.
        (100, "ada", "time",
            "semaphore.gave_up gpu by bob call=2 Timeout; \
             semaphore.acquired gpu by eve token=5 call=3; call 2: null; \
             call 3: gpu by eve token=5 until 300100"),
        (101, "ada", "semaphore.release gpu token=1",
            "semaphore.released gpu token=1; \
             semaphore.acquired gpu by fay token=6 call=4 weight=2; \
             call 4: gpu by fay token=6 until 300101 weight=2"),
    ]

    a_departure_grants_to_the_calls_behind_it => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "bob", "semaphore.acquire gpu permits=2",
            "semaphore.created gpu permits=2; semaphore.acquired gpu by bob token=2"),
        (0, "ada", "semaphore.acquire gpu weight=2 wait_ms=100",
            "semaphore.queued gpu by ada call=3 until 100 weight=2; call 3 waits"),
        (0, "eve", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by eve call=4 until 100; call 4 waits"),
        (1, "ada", "agent.leave ada",
            "agent.left ada; semaphore.gave_up gpu by ada call=3 SessionEnded; \
             semaphore.acquired gpu by eve token=5 call=4; \
             call 3: refused semaphore.session_ended; call 4: gpu by eve token=5 until 300001"),
    ]

    no_departure_grants_to_another_caller_that_is_gone => [
        (0, "bob", "semaphore.acquire gpu permits=2",
            "semaphore.created gpu permits=2; semaphore.acquired gpu by bob token=1"),
        (0, "ada", "semaphore.acquire gpu weight=2 wait_ms=100",
            "semaphore.queued gpu by ada call=2 until 100 weight=2; call 2 waits"),
        (0, "eve", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by eve call=3 until 100; call 3 waits"),
        (0, "ada", "gone",
            "semaphore.gave_up gpu by eve call=3 Gone; call 3: null | \
             semaphore.gave_up gpu by ada call=2 Gone; call 2: null"),
    ]

    a_larger_semaphore_grants_in_the_same_commit => [
        (0, "ada", "semaphore.resize gpu permits=2",      "refused semaphore.not_found"),
        (0, "ada", "semaphore.acquire gpu permits=1",
            "semaphore.created gpu permits=1; semaphore.acquired gpu by ada token=1"),
        (0, "ada", "semaphore.resize gpu permits=0",      "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.resize gpu permits=10001",  "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.resize gpu permits=1",      "r1: gpu 0/1 held=[ada=1] line=[]"),
        (0, "bob", "semaphore.acquire gpu permits=4",     "refused semaphore.permits_differ"),
        (0, "bob", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by bob call=2 until 100; call 2 waits"),
        (0, "eve", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by eve call=3 until 100; call 3 waits"),
        (1, "ada", "semaphore.resize gpu permits=2",
            "semaphore.resized gpu permits=2; semaphore.acquired gpu by bob token=4 call=2; \
             call 2: gpu by bob token=4 until 300001"),
        (2, "ada", "semaphore.resize gpu permits=9",
            "semaphore.resized gpu permits=9; semaphore.acquired gpu by eve token=5 call=3; \
             call 3: gpu by eve token=5 until 300002"),
        // Programs that give the number of before still get permits.
        (3, "ada", "semaphore.acquire gpu permits=1",     "semaphore.acquired gpu by ada token=6"),
        (3, "ada", "semaphore.acquire gpu permits=9",     "semaphore.acquired gpu by ada token=7"),
        (3, "ada", "semaphore.acquire gpu permits=0",     "refused semaphore.out_of_range"),
        (3, "ada", "semaphore.get gpu",
            "gpu 4/9 held=[ada=1, bob=4, eve=5, ada=6, ada=7] line=[]"),
    ]

    a_smaller_semaphore_takes_nothing_from_its_holders => [
        (0, "ada", "semaphore.acquire gpu permits=4 weight=3",
            "semaphore.created gpu permits=4; semaphore.acquired gpu by ada token=1 weight=3"),
        (0, "bob", "semaphore.acquire gpu",               "semaphore.acquired gpu by bob token=2"),
        (0, "eve", "semaphore.acquire gpu weight=3 wait_ms=100",
            "semaphore.queued gpu by eve call=3 until 100 weight=3; call 3 waits"),
        (0, "fay", "semaphore.acquire gpu weight=2 wait_ms=100",
            "semaphore.queued gpu by fay call=4 until 100 weight=2; call 4 waits"),
        (1, "ada", "semaphore.resize gpu permits=2",
            "semaphore.resized gpu permits=2; semaphore.gave_up gpu by eve call=3 TooHeavy; \
             call 3: refused semaphore.too_heavy"),
        (1, "ada", "semaphore.get gpu",
            "gpu 0/2 held=[ada=1 weight=3, bob=2] line=[fay weight=2]"),
        (1, "ada", "semaphore.renew gpu token=1 ttl_ms=1000",
            "semaphore.renewed gpu token=1 ttl=1000"),
        (2, "ada", "semaphore.release gpu token=1",       "semaphore.released gpu token=1"),
        (2, "ada", "semaphore.get gpu",
            "gpu 1/2 held=[bob=2] line=[fay weight=2]"),
        (3, "bob", "semaphore.release gpu token=2",
            "semaphore.released gpu token=2; \
             semaphore.acquired gpu by fay token=8 call=4 weight=2; \
             call 4: gpu by fay token=8 until 300003 weight=2"),
    ]

    a_refused_call_frees_the_queue_for_a_lighter_one => [
        (0, "ada", "semaphore.acquire gpu permits=4 weight=1",
            "semaphore.created gpu permits=4; semaphore.acquired gpu by ada token=1"),
        (0, "eve", "semaphore.acquire gpu weight=4 wait_ms=100",
            "semaphore.queued gpu by eve call=2 until 100 weight=4; call 2 waits"),
        (0, "fay", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by fay call=3 until 100; call 3 waits"),
        (1, "ada", "semaphore.resize gpu permits=3",
            "semaphore.resized gpu permits=3; semaphore.gave_up gpu by eve call=2 TooHeavy; \
             semaphore.acquired gpu by fay token=4 call=3; \
             call 2: refused semaphore.too_heavy; call 3: gpu by fay token=4 until 300001"),
    ]

    a_permit_expires_unless_it_is_renewed => [
        (0,    "ada", "semaphore.acquire gpu permits=2 ttl_ms=1000",
            "semaphore.created gpu permits=2; semaphore.acquired gpu by ada token=1"),
        (0,    "ada", "semaphore.acquire gpu ttl_ms=1000", "semaphore.acquired gpu by ada token=2"),
        (100,  "ada", "semaphore.renew gpu token=1",      "r2: gpu by ada token=1 until 1000"),
        (500,  "ada", "semaphore.renew gpu token=1",
            "semaphore.renewed gpu token=1 ttl=1000"),
        (600,  "ada", "semaphore.renew gpu token=1 ttl_ms=2000",
            "semaphore.renewed gpu token=1 ttl=2000"),
        (600,  "ada", "semaphore.renew gpu token=1 ttl_ms=99", "refused semaphore.out_of_range"),
        (600,  "ada", "semaphore.renew gpu token=9",      "refused semaphore.stale_token"),
        (1000, "ada", "time",                             "semaphore.expired gpu token=2"),
        (1000, "ada", "semaphore.renew gpu token=2",      "refused semaphore.stale_token"),
        (2599, "ada", "time",                             "nothing"),
        (2600, "ada", "time",                             "semaphore.expired gpu token=1"),
    ]

    a_call_that_stopped_waiting_is_never_granted => [
        (0,   "ada", "semaphore.acquire gpu permits=1 ttl_ms=1000",
            "semaphore.created gpu permits=1; semaphore.acquired gpu by ada token=1"),
        (0,   "bob", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by bob call=2 until 100; call 2 waits"),
        (0,   "eve", "semaphore.acquire gpu wait_ms=1000",
            "semaphore.queued gpu by eve call=3 until 1000; call 3 waits"),
        (100, "ada", "time",     "semaphore.gave_up gpu by bob call=2 Timeout; call 2: null"),
        // The wait and the permit end at the same time: the wait ends first.
        (1000, "ada", "time",
            "semaphore.gave_up gpu by eve call=3 Timeout; semaphore.expired gpu token=1; \
             call 3: null"),
        (1000, "ada", "semaphore.acquire gpu",            "semaphore.acquired gpu by ada token=6"),
        (1000, "bob", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by bob call=7 until 1100; call 7 waits"),
        (1000, "ada", "gone",    "semaphore.gave_up gpu by bob call=7 Gone; call 7: null"),
        (1000, "ada", "semaphore.release gpu token=6",    "semaphore.released gpu token=6"),
    ]

    the_end_of_a_session_releases_permits_and_waits => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "semaphore.acquire gpu permits=2",
            "semaphore.created gpu permits=2; semaphore.acquired gpu by ada token=2"),
        (0, "ada", "semaphore.acquire gpu",               "semaphore.acquired gpu by ada token=3"),
        (0, "ada", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by ada call=4 until 100; call 4 waits"),
        (0, "bob", "semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by bob call=5 until 100; call 5 waits"),
        (1, "ada", "agent.leave ada",
            "agent.left ada; semaphore.gave_up gpu by ada call=4 SessionEnded; \
             semaphore.dropped gpu token=2; semaphore.dropped gpu token=3; \
             semaphore.acquired gpu by bob token=6 call=5; \
             call 4: refused semaphore.session_ended; call 5: gpu by bob token=6 until 300001"),
    ]

    no_permit_is_lost_while_there_was_no_server => [
        (0,    "ada", "semaphore.acquire gpu permits=1 ttl_ms=1000",
            "semaphore.created gpu permits=1; semaphore.acquired gpu by ada token=1"),
        (5000, "ada", "wake",                             "awake"),
        (5999, "ada", "time",                             "nothing"),
        (6000, "ada", "time",                             "semaphore.expired gpu token=1"),
    ]

    a_stale_token_stops_any_write => [
        (0, "ada", "semaphore.acquire gpu permits=1",
            "semaphore.created gpu permits=1; semaphore.acquired gpu by ada token=1"),
        (0, "ada", "under 1 state.set shared/a 1",        "state.set shared/a v1 = 1"),
        (0, "ada", "semaphore.release gpu token=1",       "semaphore.released gpu token=1"),
        (0, "ada", "under 1 state.set shared/a 2",        "refused request.stale_token"),
    ]

    a_repeated_call_takes_the_place_of_the_first => [
        (0, "ada", "#a semaphore.acquire gpu permits=1",
            "semaphore.created gpu permits=1; semaphore.acquired gpu by ada token=1; \
             receipt.kept a"),
        (0, "ada", "#a semaphore.acquire gpu permits=1",  "r1: gpu by ada token=1 until 300000"),
        (0, "bob", "#b semaphore.acquire gpu wait_ms=100",
            "semaphore.queued gpu by bob call=2 until 100; receipt.awaited b; call 2 waits"),
        (5, "bob", "#b semaphore.acquire gpu wait_ms=100", "call 2 waits on"),
        (6, "ada", "semaphore.release gpu token=1",
            "semaphore.released gpu token=1; semaphore.acquired gpu by bob token=3 call=2; \
             receipt.kept b; call 2: gpu by bob token=3 until 300006"),
        (7, "bob", "#b semaphore.acquire gpu wait_ms=100", "r3: gpu by bob token=3 until 300006"),
    ]

    a_rejected_transaction_leaves_no_semaphore => [
        (0, "ada", "all: semaphore.acquire gpu permits=1 & semaphore.acquire gpu wait_ms=5",
            "refused transaction.command_refused 1 transaction.cannot_wait"),
        (0, "ada", "semaphore.get gpu",                   "refused semaphore.not_found"),
        (0, "ada", "all: semaphore.acquire gpu permits=1 & semaphore.release gpu token=1 & \
                    semaphore.acquire gpu permits=2",
            "refused transaction.command_refused 2 semaphore.permits_differ"),
        (0, "ada", "semaphore.list",                      "[]"),
    ]

    lists_and_limits => [
        (0, "ada", "semaphore.acquire a permits=1",
            "semaphore.created a permits=1; semaphore.acquired a by ada token=1"),
        (0, "ada", "semaphore.acquire b permits=1000",
            "semaphore.created b permits=1000; semaphore.acquired b by ada token=2"),
        (0, "ada", "semaphore.list limit=1",              "[a 0/1 held=[ada=1] line=[]] next=a"),
        (0, "ada", "semaphore.list cursor=\"a\"",         "[b 999/1000 held=[ada=2] line=[]]"),
        (0, "ada", "semaphore.list limit=0",              "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire a ttl_ms=86400001", "refused semaphore.out_of_range"),
        (0, "ada", "semaphore.acquire a wait_ms=3600001", "refused semaphore.out_of_range"),
        (0, "ada", "many 497 semaphore.acquire b",        "497 semaphore.acquired"),
        // Waits count as holds, because they become holds without another check.
        (0, "ada", "semaphore.acquire a wait_ms=9",
            "semaphore.queued a by ada call=4 until 9; call 4 waits"),
        (0, "ada", "semaphore.acquire b",                 "refused semaphore.too_many"),
        (0, "ada", "semaphore.acquire a wait_ms=9",       "refused semaphore.too_many"),
        (0, "bob", "semaphore.acquire b",                 "semaphore.acquired b by bob token=500"),
    ]
}

/// A space with the maximum number of semaphores, of which the first has been idle longest.
fn full(release: bool) -> World {
    let mut space = Space::default();
    for number in 0..limits::SEMAPHORES_MAX {
        let agent = AgentId::parse(&format!("a{}", number / 100)).unwrap();
        let name = SemaphoreName::parse(&format!("s{number:05}")).unwrap();
        let (permits, ttl_ms) = (Some(1), Some(86_400_000));
        let (weight, wait_ms) = (None, None);
        let ask = Acquire { name: name.clone(), permits, weight, ttl_ms, wait_ms };
        let now = Timestamp(number as u64);
        let commit = |space: &mut Space, ask: Ask| {
            space.commit(Command::from(ask).into(), &agent, now).unwrap();
        };
        commit(&mut space, Ask::Acquire(ask));
        if release {
            let token = space.revision().0.into();
            commit(&mut space, Ask::Release { name, token });
        }
    }
    World::new(space)
}

#[test]
fn the_one_that_is_idle_longest_is_evicted() {
    let mut world = full(true);
    world.check(&[
        // It was used again, so it is no longer the one that has been idle longest.
        (20_000, "ada", "semaphore.acquire s00000", "semaphore.acquired s00000 by ada token=20001"),
        (
            20_000,
            "ada",
            "semaphore.release s00000 token=20001",
            "semaphore.released s00000 token=20001",
        ),
        (
            20_000,
            "ada",
            "semaphore.acquire new permits=7",
            "semaphore.forgotten s00001; semaphore.created new permits=7; \
             semaphore.acquired new by ada token=20003",
        ),
        (20_000, "ada", "semaphore.get s00001", "refused semaphore.not_found"),
        (20_000, "ada", "semaphore.get s00000", "s00000 1/1 held=[] line=[]"),
    ]);
}

#[test]
fn a_semaphore_in_use_is_not_evicted() {
    let mut world = full(false);
    world.check(&[
        (20_000, "ada", "semaphore.acquire new permits=7", "refused semaphore.too_many"),
        (20_000, "ada", "semaphore.acquire s00000 permits=1", "r10000: null"),
    ]);
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &["semaphore.forgotten"]);
}

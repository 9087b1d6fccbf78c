//! Scenarios of locks.

use super::Rejection;
use crate::testing::{World, check_codes, check_coverage, scenarios};

scenarios! {
    a_lock_has_one_holder_and_hands_over_in_the_same_commit => [
        (0, "ada", "lock.acquire door",                "lock.acquired door by ada token=1"),
        (1, "bob", "lock.acquire door",                "r1: null"),
        (2, "bob", "lock.acquire door wait_ms=1000",
            "lock.queued door by bob call=2 until 1002; call 2 waits"),
        (3, "eve", "lock.acquire door wait_ms=1000 ttl_ms=500",
            "lock.queued door by eve call=3 until 1003; call 3 waits"),
        (4, "ada", "lock.get door",
            "door by ada token=1 until 300000 line=[bob, eve]"),
        (5, "ada", "lock.release door token=1",
            "lock.released door token=1; lock.acquired door by bob token=4 call=2; \
             call 2: door by bob token=4 until 300005"),
        (6, "ada", "lock.release door token=1",        "refused lock.stale_token"),
        (6, "eve", "lock.release door token=4",        "refused request.not_holder"),
        (6, "bob", "lock.release door token=4",
            "lock.released door token=4; lock.acquired door by eve token=5 call=3; \
             call 3: door by eve token=5 until 506"),
        (7, "eve", "lock.release door token=5",        "lock.released door token=5"),
        (7, "eve", "lock.release door token=5",        "refused lock.stale_token"),
        (7, "eve", "lock.get door",                    "door free line=[]"),
    ]

    tokens_only_grow_even_within_one_commit => [
        (0, "ada", "all: lock.acquire a & lock.acquire b & lock.release a token=1 & lock.acquire a",
            "lock.acquired a by ada token=1; lock.acquired b by ada token=2; \
             lock.released a token=1; lock.acquired a by ada token=3"),
        (0, "ada", "lock.acquire c",                   "lock.acquired c by ada token=4"),
        (0, "ada", "agent.register ada",
            "agent.joined ada token=5 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "agent.leave ada",
            "agent.left ada; lock.dropped a token=3; lock.dropped b token=2; \
             lock.dropped c token=4"),
        (0, "ada", "all: lock.acquire a & try lock.acquire a & agent.heartbeat bob",
            "refused transaction.command_refused 2 agent.not_found"),
        (0, "ada", "lock.acquire a",                   "lock.acquired a by ada token=6"),
    ]

    a_hold_expires_unless_it_is_renewed => [
        (0,    "ada", "lock.acquire door ttl_ms=1000",  "lock.acquired door by ada token=1"),
        (100,  "bob", "lock.acquire door wait_ms=5000",
            "lock.queued door by bob call=2 until 5100; call 2 waits"),
        // Too soon to be recorded: the answer has the end that is on record.
        (100,  "ada", "lock.renew door token=1",        "r2: door by ada token=1 until 1000"),
        (500,  "ada", "lock.renew door token=1",        "lock.renewed door ttl=1000"),
        (600,  "ada", "lock.renew door token=1 ttl_ms=2000", "lock.renewed door ttl=2000"),
        (600,  "bob", "lock.renew door token=9",        "refused lock.stale_token"),
        (2599, "ada", "time",                           "nothing"),
        (2600, "ada", "time",
            "lock.expired door token=1; lock.acquired door by bob token=5 call=2; \
             call 2: door by bob token=5 until 302600"),
        (2600, "ada", "lock.renew door token=1",        "refused lock.stale_token"),
    ]

    a_call_that_stopped_waiting_is_never_granted => [
        (0,   "ada", "lock.acquire door ttl_ms=1000",   "lock.acquired door by ada token=1"),
        (0,   "bob", "lock.acquire door wait_ms=100",
            "lock.queued door by bob call=2 until 100; call 2 waits"),
        (0,   "eve", "lock.acquire door wait_ms=1000",
            "lock.queued door by eve call=3 until 1000; call 3 waits"),
        (100, "ada", "time",            "lock.gave_up door by bob call=2 Timeout; call 2: null"),
        // The wait and the hold end at the same time: the wait ends first.
        (1000, "ada", "time",
            "lock.gave_up door by eve call=3 Timeout; lock.expired door token=1; call 3: null"),
        (1000, "ada", "lock.acquire door",              "lock.acquired door by ada token=6"),
        (1000, "bob", "lock.acquire door wait_ms=100",
            "lock.queued door by bob call=7 until 1100; call 7 waits"),
        (1000, "ada", "gone",           "lock.gave_up door by bob call=7 Gone; call 7: null"),
        (1000, "ada", "lock.release door token=6",      "lock.released door token=6"),
    ]

    the_end_of_a_session_releases_holds_and_waits => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "lock.acquire door",                 "lock.acquired door by ada token=2"),
        (0, "bob", "lock.acquire window",               "lock.acquired window by bob token=3"),
        (0, "ada", "lock.acquire window wait_ms=100",
            "lock.queued window by ada call=4 until 100; call 4 waits"),
        (0, "eve", "lock.acquire door wait_ms=100",
            "lock.queued door by eve call=5 until 100; call 5 waits"),
        (1, "ada", "agent.leave ada",
            "agent.left ada; lock.gave_up window by ada call=4 SessionEnded; \
             lock.dropped door token=2; lock.acquired door by eve token=6 call=5; \
             call 4: refused lock.session_ended; call 5: door by eve token=6 until 300001"),
    ]

    no_hold_is_lost_while_there_was_no_server => [
        (0,    "ada", "lock.acquire door ttl_ms=1000",  "lock.acquired door by ada token=1"),
        (5000, "ada", "wake",                           "awake"),
        (5999, "ada", "time",                           "nothing"),
        (6000, "ada", "time",                           "lock.expired door token=1"),
    ]

    wait_queues_and_holders_are_listed => [
        (0, "ada", "lock.acquire a",                    "lock.acquired a by ada token=1"),
        (0, "bob", "lock.acquire b",                    "lock.acquired b by bob token=2"),
        (0, "ada", "lock.acquire b wait_ms=9",
            "lock.queued b by ada call=3 until 9; call 3 waits"),
        (0, "ada", "lock.list",
            "[a by ada token=1 until 300000 line=[]; \
              b by bob token=2 until 300000 line=[ada]] circles=[]"),
        (0, "bob", "lock.acquire a wait_ms=9",
            "lock.queued a by bob call=4 until 9; call 4 waits"),
        (0, "ada", "lock.list limit=1",
            "[a by ada token=1 until 300000 line=[bob]] circles=[ada>b bob>a] next=a"),
        (0, "ada", "lock.list limit=0",                 "refused lock.out_of_range"),
    ]

    a_repeated_call_takes_the_place_of_the_first => [
        (0, "ada", "lock.acquire door",                 "lock.acquired door by ada token=1"),
        (0, "bob", "#k lock.acquire door wait_ms=100",
            "lock.queued door by bob call=2 until 100; receipt.awaited k; call 2 waits"),
        (5, "bob", "#k lock.acquire door wait_ms=100",  "call 2 waits on"),
        (5, "bob", "#k lock.acquire gate wait_ms=100",  "refused idempotency.key_reused"),
        (6, "ada", "lock.release door token=1",
            "lock.released door token=1; lock.acquired door by bob token=3 call=2; \
             receipt.kept k; call 2: door by bob token=3 until 300006"),
        (7, "bob", "#k lock.acquire door wait_ms=100",  "r3: door by bob token=3 until 300006"),
        (7, "bob", "#l lock.acquire door wait_ms=100",
            "lock.queued door by bob call=4 until 107; receipt.awaited l; call 4 waits"),
        // A null result is not stored: the next call with the key is a new one.
        (107, "bob", "time",
            "lock.gave_up door by bob call=4 Timeout; call 4: null"),
    ]

    a_stale_token_stops_any_write => [
        (0, "ada", "lock.acquire door",                 "lock.acquired door by ada token=1"),
        (0, "ada", "under 1 state.set shared/a 1",      "state.set shared/a v1 = 1"),
        (0, "ada", "all: if token 1 & state.set shared/a 2", "state.set shared/a v2 = 2"),
        (0, "ada", "lock.release door token=1",         "lock.released door token=1"),
        (0, "ada", "under 1 state.set shared/a 3",      "refused request.stale_token"),
        (0, "ada", "all: if token 1 & state.set shared/a 3",
            "refused transaction.precondition_failed 0"),
        (0, "ada", "agent.register ada",
            "agent.joined ada token=5 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "under 5 state.set shared/a 3",      "state.set shared/a v3 = 3"),
    ]

    limits_and_odd_numbers => [
        (0, "ada", "lock.acquire door ttl_ms=99",       "refused lock.out_of_range"),
        (0, "ada", "lock.acquire door ttl_ms=86400001", "refused lock.out_of_range"),
        (0, "ada", "lock.acquire door wait_ms=3600001", "refused lock.out_of_range"),
        (0, "ada", "many 499 lock.acquire l{}",         "499 lock.acquired"),
        (0, "bob", "lock.acquire door",                 "lock.acquired door by bob token=500"),
        // Waits count as holds, because they become holds without another check.
        (0, "ada", "lock.acquire door wait_ms=9",
            "lock.queued door by ada call=3 until 9; call 3 waits"),
        (0, "ada", "lock.acquire gate",                 "refused lock.too_many"),
        (0, "ada", "lock.acquire door wait_ms=9",       "refused lock.too_many"),
        (0, "eve", "all: lock.acquire door wait_ms=5",
            "refused transaction.command_refused 0 transaction.cannot_wait"),
    ]
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

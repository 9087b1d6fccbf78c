//! Scenarios of streams.

use super::Rejection;
use crate::testing::{World, check_codes, check_coverage, scenarios};

scenarios! {
    frames_have_offsets_and_any_number_of_readers => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "bob", "stream.create s",           "r1: s open 0..0 bytes=0 readers=0"),
        (0, "bob", "stream.create s frames_max=5", "refused stream.exists"),
        (1, "ada", "stream.send s 1",           "stream.sent s 0 [1]"),
        (1, "ada", "stream.send s 2 frames=[3,4]", "stream.sent s 1 [2, 3, 4]"),
        (2, "bob", "stream.receive s limit=3",  "r3: [0:1, 1:2, 2:3] next=3 open"),
        (2, "bob", "stream.receive s from=3",   "r3: [3:4] next=4 open"),
        (2, "bob", "stream.receive s from=4",   "r3: [] next=4 open"),
        (2, "bob", "stream.receive s from=5",   "refused stream.out_of_range"),
        (2, "bob", "stream.receive t",          "refused stream.not_found"),
        (2, "bob", "stream.get s",              "s open 0..4 bytes=4 readers=0"),
        (2, "bob", "stream.list limit=1",       "[s open 0..4 bytes=4 readers=0]"),
    ]

    readers_at_the_end_are_answered_by_the_commit_that_adds_frames => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "bob", "stream.receive s wait_ms=9 limit=1",
            "stream.queued s by bob call=2 from 0 until 9; call 2 waits"),
        (0, "eve", "#k stream.receive s wait_ms=9",
            "stream.queued s by eve call=3 from 0 until 9; receipt.awaited k; call 3 waits"),
        (1, "ada", "stream.send s 1 frames=[2]",
            "stream.sent s 0 [1, 2]; stream.told s by bob call=2 from 0; \
             stream.told s by eve call=3 from 0; call 2: [0:1] next=1 open; \
             call 3: [0:1, 1:2] next=2 open"),
        // Reading has no effect, so a repeated call reads again.
        (1, "eve", "#k stream.receive s wait_ms=9", "r4: [0:1, 1:2] next=2 open"),
        (2, "bob", "stream.receive s from=2 wait_ms=9",
            "stream.queued s by bob call=5 from 2 until 11; call 5 waits"),
        (11, "bob", "time",
            "stream.gave_up s by bob call=5 Timeout; call 5: [] next=2 open"),
        (12, "bob", "stream.receive s from=2 wait_ms=9",
            "stream.queued s by bob call=7 from 2 until 21; call 7 waits"),
        (12, "bob", "gone",
            "stream.gave_up s by bob call=7 Gone; call 7: [] next=2 open"),
    ]

    a_closed_stream_has_an_end => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "ada", "stream.send s 1",           "stream.sent s 0 [1]"),
        (0, "bob", "stream.receive s from=1 wait_ms=9",
            "stream.queued s by bob call=3 from 1 until 9; call 3 waits"),
        (1, "ada", "stream.close s reason=\"done\"",
            "stream.closed s (done); stream.told s by bob call=3 from 1; \
             call 3: [] next=1 closed"),
        (2, "ada", "stream.close s",            "r4: s closed 0..1 bytes=1 readers=0"),
        (2, "ada", "stream.send s 2",           "refused stream.closed"),
        (2, "ada", "stream.create s",           "refused stream.exists"),
        (2, "bob", "stream.receive s wait_ms=9", "r4: [0:1] next=1 closed"),
        (2, "bob", "stream.receive s from=1 wait_ms=9", "r4: [] next=1 closed"),
        (3, "bob", "stream.delete s",           "stream.deleted s"),
        (3, "bob", "stream.delete s",           "refused stream.not_found"),
        (3, "bob", "stream.close s",            "refused stream.not_found"),
    ]

    a_reader_with_unread_frames_is_not_at_the_end => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "ada", "stream.send s 1 frames=[2]", "stream.sent s 0 [1, 2]"),
        (0, "ada", "stream.close s",            "stream.closed s"),
        (0, "bob", "stream.receive s limit=1",  "r3: [0:1] next=1 open"),
        (0, "bob", "stream.receive s from=1 limit=1", "r3: [1:2] next=2 closed"),
    ]

    waiting_readers_are_answered_when_it_is_deleted => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "bob", "stream.receive s wait_ms=9",
            "stream.queued s by bob call=2 from 0 until 9; call 2 waits"),
        (1, "ada", "stream.delete s",
            "stream.told s by bob call=2 from 0; stream.deleted s; \
             call 2: [] next=0 open"),
    ]

    the_oldest_are_dropped_and_reading_them_is_refused => [
        (0, "ada", "stream.create s frames_max=2 bytes_max=5",
            "stream.created s frames=2 bytes=5"),
        (0, "ada", "stream.send s 1 frames=[2,3]", "stream.sent s 0 [1, 2, 3]"),
        (0, "bob", "stream.receive s",          "r2: [1:2, 2:3] next=3 open"),
        (0, "bob", "stream.receive s from=0",   "refused stream.offset_gone"),
        (0, "ada", "stream.send s 123456789",   "stream.sent s 3 [123456789]"),
        (0, "bob", "stream.get s",              "s open 3..4 bytes=9 readers=0"),
        (0, "bob", "stream.receive s from=4 wait_ms=9",
            "stream.queued s by bob call=4 from 4 until 9; call 4 waits"),
        // More frames were appended at once than are kept: the gap is reported.
        (0, "ada", "stream.send s 1 frames=[2,3]",
            "stream.sent s 4 [1, 2, 3]; stream.told s by bob call=4 from 4; \
             call 4: refused stream.offset_gone"),
        (0, "ada", "all: stream.send s 8 & stream.close s & stream.send s 9",
            "refused transaction.command_refused 2 stream.closed"),
        (0, "ada", "all: stream.send s 8 & stream.delete s & stream.send s 9",
            "refused transaction.command_refused 2 stream.not_found"),
        (0, "bob", "stream.receive s",          "r5: [5:2, 6:3] next=7 open"),
    ]

    frames_that_are_not_kept_are_only_delivered_live => [
        (0, "ada", "stream.create s kept=false",
            "stream.created s frames=100000 bytes=8388608 live"),
        (0, "ada", "stream.send s 1",           "told stream.sent s [1] live"),
        (0, "bob", "stream.receive s",          "refused stream.not_kept"),
        (0, "ada", "stream.close s",            "stream.closed s"),
        (0, "ada", "stream.send s 1",           "refused stream.closed"),
    ]

    the_end_of_a_session_ends_its_waits => [
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "bob", "agent.register bob",
            "agent.joined bob token=2 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "stream.receive s wait_ms=9",
            "stream.queued s by bob call=3 from 0 until 9; call 3 waits"),
        (1, "bob", "agent.leave bob",
            "agent.left bob; stream.gave_up s by bob call=3 SessionEnded; \
             call 3: refused stream.session_ended"),
    ]

    limits_and_odd_numbers => [
        (0, "ada", "stream.create s frames_max=0", "refused stream.out_of_range"),
        (0, "ada", "stream.create s bytes_max=67108865", "refused stream.out_of_range"),
        (0, "ada", "stream.create s",           "stream.created s frames=100000 bytes=8388608"),
        (0, "ada", "stream.send s bytes:1048577", "refused stream.too_large"),
        (0, "ada", "stream.send s",             "refused stream.bad_field"),
        (0, "ada", "stream.receive s limit=0",  "refused stream.out_of_range"),
    ]
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &["stream.too_many"]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

#[test]
fn the_waiting_calls_of_an_agent_are_limited() {
    let mut world = crate::testing::check(&[(
        0,
        "ada",
        "stream.create s",
        "stream.created s frames=100000 bytes=8388608",
    )]);
    for _ in 0..crate::limits::READERS_PER_AGENT_MAX {
        assert!(world.run(0, "bob", "stream.receive s wait_ms=9").ends_with("waits"));
    }
    assert_eq!(world.run(0, "bob", "stream.receive s wait_ms=9"), "refused stream.too_many");
    assert!(world.run(0, "eve", "stream.receive s wait_ms=9").ends_with("waits"));
    world.check_memory();
}

//! Scenarios of waits for a status.

use super::Rejection;
use crate::limits;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};

scenarios! {
    a_finished_task_answers_its_waits => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (1, "ann", "task.wait a",                  "r1: null"),
        (1, "ann", "task.wait b wait_ms=100",      "refused task.not_found"),
        (1, "ann", "task.wait a wait_ms=100",
            "wait.queued a [] by ann call=2 until 101; call 2 waits"),
        (2, "eve", r#"task.wait a statuses=["in_progress"] wait_ms=100"#,
            "wait.queued a [in_progress] by eve call=3 until 102; call 3 waits"),
        (3, "ada", "task.claim",
            "task.claimed a by ada token=4; wait.answered a [in_progress] by eve call=3; \
             call 3: a in_progress by ada token=0 until 300003 attempts=1 retries=0"),
        (4, "ada", "task.complete a token=4 result=7",
            "task.completed a; wait.answered a [] by ann call=2; \
             call 2: a completed attempts=1 retries=0 result=7"),
        (5, "ann", "task.wait a wait_ms=100",      "r5: a completed attempts=1 retries=0 result=7"),
        (102, "ann", "time",                       "nothing"),
    ]

    // A call sees the status that an event leads to, although the same commit changes it again.
    a_status_between_two_events_counts => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ada", "task.claim",                   "task.claimed a by ada token=2"),
        (0, "bob", "task.claim wait_ms=100",
            "task.queued bob call=3 until 100; call 3 waits"),
        (0, "ann", r#"task.wait a statuses=["pending"] wait_ms=100"#,
            "wait.queued a [pending] by ann call=4 until 100; call 4 waits"),
        (1, "ada", "task.release a token=2",
            "task.released a; wait.answered a [pending] by ann call=4; \
             task.claimed a by bob token=5 call=3; call 4: a pending attempts=1 retries=0; \
             call 3: a in_progress by bob token=5 until 300001 attempts=2 retries=0"),
    ]

    // A wait for a status that is never reached ends with the task.
    any_end_ends_the_wait => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", r#"task.wait a statuses=["waiting_review"] wait_ms=100"#,
            "wait.queued a [waiting_review] by ann call=2 until 100; call 2 waits"),
        (1, "ann", "task.cancel a",
            "task.cancelled a; wait.answered a [waiting_review] by ann call=2; \
             call 2: a cancelled"),
    ]

    a_handoff_is_waited_for_likewise => [
        (0, "ann", "handoff.offer bob",        "handoff.offered h-0000000001 to `bob` !receiver"),
        (0, "ann", "handoff.wait h-9",             "refused handoff.not_found"),
        (0, "ann", r#"handoff.wait h-0000000001 statuses=["accepted"] wait_ms=100"#,
            "wait.queued h-0000000001 [accepted] by ann call=2 until 100; call 2 waits"),
        (0, "eve", "handoff.wait h-0000000001 wait_ms=100",
            "wait.queued h-0000000001 [] by eve call=3 until 100; call 3 waits"),
        (1, "bob", "handoff.accept h-0000000001",
            "handoff.accepted h-0000000001 by bob; \
             wait.answered h-0000000001 [accepted] by ann call=2; \
             call 2: h-0000000001 accepted ann to `bob`"),
        (2, "bob", "handoff.complete h-0000000001",
            "handoff.completed h-0000000001; wait.answered h-0000000001 [] by eve call=3; \
             call 3: h-0000000001 completed ann to `bob`"),
        (3, "eve", "handoff.wait h-0000000001",    "r5: h-0000000001 completed ann to `bob`"),
    ]

    a_wait_ends_in_time_or_with_its_session => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", "task.wait a wait_ms=10",
            "wait.queued a [] by ann call=2 until 10; call 2 waits"),
        (10, "ann", "time",
            "wait.gave_up a [] by ann call=2 Timeout; call 2: null"),
        (11, "eve", "agent.register eve",
            "agent.joined eve token=4 ttl=60000; namespace.created agent:eve"),
        (11, "eve", "task.wait a wait_ms=100",
            "wait.queued a [] by eve call=5 until 111; call 5 waits"),
        (12, "eve", "agent.leave eve",
            "agent.left eve; wait.gave_up a [] by eve call=5 SessionEnded; \
             call 5: refused wait.session_ended"),
        (13, "eve", "task.wait a wait_ms=3600001", "refused wait.out_of_range"),
    ]
}

#[test]
fn the_number_of_waits_is_bounded() {
    let mut world = check(&[(0, "ann", r#"task.create w id="a""#, "task.created a w ready")]);
    for number in 0..limits::STATUS_WAITS_MAX {
        let rendered = world.run(0, &format!("ann-{number}"), "task.wait a wait_ms=100");
        assert!(rendered.ends_with("waits"), "{rendered}");
    }
    world.check(&[(0, "ann", "task.wait a wait_ms=100", "refused wait.too_many")]);
    let rendered = world.run(1, "ann", "task.cancel a");
    let answered = format!("{} wait.answered", limits::STATUS_WAITS_MAX);
    assert!(rendered.contains(&answered), "all are answered at once: {rendered}");
    world.check_memory();
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &["wait.too_many"]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

//! Scenarios of joins.

use super::Rejection;
use crate::limits;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};

scenarios! {
    a_join_over_all_settles_whatever_the_outcomes => [
        (0, "ann", r#"all: task.create w id="a" & task.create w id="b" & task.create w id="c""#,
            "task.created a w ready; task.created b w ready; task.created c w ready"),
        (1, "ann", r#"join.create tasks=["c","a","b"]"#,
            "join.created j-0000000002 over [c, a, b] need=all"),
        (1, "ann", "join.get j-0000000002",
            "j-0000000002 Waiting [c pending, a pending, b pending]"),
        (1, "ann", "join.wait j-0000000002",       "r2: null"),
        (2, "ann", "join.wait j-0000000002 wait_ms=100",
            "join.queued j-0000000002 by ann call=3 until 102; call 3 waits"),
        (3, "ada", r#"all: task.claim task="a" & task.complete a token=4 result={"n":1}"#,
            "task.claimed a by ada token=4; task.completed a"),
        (4, "ada", r#"task.claim task="b""#,       "task.claimed b by ada token=5"),
        (4, "ada", r#"task.fail b token=5 error="no" retryable=false"#,
            "task.failed b \"no\" for good"),
        (4, "ann", "join.get j-0000000002",
            r#"j-0000000002 Waiting [c pending, a completed={"n":1}, b failed="no"]"#),
        (5, "ann", "task.cancel c",
            "task.cancelled c; join.settled j-0000000002 Satisfied; \
             join.answered j-0000000002 by ann call=3; \
             call 3: j-0000000002 Satisfied [c cancelled, a completed={\"n\":1}, b failed=\"no\"]"),
        (6, "ann", "join.wait j-0000000002 wait_ms=100",
            r#"r7: j-0000000002 Satisfied [c cancelled, a completed={"n":1}, b failed="no"]"#),
        (102, "ann", "time",                       "nothing"),
    ]

    as_many_are_completed_as_needed => [
        (0, "ann", r#"all: task.create w id="a" & task.create w id="b" & task.create w id="c""#,
            "task.created a w ready; task.created b w ready; task.created c w ready"),
        (0, "ann", r#"join.create id="two" tasks=["a","b","c"] need=2"#,
            "join.created two over [a, b, c] need=2"),
        (0, "ada", r#"all: task.claim task="a" & task.complete a token=3 result=1"#,
            "task.claimed a by ada token=3; task.completed a"),
        (0, "ann", "task.cancel b",                "task.cancelled b"),
        (0, "ada", r#"all: task.claim task="c" & task.complete c token=5 result=3"#,
            "task.claimed c by ada token=5; task.completed c; join.settled two Satisfied"),
        // Tasks that have finished already count at once.
        (0, "ann", r#"join.create id="again" tasks=["a","b","c"] need=2"#,
            "join.created again over [a, b, c] need=2; join.settled again Satisfied"),
        (0, "ann", r#"join.create id="three" tasks=["a","b","c"] need=3"#,
            "join.created three over [a, b, c] need=3; \
             join.settled three Failed: 3 must be completed, only 2 can still be"),
        (0, "ann", "join.wait three",
            "r7: three Failed [a completed=1, b cancelled, c completed=3]"),
    ]

    a_join_that_can_never_be_satisfied_fails => [
        (0, "ann", r#"all: task.create w id="a" & task.create w id="b""#,
            "task.created a w ready; task.created b w ready"),
        (0, "ann", r#"join.create id="both" tasks=["a","b"] need=2"#,
            "join.created both over [a, b] need=2"),
        (0, "ann", "join.wait both wait_ms=9",
            "join.queued both by ann call=3 until 9; call 3 waits"),
        (0, "ann", "task.cancel b",
            "task.cancelled b; \
             join.settled both Failed: 2 must be completed, only 1 can still be; \
             join.answered both by ann call=3; call 3: both Failed [a pending, b cancelled]"),
        // Later results are recorded and change nothing.
        (0, "ada", r#"all: task.claim task="a" & task.complete a token=5 result=7"#,
            "task.claimed a by ada token=5; task.completed a"),
        (0, "ann", "join.get both",                "both Failed [a completed=7 late, b cancelled]"),
    ]

    a_group_grows_until_its_join_has_settled => [
        (0, "ann", r#"join.create id="g" group="team""#,
            "join.created g over [group team] need=all"),
        (0, "ann", "join.wait g wait_ms=50",
            "join.queued g by ann call=2 until 50; call 2 waits"),
        (1, "ann", r#"task.create w id="z" group="team""#, "task.created z w ready"),
        (1, "ann", r#"task.create w id="y" group="team""#, "task.created y w ready"),
        (1, "ann", r#"task.create w id="x" group="other""#, "task.created x w ready"),
        (2, "ann", r#"join.create id="h" group="team" need=2"#,
            "join.created h over [group team] need=2"),
        (3, "ann", "task.cancel z",                "task.cancelled z"),
        (3, "ann", r#"task.create w id="a" group="team""#, "task.created a w ready"),
        (3, "ann", "join.get g",                   "g Waiting [z cancelled, y pending, a pending]"),
        (4, "ada", r#"all: task.claim task="y" & task.complete y token=9 result=1"#,
            "task.claimed y by ada token=9; task.completed y"),
        // Both settle in the commit that finishes the last task.
        (5, "ada", r#"all: task.claim task="a" & task.complete a token=10 result=2"#,
            "task.claimed a by ada token=10; task.completed a; \
             join.settled g Satisfied; join.answered g by ann call=2; join.settled h Satisfied; \
             call 2: g Satisfied [z cancelled, y completed=1, a completed=2]"),
        (6, "ann", r#"task.create w id="late" group="team""#, "task.created late w ready"),
        (6, "ann", "join.get h",
            "h Satisfied [z cancelled, y completed=1, a completed=2]"),
    ]

    a_deadline_passes => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", r#"join.create id="soon" tasks=["a"] deadline_ms=100"#,
            "join.created soon over [a] need=all until 100"),
        (0, "ann", "join.wait soon wait_ms=100",
            "join.queued soon by ann call=3 until 100; call 3 waits"),
        (99, "ann", "time",                        "nothing"),
        // The deadline and the wait end at the same time: the call gets the outcome of the join.
        (100, "ann", "time",
            "join.settled soon Expired; join.answered soon by ann call=3; \
             call 3: soon Expired [a pending]"),
        (101, "ann", "task.cancel a",              "task.cancelled a"),
        (101, "ann", "join.get soon",              "soon Expired [a cancelled late]"),
    ]

    a_call_that_stopped_waiting_is_not_answered => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", r#"join.create id="j" tasks=["a"]"#, "join.created j over [a] need=all"),
        (0, "ann", "join.wait j wait_ms=10",
            "join.queued j by ann call=3 until 10; call 3 waits"),
        (0, "bob", "join.wait j wait_ms=1000",
            "join.queued j by bob call=4 until 1000; call 4 waits"),
        (10, "ann", "time",              "join.gave_up j by ann call=3 Timeout; call 3: null"),
        (10, "ann", "gone",              "join.gave_up j by bob call=4 Gone; call 4: null"),
        (10, "bob", "agent.register bob",
            "agent.joined bob token=7 ttl=60000; namespace.created agent:bob"),
        (10, "bob", "join.wait j wait_ms=1000",
            "join.queued j by bob call=8 until 1010; call 8 waits"),
        (10, "bob", "agent.leave bob",
            "agent.left bob; join.gave_up j by bob call=8 SessionEnded; \
             call 8: refused join.session_ended"),
    ]

    a_repeated_wait_has_the_same_answer_without_a_receipt => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", r#"#c join.create tasks=["a"]"#,
            "join.created j-0000000002 over [a] need=all; receipt.kept c"),
        (0, "ann", r#"#c join.create tasks=["a"]"#, "r2: j-0000000002 Waiting [a pending]"),
        (0, "ann", "#w join.wait j-0000000002 wait_ms=10",
            "join.queued j-0000000002 by ann call=3 until 10; receipt.awaited w; call 3 waits"),
        (0, "ann", "#w join.wait j-0000000002 wait_ms=10", "call 3 waits on"),
        (0, "ann", "task.cancel a",
            "task.cancelled a; join.settled j-0000000002 Satisfied; \
             join.answered j-0000000002 by ann call=3; \
             call 3: j-0000000002 Satisfied [a cancelled]"),
        (0, "ann", "#w join.wait j-0000000002 wait_ms=10",
            "r4: j-0000000002 Satisfied [a cancelled]"),
    ]

    a_rejected_transaction_leaves_no_trace => [
        (0, "ann", r#"task.create w id="a" group="g""#, "task.created a w ready"),
        (0, "ann", r#"join.create id="j" group="g""#, "join.created j over [group g] need=all"),
        (0, "ann", r#"all: task.create w id="b" group="g" & task.cancel a & task.cancel b &
                      join.create id="k" tasks=["a"] & agent.heartbeat bob"#,
            "refused transaction.command_refused 4 agent.not_found"),
        (0, "ann", "all: join.wait j wait_ms=5",
            "refused transaction.command_refused 0 transaction.cannot_wait"),
        (0, "ann", "join.get j",                   "j Waiting [a pending]"),
        (0, "ann", r#"all: join.create tasks=["a"] & join.create tasks=["a"]"#,
            "join.created j-0000000003 over [a] need=all; \
             join.created j-0000000003.2 over [a] need=all"),
    ]

    odd_wishes => [
        (0, "ann", r#"task.create w id="a""#,      "task.created a w ready"),
        (0, "ann", "join.create",                  "refused join.bad_members"),
        (0, "ann", r#"join.create group="g" tasks=["a"]"#, "refused join.bad_members"),
        (0, "ann", "join.create tasks=[]",         "refused join.bad_members"),
        (0, "ann", r#"join.create tasks=["a","a"]"#, "refused join.bad_members"),
        (0, "ann", r#"join.create tasks=["a","b"]"#, "refused join.unknown_task"),
        (0, "ann", r#"join.create tasks=["a"] need=0"#, "refused join.out_of_range"),
        (0, "ann", r#"join.create tasks=["a"] need=2"#, "refused join.out_of_range"),
        (0, "ann", r#"join.create group="g" need=1001"#, "refused join.out_of_range"),
        (0, "ann", r#"join.create tasks=["a"] deadline_ms=0"#, "refused join.out_of_range"),
        (0, "ann", r#"join.create id="j" tasks=["a"] need="all""#,
            "join.created j over [a] need=all"),
        (0, "ann", r#"join.create id="j" tasks=["a"]"#, "refused join.exists"),
        (0, "ann", "join.get k",                   "refused join.not_found"),
        (0, "ann", "join.wait k",                  "refused join.not_found"),
        (0, "ann", "join.wait j wait_ms=3600001",  "refused join.out_of_range"),
        (0, "ann", r#"many 15 join.create id="j{}" tasks=["a"]"#, "15 join.created"),
        (0, "ann", r#"join.create tasks=["a"]"#,   "refused join.too_many"),
        (0, "ann", r#"many 16 join.create id="g{}" group="g""#, "16 join.created"),
        (0, "ann", r#"join.create group="g""#,     "refused join.too_many"),
        // All joins of a task settle in the commit that ends it.
        (0, "ann", "task.cancel a",                "16 join.settled; 1 task.cancelled"),
    ]
}

#[test]
fn a_group_that_becomes_too_large_makes_its_join_fail() {
    let mut world = check(&[
        (0, "ann", r#"join.create id="j" group="g""#, "join.created j over [group g] need=all"),
        (0, "ann", r#"many 999 task.create w group="g""#, "999 task.created"),
        // After an undo, the group was never too large.
        (
            0,
            "ann",
            r#"all: task.create w group="g" & agent.heartbeat bob"#,
            "refused transaction.command_refused 1 agent.not_found",
        ),
        (0, "ann", r#"task.create w id="last" group="g""#, "task.created last w ready"),
        (
            0,
            "ann",
            r#"all: task.create w group="g" & task.create w group="g" & agent.heartbeat bob"#,
            "refused transaction.command_refused 2 agent.not_found",
        ),
        (
            0,
            "ann",
            r#"task.create w id="more" group="g""#,
            "task.created more w ready; \
             join.settled j Failed: group `g` has more than 1000 tasks",
        ),
        (0, "ann", r#"join.create group="g""#, "refused join.bad_members"),
    ]);
    assert_eq!(world.space.join.members(), 0);
    world.check(&[(
        0,
        "ann",
        r#"join.create group="h""#,
        "join.created j-0000000005 over [group h] need=all",
    )]);
    assert_eq!(world.space.join.members(), limits::JOIN_MEMBERS_MAX);
}

/// More joins settle than fit into the commit: the others settle in later commits.
#[test]
fn many_joins_that_settle_together_follow_in_later_commits() {
    let mut world = check(&[
        (
            0,
            "ann",
            "agent.register ann",
            "agent.joined ann token=1 ttl=60000; namespace.created agent:ann",
        ),
        (0, "ann", r#"task.create w id="top""#, "task.created top w ready"),
        (0, "ann", r#"many 40 task.create w id="t{}" parent="top""#, "40 task.created"),
        (0, "ann", r#"many 40 join.create id="j{}" tasks=["t{}"]"#, "40 join.created"),
        (0, "bob", "join.wait j7 wait_ms=5", "join.queued j7 by bob call=5 until 5; call 5 waits"),
        (0, "ann", "task.cancel top", "41 task.cancelled"),
    ]);
    let rendered = world.run(0, "ann", "time");
    assert_eq!(rendered, "1 join.answered; 40 join.settled; call 5: j7 Satisfied [t7 cancelled]");
    world.check(&[(9, "ann", "time", "nothing")]);
}

#[test]
fn a_result_that_is_too_large_stays_with_the_task() {
    let mut world = check(&[
        (
            0,
            "ann",
            r#"many 6 task.create w id="t{}""#,
            "task.created t0 w ready; task.created t1 w ready; task.created t2 w ready; \
             task.created t3 w ready; task.created t4 w ready; task.created t5 w ready",
        ),
        (
            0,
            "ann",
            r#"join.create id="j" tasks=["t0","t1","t2","t3","t4","t5"]"#,
            "join.created j over [t0, t1, t2, t3, t4, t5] need=all",
        ),
    ]);
    for number in 0..6 {
        let token = world.space.revision().0 + 1;
        let asked = format!("task.claim task=\"t{number}\"");
        world.run(0, "ada", &asked);
        let bytes = if number == 5 { 10 } else { 900_000 };
        let rendered = world.run(
            0,
            "ada",
            &format!("task.complete t{number} token={token} result=bytes:{bytes}"),
        );
        assert!(rendered.starts_with("task.completed"), "{rendered}");
    }
    let rendered = world.run(0, "ann", "join.get j");
    let large = "completed=900000 bytes";
    let expected = format!(
        "j Satisfied [t0 {large}, t1 {large}, t2 {large}, t3 {large}, t4 completed omitted, \
         t5 completed=\"xxxxxxxx\"]"
    );
    assert_eq!(rendered, expected);
    world.check_memory();
}

#[test]
fn those_that_settled_first_are_forgotten_first() {
    let mut world = check(&[(0, "ann", r#"task.create w id="a""#, "task.created a w ready")]);
    world.check(&[(0, "ann", "task.cancel a", "task.cancelled a")]);
    for number in 0..=limits::JOINS_SETTLED_MAX / 1_000 {
        let asked = format!(r#"many 1000 join.create id="{number}.{{}}" tasks=["a"]"#);
        let rendered = world.run(number as u64, "ann", &asked);
        assert_eq!(rendered, "1000 join.created; 1000 join.settled");
    }
    world.check(&[
        (99, "ann", "join.get 0.999", "refused join.not_found"),
        (99, "ann", "join.get 1.0", "1.0 Satisfied [a cancelled]"),
    ]);
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

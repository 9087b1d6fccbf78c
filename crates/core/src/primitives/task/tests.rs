//! Scenarios of tasks.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{List, Rejection, Status, Task};
use crate::limits;
use crate::names::{AgentId, TaskId};
use crate::space::Space;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};

scenarios! {
    a_task_is_claimed_worked_on_and_done => [
        (0, "ann", r#"task.create review id="a" definition={"file":1}"#,
            "task.created a review ready"),
        (1, "ann", "task.create review",             "task.created t-0000000002 review ready"),
        (2, "ann", r#"task.create review id="a""#,   "refused task.exists"),
        (3, "ann", "task.get a",                     "a pending"),
        (4, "ada", r#"task.claim types=["write"]"#,  "r2: null"),
        (5, "ada", r#"task.claim types=["write","review"] lease_ms=1000"#,
            "task.claimed a by ada token=3"),
        (6, "ada", "task.get a",
            "a in_progress by ada token=3 until 1005 attempts=1 retries=0"),
        (7, "ada", "task.progress a token=3 fraction=0.5 note=\"half\"",
            "task.progressed a 0.5 (half)"),
        (8, "ada", r#"task.update a token=3 fields={"result":{"n":1},"priority":3}"#,
            "task.updated a"),
        (9, "ada", r#"task.complete a token=3 artifacts=["log"] then_claim={}"#,
            "task.completed a; task.claimed t-0000000002 by ada token=6"),
        (9, "ada", "task.get a",
            r#"a completed attempts=1 retries=0 result={"n":1}"#),
        (9, "ada", "task.complete a token=3",        "refused task.finished"),
        (9, "bob", "task.complete a token=2",        "refused task.stale_token"),
        (9, "ada", "task.cancel a",                  "refused task.finished"),
        (9, "ada", r#"task.review a verdict="retry""#, "refused task.finished"),
        (9, "ada", r#"task.claim task="a""#,         "refused task.finished"),
        (9, "ada", "task.release t-0000000002 token=6 reason=\"tired\"",
            "task.released t-0000000002 (tired)"),
        (9, "ada", "task.claim",                     "task.claimed t-0000000002 by ada token=8"),
        (9, "ada", "task.heartbeat t-0000000002 token=6", "refused task.stale_token"),
        (9, "ada", "task.get nope",                  "refused task.not_found"),
        (9, "ada", "task.heartbeat nope token=6",    "refused task.not_found"),
        (9, "ada", "task.history a",                 "about the past"),
    ]

    a_failed_task_is_retried_with_the_tasks_that_its_failure_cancelled => [
        (0, "ann", r#"task.create w id="a" max_retries=0"#,   "task.created a w ready"),
        (0, "ann", r#"task.create w id="b" max_retries=0"#,   "task.created b w ready"),
        (0, "ann", r#"task.create w id="c" depends_on=["a"] deadline_ms=50"#, "task.created c w"),
        (0, "ann", r#"task.create w id="d" depends_on=["a","b"]"#, "task.created d w"),
        (0, "ann", r#"task.create w id="e" parent="c""#,      "task.created e w ready"),
        (0, "ann", r#"task.create w id="f" depends_on=["c"]"#, "task.created f w"),
        (1, "ann", r#"task.cancel f reason="unwanted""#, "task.cancelled f (unwanted)"),
        (1, "ann", "task.retry a",                            "refused task.not_failed"),
        (2, "ada", r#"task.claim task="a""#,                  "task.claimed a by ada token=8"),
        (3, "ada", r#"task.fail a token=8 error="no""#,
            "task.failed a \"no\" for good; task.cancelled c (task `a`, which it needs, has \
             failed); task.cancelled d (task `a`, which it needs, has failed); task.cancelled e \
             (task `c`, which it needs, is cancelled)"),
        (4, "ada", r#"task.claim task="b""#,                  "task.claimed b by ada token=10"),
        (5, "ada", r#"task.fail b token=10 error="no""#,      "task.failed b \"no\" for good"),
        (6, "ann", "task.retry c",                            "refused task.not_failed"),
        (6, "ann", "task.retry nope",                         "refused task.not_found"),
        (6, "ann", "task.retry a deadline_ms=0",              "refused task.out_of_range"),
        // `d` stays cancelled, since `b` failed as well; `f` was cancelled by hand.
        (60, "ann", r#"task.retry a reason="repaired""#,
            "task.retried a (repaired); task.retried c; task.retried e; task.ready a"),
        (60, "ann", "task.get c",                             r#"c pending after ["a"]"#),
        (61, "ann", "task.retry b",
            "task.retried b; task.retried d; task.ready b"),
        (62, "ada", r#"task.claim task="a""#,                 "task.claimed a by ada token=14"),
        (62, "ada", "task.complete a token=8",                "refused task.stale_token"),
        (63, "ada", "task.complete a token=14",
            "task.completed a; task.ready c"),
    ]

    a_task_is_retried_only_if_it_can_run => [
        (0,  "ann", r#"task.create w id="a" max_retries=0"#,  "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" depends_on=["a"] deadline_ms=10"#, "task.created b w"),
        (10, "ann", "time",
            "task.failed b {\"reason\":\"deadline\"} for good"),
        // It waits for its dependency again.
        (11, "ann", "task.retry b deadline_ms=10",            "task.retried b"),
        (11, "ann", "task.get b",
            r#"b pending after ["a"] error={"reason":"deadline"}"#),
        (21, "ann", "time",
            "task.failed b {\"reason\":\"deadline\"} for good"),
        (22, "ada", r#"task.claim task="a""#,                 "task.claimed a by ada token=6"),
        (23, "ada", r#"task.fail a token=6 error="no""#,      "task.failed a \"no\" for good"),
        (24, "ann", "task.retry b",                           "refused task.needs_retry"),
        (25, "ann", "task.retry a",                           "task.retried a; task.ready a"),
        (26, "ann", "task.retry b",                           "task.retried b"),
        // A pipeline decides what follows from the failure of a stage.
        (30, "ann", r#"pipeline.create p automatic=true stages=[{"name":"s","max_retries":0}]"#,
            "pipeline.created p [s] automatic; pipeline.stage_ready p/s [p-0000000010]; \
             task.created p-0000000010 s ready"),
        (31, "ada", r#"task.claim types=["s"]"#,
            "task.claimed p-0000000010 by ada token=11; pipeline.stage_started p/s by ada"),
        (32, "ada", r#"task.fail p-0000000010 token=11 error="no""#,
            "task.failed p-0000000010 \"no\" for good; pipeline.stage_failed p/s \
             {\"error\":\"no\",\"reason\":\"task_failed\",\"task\":\"p-0000000010\"}; \
             pipeline.failed p"),
        (33, "ann", "task.retry p-0000000010",                "refused task.of_a_stage"),
    ]

    the_more_important_and_the_older_come_first => [
        (0,      "ann", r#"task.create w id="old""#,                 "task.created old w ready"),
        (0,      "ann", r#"task.create w id="older" priority=-1"#,   "task.created older w ready"),
        (1,      "ann", r#"task.create w id="new""#,                 "task.created new w ready"),
        (2,      "ann", r#"task.create x id="high" priority=2"#,     "task.created high x ready"),
        // One point of priority is worth a minute: a task that has waited that long is not
        // overtaken.
        (60_000,  "ann", r#"task.create w id="late" priority=1"#,     "task.created late w ready"),
        (180_000, "ann", r#"task.create w id="last" priority=1"#,     "task.created last w ready"),
        (180_000, "ada", "task.why late",
            "`late` is pending: it is ready; 1 task is ahead of it in the queue; no agent has an \
             active session; no eligible agent is waiting to claim type `w`"),
        (180_000, "ada", r#"task.claim types=["w"]"#,
            "task.claimed old by ada token=7"),
        (180_000, "ada", "task.claim",
            "task.claimed high by ada token=8"),
        (180_000, "ada", "task.claim",
            "task.claimed late by ada token=9"),
        (180_000, "ada", "task.claim",
            "task.claimed new by ada token=10"),
        (180_000, "ada", "task.claim",
            "task.claimed older by ada token=11"),
        (180_000, "ada", "task.claim",
            "task.claimed last by ada token=12"),
        (180_000, "ada", "task.claim",                                "r12: null"),
    ]

    only_permitted_and_capable_agents_claim => [
        (0, "ann", r#"task.create w id="bobs" assigned_agent="bob""#,
            "task.created bobs w ready; warning task.no_capable_agent"),
        (0, "ann", r#"task.create w id="hard" capabilities=["rust","sql"]"#,
            "task.created hard w ready; warning task.no_capable_agent"),
        (0, "ann", r#"task.create w id="none" capabilities=["sql"] if_capable"#,
            "refused task.no_capable_agent"),
        (0, "ann", r#"task.create w id="none" if_capable"#,
            "refused task.no_capable_agent"),
        (0, "ann", r#"task.create w assigned_agent="bob" if_capable"#,
            "refused task.no_capable_agent"),
        (0, "ada", "task.claim",                                     "r2: null"),
        (0, "ada", r#"task.claim capabilities=["rust"]"#,            "r2: null"),
        (0, "ada", r#"task.claim task="bobs""#,                      "refused task.not_claimable"),
        (0, "ada", r#"task.claim task="hard" wait_ms=5"#,            "refused task.not_claimable"),
        (0, "ada", r#"task.claim task="hard" types=["x"]"#,          "refused task.not_claimable"),
        (0, "ada", "task.why hard",
            "`hard` is pending: it is ready; it is first in the queue; no active agent has the \
             capabilities `rust` and `sql`; no eligible agent is waiting to claim type `w`"),
        (0, "bob", r#"agent.register bob capabilities=["rust","sql","c"]"#,
            "agent.joined bob token=3 ttl=60000; namespace.created agent:bob"),
        (0, "ann",
            r#"task.create w id="fine" capabilities=["sql"] assigned_agent="bob" if_capable"#,
            "task.created fine w ready"),
        (0, "ann", r#"task.create w id="far" capabilities=["go"] assigned_agent="bob" if_capable"#,
            "refused task.no_capable_agent"),
        (0, "ann", "task.why bobs",
            "`bobs` is pending: it is ready; it is first in the queue; it is assigned to `bob`; no \
             eligible agent is waiting to claim type `w`"),
        (1, "bob", "task.claim",
            "task.claimed bobs by bob token=5"),
        (1, "bob", r#"task.claim capabilities=["rust"]"#,            "r5: null"),
        (1, "bob", r#"task.claim types=["w"]"#,
            "task.claimed hard by bob token=6"),
        (1, "bob", r#"task.claim task="fine""#,
            "task.claimed fine by bob token=7"),
        (1, "bob", r#"task.claim task="fine""#,                      "refused task.not_claimable"),
        (1, "ann", r#"task.list agent="bob""#,                    "[bobs, fine, hard]"),
        (2, "bob", "agent.leave bob",
            "agent.left bob; task.failed bobs \
             {\"holder\":\"bob\",\"reason\":\"agent_gone\",\"token\":5} again; task.failed \
             fine {\"holder\":\"bob\",\"reason\":\"agent_gone\",\"token\":7} again; \
             task.failed hard {\"holder\":\"bob\",\"reason\":\"agent_gone\",\"token\":6} again"),
        (2, "bob", "time",           "task.ready bobs; task.ready fine; task.ready hard"),
        (2, "ann", "task.why hard",
            "`hard` is pending: it is ready; it is first in the queue; no active agent has the \
             capabilities `rust` and `sql` (without a session: `bob`); no eligible agent is \
             waiting to claim type `w`"),
        (2, "ann", "task.why bobs",
            "`bobs` is pending: it is ready; it is first in the queue; it is assigned to `bob`, \
             which has no session; no eligible agent is waiting to claim type `w`"),
    ]

    waiting_calls_are_served_in_order_of_arrival => [
        (0, "ada", r#"task.claim types=["w"] wait_ms=1000"#,
            "task.queued ada call=1 until 1000; call 1 waits"),
        (0, "bob", "task.claim wait_ms=1000 lease_ms=500",
            "task.queued bob call=2 until 1000; call 2 waits"),
        (0, "cho", r#"task.claim types=["w","x"] capabilities=["sql"] wait_ms=1000"#,
            "task.queued cho call=3 until 1000; call 3 waits"),
        (0, "ann", "task.stats",
            "pending=0 ready=0 delayed=0 blocked=0 working=0 review=0 done=0 failed=0 \
             cancelled=0 claims=3"),
        (1, "ann", r#"task.create w id="hard" capabilities=["sql"]"#,
            "task.created hard w ready; task.claimed hard by cho token=4 call=3; \
             warning task.no_capable_agent; \
             call 3: hard in_progress by cho token=4 until 300001 attempts=1 retries=0"),
        (1, "ann", r#"task.create x id="x""#,
            "task.created x x ready; task.claimed x by bob token=5 call=2; \
             call 2: x in_progress by bob token=5 until 501 attempts=1 retries=0"),
        (1, "ann", r#"all: task.create w id="one" & task.create w id="two""#,
            "task.created one w ready; task.claimed one by ada token=6 call=1; \
             task.created two w ready; \
             call 1: one in_progress by ada token=6 until 300001 attempts=1 retries=0"),
        (2, "dee", r#"task.claim task="one" wait_ms=100"#,
            "task.queued dee call=7 until 102; call 7 waits"),
        (2, "eve", r#"task.claim task="one" wait_ms=200"#,
            "task.queued eve call=8 until 202; call 8 waits"),
        (2, "fay", r#"task.claim task="hard" wait_ms=100 capabilities=["sql"]"#,
            "task.queued fay call=9 until 102; call 9 waits"),
        (3, "ada", "task.release one token=6",
            "task.released one; task.claimed one by dee token=10 call=7; \
             call 7: one in_progress by dee token=10 until 300003 attempts=2 retries=0"),
        // A claim for a finished task ends at once.
        (4, "dee", "task.complete one token=10",     "task.completed one"),
        (4, "dee", "time",
            "task.gave_up eve call=8 Timeout; call 8: null"),
        (101, "dee", "time",                         "nothing"),
        (102, "dee", "time",
            "task.gave_up fay call=9 Timeout; call 9: null"),
        (103, "fay", "task.claim wait_ms=0",         "task.claimed two by fay token=14"),
        (103, "fay", "task.claim wait_ms=5",
            "task.queued fay call=15 until 108; call 15 waits"),
        (103, "ann", "gone",
            "task.gave_up fay call=15 Gone; call 15: null"),
        (104, "ann", "task.create w",                "task.created t-0000000017 w ready"),
        (104, "ann", "all: task.claim & task.claim wait_ms=5",
            "refused transaction.command_refused 1 transaction.cannot_wait"),
    ]

    the_end_of_a_session_ends_its_waits => [
        (0, "ada", "agent.register ada ttl_ms=100",
            "agent.joined ada token=1 ttl=100; namespace.created agent:ada"),
        (0, "ada", "task.claim wait_ms=60000",
            "task.queued ada call=2 until 60000; call 2 waits"),
        (125, "ada", "agent.leave ada",
            "agent.left ada; task.gave_up ada call=2 SessionEnded; call 2: refused \
             task.session_ended"),
        (125, "ann", "task.create w",                "task.created t-0000000004 w ready"),
    ]

    a_lease_expires_unless_it_is_renewed => [
        (0,    "ann", r#"task.create w id="a" max_retries=1"#,  "task.created a w ready"),
        (0,    "ada", "task.claim lease_ms=1000",    "task.claimed a by ada token=2"),
        (100,  "bob", "task.claim wait_ms=60000",
            "task.queued bob call=3 until 60100; call 3 waits"),
        // Too soon to be recorded: the answer has the end that is on record.
        (249,  "ada", "task.heartbeat a token=2",
            "r3: a in_progress by ada token=2 until 1000 attempts=1 retries=0"),
        (250,  "ada", "task.heartbeat a token=2",    "task.renewed a lease=1000"),
        (260,  "ada", "task.progress a token=2 fraction=1", "task.progressed a 1"),
        (1259, "ada", "time",                        "nothing"),
        (1260, "ada", "time",
            "task.failed a {\"holder\":\"ada\",\"reason\":\"lease_expired\",\"token\":2} again \
             | task.ready a; task.claimed a by bob token=7 call=3; call 3: a in_progress by \
             bob token=7 until 301260 attempts=2 retries=1 \
             error={\"holder\":\"ada\",\"reason\":\"lease_expired\",\"token\":2}"),
        (1261, "ada", "task.heartbeat a token=2",    "refused task.stale_token"),
        (1261, "ada", "task.complete a token=2",     "refused task.stale_token"),
        (1261, "bob", "task.heartbeat a token=7 lease_ms=200", "task.renewed a lease=200"),
        (1461, "bob", "time",
            r#"task.failed a {"holder":"bob","reason":"lease_expired","token":7} for good"#),
        (1461, "bob", "task.complete a token=7",     "refused task.finished"),
        (1461, "bob", "task.why a",
            "`a` has failed: 2 attempts failed; last error: `lease_expired`"),
    ]

    no_lease_is_lost_while_there_was_no_server => [
        (0,    "ann", r#"task.create w id="a""#,     "task.created a w ready"),
        (0,    "ada", "task.claim lease_ms=1000",    "task.claimed a by ada token=2"),
        (5000, "ada", "wake",                        "awake"),
        (5999, "ada", "time",                        "nothing"),
        (5999, "ada", "task.heartbeat a token=2",    "task.renewed a lease=1000"),
        (6998, "ada", "time",                        "nothing"),
        (6999, "ada", "time",
            "task.failed a {\"holder\":\"ada\",\"reason\":\"lease_expired\",\"token\":2} again \
             | task.ready a"),
    ]

    a_failed_task_is_tried_again_later_and_then_given_up => [
        (0,    "ann", r#"task.create w id="a" max_retries=2 backoff={"initial_ms":100,"jitter":0}"#,
            "task.created a w ready"),
        (0,    "ada", "task.claim",                  "task.claimed a by ada token=2"),
        (0,    "ada", r#"task.fail a token=2 error="no""#, r#"task.failed a "no" again at 100"#),
        (50,   "ada", "task.claim",                  "r3: null"),
        (50,   "ada", "task.why a",
            "`a` is pending: 1 attempt failed; it will be retried at 1970-01-01T00:00:00.100Z; no \
             agent has an active session"),
        (50,   "ada", r#"task.claim task="a""#,      "refused task.not_claimable"),
        (99,   "ada", "time",                        "nothing"),
        (100,  "ada", "time",                        "task.ready a"),
        (100,  "ada", "task.claim",                  "task.claimed a by ada token=5"),
        (100,  "ada", r#"task.fail a token=5 error={"code":"E"}"#,
            r#"task.failed a {"code":"E"} again at 300"#),
        (300,  "ada", "time",                        "task.ready a"),
        (300,  "ada", "task.claim",                  "task.claimed a by ada token=8"),
        (300,  "ada", r#"task.fail a token=8 error={"code":"E"}"#,
            r#"task.failed a {"code":"E"} for good"#),
        (300,  "ada", "task.fail a token=8 error=1", "refused task.finished"),
        (300,  "ada", "task.get a",
            r#"a failed attempts=3 retries=3 error={"code":"E"}"#),
        (300,  "ann", r#"task.create w id="b" backoff={"initial_ms":0}"#, "task.created b w ready"),
        (300,  "ada", "task.claim",                  "task.claimed b by ada token=11"),
        (300,  "ada", "task.fail b token=11 error=1", "task.failed b 1 again; task.ready b"),
        (300,  "ada", "task.claim",                  "task.claimed b by ada token=13"),
        (300,  "ada", "task.fail b token=13 error=1 retryable=false", "task.failed b 1 for good"),
    ]

    a_person_may_decide => [
        (0, "ann", r#"task.create w id="a" max_retries=0 on_exhausted="review""#,
            "task.created a w ready"),
        (0, "ann", r#"task.create v id="after" depends_on=["a"]"#, "task.created after v"),
        (0, "ada", "task.claim",                     "task.claimed a by ada token=3"),
        (0, "ann", r#"task.review a verdict="retry""#, "refused task.not_in_review"),
        (0, "ada", r#"task.fail a token=3 error="no""#, r#"task.failed a "no" for review"#),
        (0, "ada", "task.heartbeat a token=3",       "refused task.stale_token"),
        (0, "ada", "task.why a",
            "`a` is waiting for review: 1 attempt failed; a reviewer must decide"),
        (0, "ann", r#"task.claim task="a""#,         "refused task.not_claimable"),
        (0, "ada", "task.claim wait_ms=9",
            "task.queued ada call=5 until 9; call 5 waits"),
        (0, "ann", r#"task.review a verdict="retry" note="again""#,
            "task.reviewed a Retry (again); task.claimed a by ada token=6 call=5; \
             call 5: a in_progress by ada token=6 until 300000 attempts=2 retries=0 error=\"no\""),
        (0, "ada", r#"task.fail a token=6 error="no""#, r#"task.failed a "no" for review"#),
        (0, "ann", r#"task.review a verdict="fail""#,
            "task.reviewed a Fail; task.cancelled after (task `a`, which it needs, has failed)"),
        (0, "ann", r#"task.create w id="b" max_retries=0 on_exhausted="review""#,
            "task.created b w ready"),
        (0, "ada", "task.claim",                     "task.claimed b by ada token=10"),
        (0, "ada", r#"task.fail b token=10 error="no""#, r#"task.failed b "no" for review"#),
        (0, "ann", r#"task.create x id="later" depends_on=["b"]"#, "task.created later x"),
        (0, "ann", r#"task.review b verdict="complete" result=7"#,
            "task.reviewed b Complete; task.completed b; task.ready later"),
        (0, "ann", "task.get b",        "b completed attempts=1 retries=1 result=7"),
    ]

    another_agent_gets_one_attempt => [
        (0, "ann", r#"task.create w id="a" max_retries=0 on_exhausted={"agent":"bob"}"#,
            "task.created a w ready"),
        (0, "ada", "task.claim",                     "task.claimed a by ada token=2"),
        (0, "ada", "task.fail a token=2 error=1",    "task.failed a 1 to bob; task.ready a"),
        (0, "ada", "task.claim",                     "r3: null"),
        (0, "bob", "task.claim lease_ms=100",        "task.claimed a by bob token=4"),
        (100, "bob", "time",
            r#"task.failed a {"holder":"bob","reason":"lease_expired","token":4} for good"#),
    ]

    a_task_waits_for_others_and_for_its_time => [
        (0,  "ann", r#"task.create w id="a""#,       "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" depends_on=["a"]"#, "task.created b w"),
        (0,  "ann", r#"task.create w id="c" depends_on=["a","b","a"] delay_ms=50"#,
            "task.created c w"),
        (0,  "ann", r#"task.create w id="d" depends_on=["a"] delay_ms=20"#, "task.created d w"),
        (0,  "ann", r#"task.create w id="e" delay_ms=20"#, "task.created e w"),
        (0,  "ann", r#"task.create w depends_on=["zz"]"#, "refused task.unknown_dependency"),
        (0,  "ann", "task.stats",
            "pending=5 ready=1 delayed=1 blocked=3 working=0 review=0 done=0 failed=0 \
             cancelled=0 claims=0"),
        (0,  "ann", "task.get c",                    r#"c pending after ["a", "b"]"#),
        (1,  "ada", "task.claim",                    "task.claimed a by ada token=6"),
        (1,  "ann", "task.why b",
            "`b` is pending: it waits for `a`, which `ada` holds until 1970-01-01T00:05:00.001Z; \
             no agent has an active session"),
        (1,  "ann", "task.why e",
            "`e` is pending: it has not started, and cannot start before 1970-01-01T00:00:00.020Z; \
             no agent has an active session"),
        (1,  "ada", "task.claim",                    "r6: null"),
        (1,  "bob", r#"task.claim task="b" wait_ms=100"#,
            "task.queued bob call=7 until 101; call 7 waits"),
        (2,  "ada", "task.complete a token=6 then_claim={}",
            "task.completed a; task.ready b; task.claimed b by bob token=8 call=7; \
             call 7: b in_progress by bob token=8 until 300002 attempts=1 retries=0"),
        (19, "ada", "time",                          "nothing"),
        (20, "ada", "time",                          "task.ready d; task.ready e"),
        (30, "bob", "task.complete b token=8 then_claim={}",
            "task.completed b; task.claimed d by bob token=10"),
        (50, "bob", "time",                          "task.ready c"),
        (50, "ann", r#"task.create w id="late" depends_on=["a","b"]"#, "task.created late w ready"),
        (50, "ann", "task.stats",
            "pending=3 ready=3 delayed=0 blocked=0 working=1 review=0 done=2 failed=0 \
             cancelled=0 claims=0"),
        (50, "ann", r#"task.stats type="x""#,
            "pending=0 ready=0 delayed=0 blocked=0 working=0 review=0 done=0 failed=0 \
             cancelled=0 claims=0"),
    ]

    a_result_is_accepted_by_another_agent => [
        (0,  "ann", r#"task.create w id="a" review=true"#, "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" depends_on=["a"]"#, "task.created b w"),
        (0,  "ada", "task.claim",                    "task.claimed a by ada token=3"),
        (1,  "ada", r#"task.complete a token=3 result=7 artifacts=["x"]"#, "task.submitted a"),
        (1,  "ada", "task.complete a token=3",       "refused task.stale_token"),
        (1,  "ann", "task.why a",
            "`a` is waiting for review: `ada` submitted a result, which another agent must \
             accept"),
        (2,  "ada", r#"task.review a verdict="complete""#, "refused task.own_work"),
        (2,  "bob", r#"task.review a verdict="complete" attempt=2"#, "refused task.other_attempt"),
        (2,  "bob", r#"task.review a verdict="retry" attempt=1 note="shorter""#,
            "task.reviewed a Retry (shorter)"),
        (3,  "cem", "task.claim",                    "task.claimed a by cem token=6"),
        (3,  "cem", "task.complete a token=6 result=8 then_claim={}", "task.submitted a"),
        (4,  "bob", r#"task.review a verdict="complete" attempt=1"#, "refused task.other_attempt"),
        (4,  "ada", r#"task.review a verdict="complete""#,
            "task.reviewed a Complete; task.completed a; task.ready b"),
        (4,  "ada", r#"task.review a verdict="fail""#, "refused task.finished"),
        (5,  "ann", r#"task.create w id="c" review=true deadline_ms=10"#, "task.created c w ready"),
        (5,  "ada", r#"task.claim task="c""#,        "task.claimed c by ada token=10"),
        (6,  "ada", "task.complete c token=10",      "task.submitted c"),
        (15, "ada", "time",
            "task.failed c {\"reason\":\"deadline\"} for good"),
        // A task that is not in order fails, with what depends on it.
        (20, "ann", r#"task.create w id="d" review=true"#, "task.created d w ready"),
        (20, "ann", r#"task.create w id="e" depends_on=["d"]"#, "task.created e w"),
        (20, "ada", r#"task.claim task="d""#,        "task.claimed d by ada token=15"),
        (20, "ada", "task.complete d token=15",      "task.submitted d"),
        (20, "ada", r#"task.review d verdict="fail""#,
            "task.reviewed d Fail; task.cancelled e (task `d`, which it needs, has failed)"),
    ]

    only_reviewers_accept => [
        (0,  "ann", r#"task.create w id="a" reviewers={"agents":["bob"],"capability":"law"}"#,
            "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" assigned_agent="ada" reviewers={"agents":["ada"]}"#,
            "refused task.bad_field"),
        (0,  "ann", r#"task.create w id="b" reviewers={"capability":""}"#,
            "refused task.bad_field"),
        (0,  "ada", "task.claim",                    "task.claimed a by ada token=2"),
        (1,  "ada", "task.complete a token=2",       "task.submitted a"),
        (1,  "ann", "task.why a",
            "`a` is waiting for review: `ada` submitted a result, which `bob` or an agent with the \
             capability `law` must accept"),
        (2,  "ann", r#"task.review a verdict="complete""#, "refused task.not_reviewer"),
        (2,  "eve", r#"agent.register eve capabilities=["law"]"#,
            "agent.joined eve token=4 ttl=60000; namespace.created agent:eve"),
        (2,  "eve", r#"task.review a verdict="complete""#,
            "task.reviewed a Complete; task.completed a"),
        // An agent cannot do the work that only it may accept.
        (3,  "ann", r#"task.create w id="c" reviewers={"agents":["bob"]}"#,
            "task.created c w ready"),
        (3,  "bob", "task.claim",                    "task.claimed c by bob token=7"),
        (3,  "bob", "task.complete c token=7",       "refused task.no_reviewer"),
        (3,  "bob", "task.release c token=7",        "task.released c"),
        (3,  "ada", "task.claim",                    "task.claimed c by ada token=9"),
        (3,  "ada", "task.complete c token=9",       "task.submitted c"),
        // Without reviewers it is any other agent, and any agent may return it.
        (4,  "eve", r#"task.review c verdict="complete""#, "refused task.not_reviewer"),
        (4,  "eve", r#"task.review c verdict="retry""#, "task.reviewed c Retry"),
        (5,  "ann", r#"task.create w id="d" reviewers={}"#, "task.created d w ready"),
        (5,  "ada", r#"task.claim task="d""#,        "task.claimed d by ada token=13"),
        (5,  "ada", "task.complete d token=13",      "task.submitted d"),
        (5,  "ada", r#"task.review d verdict="complete""#, "refused task.own_work"),
        (5,  "eve", r#"task.review d verdict="complete""#,
            "task.reviewed d Complete; task.completed d"),
    ]

    a_task_that_has_just_become_ready_can_be_claimed_next => [
        (0,  "ann", r#"task.create w id="a""#,       "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" depends_on=["a"] priority=1"#, "task.created b w"),
        (0,  "ann", r#"task.create w id="c""#,       "task.created c w ready"),
        (0,  "ada", r#"task.claim task="a""#,        "task.claimed a by ada token=4"),
        (0,  "ada", "task.complete a token=4 then_claim={}",
            "task.completed a; task.ready b; task.claimed b by ada token=5"),
    ]

    a_task_that_can_never_run_is_cancelled => [
        (0,  "ann", r#"task.create w id="a""#,       "task.created a w ready"),
        (0,  "ann", r#"task.create w id="b" depends_on=["a"]"#, "task.created b w"),
        (0,  "ann", r#"task.create w id="b1" parent="b""#, "task.created b1 w ready"),
        (0,  "ann", r#"task.create w id="c" depends_on=["b"]"#, "task.created c w"),
        (0,  "ada", r#"task.claim task="b1""#,       "task.claimed b1 by ada token=5"),
        (0,  "ada", r#"task.claim task="a""#,        "task.claimed a by ada token=6"),
        (1,  "ada", "task.fail a token=6 error=1 retryable=false",
            "task.failed a 1 for good; task.cancelled b (task `a`, which it needs, has failed); \
             task.cancelled c (task `b`, which it needs, is cancelled); task.cancelled b1 (task \
             `b`, which it needs, is cancelled)"),
        (1,  "ada", "task.complete b1 token=5",      "refused task.stale_token"),
        (1,  "ann", r#"task.create w depends_on=["a"]"#, "refused task.dead_dependency"),
        (1,  "ann", r#"task.create w parent="b""#,   "refused task.parent_finished"),
        (1,  "ann", r#"task.create w parent="zz""#,  "refused task.unknown_parent"),
        (1,  "ann", "task.why c", "`c` is cancelled: task `b`, which it needs, is cancelled"),
    ]

    a_task_is_cancelled_with_its_subtasks => [
        (0,  "ann", r#"task.create w id="root""#,    "task.created root w ready"),
        (0,  "ann", r#"task.create w id="kid" parent="root""#, "task.created kid w ready"),
        (0,  "ann", r#"task.create w id="grandkid" parent="kid" group="g""#,
            "task.created grandkid w ready"),
        (0,  "ann", r#"task.create w id="other" group="g""#, "task.created other w ready"),
        (0,  "ann", r#"task.create w id="waits" depends_on=["grandkid"]"#, "task.created waits w"),
        (0,  "ada", r#"task.claim task="kid""#,      "task.claimed kid by ada token=6"),
        (0,  "ada", "task.complete kid token=6",     "task.completed kid"),
        (0,  "ada", r#"task.claim task="grandkid""#, "task.claimed grandkid by ada token=8"),
        (0,  "ann", r#"task.list parent="root""#,    "[kid]"),
        (0,  "ann", r#"task.list group="g""#,        "[grandkid, other]"),
        (0,  "ann", r#"task.list status="pending""#, "[other, root, waits]"),
        (0,  "ann", r#"task.list status="completed""#, "[kid]"),
        (0,  "ann", r#"task.list status="completed" type="x""#, "[]"),
        (0,  "ann", "task.list limit=2",             "[grandkid, kid] next=kid"),
        (0,  "ann", r#"task.list limit=3 cursor="kid""#, "[other, root, waits]"),
        (0,  "ann", r#"task.list group="g" limit=1"#, "[grandkid] next=grandkid"),
        (0,  "ann", r#"task.list group="g" cursor="grandkid""#, "[other]"),
        (0,  "ann", "task.list limit=0",             "refused task.out_of_range"),
        (0,  "ann", "task.cancel root reason=\"enough\"",
            "task.cancelled root (enough); task.cancelled grandkid (enough); task.cancelled waits \
             (task `grandkid`, which it needs, is cancelled)"),
        (0,  "ada", "task.heartbeat grandkid token=8", "refused task.stale_token"),
        (0,  "ann", "task.cancel nope",              "refused task.not_found"),
    ]

    a_task_past_its_deadline_fails => [
        (0,   "ann", r#"task.create w id="a" deadline_ms=100"#, "task.created a w ready"),
        (0,   "ann", r#"task.create w id="b" depends_on=["a"] deadline_ms=200"#,
            "task.created b w"),
        (0,   "ada", "task.claim",                   "task.claimed a by ada token=3"),
        (99,  "ada", "time",                         "nothing"),
        // The consequences are due immediately.
        (100, "ada", "time",
            "task.failed a {\"reason\":\"deadline\"} for good | task.cancelled b (task `a`, which \
             it needs, has failed)"),
        (100, "ada", "task.get a",
            r#"a failed attempts=1 retries=0 error={"reason":"deadline"}"#),
        (100, "ann", "task.create w deadline_ms=100 delay_ms=100", "refused task.out_of_range"),
    ]

    every_call_about_the_work_needs_the_token => [
        (0, "ann", r#"task.create w id="a" metadata={"a":1,"b":{"c":1}}"#,
            "task.created a w ready"),
        (0, "ada", "task.release a token=0",         "refused task.stale_token"),
        (0, "ada", "task.claim",                     "task.claimed a by ada token=2"),
        (0, "ada", "task.heartbeat a token=1",       "refused task.stale_token"),
        (0, "ada", "task.progress a token=1 fraction=0", "refused task.stale_token"),
        (0, "ada", "task.update a token=1 fields={}", "refused task.stale_token"),
        (0, "ada", "task.release a token=3",         "refused task.stale_token"),
        (0, "ada", "task.complete a token=3",        "refused task.stale_token"),
        (0, "ada", "task.fail a token=3 error=1",    "refused task.stale_token"),
        (0, "eve", "task.heartbeat a token=2",       "refused request.not_holder"),
        (0, "ada", "task.heartbeat a token=2 lease_ms=1000", "task.renewed a lease=1000"),
        (0, "ada", "under 2 state.set shared/a 1",   "state.set shared/a v1 = 1"),
        (0, "ada", "all: if token 2 & state.set shared/a 2 & task.complete a token=2",
            "state.set shared/a v2 = 2; task.completed a"),
        (0, "ada", "under 2 state.set shared/a 3",   "refused request.stale_token"),
    ]

    all_or_nothing => [
        (0, "ann", r#"task.create w id="a""#,        "task.created a w ready"),
        (0, "ada", "all: task.claim & state.set shared/a 1 & state.delete shared/zz",
            "refused transaction.command_refused 2 state.not_found"),
        (0, "ada",
            "all: task.claim & task.complete a token=2 & task.create w & task.create w & \
             task.create w depends_on=[\"zz\"]",
            "refused transaction.command_refused 4 task.unknown_dependency"),
        (0, "bob", "task.claim wait_ms=5",           "task.claimed a by bob token=2"),
        (0, "bob", "task.claim wait_ms=5",
            "task.queued bob call=3 until 5; call 3 waits"),
        (0, "bob", "all: task.create w & task.release a token=2 & task.cancel zz",
            "refused transaction.command_refused 2 task.not_found"),
        (0, "ann", "many 3 task.create x",
            "task.created t-0000000004 x ready; task.claimed t-0000000004 by bob token=4 call=3; \
             task.created t-0000000004.2 x ready; task.created t-0000000004.3 x ready; \
             call 3: t-0000000004 in_progress by bob token=4 until 300000 attempts=1 retries=0"),
        (0, "ada", "all: task.claim & task.claim",
            "task.claimed t-0000000004.2 by ada token=5; task.claimed t-0000000004.3 by ada \
             token=6"),
    ]

    a_repeated_claim_gets_the_same_task => [
        (0, "ann", "many 2 task.create w",
            "task.created t-0000000001 w ready; task.created t-0000000001.2 w ready"),
        (0, "ada", "#k task.claim",
            "task.claimed t-0000000001 by ada token=2; receipt.kept k"),
        (0, "ada", "#k task.claim",
            "r2: t-0000000001 in_progress by ada token=2 until 300000 attempts=1 retries=0"),
        (0, "bob", "#k task.claim",
            "task.claimed t-0000000001.2 by bob token=3; receipt.kept k"),
        (0, "cho", "#l task.claim wait_ms=9",
            "task.queued cho call=4 until 9; receipt.awaited l; call 4 waits"),
        (0, "cho", "#l task.claim wait_ms=9",        "call 4 waits on"),
        (0, "bob", "task.release t-0000000001.2 token=3",
            "task.released t-0000000001.2; task.claimed t-0000000001.2 by cho token=5 call=4; \
             receipt.kept l; \
             call 4: t-0000000001.2 in_progress by cho token=5 until 300000 attempts=2 retries=0"),
        (0, "cho", "#l task.claim wait_ms=9",
            "r5: t-0000000001.2 in_progress by cho token=5 until 300000 attempts=2 retries=0"),
    ]

    invalid_fields_of_a_task_are_refused => [
        (0, "ann", "task.create w priority=101",             "refused task.bad_field"),
        (0, "ann", "task.create w priority=-101",            "refused task.bad_field"),
        (0, "ann", "task.create w max_retries=1001",         "refused task.out_of_range"),
        (0, "ann", "task.create w delay_ms=999999999999999", "refused task.out_of_range"),
        (0, "ann", "task.create w deadline_ms=0",            "refused task.out_of_range"),
        (0, "ann", r#"task.create w backoff={"multiplier":0.5}"#, "refused task.bad_field"),
        (0, "ann", r#"task.create w backoff={"jitter":1.5}"#,     "refused task.bad_field"),
        (0, "ann", r#"task.create w backoff={"max_ms":86400001}"#, "refused task.out_of_range"),
        (0, "ann", "task.create w metadata=[1]",             "refused task.bad_field"),
        (0, "ann", "task.create w schema_version={}",        "refused task.bad_field"),
        (0, "ann", r#"task.create w capabilities=[""]"#,     "refused task.bad_field"),
        (0, "ann", "task.create w description=bytes:16387",  "refused task.too_large"),
        (0, "ann", "task.create w definition=bytes:1048577", "refused task.too_large"),
        (0, "ada", "task.claim types=[]",                    "refused task.bad_field"),
        (0, "ada", "task.claim lease_ms=99",                 "refused task.out_of_range"),
        (0, "ada", "task.claim wait_ms=3600001",             "refused task.out_of_range"),
        (0, "ann", r#"task.create w id="a" definition=bytes:1048576 schema_version="2.1""#,
            "task.created a w ready"),
        (0, "ada", "task.claim",                             "task.claimed a by ada token=2"),
        (0, "ada", "task.progress a token=2 fraction=1.01",  "refused task.bad_field"),
        (0, "ada", "task.progress a token=2 fraction=1 note=bytes:4099", "refused task.too_large"),
        (0, "ada", "task.update a token=2 fields=[]",        "refused task.bad_field"),
        (0, "ada", r#"task.update a token=2 fields={"status":1}"#,   "refused task.bad_field"),
        (0, "ada", r#"task.update a token=2 fields={"priority":1.5}"#, "refused task.bad_field"),
        (0, "ada", r#"task.update a token=2 fields={"priority":200}"#, "refused task.bad_field"),
        (0, "ada", r#"task.update a token=2 fields={"description":1}"#, "refused task.bad_field"),
        (0, "ada", r#"task.update a token=2 fields={"metadata":1}"#, "refused task.bad_field"),
        (0, "ada", "task.update a token=2 fields={}",
            "r2: a in_progress by ada token=2 until 300000 attempts=1 retries=0"),
        (0, "ada", "task.complete a token=2 artifacts={}",   "refused task.bad_field"),
        (0, "ada", "task.complete a token=2 then_claim={\"lease_ms\":1}",
            "refused task.out_of_range"),
        (0, "ada", "task.fail a token=2 error=bytes:65537",  "refused task.too_large"),
        (0, "ada", "task.heartbeat a token=2 lease_ms=1",    "refused task.out_of_range"),
    ]
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    let elsewhere = [
        "task.too_many",
        "task.subtree_too_large",
        "task.too_many_dependents",
        "task.too_deep",
        "task.budget_exhausted",
    ];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
    // By hand-offs.
    let elsewhere = [
        "task.offered",
        "task.abandoned",
        "task.taken_back",
        "task.handed_over",
        "task.handed_off",
    ];
    check_coverage(source, "kind", SCENARIOS, World::kinds, &elsewhere);
}

/// The end of a task may affect more tasks than fit into one commit: the rest follows in later
/// ones.
#[test]
fn many_dependents_follow_in_several_commits() {
    for (end, first, rest) in [
        ("task.complete root token=", "1 task.completed; 1000 task.ready", "500 task.ready"),
        (
            "task.fail root error=1 retryable=false token=",
            "1000 task.cancelled; 1 task.failed",
            "500 task.cancelled",
        ),
    ] {
        let mut world = World::new(Space::default());
        world.run(0, "ann", r#"task.create w id="root""#);
        for _ in 0..3 {
            let many = r#"many 500 task.create w depends_on=["root"]"#;
            assert_eq!(world.run(0, "ann", many), "500 task.created");
        }
        let claimed = world.run(0, "ada", "task.claim");
        let (_, token) = claimed.split_once("token=").unwrap();
        assert_eq!(world.run(1, "ada", &format!("{end}{token}")), first);
        assert_eq!(world.run(1, "ada", "time"), rest);
    }
}

#[test]
fn a_subtree_fits_into_one_commit_or_is_refused() {
    let mut world = World::new(Space::default());
    world.run(0, "ann", r#"task.create w id="root""#);
    for _ in 0..5 {
        world.run(0, "ann", r#"many 1000 task.create w parent="root""#);
    }
    assert_eq!(world.run(0, "ann", "task.cancel root"), "refused task.subtree_too_large");
    world.run(0, "ann", "task.cancel t-0000000002");
    assert_eq!(world.run(0, "ann", "task.cancel root"), "5000 task.cancelled");
}

#[test]
fn the_tasks_of_an_agent_are_limited() {
    let mut world = World::new(Space::default());
    world.run(0, "ada", "agent.register ada");
    world.run(0, "ann", "many 1000 task.create w");
    world.run(0, "ann", "task.create w");
    assert_eq!(world.run(0, "ada", "many 1000 task.claim"), "1000 task.claimed");
    assert_eq!(world.run(0, "ada", "task.claim"), "refused task.too_many");
    assert_eq!(world.run(0, "ada", "task.claim wait_ms=5"), "refused task.too_many");
    let left = world.run(0, "ada", "agent.leave ada");
    assert_eq!(left, "1 agent.left; 1000 task.failed");
    assert_eq!(world.run(0, "ada", "time"), "1000 task.ready");
    let stats = world.run(0, "ada", "task.stats");
    assert!(stats.starts_with("pending=1001 ready=1001 "), "{stats}");
}

/// Tasks that become ready may go to claims whose answers have to be stored: a batch that cannot be
/// committed would be retried forever.
#[test]
fn large_tasks_become_ready_a_few_at_a_time() {
    let mut world = World::new(Space::default());
    world.run(0, "ada", "agent.register ada");
    for _ in 0..12 {
        let large = format!("task.create w definition=bytes:{}", limits::VALUE_BYTES_MAX);
        world.run(0, "ann", &large);
        world.run(0, "ada", "task.claim");
    }
    for number in 0..12 {
        let rendered = world.run(0, &format!("w{number}"), "#k task.claim wait_ms=1000");
        assert!(rendered.starts_with("task.queued"), "{rendered}");
    }
    assert_eq!(world.run(1, "ada", "agent.leave ada"), "1 agent.left; 12 task.failed");
    let rendered = world.run(1, "ada", "time");
    assert_eq!(rendered.matches("task.ready").count(), 12);
    assert_eq!(rendered.matches("task.claimed").count(), 12);
    assert!(rendered.matches(" | ").count() >= 5, "several batches");
}

#[test]
fn tasks_that_finished_first_are_forgotten_first_unless_they_are_needed() {
    let mut world = check(&[
        (0, "ann", r#"task.create w id="parent""#, "task.created parent w ready"),
        (0, "ann", r#"task.create w id="kid" parent="parent""#, "task.created kid w ready"),
        (0, "ann", r#"task.create w id="first""#, "task.created first w ready"),
        (0, "ann", r#"task.create w id="second""#, "task.created second w ready"),
        (0, "ann", r#"task.create w id="open""#, "task.created open w ready"),
        (0, "ann", r#"task.create w id="next" depends_on=["first","open"]"#, "task.created next w"),
    ]);
    for task in ["parent", "first", "second"] {
        let claimed = world.run(1, "ada", &format!(r#"task.claim task="{task}""#));
        let (_, token) = claimed.split_once("token=").unwrap();
        world.run(1, "ada", &format!("task.complete {task} token={token}"));
    }
    let known = |world: &World| {
        let all = List::default();
        let ids = world.space.task.after(&all).map(|record| record.id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    world.space.task.trim_to(1, usize::MAX);
    world.space.check();
    assert_eq!(known(&world), "first kid next open parent", "two are needed");
    world.run(2, "ann", "task.cancel kid");
    world.run(2, "ann", "task.cancel next");
    world.space.task.trim_to(2, usize::MAX);
    world.space.check();
    assert_eq!(known(&world), "next open parent", "a part goes before its whole");
    world.space.task.trim_to(0, usize::MAX);
    world.space.check();
    assert_eq!(known(&world), "open");
}

#[test]
fn finished_tasks_take_so_many_bytes_and_the_first_is_forgotten_first() {
    let mut world = check(&[
        (0, "ann", r#"task.create w id="parent""#, "task.created parent w ready"),
        (0, "ann", r#"task.create w id="open" parent="parent""#, "task.created open w ready"),
    ]);
    let claimed = world.run(0, "ada", r#"task.claim task="parent""#);
    let (_, token) = claimed.split_once("token=").unwrap();
    world.run(0, "ada", &format!("task.complete parent token={token}"));
    let large = limits::VALUE_BYTES_MAX;
    let count = limits::TASKS_FINISHED_BYTES_MAX / large;
    for number in 0..=count {
        let text = format!(r#"task.create w id="t{number}" definition=bytes:{large}"#);
        world.run(1, "ann", &text);
        world.run(1, "ann", &format!("task.cancel t{number}"));
    }
    world.space.check();
    let is_known = |task: &str| world.space.task.get(&TaskId::parse(task).unwrap()).is_some();
    assert!(!is_known("t0") && !is_known("t1"), "each takes more than its definition");
    assert!(is_known("t2") && is_known(&format!("t{count}")));
    assert!(is_known("parent"), "a task that another needs is not forgotten");
}

/// A log from before finished tasks had a limit in bytes.
#[test]
fn events_of_a_forgotten_task_are_read_and_have_no_effect() {
    let mut world = check(&[]);
    let lines = [
        r#"task.create w id="a" max_retries=0"#,
        "task.claim",
        r#"task.fail a token=2 error="x""#,
        "task.retry a",
        "task.claim",
        "task.complete a token=5 result=1",
    ];
    for line in lines {
        let rendered = world.run(0, "ada", line);
        assert!(!rendered.starts_with("refused"), "{line}: {rendered}");
    }
    let mut again = Space::default();
    for (number, batch) in world.batches().iter().enumerate() {
        again.replay(batch);
        if number == 2 {
            again.task.trim_to(0, 0);
        }
        again.check();
    }
    assert!(again.task.is_empty());
    assert_eq!(again.revision(), world.space.revision());
}

#[test]
fn a_list_examines_a_limited_number_and_returns_a_cursor() {
    let mut world = World::new(Space::default());
    for _ in 0..21 {
        world.space.commit(many_tasks(), &AgentId::engine(), crate::Timestamp(0)).unwrap();
    }
    let first = world.run(0, "ann", r#"task.list type="rare""#);
    assert_eq!(first, "[] next=t-0000000021");
    assert_eq!(world.run(0, "ann", r#"task.list type="rare" cursor="t-0000000021""#), "[]");
    let page = world.run(0, "ann", "task.list limit=2 cursor=\"t-0000000021\"");
    assert_eq!(page, "[t-0000000021.10, t-0000000021.100] next=t-0000000021.100");
}

fn many_tasks() -> crate::Request {
    let command = crate::testing::read_command("task.create w");
    let commands = vec![command; limits::TRANSACTION_COMMANDS_MAX];
    let mutation =
        crate::Mutation::Transaction { require: Vec::new(), commands, optional: Vec::new() };
    crate::Request { mutation, idempotency_key: None }
}

/// A random command about the existing tasks.
fn asked(world: &World, number: usize, (what, pick, odd): (u8, usize, u8)) -> String {
    let table = &world.space.task;
    let all = List::default();
    let known = table.after(&all).map(|record| record.id.clone()).collect::<Vec<_>>();
    let known = known.get(pick % known.len().max(1)).cloned();
    let some = known.unwrap_or_else(|| TaskId::parse("none").unwrap());
    let token = table
        .get(&some)
        .map_or(0, |record| record.last_token.0 - u64::from(odd == 7).min(record.last_token.0));
    let lease = [100, 300, 1_000][pick % 3];
    let extra = match odd {
        0 => format!(r#"depends_on=["{some}"]"#),
        1 => format!(r#"parent="{some}""#),
        2 => "delay_ms=150 priority=1".to_owned(),
        3 => "deadline_ms=400".to_owned(),
        4 => r#"max_retries=0 on_exhausted="review""#.to_owned(),
        5 => r#"max_retries=1 on_exhausted={"agent":"bob"} capabilities=["c"]"#.to_owned(),
        6 => r#"backoff={"initial_ms":0} group="g""#.to_owned(),
        _ => r#"assigned_agent="ada" priority=-2"#.to_owned(),
    };
    match what {
        0..=4 => format!(r#"task.create w{} id="k{number}" {extra}"#, pick % 2),
        5 => format!("all: task.create w0 {extra} & task.claim & task.cancel {some}"),
        6 | 7 => format!("task.claim lease_ms={lease} wait_ms={}", 200 * u64::from(odd)),
        8 => format!("task.claim limit={} wait_ms={}", pick % 3 + 1, 200 * u64::from(odd)),
        9 => format!(r#"task.claim types=["w1","w0"] capabilities=["c"] lease_ms={lease}"#),
        10 => format!(r#"task.claim task="{some}" wait_ms={}"#, 200 * u64::from(odd)),
        11 => format!("#i{pick} task.claim wait_ms=300"),
        12 => format!("task.heartbeat {some} token={token}"),
        13 => format!("task.progress {some} token={token} fraction=0.5"),
        14 => format!(r#"task.update {some} token={token} fields={{"priority":{odd}}}"#),
        15 => format!("task.release {some} token={token}"),
        16 => format!("task.complete {some} token={token} then_claim={{}}"),
        17 => format!("task.complete {some} token={token} result={number}"),
        18 | 19 => {
            format!(r#"task.fail {some} token={token} error="e{pick}" retryable={}"#, odd > 2)
        }
        20 if odd < 3 => format!("task.cancel {some}"),
        20 => {
            format!(r#"task.review {some} verdict="{}""#, ["retry", "complete", "fail"][pick % 3])
        }
        21 => "agent.register ada ttl_ms=400".to_owned(),
        22 if odd < 2 => "gone".to_owned(),
        22 if odd < 4 => "wake".to_owned(),
        22 => {
            format!("all: task.complete {some} token={token} & task.create w0 & agent.leave nobody")
        }
        _ => "time".to_owned(),
    }
}

/// Recomputes the counters.
fn check_counts(space: &Space) {
    let all = List::default();
    let count = |status: Status| space.task.after(&all).filter(|it| it.status == status).count();
    let counts = space.task.statistics(None).tasks;
    let found = [
        (counts.pending, Status::Pending),
        (counts.in_progress, Status::InProgress),
        (counts.waiting_review, Status::WaitingReview),
        (counts.completed, Status::Completed),
        (counts.failed, Status::Failed),
        (counts.cancelled, Status::Cancelled),
    ];
    for (counted, status) in found {
        assert_eq!(counted, count(status) as u64, "{status:?}");
    }
    let ready = space.task.after(&all).filter(|record| record.ready).count();
    assert_eq!(counts.ready, ready as u64);
    assert_eq!(counts.pending, counts.ready + counts.delayed + counts.blocked);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// For any sequence of commands: every step leaves the space consistent (see
    /// [`crate::testing`]), tokens only grow, a token is live exactly as long as its lease, and
    /// finished tasks do not change.
    #[test]
    fn whatever_happens_tasks_stay_sound(
        steps in proptest::collection::vec(
            (0..250_u64, 0..4_usize, (0..26_u8, 0..40_usize, 0..8_u8)), 1..90),
    ) {
        const AGENTS: [&str; 4] = ["ada", "bob", "cho", "dan"];
        let mut world = World::new(Space::default());
        let mut finished: BTreeMap<TaskId, Task> = BTreeMap::new();
        let (mut time, mut last_token) = (0, 0);
        for (number, (pause, agent, step)) in steps.into_iter().enumerate() {
            time += pause;
            let rendered = world.run(time, AGENTS[agent], &asked(&world, number, step));
            for claimed in rendered.split("task.claimed ").skip(1) {
                let (_, rest) = claimed.split_once("token=").expect("a claim gives a token");
                let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
                let token: u64 = digits.expect("there is a first part").parse().unwrap();
                prop_assert!(token > last_token, "{} after {}: {}", token, last_token, rendered);
                last_token = token;
            }
            for record in world.space.task.after(&List::default()) {
                let is_live = world.space.is_live(record.last_token);
                prop_assert_eq!(is_live, record.lease.is_some(), "{}", record.id);
                let shown = world.space.task.shown(&record.id, Vec::new()).unwrap();
                if record.status.is_finished() {
                    let before = finished.entry(record.id.clone()).or_insert_with(|| shown.clone());
                    prop_assert_eq!(before, &shown, "what is finished changed");
                }
            }
            check_counts(&world.space);
        }
        world.check_memory();
    }
}

//! Scenarios of pipelines.

use super::Rejection;
use crate::limits;
use crate::names::TaskId;
use crate::primitive::Table as _;
use crate::space::Space;
use crate::testing::{Step, World, check, check_codes, check_coverage, scenarios, story};

scenarios! {
    stages_come_one_after_the_other => [
        (0, "ann", r#"pipeline.create rel stages=[{"name":"plan"},{"name":"write"}] input={"n":1}"#,
            "pipeline.created rel [plan, write]; pipeline.stage_ready rel/plan"),
        (0, "ann", "pipeline.get rel",
            "rel created [plan ready; write pending]"),
        (1, "ada", "pipeline.start_stage rel write",
            "refused pipeline.wrong_order"),
        (1, "ada", "pipeline.complete_stage rel plan",
            "refused pipeline.wrong_order"),
        (1, "ada", "pipeline.start_stage rel plan",
            "pipeline.stage_started rel/plan by ada"),
        (1, "ada", "pipeline.start_stage rel plan",
            "refused pipeline.wrong_order"),
        (2, "ada", r#"pipeline.complete_stage rel plan output={"a":1}"#,
            r#"pipeline.stage_completed rel/plan = {"a":1}; pipeline.stage_ready rel/write"#),
        (2, "ada", "pipeline.complete_stage rel plan",
            "refused pipeline.wrong_order"),
        (2, "ada", "pipeline.output rel plan",
            r#"plan completed: {"a":1}"#),
        (2, "ada", "pipeline.output rel write",
            "write ready: nothing"),
        (3, "bob", "#s pipeline.start_stage rel write",
            "pipeline.stage_started rel/write by bob; \
             handoff.passed h-0000000004 from ada to `bob` with {\"a\":1}; receipt.kept s"),
        (3, "bob", "#s pipeline.start_stage rel write",
            r#"r4: write running input={"a":1} attempts=1 retries=0"#),
        (3, "bob", "pipeline.list",
            "rel running 1/2 [write] []"),
        (4, "bob", "#c pipeline.complete_stage rel write",
            "pipeline.stage_completed rel/write = null; pipeline.completed rel; receipt.kept c"),
        (4, "bob", "#c pipeline.complete_stage rel write",
            "r5: write completed output=null attempts=1 retries=0, then nothing of [], completed"),
        (5, "bob", "pipeline.complete_stage rel write",
            "refused pipeline.wrong_order"),
        (5, "bob", "pipeline.abort rel",
            "refused pipeline.finished"),
        (5, "ann", "pipeline.delete rel",
            "pipeline.deleted rel"),
        (5, "ann", "pipeline.get rel",
            "refused pipeline.not_found"),
    ]

    a_stage_is_ready_again_when_the_session_of_its_worker_ends => [
        (0, "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","after":[]},{"name":"b","after":[]},
            {"name":"c"}]"#,
            "pipeline.created p [a, b, c]; pipeline.stage_ready p/a; pipeline.stage_ready p/b"),
        (1, "ada", "pipeline.start_stage p a input=7",  "pipeline.stage_started p/a by ada on 7"),
        (1, "bob", "pipeline.start_stage p b",        "pipeline.stage_started p/b by bob"),
        // bob has no session that could end.
        (2, "bob", "pipeline.fail_stage p b error=1", "pipeline.stage_failed p/b 1"),
        (1300, "ann", "time",
            "agent.lost ada; pipeline.stage_abandoned p/a by ada; pipeline.failed p"),
        (1301, "ada", "pipeline.complete_stage p a",  "refused pipeline.wrong_order"),
        (1301, "bob", "pipeline.start_stage p a",     "pipeline.stage_started p/a by bob"),
        (1302, "ann", "pipeline.get p",
            "p running [a running attempts=2 retries=0; b failed error=1 attempts=1 retries=0; \
             c pending]"),
        (1303, "ada", "agent.register ada ttl_ms=1000", "agent.joined ada token=8 ttl=1000"),
        (1303, "ada", "agent.leave ada",              "agent.left ada"),
        (1304, "bob", "pipeline.complete_stage p a",
            "pipeline.stage_completed p/a = null; pipeline.failed p"),
    ]

    an_output_is_accepted_by_another_agent => [
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","agent":"ada",
            "reviewers":{"agents":["ada"]}}]"#,     "refused pipeline.bad_stages"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","review":true},{"name":"b",
            "reviewers":{"agents":["bob"],"capability":"law"}},
            {"name":"c","reviewers":{"agents":["bob"]}}]"#,
            "pipeline.created p [a, b, c]; pipeline.stage_ready p/a"),
        (0, "ada", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ada"),
        (1, "ann", r#"pipeline.review_stage p a verdict="complete""#,
            "refused pipeline.wrong_order"),
        (1, "cem", "pipeline.complete_stage p a output=1", "pipeline.stage_submitted p/a = 1"),
        (1, "ann", "pipeline.output p a",           "a waiting_review: 1"),
        (1, "ann", "pipeline.start_stage p b",      "refused pipeline.wrong_order"),
        (1, "cem", "pipeline.complete_stage p a",   "refused pipeline.wrong_order"),
        // Neither the agent that started it nor the one that submitted its output accepts it.
        (2, "ada", r#"pipeline.review_stage p a verdict="complete""#, "refused pipeline.own_work"),
        (2, "cem", r#"pipeline.review_stage p a verdict="complete""#, "refused pipeline.own_work"),
        (2, "bob", r#"pipeline.review_stage p a verdict="retry" note="more""#,
            "pipeline.stage_reviewed p/a Retry (more)"),
        (2, "bob", "pipeline.get p",
            "p running [a ready attempts=1 retries=0; b pending; c pending]"),
        (3, "ada", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ada"),
        (3, "ada", "pipeline.complete_stage p a output=2", "pipeline.stage_submitted p/a = 2"),
        (3, "bob", r#"pipeline.review_stage p a verdict="complete" attempt=1"#,
            "refused pipeline.other_attempt"),
        (3, "bob", r#"pipeline.review_stage p a verdict="complete" attempt=2"#,
            "pipeline.stage_reviewed p/a Complete; pipeline.stage_completed p/a = 2; \
             pipeline.stage_ready p/b"),
        (4, "ada", "pipeline.start_stage p b",      "pipeline.stage_started p/b by ada"),
        (4, "ada", "pipeline.complete_stage p b",   "pipeline.stage_submitted p/b = null"),
        (4, "cem", r#"pipeline.review_stage p b verdict="complete""#,
            "refused pipeline.not_reviewer"),
        (4, "eve", r#"agent.register eve capabilities=["law"]"#,
            "agent.joined eve token=10 ttl=60000; namespace.created agent:eve"),
        (4, "eve", r#"pipeline.review_stage p b verdict="complete" output=[3]"#,
            "pipeline.stage_reviewed p/b Complete; pipeline.stage_completed p/b = [3]; \
             pipeline.stage_ready p/c"),
        // The only reviewer cannot submit its own work.
        (5, "bob", "pipeline.start_stage p c",
            "pipeline.stage_started p/c by bob; \
             handoff.passed h-0000000012 from ada to `bob` with [3]"),
        (5, "bob", "pipeline.complete_stage p c",   "refused pipeline.no_reviewer"),
        (5, "ada", "pipeline.complete_stage p c",   "refused pipeline.no_reviewer"),
        (5, "ann", "pipeline.fail_stage p c error=1",
            "pipeline.stage_failed p/c 1; pipeline.failed p"),
        (5, "ann", "pipeline.retry_stage p c",
            "pipeline.stage_retried p/c; pipeline.stage_ready p/c"),
        (5, "ada", "pipeline.start_stage p c",      "pipeline.stage_started p/c by ada"),
        (5, "ada", "pipeline.complete_stage p c",   "pipeline.stage_submitted p/c = null"),
        (6, "eve", r#"pipeline.review_stage p c verdict="fail" note="no""#,
            "pipeline.stage_reviewed p/c Fail (no); \
             pipeline.stage_failed p/c {\"note\":\"no\",\"reason\":\"rejected\"}; \
             pipeline.failed p"),
        (7, "ann", r#"pipeline.create q automatic=true stages=[{"name":"a"}]"#,
            "pipeline.created q [a] automatic; pipeline.stage_ready q/a [p-0000000018]; \
             task.created p-0000000018 a ready"),
        (7, "ann", r#"pipeline.review_stage q a verdict="complete""#, "refused pipeline.automatic"),
        // A stage that waits for review fails when its pipeline is aborted.
        (8, "ann", r#"pipeline.create r stages=[{"name":"a","review":true}]"#,
            "pipeline.created r [a]; pipeline.stage_ready r/a"),
        (8, "ada", "pipeline.start_stage r a",      "pipeline.stage_started r/a by ada"),
        (8, "ada", "pipeline.complete_stage r a",   "pipeline.stage_submitted r/a = null"),
        (8, "ann", "pipeline.abort r",              "pipeline.aborted r"),
        (8, "ann", "pipeline.output r a",           "a failed: null"),
    ]

    a_stage_fails_and_is_retried => [
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","max_retries":1},{"name":"b"}]"#,
            "pipeline.created p [a, b]; pipeline.stage_ready p/a"),
        (0, "ann", "pipeline.retry_stage p a",      "refused pipeline.wrong_order"),
        (1, "ada", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ada"),
        (1, "ada", r#"pipeline.fail_stage p a error={"code":7}"#,
            r#"pipeline.stage_failed p/a {"code":7}; pipeline.failed p"#),
        (1, "ada", "pipeline.get p",
            r#"p failed [a failed error={"code":7} attempts=1 retries=0; b pending]"#),
        (1, "ada", "pipeline.start_stage p a",      "refused pipeline.wrong_order"),
        (2, "ada", "pipeline.retry_stage p a",
            "pipeline.stage_retried p/a; pipeline.stage_ready p/a"),
        (2, "ada", "pipeline.get p",
            "p running [a ready attempts=1 retries=1; b pending]"),
        (2, "bob", "pipeline.start_stage p a input=5",
            "pipeline.stage_started p/a by bob on 5"),
        (2, "bob", r#"pipeline.fail_stage p a error="again""#,
            r#"pipeline.stage_failed p/a "again"; pipeline.failed p"#),
        (2, "bob", "pipeline.retry_stage p a",      "refused pipeline.retries_exhausted"),
        // A skipped stage passes on its input.
        (3, "ann", "#k pipeline.skip_stage p a reason=\"enough\"",
            "pipeline.stage_skipped p/a (enough); pipeline.stage_ready p/b; receipt.kept k"),
        (3, "ann", "#k pipeline.skip_stage p a reason=\"enough\"",
            "r7: a skipped input=5 output=null error=\"again\" attempts=2 retries=1, \
             then b ready input=5 of [b], running"),
        (3, "ann", "pipeline.retry_stage p a",      "refused pipeline.wrong_order"),
        (4, "ann", r#"pipeline.abort p reason="late""#, "pipeline.aborted p (late)"),
        (4, "ann", "pipeline.get p",
            "p aborted [a skipped input=5 output=null error=\"again\" attempts=2 retries=1; \
             b skipped output=null]"),
        (4, "ann", "pipeline.start_stage p b",      "refused pipeline.wrong_order"),
        (4, "ann", "pipeline.retry_stage p b",      "refused pipeline.wrong_order"),
        (4, "ann", "pipeline.abort p",              "refused pipeline.finished"),
    ]

    stages_run_side_by_side_and_one_comes_after_several => [
        (0, "ann", r#"pipeline.create p input=0 stages=[{"name":"a"},{"name":"l","after":["a"]},
                      {"name":"r","after":["a"]},{"name":"z","after":["l","r"]}]"#,
            "pipeline.created p [a, l, r, z]; pipeline.stage_ready p/a"),
        (0, "ann", "all: pipeline.start_stage p a & pipeline.complete_stage p a output=1",
            "pipeline.stage_started p/a by ann; pipeline.stage_completed p/a = 1; \
             pipeline.stage_ready p/l; pipeline.stage_ready p/r"),
        (0, "ann", "all: pipeline.start_stage p l & pipeline.start_stage p r",
            "pipeline.stage_started p/l by ann; pipeline.stage_started p/r by ann"),
        (0, "ann", "pipeline.fail_stage p l error=1",
            "pipeline.stage_failed p/l 1"),
        // The other branch continues; the pipeline fails only when no stage is active.
        (0, "ann", "pipeline.list status=\"running\"", "p running 1/4 [r] []"),
        (0, "ann", "pipeline.delete p",             "refused pipeline.unfinished"),
        (0, "ann", r#"pipeline.complete_stage p r output="R""#,
            "pipeline.stage_completed p/r = \"R\"; pipeline.failed p"),
        (0, "ann", "pipeline.retry_stage p l",
            "pipeline.stage_retried p/l; pipeline.stage_ready p/l"),
        (0, "ann", "all: pipeline.start_stage p l & pipeline.complete_stage p l output=[2]",
            "pipeline.stage_started p/l by ann; pipeline.stage_completed p/l = [2]; \
             pipeline.stage_ready p/z"),
        (0, "ann", "#z pipeline.start_stage p z",
            "pipeline.stage_started p/z by ann; receipt.kept z"),
        (0, "ann", "#z pipeline.start_stage p z",
            r#"r8: z running input={"l":[2],"r":"R"} attempts=1 retries=0"#),
    ]

    a_skipped_stage_lets_no_other_overtake => [
        (0, "ann", r#"pipeline.create p input="in" stages=[{"name":"a"},{"name":"b"},{"name":"c"},
                      {"name":"d"}]"#,
            "pipeline.created p [a, b, c, d]; pipeline.stage_ready p/a"),
        (0, "ann", "pipeline.skip_stage p c",       "pipeline.stage_skipped p/c"),
        (0, "ann", "pipeline.skip_stage p b",       "pipeline.stage_skipped p/b"),
        (0, "ann", "pipeline.start_stage p d",      "refused pipeline.wrong_order"),
        (0, "ann", "pipeline.skip_stage p a",
            "pipeline.stage_skipped p/a; pipeline.stage_ready p/d"),
        (0, "ann", "#d pipeline.start_stage p d",
            "pipeline.stage_started p/d by ann; receipt.kept d"),
        (0, "ann", "#d pipeline.start_stage p d",
            r#"r5: d running input="in" attempts=1 retries=0"#),
        (0, "ann", "pipeline.skip_stage p d",       "refused pipeline.wrong_order"),
    ]

    a_stage_is_for_its_agent => [
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","agent":"ada"}]"#,
            "pipeline.created p [a]; pipeline.stage_ready p/a"),
        (0, "bob", "pipeline.start_stage p a",      "refused pipeline.wrong_agent"),
        (0, "ada", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ada"),
        (0, "bob", "pipeline.complete_stage p a",   "refused pipeline.wrong_agent"),
        // Any agent may report that the worker is gone.
        (0, "bob", r#"pipeline.fail_stage p a error="gone""#,
            "pipeline.stage_failed p/a \"gone\"; pipeline.failed p"),
    ]

    a_ready_stage_becomes_a_task_in_the_same_commit => [
        (0, "ann", r#"pipeline.create p automatic input={"topic":"x"} stages=[
                      {"name":"research","agent":"ada"},{"name":"write","type":"text"}]"#,
            "pipeline.created p [research, write] automatic; \
             pipeline.stage_ready p/research [p-0000000001]; \
             task.created p-0000000001 research ready"),
        (0, "ann", "pipeline.start_stage p research", "refused pipeline.automatic"),
        (0, "ann", "pipeline.complete_stage p research", "refused pipeline.automatic"),
        (0, "ann", "pipeline.fail_stage p research error=1", "refused pipeline.automatic"),
        (1, "bob", "task.claim",                    "r1: null"),
        (1, "ada", "task.claim",
            "task.claimed p-0000000001 by ada token=2; pipeline.stage_started p/research by ada"),
        (1, "ada", "pipeline.list",                 "p running 0/2 [research] []"),
        // A call that waits for the next stage gets it in the same commit.
        (2, "bob", "task.claim wait_ms=100",
            "task.queued bob call=3 until 102; call 3 waits"),
        (3, "ada", r#"task.complete p-0000000001 token=2 result={"found":3}"#,
            "task.completed p-0000000001; pipeline.stage_completed p/research; \
             pipeline.stage_ready p/write [p-0000000004]; task.created p-0000000004 text ready; \
             task.claimed p-0000000004 by bob token=4 call=3; \
             pipeline.stage_started p/write by bob; \
             handoff.passed h-0000000004 of p-0000000004 from ada to `bob` with {\"found\":3}; \
             call 3: p-0000000004 in_progress by bob token=4 until 300003 attempts=1 retries=0"),
        (3, "ann", "pipeline.get p",
            "p running [research completed output={\"found\":3} attempts=1 retries=0; \
             write running attempts=1 retries=0]"),
        (3, "ann", r#"task.list group="pipeline:p""#, "[p-0000000001, p-0000000004]"),
        (4, "bob", r#"task.complete p-0000000004 token=4 result="done""#,
            "task.completed p-0000000004; pipeline.stage_completed p/write; pipeline.completed p"),
        (4, "ann", "pipeline.output p write",       r#"write completed: "done""#),
    ]

    each_element_is_a_task => [
        (0, "ann", r#"pipeline.create p automatic input=["x","y","z"] stages=[
                      {"name":"part","each":true},{"name":"sum"}]"#,
            "pipeline.created p [part, sum] automatic; \
             pipeline.stage_ready p/part [p-0000000001, p-0000000001.2, p-0000000001.3]; \
             task.created p-0000000001 part ready; task.created p-0000000001.2 part ready; \
             task.created p-0000000001.3 part ready"),
        (0, "ada", r#"task.claim task="p-0000000001.3""#,
            "task.claimed p-0000000001.3 by ada token=2; pipeline.stage_started p/part by ada"),
        (0, "bob", "task.claim",                    "task.claimed p-0000000001 by bob token=3"),
        (0, "bob", "task.claim",                    "task.claimed p-0000000001.2 by bob token=4"),
        (0, "ada", "task.complete p-0000000001.3 token=2 result=3",
            "task.completed p-0000000001.3"),
        (0, "bob", "task.complete p-0000000001.2 token=4", "task.completed p-0000000001.2"),
        (0, "bob", "task.complete p-0000000001 token=3 result=1",
            "task.completed p-0000000001; pipeline.stage_completed p/part; \
             pipeline.stage_ready p/sum [p-0000000007]; task.created p-0000000007 sum ready"),
        (0, "ann", "pipeline.output p part",        "part completed: [1,null,3]"),
    ]

    one_that_fails_cancels_the_others => [
        (0, "ann", r#"pipeline.create p automatic input=[1,2,3] stages=[
                      {"name":"part","each":true,"max_retries":0},{"name":"sum"}]"#,
            "pipeline.created p [part, sum] automatic; \
             pipeline.stage_ready p/part [p-0000000001, p-0000000001.2, p-0000000001.3]; \
             task.created p-0000000001 part ready; task.created p-0000000001.2 part ready; \
             task.created p-0000000001.3 part ready"),
        (0, "ada", "task.claim",
            "task.claimed p-0000000001 by ada token=2; pipeline.stage_started p/part by ada"),
        (0, "ada", r#"task.fail p-0000000001 token=2 error="no""#,
            "task.failed p-0000000001 \"no\" for good; pipeline.stage_failed p/part \
             {\"error\":\"no\",\"reason\":\"task_failed\",\"task\":\"p-0000000001\"}; \
             pipeline.failed p; task.cancelled p-0000000001.2 (stage `part` of pipeline `p` has \
             failed); task.cancelled p-0000000001.3 (stage `part` of pipeline `p` has failed)"),
        // After a retry it has new tasks.
        (1, "ann", "pipeline.retry_stage p part",
            "pipeline.stage_retried p/part; \
             pipeline.stage_ready p/part [p-0000000004, p-0000000004.2, p-0000000004.3]; \
             task.created p-0000000004 part ready; task.created p-0000000004.2 part ready; \
             task.created p-0000000004.3 part ready"),
        (2, "ann", "task.cancel p-0000000004.2",
            "task.cancelled p-0000000004.2; pipeline.stage_failed p/part \
             {\"detail\":null,\"reason\":\"task_cancelled\",\"task\":\"p-0000000004.2\"}; \
             pipeline.failed p; task.cancelled p-0000000004 (stage `part` of pipeline `p` has \
             failed); task.cancelled p-0000000004.3 (stage `part` of pipeline `p` has failed)"),
        (3, "ann", "pipeline.skip_stage p part",
            "pipeline.stage_skipped p/part; pipeline.stage_ready p/sum [p-0000000006]; \
             task.created p-0000000006 sum ready"),
        (4, "ann", "pipeline.skip_stage p sum",
            "pipeline.stage_skipped p/sum; pipeline.completed p; task.cancelled p-0000000006 \
             (stage `sum` of pipeline `p` is skipped)"),
    ]

    an_empty_job_ends_immediately => [
        (0, "ann", r#"pipeline.create p automatic input=[] stages=[
                      {"name":"a","each":true},{"name":"b","each":true},{"name":"c"}]"#,
            "pipeline.created p [a, b, c] automatic; \
             pipeline.stage_ready p/a; pipeline.stage_completed p/a; \
             pipeline.stage_ready p/b; pipeline.stage_completed p/b; \
             pipeline.stage_ready p/c [p-0000000001]; task.created p-0000000001 c ready"),
        (0, "ann", "pipeline.output p b",           "b completed: []"),
    ]

    aborting_cancels_running_tasks => [
        (0, "ann", r#"pipeline.create p automatic stages=[{"name":"a"},{"name":"b","after":[]},
                      {"name":"c","after":["a","b"]}]"#,
            "pipeline.created p [a, b, c] automatic; \
             pipeline.stage_ready p/a [p-0000000001]; pipeline.stage_ready p/b [p-0000000001.2]; \
             task.created p-0000000001 a ready; task.created p-0000000001.2 b ready"),
        (0, "ada", "task.claim",
            "task.claimed p-0000000001 by ada token=2; pipeline.stage_started p/a by ada"),
        (1, "ann", "pipeline.abort p",
            "pipeline.aborted p; task.cancelled p-0000000001 (pipeline `p` is aborted); \
             task.cancelled p-0000000001.2 (pipeline `p` is aborted)"),
        (1, "ann", "pipeline.get p",
            "p aborted [a failed error={\"reason\":\"aborted\"} attempts=1 retries=0; \
             b skipped output=null; c skipped output=null]"),
        (1, "ada", "task.complete p-0000000001 token=2", "refused task.stale_token"),
    ]

    a_task_that_is_taken_up_again_does_not_start_its_stage_again => [
        (0, "ann", r#"pipeline.create p automatic stages=[{"name":"a"}]"#,
            "pipeline.created p [a] automatic; pipeline.stage_ready p/a [p-0000000001]; \
             task.created p-0000000001 a ready"),
        (0, "ada", "task.claim",
            "task.claimed p-0000000001 by ada token=2; pipeline.stage_started p/a by ada"),
        (0, "ada", "task.release p-0000000001 token=2", "task.released p-0000000001"),
        (0, "bob", "task.claim",                    "task.claimed p-0000000001 by bob token=4"),
        (0, "bob", "task.complete p-0000000001 token=4",
            "task.completed p-0000000001; pipeline.stage_completed p/a; pipeline.completed p"),
    ]

    an_output_that_cannot_be_passed_on_fails_the_next_stage => [
        (0, "ann", r#"pipeline.create p automatic input={"no":"list"} stages=[
                      {"name":"a","each":true}]"#,
            "pipeline.created p [a] automatic; \
             pipeline.stage_failed p/a {\"reason\":\"input_is_no_list\"}; pipeline.failed p"),
        // A retry cannot help, and the refusal states this.
        (0, "ann", "pipeline.retry_stage p a",
            "pipeline.stage_retried p/a; \
             pipeline.stage_failed p/a {\"reason\":\"input_is_no_list\"}; pipeline.failed p"),
        (0, "ann", r#"pipeline.create q automatic input=bytes:1048576 stages=[{"name":"a"}]"#,
            "pipeline.created q [a] automatic; \
             pipeline.stage_failed q/a \
             {\"bytes\":1048613,\"bytes_max\":1048576,\"reason\":\"input_too_large\"}; \
             pipeline.failed q"),
        (0, "ann", r#"pipeline.create r stages=[{"name":"a"},{"name":"b","after":[]},
                      {"name":"c","after":["a","b"]}]"#,
            "pipeline.created r [a, b, c]; pipeline.stage_ready r/a; pipeline.stage_ready r/b"),
        (0, "ann", "all: pipeline.start_stage r a &
                    pipeline.complete_stage r a output=bytes:600000 &
                    pipeline.start_stage r b & pipeline.complete_stage r b output=bytes:600000",
            "pipeline.stage_started r/a by ann; pipeline.stage_completed r/a = 600000 bytes; \
             pipeline.stage_started r/b by ann; pipeline.stage_completed r/b = 600000 bytes; \
             pipeline.stage_ready r/c"),
        (0, "ann", "pipeline.start_stage r c",      "refused pipeline.too_large"),
        (0, "ann", "pipeline.start_stage r c input=1",
            "pipeline.stage_started r/c by ann on 1"),
    ]

    a_rejected_transaction_leaves_no_trace => [
        (0, "ann", r#"pipeline.create p automatic input=[1,2] stages=[{"name":"a","each":true,
                      "max_retries":0},{"name":"b"}]"#,
            "pipeline.created p [a, b] automatic; \
             pipeline.stage_ready p/a [p-0000000001, p-0000000001.2]; \
             task.created p-0000000001 a ready; task.created p-0000000001.2 a ready"),
        (0, "ann", "all: task.claim & task.complete p-0000000001 token=2 &
                    task.cancel p-0000000001.2 & pipeline.retry_stage p a & pipeline.abort p &
                    pipeline.delete p & agent.heartbeat bob",
            "refused transaction.command_refused 6 agent.not_found"),
        (0, "ann", "pipeline.get p",                "p created [a ready; b pending]"),
        (0, "ann", "all: task.claim & task.complete p-0000000001 token=2 & task.claim &
                    task.complete p-0000000001.2 token=3",
            "task.claimed p-0000000001 by ann token=2; pipeline.stage_started p/a by ann; \
             task.completed p-0000000001; task.claimed p-0000000001.2 by ann token=3; \
             task.completed p-0000000001.2; pipeline.stage_completed p/a; \
             pipeline.stage_ready p/b [p-0000000002]; task.created p-0000000002 b ready"),
    ]

    an_id_that_was_used_is_not_generated_again => [
        (0, "ann", r#"all: task.create w id="p-0000000001" & task.create w id="p-0000000001.2" &
                      pipeline.create p automatic input=[1,2] stages=[{"name":"a","each":true}]"#,
            "task.created p-0000000001 w ready; task.created p-0000000001.2 w ready; \
             pipeline.created p [a] automatic; \
             pipeline.stage_ready p/a [p-0000000001.3, p-0000000001.4]; \
             task.created p-0000000001.3 a ready; task.created p-0000000001.4 a ready"),
    ]

    odd_wishes => [
        (0, "ann", "pipeline.create p stages=[]",   "refused pipeline.bad_stages"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","each":true}]"#,
            "refused pipeline.bad_stages"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a"}] metadata=1"#,
            "refused pipeline.bad_stages"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a","priority":1000}]"#,
            "refused pipeline.bad_stages"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a"}] input=bytes:1048577"#,
            "refused pipeline.too_large"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a"}]"#,
            "pipeline.created p [a]; pipeline.stage_ready p/a"),
        (0, "ann", r#"pipeline.create p stages=[{"name":"a"}]"#, "refused pipeline.exists"),
        (0, "ann", "pipeline.get q",                "refused pipeline.not_found"),
        (0, "ann", "pipeline.start_stage q a",      "refused pipeline.not_found"),
        (0, "ann", "pipeline.start_stage p z",      "refused pipeline.unknown_stage"),
        (0, "ann", "pipeline.output p z",           "refused pipeline.unknown_stage"),
        (0, "ann", "pipeline.list limit=0",         "refused pipeline.out_of_range"),
        (0, "ann", "pipeline.start_stage p a input=bytes:1048577", "refused pipeline.too_large"),
        (0, "ann", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ann"),
        (0, "ann", "pipeline.complete_stage p a output=bytes:1048577",
            "refused pipeline.too_large"),
        (0, "ann", "pipeline.fail_stage p a error=bytes:65537", "refused pipeline.too_large"),
        (0, "ann", r#"all: pipeline.create r stages=[{"name":"a"}] &
                      pipeline.create q stages=[{"name":"a"}]"#,
            "pipeline.created r [a]; pipeline.stage_ready r/a; pipeline.created q [a]; \
             pipeline.stage_ready q/a"),
        (0, "ann", "pipeline.list limit=2",
            "p running 0/1 [a] []; q created 0/1 [] [a] next=q"),
        (0, "ann", r#"pipeline.list limit=2 cursor="q""#, "r created 0/1 [] [a]"),
    ]
}

#[test]
fn every_code_and_every_event_is_reached() {
    let source = include_str!("vocabulary.rs");
    // There are so many of them that they have their own test.
    check_codes(Rejection::REFUSALS, SCENARIOS, &["pipeline.too_many"]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

/// An agent leaves with the tasks of so many pipelines that the steps follow in later commits.
#[test]
fn many_concurrent_failures_follow_in_later_commits() {
    let mut world = World::new(Space::default());
    world.run(0, "ada", "agent.register ada");
    for number in 0..30 {
        let stages = r#"[{"name":"a","max_retries":0,"each":true}]"#;
        let input: Vec<usize> = (0..100).collect();
        let asked = format!("pipeline.create p{number} automatic input={input:?} stages={stages}");
        assert!(world.run(0, "ann", &asked).contains("100 task.created"));
        let first = TaskId::of_stage(world.space.revision(), 1);
        let claimed = world.run(0, "ada", &format!("task.claim task=\"{first}\""));
        assert!(claimed.contains("pipeline.stage_started"), "{claimed}");
    }
    let rendered = world.run(1, "ada", "agent.leave ada");
    assert_eq!(rendered, "1 agent.left; 30 task.failed");
    let rendered = world.run(1, "ann", "time");
    assert_eq!(rendered, "30 pipeline.failed; 30 pipeline.stage_failed; 2970 task.cancelled");
    world.check(&[(2, "ann", "time", "nothing")]);
}

/// Large outputs are passed on in a separate commit.
#[test]
fn large_outputs_follow_in_a_later_commit() {
    let mut world = check(&[(
        0,
        "ann",
        r#"pipeline.create p automatic stages=[{"name":"a"},{"name":"b","after":["a"]},
           {"name":"c","after":["a"]},{"name":"d","after":["a"]}]"#,
        "pipeline.created p [a, b, c, d] automatic; pipeline.stage_ready p/a [p-0000000001]; \
         task.created p-0000000001 a ready",
    )]);
    world.check(&[
        (
            0,
            "ada",
            "task.claim",
            "task.claimed p-0000000001 by ada token=2; pipeline.stage_started p/a by ada",
        ),
        (
            0,
            "ada",
            "task.complete p-0000000001 token=2 result=bytes:900000",
            "task.completed p-0000000001",
        ),
        (
            0,
            "ann",
            "pipeline.get p",
            "p running [a running attempts=1 retries=0; b pending; \
            c pending; d pending]",
        ),
        (
            0,
            "ann",
            "time",
            "pipeline.stage_completed p/a; pipeline.stage_ready p/b [p-0000000004]; \
             pipeline.stage_ready p/c [p-0000000004.2]; task.created p-0000000004 b ready; \
             task.created p-0000000004.2 c ready | \
             pipeline.stage_ready p/d [p-0000000005]; task.created p-0000000005 d ready",
        ),
    ]);
}

/// The size of a pipeline is limited.
#[test]
fn outputs_that_do_not_fit_beside_the_others_fail_their_stage() {
    let stages: Vec<String> =
        (0..6).map(|number| format!(r#"{{"name":"s{number}","after":[]}}"#)).collect();
    let mut world = World::new(Space::default());
    world.run(0, "ann", &format!("pipeline.create p automatic stages=[{}]", stages.join(",")));
    for number in 0..6 {
        let token = world.space.revision().0 + 1;
        world.run(0, "ada", "task.claim");
        let task = if number == 0 { String::new() } else { format!(".{}", number + 1) };
        let asked = format!("task.complete p-0000000001{task} token={token} result=bytes:900000");
        let rendered = world.run(0, "ada", &asked);
        let last = if number < 4 { "stage_completed" } else { "stage_failed" };
        assert!(rendered.contains(last), "{rendered}");
    }
    let rendered = world.run(0, "ann", "pipeline.list");
    assert_eq!(rendered, "p failed 4/6 [] []");
    // In a manual pipeline it is refused instead.
    let stages = stages.join(",");
    world.run(0, "ann", &format!("pipeline.create q stages=[{stages}]"));
    for number in 0..6 {
        world.run(0, "ann", &format!("pipeline.start_stage q s{number}"));
        let asked = format!("pipeline.complete_stage q s{number} output=bytes:900000");
        let rendered = world.run(0, "ann", &asked);
        assert_eq!(rendered == "refused pipeline.too_large", number >= 4, "{rendered}");
    }
    world.check_memory();
}

#[test]
fn a_thousand_elements_are_a_thousand_tasks() {
    let mut world = World::new(Space::default());
    let input: Vec<usize> = (0..limits::STAGE_TASKS_MAX).collect();
    let stages = r#"[{"name":"a","each":true},{"name":"b"}]"#;
    let rendered = world.run(
        0,
        "ann",
        &format!("pipeline.create p automatic input={input:?} stages={stages}"),
    );
    assert_eq!(rendered, "1 pipeline.created; 1 pipeline.stage_ready; 1000 task.created");
    let rendered = world.run(0, "ann", "task.cancel p-0000000001.500");
    assert_eq!(rendered, "1 pipeline.failed; 1 pipeline.stage_failed; 1000 task.cancelled");
    // A stage that does not fit into the commit of a task follows in a later one.
    let rendered = world.run(0, "ann", "pipeline.retry_stage p a");
    assert_eq!(rendered, "1 pipeline.stage_ready; 1 pipeline.stage_retried; 1000 task.created");
    let rendered = world.run(0, "ann", "pipeline.abort p");
    assert_eq!(rendered, "1 pipeline.aborted; 1000 task.cancelled");
    let input: Vec<usize> = (0..=limits::STAGE_TASKS_MAX).collect();
    let asked = format!("pipeline.create q automatic input={input:?} stages={stages}");
    let rendered = world.run(0, "ann", &asked);
    let error = r#"{"elements":1001,"max":1000,"reason":"input_too_long"}"#;
    assert!(rendered.contains(error), "{rendered}");
    world.check_memory();
}

/// Three parallel stages of a thousand tasks: the third waits until there is room.
#[test]
fn stages_wait_until_there_is_room_for_their_tasks() {
    let mut world = World::new(Space::default());
    let stage = |name: &str| format!(r#"{{"name":"{name}","each":true,"after":[]}}"#);
    let stages = [stage("a"), stage("b"), stage("c")].join(",");
    let input: Vec<usize> = (0..limits::STAGE_TASKS_MAX).collect();
    let asked = format!("pipeline.create p automatic input={input:?} stages=[{stages}]");
    world.run(0, "ann", &asked);
    // One fits into the commit of the command, the next one follows, the third has to wait.
    world.run(0, "ann", "time");
    assert_eq!(world.run(0, "ann", "pipeline.list"), "p created 0/3 [] [a, b]");
    assert_eq!(world.run(0, "ann", "time"), "nothing");
    world.run(0, "ann", "pipeline.skip_stage p a");
    world.run(0, "ann", "time");
    assert_eq!(world.run(0, "ann", "pipeline.list"), "p created 1/3 [] [b, c]");
    let rendered = world.run(0, "ann", "pipeline.abort p");
    assert_eq!(rendered, "1 pipeline.aborted; 2000 task.cancelled");
    world.check_memory();
}

/// An output with the maximum depth cannot be nested in an input.
#[test]
fn an_output_that_is_too_deep_fails_the_next_stage() {
    let mut world = World::new(Space::default());
    world.run(0, "ann", r#"pipeline.create p automatic stages=[{"name":"a"},{"name":"b"}]"#);
    world.run(0, "ada", "task.claim");
    let deep = format!("{}1{}", "[".repeat(64), "]".repeat(64));
    let rendered =
        world.run(0, "ada", &format!("task.complete p-0000000001 token=2 result={deep}"));
    assert!(rendered.contains(r#"stage_failed p/b {"reason":"input_too_deep"}"#), "{rendered}");
}

/// The longest chain of skipped stages takes one round of policies, not a hundred.
#[test]
fn a_hundred_stages_are_left_out_in_one_commit() {
    let mut world = World::new(Space::default());
    let stages: Vec<String> = (0..limits::PIPELINE_STAGES_MAX)
        .map(|number| format!(r#"{{"name":"s{number}","each":true}}"#))
        .collect();
    let stages = stages.join(",");
    let rendered =
        world.run(0, "ann", &format!("pipeline.create p automatic input=[] stages=[{stages}]"));
    assert_eq!(
        rendered,
        "1 pipeline.completed; 1 pipeline.created; 100 pipeline.stage_completed; \
         100 pipeline.stage_ready"
    );
}

/// The total size of unfinished pipelines is limited, and finished ones do not count.
#[test]
fn the_size_and_number_of_pipelines_are_limited() {
    let mut world = World::new(Space::default());
    let input = limits::VALUE_BYTES_MAX;
    let create = |name: usize| {
        format!(r#"pipeline.create p{name} stages=[{{"name":"a"}}] input=bytes:{input}"#)
    };
    let fitting = limits::PIPELINES_BYTES_MAX / input;
    let refused = (0..=fitting)
        .find(|number| world.run(0, "ann", &create(*number)) == "refused pipeline.too_many");
    assert_eq!(refused, Some(fitting - 1), "they take a little more than what they are given");
    world.run(1, "ann", "pipeline.abort p0");
    let rendered = world.run(2, "ann", &create(fitting));
    assert!(rendered.contains("pipeline.created"), "{rendered}");
    assert_eq!(world.run(2, "ann", &create(fitting + 1)), "refused pipeline.too_many");
    world.space.pipeline.check();
}

#[test]
fn finished_ones_are_forgotten_first() {
    let mut world = World::new(Space::default());
    for name in ["a", "b", "c"] {
        world.run(0, "ann", &format!(r#"pipeline.create {name} stages=[{{"name":"s"}}]"#));
    }
    world.run(1, "ann", "pipeline.abort c");
    world.run(2, "ann", "pipeline.abort a");
    world.space.pipeline.trim_to(1);
    assert_eq!(world.run(3, "ann", "pipeline.list"), "a aborted 1/1 [] []; b created 0/1 [] [s]");
    world.space.pipeline.check();
}

const RELEASE: &[Step] = &[
    (
        0,
        "ann",
        r#"pipeline.create release automatic input=["core","cli"] stages=[
           {"name":"build","each":true,"max_retries":0},{"name":"notes","after":[]},
           {"name":"publish","agent":"pub","after":["build","notes"]}]"#,
        "pipeline.created release [build, notes, publish] automatic; \
         pipeline.stage_ready release/build [p-0000000001, p-0000000001.2]; \
         pipeline.stage_ready release/notes [p-0000000001.3]; \
         task.created p-0000000001 build ready; task.created p-0000000001.2 build ready; \
         task.created p-0000000001.3 notes ready",
    ),
    (
        1,
        "ada",
        r#"all: task.claim types=["notes"] &
           task.complete p-0000000001.3 token=2 result="new""#,
        "task.claimed p-0000000001.3 by ada token=2; \
         pipeline.stage_started release/notes by ada; task.completed p-0000000001.3; \
         pipeline.stage_completed release/notes",
    ),
    (
        2,
        "bob",
        r#"all: task.claim & task.complete p-0000000001 token=3 result="core.tgz""#,
        "task.claimed p-0000000001 by bob token=3; \
         pipeline.stage_started release/build by bob; task.completed p-0000000001",
    ),
    (
        3,
        "bob",
        r#"all: task.claim & task.complete p-0000000001.2 token=4 result="cli.tgz""#,
        "task.claimed p-0000000001.2 by bob token=4; task.completed p-0000000001.2; \
         pipeline.stage_completed release/build; \
         pipeline.stage_ready release/publish [p-0000000004]; \
         task.created p-0000000004 publish ready",
    ),
    (
        4,
        "pub",
        "all: task.claim & task.complete p-0000000004 token=5",
        "task.claimed p-0000000004 by pub token=5; \
         pipeline.stage_started release/publish by pub; \
         handoff.passed h-0000000005 of p-0000000004 from bob to `pub` with \
         [\"core.tgz\",\"cli.tgz\"]; \
         handoff.passed h-0000000005.2 of p-0000000004 from ada to `pub` with \"new\"; \
         task.completed p-0000000004; \
         pipeline.stage_completed release/publish; pipeline.completed release",
    ),
];

#[test]
fn the_log_of_a_release_reads_as_a_story() {
    let log = story(RELEASE);
    insta::assert_snapshot!(log, @r#"
    r1 at 0, ann:
        pipeline.created release [build, notes, publish] automatic
        pipeline.stage_ready release/build [p-0000000001, p-0000000001.2]
        pipeline.stage_ready release/notes [p-0000000001.3]
        task.created p-0000000001 build ready
        task.created p-0000000001.2 build ready
        task.created p-0000000001.3 notes ready
    r2 at 1, ada:
        task.claimed p-0000000001.3 by ada token=2
        pipeline.stage_started release/notes by ada
        task.completed p-0000000001.3
        pipeline.stage_completed release/notes
    r3 at 2, bob:
        task.claimed p-0000000001 by bob token=3
        pipeline.stage_started release/build by bob
        task.completed p-0000000001
    r4 at 3, bob:
        task.claimed p-0000000001.2 by bob token=4
        task.completed p-0000000001.2
        pipeline.stage_completed release/build
        pipeline.stage_ready release/publish [p-0000000004]
        task.created p-0000000004 publish ready
    r5 at 4, pub:
        task.claimed p-0000000004 by pub token=5
        pipeline.stage_started release/publish by pub
        handoff.passed h-0000000005 of p-0000000004 from bob to `pub` with ["core.tgz","cli.tgz"]
        handoff.passed h-0000000005.2 of p-0000000004 from ada to `pub` with "new"
        task.completed p-0000000004
        pipeline.stage_completed release/publish
        pipeline.completed release
    "#);
}

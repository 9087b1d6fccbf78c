//! Scenarios of hand-offs.

use super::Rejection;
use crate::limits;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};

scenarios! {
    a_task_changes_hands_when_its_receiver_accepts => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (1, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (2, "ada", r#"handoff.offer bob task="t" token=2 reason="mine-is-done""#,
            "handoff.offered h-0000000003 of t to `bob` !receiver; task.offered t by h-0000000003"),
        // Until the receiver answers, the giver holds the task without heartbeats.
        (400_000, "ada", "task.progress t token=2 fraction=0.5", "task.progressed t 0.5"),
        (500_000, "time", "time",                   "nothing"),
        (500_001, "eve", "handoff.accept h-0000000003", "refused handoff.not_receiver"),
        (500_002, "ada", "handoff.accept h-0000000003", "refused handoff.not_receiver"),
        (500_003, "bob", "handoff.accept h-0000000003",
            "handoff.accepted h-0000000003 by bob; \
             task.handed_over t to bob by h-0000000003 token=5"),
        (500_004, "ada", "task.progress t token=2 fraction=0.6", "refused task.stale_token"),
        (500_005, "bob", "handoff.accept h-0000000003", "refused handoff.wrong_status"),
        (500_006, "bob", r#"task.complete t token=5 result="ok""#,
            "task.completed t; handoff.completed h-0000000003 \"ok\""),
        (500_007, "bob", "handoff.get h-0000000003", "h-0000000003 completed ada to `bob`"),
    ]

    only_the_holder_of_a_task_can_hand_it_over => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"handoff.offer bob task="t" token=9"#, "refused handoff.not_holder"),
        (0, "ada", r#"handoff.offer bob task="no" token=9"#, "refused handoff.unknown_task"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.offer bob task="t" token=1"#, "refused handoff.stale_token"),
        (0, "eve", r#"handoff.offer bob task="t" token=2"#, "refused handoff.not_holder"),
        (0, "ada", r#"handoff.offer bob task="t""#, "refused handoff.bad_field"),
        (0, "ada", "handoff.offer bob token=2",     "refused handoff.bad_field"),
        (0, "ada", r#"handoff.offer ada task="t" token=2"#, "refused handoff.bad_field"),
        (0, "ada", r#"handoff.offer bob task="t" token=2"#,
            "handoff.offered h-0000000003 of t to `bob` !receiver; task.offered t by h-0000000003"),
        (0, "ada", r#"handoff.offer eve task="t" token=2"#, "refused handoff.already_offered"),
        (0, "ada", r#"handoff.execute eve task="t" token=2"#, "refused handoff.already_offered"),
        (0, "ada", "handoff.get h-1",               "refused handoff.not_found"),
    ]

    an_unaccepted_offer_returns_to_its_giver => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (1, "ada", r#"handoff.offer bob task="t" token=2"#,
            "handoff.offered h-0000000003 of t to `bob` !receiver; task.offered t by h-0000000003"),
        (2, "eve", "handoff.reject h-0000000003",   "refused handoff.not_receiver"),
        (2, "bob", r#"handoff.reject h-0000000003 reason="busy""#,
            "handoff.rejected h-0000000003 by bob (busy); task.taken_back t by h-0000000003"),
        (3, "bob", "handoff.accept h-0000000003",   "refused handoff.wrong_status"),
        (3, "ada", "task.heartbeat t token=2",
            "r4: t in_progress by ada token=2 until 300002 attempts=1 retries=0"),
        (4, "ada", r#"handoff.offer bob task="t" token=2 deadline_ms=1000"#,
            "handoff.offered h-0000000005 of t to `bob` !receiver; task.offered t by h-0000000005"),
        (5, "bob", "handoff.cancel h-0000000005",   "refused handoff.not_allowed"),
        (1_004, "time", "time",
            "handoff.expired h-0000000005 (deadline); task.taken_back t by h-0000000005"),
        (1_005, "ada", r#"handoff.offer bob task="t" token=2"#,
            "handoff.offered h-0000000007 of t to `bob` !receiver; task.offered t by h-0000000007"),
        (1_006, "ada", "handoff.cancel h-0000000007",
            "handoff.cancelled h-0000000007; task.taken_back t by h-0000000007"),
        (1_007, "bob", "handoff.accept h-0000000007", "refused handoff.wrong_status"),
        // A lease that the giver got back expires like any other.
        (301_006, "time", "time",
            "task.failed t {\"holder\":\"ada\",\"reason\":\"lease_expired\",\"token\":2} again | \
             task.ready t"),
    ]

    the_first_capable_agent_that_accepts_gets_it => [
        (0, "ada", r#"agent.register ada capabilities=["edit"]"#,
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "bob", r#"agent.register bob capabilities=["edit"]"#,
            "agent.joined bob token=2 ttl=60000; namespace.created agent:bob"),
        (0, "eve", r#"agent.register eve capabilities=["draw"]"#,
            "agent.joined eve token=3 ttl=60000; namespace.created agent:eve"),
        (1, "ada", r#"handoff.offer {"capability":"edit"} state={"a":1}"#,
            "handoff.offered h-0000000004 to any agent with the capability `edit`"),
        (2, "eve", "handoff.accept h-0000000004",   "refused handoff.not_receiver"),
        (2, "ada", "handoff.accept h-0000000004",   "refused handoff.not_receiver"),
        (2, "eve", "handoff.receive",               "r4: null"),
        (2, "ada", "handoff.receive",               "r4: null"),
        (2, "ann", r#"handoff.list to="bob""#,
            "[h-0000000004 offered ada to any agent with the capability `edit`]"),
        (2, "ann", r#"handoff.list to="eve""#,      "[]"),
        (3, "bob", "handoff.accept h-0000000004",   "handoff.accepted h-0000000004 by bob"),
        (3, "bob", "handoff.reject h-0000000004",   "refused handoff.wrong_status"),
        (3, "ada", "handoff.cancel h-0000000004",   "refused handoff.wrong_status"),
        (4, "eve", "handoff.complete h-0000000004", "refused handoff.not_receiver"),
        (5, "bob", r#"handoff.complete h-0000000004 result=7 changes={"a":2}"#,
            "handoff.completed h-0000000004 7"),
        (5, "bob", "handoff.complete h-0000000004", "refused handoff.wrong_status"),
        // An offer that no agent can accept now is made, with a warning.
        (6, "ada", r#"handoff.offer {"capability":"sing"}"#,
            "handoff.offered h-0000000007 to any agent with the capability `sing` !receiver"),
        (6, "ann", r#"handoff.list from="ada" limit=1"#,
            "[h-0000000004 completed ada to any agent with the capability `edit`] \
             next=h-0000000004"),
        (6, "ann", r#"handoff.list from="ada" cursor="h-0000000004""#,
            "[h-0000000007 offered ada to any agent with the capability `sing`]"),
        (6, "ann", r#"handoff.list status="offered""#,
            "[h-0000000007 offered ada to any agent with the capability `sing`]"),
        (6, "ann", "handoff.list limit=0",          "refused handoff.out_of_range"),
    ]

    a_delivered_offer_without_an_answer_is_delivered_again => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "handoff.receive wait_ms=5000",
            "handoff.queued bob call=2 until 5000; call 2 waits"),
        (1, "ada", "handoff.offer bob redeliver_ms=1000",
            "handoff.offered h-0000000003 to `bob`; \
             handoff.delivered h-0000000003 to bob until 1001 call=2; \
             call 2: h-0000000003 delivered ada to `bob`"),
        (2, "bob", "handoff.receive",               "r3: null"),
        (1_001, "time", "time",                     "handoff.undelivered h-0000000003"),
        (1_002, "bob", "handoff.receive",
            "handoff.delivered h-0000000003 to bob until 2002"),
        (1_003, "bob", "handoff.receive wait_ms=100",
            "handoff.queued bob call=6 until 1103; call 6 waits"),
        (1_103, "time",
            "time",                     "handoff.gave_up bob call=6 Timeout; call 6: null"),
        (1_104, "bob", "handoff.receive wait_ms=9000",
            "handoff.queued bob call=8 until 10104; call 8 waits"),
        // The first waiting call gets it in the commit that takes it from a receiver that did not
        // answer.
        (2_002, "time", "time",
            "handoff.undelivered h-0000000003; \
             handoff.delivered h-0000000003 to bob until 3002 call=8; \
             call 8: h-0000000003 delivered ada to `bob`"),
        (2_003, "bob", "handoff.receive wait_ms=9000",
            "handoff.queued bob call=10 until 11003; call 10 waits"),
        // A receiver that leaves has not answered.
        (2_004, "bob", "agent.leave bob token=1",
            "agent.left bob; handoff.undelivered h-0000000003; \
             handoff.gave_up bob call=10 SessionEnded; call 10: refused handoff.session_ended"),
        (2_005, "bob", "handoff.receive",
            "handoff.delivered h-0000000003 to bob until 3005"),
        (2_006, "bob", "handoff.accept h-0000000003", "handoff.accepted h-0000000003 by bob"),
        (2_007, "bob", "handoff.receive wait_ms=9000000", "refused handoff.out_of_range"),
        (2_008, "bob", "handoff.receive wait_ms=90",
            "handoff.queued bob call=14 until 2098; call 14 waits"),
        (2_009, "bob",
            "gone",                      "handoff.gave_up bob call=14 Gone; call 14: null"),
    ]

    an_offer_that_is_never_answered_becomes_a_dead_letter => [
        (0, "ada", "handoff.offer bob redeliver_ms=100 deadline_ms=100000",
            "handoff.offered h-0000000001 to `bob` !receiver"),
        (0, "bob", "handoff.receive",       "handoff.delivered h-0000000001 to bob until 100"),
        (100, "time", "time",               "handoff.undelivered h-0000000001"),
        (100, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 200"),
        (200, "time", "time",               "handoff.undelivered h-0000000001"),
        (200, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 300"),
        (300, "time", "time",               "handoff.undelivered h-0000000001"),
        (300, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 400"),
        (400, "time", "time",               "handoff.undelivered h-0000000001"),
        (400, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 500"),
        (500, "time", "time",               "handoff.undelivered h-0000000001"),
        (500, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 600"),
        (600, "time", "time",               "handoff.undelivered h-0000000001"),
        (600, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 700"),
        (700, "time", "time",               "handoff.undelivered h-0000000001"),
        (700, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 800"),
        (800, "time", "time",               "handoff.undelivered h-0000000001"),
        (800, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 900"),
        (900, "time", "time",               "handoff.undelivered h-0000000001"),
        (900, "bob", "handoff.receive",     "handoff.delivered h-0000000001 to bob until 1000"),
        (1_000, "time", "time",             "handoff.expired h-0000000001 (not_answered)"),
        (1_001, "ann", r#"handoff.list status="expired""#, "[h-0000000001 expired ada to `bob`]"),
    ]

    keys_move_with_the_task => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "state.set agent:ada/plan 1",    "state.set agent:ada/plan v1 = 1"),
        (0, "ada", r#"state.set shared/brief "b""#, r#"state.set shared/brief v1 = "b""#),
        (1, "ada", r#"handoff.offer bob keys=["agent:ada/plan","shared/brief","shared/none"]"#,
            "handoff.offered h-0000000004 to `bob` !receiver"),
        // The giver's own keys belong to the receiver now; missing keys are listed.
        (2, "bob", "handoff.accept h-0000000004",
            "handoff.accepted h-0000000004 by bob +agent:ada/plan +shared/brief \
             -shared/none missing; \
             namespace.created agent:bob; \
             state.transferred agent:bob/plan v1 = 1 from agent:ada v1 r2 by ada; \
             state.transferred_away agent:ada/plan v1"),
        (3, "ada", "state.set agent:ada/plan 2",    "state.set agent:ada/plan v2 = 2"),
        (3, "ada", r#"handoff.offer bob keys=["agent:ada/plan"]"#,
            "handoff.offered h-0000000007 to `bob` !receiver"),
        // The receiver has a key of that name: nothing moves unless `overwrite` is set.
        (4, "bob", "handoff.accept h-0000000007",   "refused handoff.state_conflict"),
        (4, "bob", "handoff.accept h-0000000007 overwrite",
            "handoff.accepted h-0000000007 by bob +agent:ada/plan; \
             state.transferred agent:bob/plan v2 = 2 from agent:ada v2 r6 by ada; \
             state.transferred_away agent:ada/plan v2"),
        (5, "ada", r#"handoff.offer bob keys=[{"key":"shared/brief","version":2}]"#,
            "refused handoff.state_conflict"),
        (5, "ada", r#"handoff.offer bob keys=[{"key":"shared/brief","version":1}]"#,
            "handoff.offered h-0000000009 to `bob` !receiver"),
        (5, "ada", r#"state.set shared/brief "c""#, r#"state.set shared/brief v2 = "c""#),
        (5, "bob", "handoff.accept h-0000000009",   "refused handoff.state_conflict"),
        (5, "ada", r#"handoff.offer bob keys=["shared/a","shared/a"]"#,
            "refused handoff.bad_field"),
    ]

    a_coordinated_hand_off_moves_all_or_nothing => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "bob", "agent.register bob",
            "agent.joined bob token=2 ttl=60000; namespace.created agent:bob"),
        (0, "ada", "state.set agent:ada/plan 1",    "state.set agent:ada/plan v1 = 1"),
        (0, "bob", "state.set agent:bob/plan 9",    "state.set agent:bob/plan v1 = 9"),
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=6"),
        (1, "ada", r#"handoff.execute {"capability":"x"} task="t" token=6"#,
            "refused handoff.bad_field"),
        (1, "ada", "handoff.execute bob",           "refused handoff.bad_field"),
        (1, "ada", r#"handoff.execute bob task="t" token=6 approval=true"#,
            "refused handoff.bad_field"),
        (1, "ada", r#"handoff.execute bob task="t" token=6 keys=["agent:ada/plan"]"#,
            "handoff.refused h-0000000007 transfer_state: state conflict at `agent:bob/plan`: \
             entry `plan` in `agent:bob` already exists, at version 1"),
        (1, "ada", "state.get agent:ada/plan",      "agent:ada/plan v1 = 1 r3 at 0 by ada"),
        (2, "ada", r#"handoff.execute bob task="t" token=6 keys=["shared/none"]"#,
            "handoff.refused h-0000000008 transfer_state: state conflict at `shared/none`: \
             there is no such key"),
        (3, "bob", "state.delete agent:bob/plan",   "state.deleted agent:bob/plan v1"),
        (4, "ada", r#"handoff.execute bob task="t" token=6 keys=["agent:ada/plan"] reason="done""#,
            "handoff.executed h-0000000010 of t to `bob`; \
             state.transferred agent:bob/plan v2 = 1 from agent:ada v1 r3 by ada; \
             state.transferred_away agent:ada/plan v1; \
             task.handed_off t to bob by h-0000000010, at 3600004 back to ada"),
        (5, "ada", "task.progress t token=6 fraction=1", "refused task.stale_token"),
        (5, "eve", "task.claim",                    "r10: null"),
        (5, "ann", "handoff.history t",
            "[h-0000000007 failed ada to `bob`, h-0000000008 failed ada to `bob`, \
             h-0000000010 completed ada to `bob`]"),
        (6, "bob", "task.claim",                    "task.claimed t by bob token=11"),
        (7, "ann", "handoff.stats",
            "count=3 completed=1 failed=2 rejected=0 invalid=0 rate=0.3333333333333333 p50=0 \
             pairs=1"),
    ]

    a_task_that_its_receiver_does_not_claim_returns_and_then_goes_to_a_person => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.execute bob task="t" token=2 deadline_ms=1000"#,
            "handoff.executed h-0000000003 of t to `bob` !receiver; \
             task.handed_off t to bob by h-0000000003, at 1000 back to ada"),
        (999, "time", "time",                       "nothing"),
        (1_000, "time", "time",
            "task.handed_off t to ada by h-0000000003, at 2000 back to a person"),
        (1_001, "bob", "task.claim",                "r4: null"),
        (2_000, "time", "time",
            r#"task.failed t {"agent":"ada","reason":"not_taken_up"} for review"#),
        (2_000, "ann", "task.why t",
            "`t` is waiting for review: it was handed over and not claimed in time; a reviewer \
             must decide"),
    ]

    a_task_is_not_stuck_with_a_receiver_that_died => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.execute bob task="t" token=2"#,
            "handoff.executed h-0000000003 of t to `bob` !receiver; \
             task.handed_off t to bob by h-0000000003, at 3600000 back to ada"),
        (1, "eve", "task.claim",                    "r3: null"),
        (1, "bob", "task.claim lease_ms=100",       "task.claimed t by bob token=4"),
        (101, "time", "time",
            "task.failed t {\"holder\":\"bob\",\"reason\":\"lease_expired\",\"token\":4} again | \
             task.ready t"),
        (102, "eve", "task.claim",                  "task.claimed t by eve token=7"),
    ]

    the_crash_of_either_side_loses_nothing => [
        (0, "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (0, "bob", "agent.register bob ttl_ms=5000",
            "agent.joined bob token=2 ttl=5000; namespace.created agent:bob"),
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=4"),
        (1, "ada", r#"handoff.offer bob task="t" token=4"#,
            "handoff.offered h-0000000005 of t to `bob`; task.offered t by h-0000000005"),
        (2_000, "time", "time",
            "agent.lost ada; task.abandoned t by h-0000000005"),
        (2_000, "ada", "task.complete t token=4",   "refused task.stale_token"),
        (2_001, "bob", "handoff.accept h-0000000005",
            "handoff.accepted h-0000000005 by bob; \
             task.handed_over t to bob by h-0000000005 token=7; agent.seen bob"),
        (9_500, "time", "time",
            "agent.lost bob; \
             task.failed t {\"holder\":\"bob\",\"reason\":\"agent_gone\",\"token\":7} again; \
             handoff.failed h-0000000005 {\"reason\":\"the agent was gone\"} | task.ready t"),
        (9_501, "eve", "agent.register eve",
            "agent.joined eve token=10 ttl=60000; namespace.created agent:eve"),
        (9_501, "ann", "handoff.offer eve",         "handoff.offered h-0000000011 to `eve`"),
        (9_501, "eve", "handoff.accept h-0000000011", "handoff.accepted h-0000000011 by eve"),
        (9_502, "eve", "agent.leave eve token=10",
            r#"agent.left eve; handoff.failed h-0000000011 {"reason":"agent_gone"}"#),
    ]

    whatever_ends_a_task_withdraws_its_offer => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.offer bob task="t" token=2"#,
            "handoff.offered h-0000000003 of t to `bob` !receiver; task.offered t by h-0000000003"),
        (1, "ada", "task.release t token=2",
            "task.released t; handoff.cancelled h-0000000003 (the task was released)"),
        (1, "bob", "handoff.accept h-0000000003",   "refused handoff.wrong_status"),
        (2, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=5"),
        (2, "ada", r#"handoff.offer bob task="t" token=5"#,
            "handoff.offered h-0000000006 of t to `bob` !receiver; task.offered t by h-0000000006"),
        (3, "ada", "task.complete t token=5",
            "task.completed t; handoff.cancelled h-0000000006 (the task is done)"),
        (4, "ann", r#"task.create write id="u""#,   "task.created u write ready"),
        (4, "ada", r#"task.claim task="u""#,        "task.claimed u by ada token=9"),
        (4, "ada", r#"handoff.offer bob task="u" token=9"#,
            "handoff.offered h-0000000010 of u to `bob` !receiver; task.offered u by h-0000000010"),
        (5, "bob", "handoff.accept h-0000000010 lease_ms=1000",
            "handoff.accepted h-0000000010 by bob; \
             task.handed_over u to bob by h-0000000010 token=11"),
        (5, "ann", "task.cancel u",
            "task.cancelled u; \
             handoff.failed h-0000000010 {\"reason\":\"the task was cancelled\"}"),
    ]

    handing_on_completes_the_hand_off_before => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.offer bob task="t" token=2 reason="first""#,
            "handoff.offered h-0000000003 of t to `bob` !receiver; task.offered t by h-0000000003"),
        (0, "bob", "handoff.accept h-0000000003",
            "handoff.accepted h-0000000003 by bob; \
             task.handed_over t to bob by h-0000000003 token=4"),
        (1, "bob", r#"handoff.offer eve task="t" token=4 reason="second""#,
            "handoff.offered h-0000000005 of t to `eve` !receiver; task.offered t by h-0000000005"),
        (2, "eve", "handoff.accept h-0000000005",
            "handoff.accepted h-0000000005 by eve; \
             task.handed_over t to eve by h-0000000005 token=6; \
             handoff.completed h-0000000003 {\"handed_on\":\"h-0000000005\"}"),
        // Completing a hand-off completes its task.
        (3, "eve", "handoff.complete h-0000000005 result=1",
            "handoff.completed h-0000000005 1; task.completed t"),
        (4, "ann", "handoff.export h-0000000005",
            "{\"originating_task_id\":\"t\",\"originating_agent\":\"bob\",\"state\":{},\
             \"handoff_id\":\"h-0000000005\",\"reason\":\"second\"}"),
    ]

    an_approval_is_valid_once_for_the_proposal => [
        (0, "ada", "state.set shared/brief 1",      "state.set shared/brief v1 = 1"),
        (0, "ada",
            "handoff.offer bob keys=[\"shared/brief\"] \
             approval={\"by\":[\"eve\",\"ann\"],\"expires_ms\":100}",
            "handoff.offered h-0000000002 to `bob` !receiver"),
        (1, "bob", "handoff.receive",               "r2: null"),
        (1, "bob", "handoff.accept h-0000000002",   "refused handoff.not_approved"),
        (1, "bob", "handoff.approve h-0000000002",  "refused handoff.not_allowed"),
        (1, "ada", "handoff.approve h-0000000002",  "refused handoff.not_allowed"),
        (1, "eve", r#"handoff.approve h-0000000002 digest="00""#,
            "refused handoff.digest_mismatch"),
        (2, "eve", r#"handoff.approve h-0000000002 reason="fine""#,
            "handoff.approved h-0000000002 by eve (fine)"),
        (2, "ann", "handoff.approve h-0000000002",  "refused handoff.already_approved"),
        // The approval expired, and may be given again.
        (102, "bob", "handoff.accept h-0000000002", "refused handoff.not_approved"),
        (103, "ann", "handoff.approve h-0000000002", "handoff.approved h-0000000002 by ann"),
        // The approved proposal differs from the current one.
        (104, "ada", "state.set shared/brief 2",    "state.set shared/brief v2 = 2"),
        (104, "bob", "handoff.accept h-0000000002", "refused handoff.digest_mismatch"),
        (105, "eve", "handoff.reject h-0000000002", "handoff.rejected h-0000000002 by eve"),
        (106, "ada", "handoff.offer bob approval=true",
            "handoff.offered h-0000000007 to `bob` !receiver"),
        (107, "bob", "handoff.receive wait_ms=100",
            "handoff.queued bob call=8 until 207; call 8 waits"),
        (108, "zed", "handoff.approve h-0000000007",
            "handoff.approved h-0000000007 by zed; \
             handoff.delivered h-0000000007 to bob until 60108 call=8; \
             call 8: h-0000000007 delivered ada to `bob`"),
        (109, "bob", "handoff.accept h-0000000007", "handoff.accepted h-0000000007 by bob"),
        (110, "zed", "handoff.approve h-0000000007", "refused handoff.wrong_status"),
    ]

    rules_are_evaluated_before_anything_is_handed_over => [
        (0, "ann", r#"rule.add topic check={"required_keys":["topic"]} on={"task_type":"write"}"#,
            r#"rule.added topic error {"required_keys":["topic"]}"#),
        (0, "ann", r#"rule.add there check={"receiver_alive":true} severity="warning""#,
            r#"rule.added there warning {"receiver_alive":true}"#),
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=4"),
        (1, "ada", r#"handoff.validate bob task="t" token=4"#,
            "r4: valid=false topic there receiver"),
        (1, "ada", r#"handoff.validate bob task="t" token=4 state={"topic":1}"#,
            "r4: valid=true there receiver"),
        (1, "ada", r#"handoff.offer bob task="t" token=4"#, "refused handoff.invalid"),
        (1, "ada", r#"handoff.execute bob task="t" token=4"#,
            "handoff.refused h-0000000005 validate: the hand-off is invalid: \
             topic: the state lacks `topic`"),
        (2, "ann", "handoff.stats",
            "count=1 completed=0 failed=1 rejected=0 invalid=1 rate=0 p50=0 pairs=1"),
        (3, "ada", r#"handoff.offer bob task="t" token=4 state={"topic":1}"#,
            "handoff.offered h-0000000006 of t to `bob` !there !receiver; \
             task.offered t by h-0000000006"),
    ]

    a_loop_of_handoffs_is_detected => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=2"),
        (0, "ada", r#"handoff.execute bob task="t" token=2"#,
            "handoff.executed h-0000000003 of t to `bob` !receiver; \
             task.handed_off t to bob by h-0000000003, at 3600000 back to ada"),
        (0, "bob", r#"task.claim task="t""#,        "task.claimed t by bob token=4"),
        // Nothing has changed since the other agent gave it away.
        (0, "bob", r#"handoff.offer ada task="t" token=4"#, "refused handoff.loop"),
        (0, "bob", r#"handoff.execute ada task="t" token=4"#,
            "handoff.refused h-0000000005 validate: the task is being handed over in a loop: \
             nothing has changed since `ada` gave it away by `h-0000000003`"),
        (0, "bob", r#"handoff.execute ada task="t" token=4 reason="sources?""#,
            "handoff.executed h-0000000006 of t to `ada` !receiver; \
             task.handed_off t to ada by h-0000000006, at 3600000 back to bob"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=7"),
        (0, "ada", r#"handoff.execute bob task="t" token=7"#,
            "handoff.executed h-0000000008 of t to `bob` !receiver; \
             task.handed_off t to bob by h-0000000008, at 3600000 back to ada"),
        (0, "bob", r#"task.claim task="t""#,        "task.claimed t by bob token=9"),
        (0, "bob", r#"handoff.execute ada task="t" token=9 reason="sources?""#,
            "handoff.executed h-0000000010 of t to `ada` !receiver; \
             task.handed_off t to ada by h-0000000010, at 3600000 back to bob"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=11"),
        (0, "ada", r#"handoff.execute bob task="t" token=11 reason="a""#,
            "handoff.executed h-0000000012 of t to `bob` !receiver; \
             task.handed_off t to bob by h-0000000012, at 3600000 back to ada"),
        (0, "bob", r#"task.claim task="t""#,        "task.claimed t by bob token=13"),
        (0, "bob", r#"handoff.execute ada task="t" token=13 reason="b""#,
            "handoff.executed h-0000000014 of t to `ada` !receiver; \
             task.handed_off t to ada by h-0000000014, at 3600000 back to bob"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=15"),
        (0, "ada", r#"handoff.offer bob task="t" token=15 reason="c""#, "refused handoff.loop"),
        // `on_loop=review` records the loop for a person to review.
        (0, "ada", r#"handoff.offer bob task="t" token=15 reason="c" on_loop="review""#,
            "handoff.refused h-0000000016 brakes: \
             `ada` handed it to `bob` 3 times within 10 minutes; \
             task.failed t 111 bytes for review"),
        (1, "ann", r#"task.review t verdict="retry""#, "task.reviewed t Retry"),
    ]

    patterns_select_what_is_there_when_it_moves => [
        (0, "ada", "namespace.create agent:ada",    "namespace.created agent:ada"),
        (0, "ada", "state.set agent:ada/a/1 1",     "state.set agent:ada/a/1 v1 = 1"),
        (0, "ada", "state.set agent:ada/b 2",       "state.set agent:ada/b v1 = 2"),
        (0, "ada", "state.set shared/a/2 3",        "state.set shared/a/2 v1 = 3"),
        (0, "ada", r#"handoff.offer bob keys=["agent:ada/a/**","agent:ada/*","agent:ada/b"]"#,
            "handoff.offered h-0000000005 to `bob` !receiver"),
        (0, "ada", "state.set agent:ada/a/b/c 4",   "state.set agent:ada/a/b/c v1 = 4"),
        // Each key once, those of a pattern in its place.
        (0, "bob", "handoff.accept h-0000000005",
            "handoff.accepted h-0000000005 by bob +agent:ada/a/1 +agent:ada/a/b/c +agent:ada/b; \
             namespace.created agent:bob; \
             state.transferred agent:bob/a/1 v1 = 1 from agent:ada v1 r2 by ada; \
             state.transferred_away agent:ada/a/1 v1; \
             state.transferred agent:bob/a/b/c v1 = 4 from agent:ada v1 r6 by ada; \
             state.transferred_away agent:ada/a/b/c v1; \
             state.transferred agent:bob/b v1 = 2 from agent:ada v1 r3 by ada; \
             state.transferred_away agent:ada/b v1"),
        // Copies, and keys of other namespaces, which stay where they are.
        (1, "bob", r#"handoff.offer ada keys=["agent:bob/a/*","shared/**"] copy=true"#,
            "handoff.offered h-0000000008 to `ada` !receiver"),
        (1, "ada", "handoff.accept h-0000000008",
            "handoff.accepted h-0000000008 by ada +agent:bob/a/1 +shared/a/2; \
             state.copied agent:ada/a/1 v2 = 1 from agent:bob v1 r7 by bob"),
        (2, "bob", "state.get agent:bob/a/1",
            "agent:bob/a/1 v1 = 1 r7 at 0 by bob"),
        (3, "bob", r#"handoff.offer ada keys=["agent:bob/no*"]"#,
            "handoff.offered h-0000000010 to `ada` !receiver"),
        (3, "ada", "handoff.accept h-0000000010",   "handoff.accepted h-0000000010 by ada"),
        (4, "bob", r#"handoff.offer ada keys=["agent:bob/***"]"#, "refused handoff.bad_field"),
        // With a version it is the name of one key.
        (4, "bob", r#"handoff.offer ada keys=[{"key":"agent:bob/*","version":1}]"#,
            "refused handoff.state_conflict"),
    ]

    all_that_an_agent_holds_moves_in_one_commit => [
        (0, "ann", r#"task.create write id="t""#,   "task.created t write ready"),
        (0, "ann", r#"task.create write id="u""#,   "task.created u write ready"),
        (0, "ada", r#"task.claim task="t""#,        "task.claimed t by ada token=3"),
        (0, "ada", r#"task.claim task="u""#,        "task.claimed u by ada token=4"),
        (0, "ada", "namespace.create agent:ada",    "namespace.created agent:ada"),
        (0, "ada", "state.set agent:ada/plan 1",    "state.set agent:ada/plan v1 = 1"),
        (0, "ada", r#"handoff.offer bob task="u" token=4"#,
            "handoff.offered h-0000000007 of u to `bob` !receiver; task.offered u by h-0000000007"),
        (1, "ada", "handoff.execute_all bob",       "refused handoff.already_offered"),
        (1, "ada", "handoff.execute_all ada",       "refused handoff.bad_field"),
        (1, "ada", "handoff.cancel h-0000000007",
            "handoff.cancelled h-0000000007; task.taken_back u by h-0000000007"),
        (2, "ada", "handoff.execute_all bob",
            "handoff.executed h-0000000009 to `bob` !receiver; \
             handoff.executed h-0000000009.2 of t to `bob` !receiver; \
             handoff.executed h-0000000009.3 of u to `bob` !receiver; \
             namespace.created agent:bob; \
             state.transferred agent:bob/plan v1 = 1 from agent:ada v1 r6 by ada; \
             state.transferred_away agent:ada/plan v1; \
             task.handed_off t to bob by h-0000000009.2, at 3600002 back to ada; \
             task.handed_off u to bob by h-0000000009.3, at 3600002 back to ada"),
        (3, "ada", "handoff.execute_all bob",       "r9: []"),
        (3, "bob", r#"task.claim task="t""#,        "task.claimed t by bob token=10"),
        (3, "bob", "state.set agent:ada/plan 2",    "state.set agent:ada/plan v2 = 2"),
        (4, "bob", "handoff.execute_all ada",       "refused handoff.state_conflict"),
        // The task returns to its giver without a change.
        (4, "bob", "handoff.execute_all ada overwrite",     "refused handoff.loop"),
    ]

    a_pass_between_stages_is_recorded_as_a_handoff => [
        (0, "ann", r#"pipeline.create p stages=[{"name":"a"},{"name":"b"},{"name":"c"}]"#,
            "pipeline.created p [a, b, c]; pipeline.stage_ready p/a"),
        (1, "ada", "pipeline.start_stage p a",      "pipeline.stage_started p/a by ada"),
        (1, "ada", "pipeline.complete_stage p a output=1",
            "pipeline.stage_completed p/a = 1; pipeline.stage_ready p/b"),
        (2, "ada", "pipeline.start_stage p b",      "pipeline.stage_started p/b by ada"),
        (2, "ada", "pipeline.complete_stage p b output=2",
            "pipeline.stage_completed p/b = 2; pipeline.stage_ready p/c"),
        (3, "bob", "pipeline.start_stage p c",
            "pipeline.stage_started p/c by bob; \
             handoff.passed h-0000000006 from ada to `bob` with 2"),
        (3, "bob", "handoff.list",                  "[h-0000000006 completed ada to `bob`]"),
        (3, "ada", "handoff.cancel h-0000000006",   "refused handoff.wrong_status"),
        (3, "bob", "handoff.complete h-0000000006", "refused handoff.wrong_status"),
    ]

    work_of_another_system_is_offered_here => [
        (0, "ada",
            r#"handoff.import_context bob context={"originating_agent":"x","state":{"a":1}}"#,
            "handoff.offered h-0000000001 to `bob` !receiver"),
        (0, "bob", "handoff.export h-0000000001",
            r#"{"originating_agent":"ada","state":{"a":1},"handoff_id":"h-0000000001"}"#),
        (0, "ada", "handoff.import_context ada context={}", "refused handoff.bad_field"),
    ]

    invalid_fields_of_a_handoff_are_refused => [
        (0, "ada", "handoff.offer bob deadline_ms=1", "refused handoff.out_of_range"),
        (0, "ada", "handoff.offer bob artifacts={}", "refused handoff.bad_field"),
        (0, "ada", r#"handoff.offer bob state={"":1}"#, "refused handoff.bad_field"),
        (0, "ada", "handoff.offer bob work_completed=bytes:300000", "refused handoff.too_large"),
        (0, "ada", "handoff.offer bob reason=bytes:5000", "refused handoff.too_large"),
        (0, "ada", "handoff.offer bob",
            "handoff.offered h-0000000001 to `bob` !receiver"),
        (0, "bob", "handoff.accept h-0000000001 lease_ms=1", "refused handoff.out_of_range"),
        (0, "bob", "handoff.accept h-0000000001",   "handoff.accepted h-0000000001 by bob"),
        (0, "bob", "handoff.complete h-0000000001 result=bytes:2000000",
            "refused handoff.too_large"),
    ]
}

#[test]
fn an_agent_answers_before_it_gets_more() {
    let mut world = check(&[]);
    for number in 1..=limits::HANDOFFS_PER_AGENT_MAX {
        let offered = format!("handoff.offered h-{number:010} to `bob` !receiver");
        assert_eq!(world.run(0, "ada", "handoff.offer bob"), offered);
    }
    for _ in 0..limits::HANDOFFS_PER_AGENT_MAX {
        assert!(world.run(0, "bob", "handoff.receive").starts_with("handoff.delivered"));
    }
    assert_eq!(world.run(0, "bob", "handoff.receive"), "refused handoff.too_many");
}

#[test]
fn patterns_are_resolved_within_limits() {
    let mut world =
        check(&[(0, "ada", "namespace.create agent:ada", "namespace.created agent:ada")]);
    assert_eq!(world.run(0, "ada", "many 1000 state.set agent:ada/a{} 1"), "1000 state.set");
    world.check(&[
        (
            0,
            "ada",
            r#"handoff.offer bob keys=["agent:ada/**"]"#,
            "handoff.offered h-0000000003 to `bob` !receiver",
        ),
        (0, "ada", "state.set agent:ada/b 1", "state.set agent:ada/b v1 = 1"),
        (0, "bob", "handoff.accept h-0000000003", "refused handoff.too_many_keys"),
        (0, "ada", r#"handoff.offer bob keys=["agent:ada/**"]"#, "refused handoff.too_many_keys"),
        (0, "ada", "handoff.execute_all bob", "refused handoff.too_many_keys"),
    ]);
    // Each is compared with a thousand keys, and matches none.
    let patterns = (0..=limits::HANDOFF_KEYS_EXAMINED_MAX / 1_000)
        .map(|number| format!("\"agent:ada/a*{number}-\""));
    let patterns: Vec<String> = patterns.collect();
    let asked = format!("handoff.offer bob keys=[{}]", patterns.join(","));
    assert_eq!(world.run(0, "ada", &asked), "refused handoff.too_many_keys");
}

#[test]
fn one_call_hands_over_a_bounded_number_of_tasks() {
    let mut world = check(&[]);
    let count = limits::HANDOFF_TASKS_MAX;
    for number in 0..=count {
        world.run(0, "ann", &format!(r#"task.create write id="t{number}""#));
        world.run(0, "ada", &format!(r#"task.claim task="t{number}""#));
    }
    assert_eq!(world.run(0, "ada", "handoff.execute_all bob"), "refused handoff.too_many");
    let token = 2 * (count + 1);
    world.run(0, "ada", &format!("task.complete t{count} token={token}"));
    let all = format!("{count} handoff.executed; {count} task.handed_off");
    assert_eq!(world.run(0, "ada", "handoff.execute_all bob"), all);
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    let others = ["handoff.too_many", "handoff.too_many_keys", "handoff.rules_too_costly"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &others);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

/// An offer whose list takes nearly ten thousand steps to search, and rules that search it.
fn searching(rules: usize) -> (World, String) {
    let mut world = World::new(crate::Space::default());
    for number in 0..rules {
        let rule = format!(r#"rule.add r{number} check={{"expression":"!(2 in state.a)"}}"#);
        assert!(world.run(0, "ada", &rule).starts_with("rule.added"));
    }
    let offer = format!(r#"handoff.validate bob state={{"a":[{}1]}}"#, "1,".repeat(9_900));
    (world, offer)
}

#[test]
fn the_rules_of_all_hand_offs_in_a_request_share_their_steps() {
    let (mut world, offer) = searching(100);
    assert!(world.run(0, "ada", &offer).contains("valid=true"));
    let twice = format!("all: {offer} & {offer}");
    assert!(world.run(0, "ada", &twice).contains("valid=true"));
    let often = format!("all: {offer} & {offer} & {offer}");
    let refused = "refused transaction.command_refused 2 handoff.rules_too_costly";
    assert_eq!(world.run(0, "ada", &often), refused);
    assert!(world.run(0, "ada", &offer).contains("valid=true"), "the next request has its own");
}

#[test]
fn the_bytes_that_the_rules_of_a_request_read_are_bounded() {
    let mut world = World::new(crate::Space::default());
    let count = limits::RULE_BYTES_MAX / limits::VALUE_BYTES_MAX;
    let keys = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("\"shared/k{number}\"")).collect();
        format!("handoff.validate bob keys=[{}]", names.join(","))
    };
    for number in 0..=count {
        let bytes = limits::VALUE_BYTES_MAX;
        world.run(0, "ada", &format!("state.set shared/k{number} bytes:{bytes}"));
    }
    let is_valid = |rendered: String| rendered.contains("valid=true");
    assert!(is_valid(world.run(0, "ada", &keys(count + 1))), "nothing is read without rules");
    world.run(0, "ada", r#"rule.add hops check={"hops_max":3}"#);
    assert!(is_valid(world.run(0, "ada", &keys(count))));
    assert_eq!(world.run(0, "ada", &keys(count + 1)), "refused handoff.rules_too_costly");
    let several = format!("all: {} & {}", keys(count), keys(1));
    let refused = "refused transaction.command_refused 1 handoff.rules_too_costly";
    assert_eq!(world.run(0, "ada", &several), refused);
}

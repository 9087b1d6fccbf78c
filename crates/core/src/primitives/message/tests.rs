//! Scenarios of messages.

use super::Rejection;
use crate::testing::{World, check_codes, check_coverage, scenarios};

scenarios! {
    mail_waits_and_is_received_once => [
        (0, "ada", "message.send bob 1",        "message.sent m-0000000001 to bob 1"),
        (1, "eve", "message.send bob 2",        "message.sent m-0000000002 to bob 2"),
        (2, "bob", "inbox.receive limit=1",
            "message.delivered m-0000000001 to bob until 60002"),
        (3, "bob", "inbox.receive redeliver_ms=500",
            "message.delivered m-0000000002 to bob until 503"),
        (4, "bob", "inbox.receive",             "r4: []"),
        (5, "bob", "inbox.list agent=\"bob\"",
            "[m-0000000001 ada>bob delivered 1, m-0000000002 eve>bob delivered 2]"),
        (6, "bob", "inbox.ack m-0000000001",    "message.acked m-0000000001 to bob"),
        (7, "bob", "inbox.ack m-0000000001",    "r5: acked [m-0000000001]"),
        (8, "bob", "message.get m-0000000001",  "m-0000000001 ada>bob acked 1"),
        (9, "bob", "message.get m-0000000009",  "refused message.not_found"),
    ]

    mail_of_one_commit_is_received_in_order => [
        (0, "ada", "many 12 message.send bob {}", "12 message.sent"),
        (1, "bob", "inbox.receive limit=3",
            "message.delivered m-0000000001 to bob until 60001; \
             message.delivered m-0000000001.00002 to bob until 60001; \
             message.delivered m-0000000001.00003 to bob until 60001"),
        (2, "bob", "inbox.receive limit=1",
            "message.delivered m-0000000001.00004 to bob until 60002"),
        (3, "bob", "inbox.list agent=\"bob\" limit=2 cursor=\"m-0000000001.00009\"",
            "[m-0000000001.00010 ada>bob waiting 9, m-0000000001.00011 ada>bob waiting 10] \
             next=m-0000000001.00011"),
    ]

    waiting_calls_are_answered_by_the_commit_that_delivers_mail => [
        (0, "bob", "inbox.receive wait_ms=100",
            "message.queued bob call=1 until 100; call 1 waits"),
        (5, "ada", "message.send bob 1",
            "message.sent m-0000000002 to bob 1; \
             message.delivered m-0000000002 to bob until 60005 call=1; \
             call 1: [m-0000000002 ada>bob delivered 1]"),
        (6, "bob", "inbox.receive wait_ms=100",
            "message.queued bob call=3 until 106; call 3 waits"),
        (106, "bob", "time",                    "message.gave_up bob call=3 Timeout; call 3: []"),
        (107, "bob", "inbox.receive wait_ms=9",
            "message.queued bob call=5 until 116; call 5 waits"),
        (108, "bob", "gone",                    "message.gave_up bob call=5 Gone; call 5: []"),
        (109, "ada", "all: inbox.receive wait_ms=5",
            "refused transaction.command_refused 0 transaction.cannot_wait"),
    ]

    unacknowledged_messages_are_redelivered_in_order_and_become_dead => [
        (0, "ada", "message.send bob 1",        "message.sent m-0000000001 to bob 1"),
        (0, "ada", "message.send bob 2",        "message.sent m-0000000002 to bob 2"),
        (0, "bob", "inbox.receive limit=1 redeliver_ms=100",
            "message.delivered m-0000000001 to bob until 100"),
        (100, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (100, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 200"),
        (200, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (200, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 300"),
        (300, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (300, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 400"),
        (400, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (400, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 500"),
        (500, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (500, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 600"),
        (600, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (600, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 700"),
        (700, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (700, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 800"),
        (800, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (800, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 900"),
        (900, "bob", "time",                    "message.returned m-0000000001 to bob"),
        (900, "bob", "inbox.receive redeliver_ms=100 limit=1",
            "message.delivered m-0000000001 to bob until 1000"),
        (1000, "bob", "time",                   "message.died m-0000000001 to bob"),
        (1000, "bob", "inbox.list agent=\"bob\" status=\"dead\"",
            "[m-0000000001 ada>bob dead x10 1]"),
        (1000, "eve", "inbox.requeue m-0000000001", "refused message.not_yours"),
        (1000, "bob", "inbox.requeue m-0000000002", "refused message.wrong_status"),
        (1000, "bob", "inbox.requeue m-0000000001", "message.requeued m-0000000001 to bob"),
        (1000, "bob", "inbox.receive limit=1",
            "message.delivered m-0000000001 to bob until 61000"),
    ]

    a_redelivered_message_goes_to_a_waiting_call => [
        (0, "ada", "message.send bob 1",        "message.sent m-0000000001 to bob 1"),
        (0, "bob", "inbox.receive redeliver_ms=100",
            "message.delivered m-0000000001 to bob until 100"),
        (1, "bob", "inbox.receive wait_ms=900",
            "message.queued bob call=3 until 901; call 3 waits"),
        (100, "bob", "time",
            "message.returned m-0000000001 to bob; \
             message.delivered m-0000000001 to bob until 60100 call=3; \
             call 3: [m-0000000001 ada>bob delivered x2 1]"),
        // Time without a server does not count towards the redelivery.
        (200_000, "bob", "wake",                "awake"),
        (259_999, "bob", "time",                "nothing"),
        (260_000, "bob", "time",                "message.returned m-0000000001 to bob"),
        (260_000, "bob", "inbox.ack m-0000000001", "message.acked m-0000000001 to bob"),
    ]

    a_message_with_a_ttl_expires => [
        (0, "ada", "message.send bob 1 ttl_ms=50", "message.sent m-0000000001 to bob 1"),
        (0, "ada", "message.send bob 2 ttl_ms=80", "message.sent m-0000000002 to bob 2"),
        (49, "bob", "inbox.receive limit=1",
            "message.delivered m-0000000001 to bob until 60049"),
        (50, "bob", "time",                     "message.expired m-0000000001 to bob"),
        (51, "bob", "inbox.ack m-0000000001",   "r4: acked [m-0000000001]"),
        // It expired but that is not recorded yet: it is not delivered.
        (80, "bob", "inbox.receive",            "r4: []"),
        (80, "bob", "time",                     "message.expired m-0000000002 to bob"),
        (90, "ada", "message.send bob 1 ttl_ms=0", "refused message.out_of_range"),
    ]

    conversations_are_grouped_by_their_first_message => [
        (0, "ada", "message.send bob 1",        "message.sent m-0000000001 to bob 1"),
        (1, "bob", "message.send ada 2 reply_to=\"m-0000000001\"",
            "message.sent m-0000000002 to ada in m-0000000001 2"),
        (2, "ada", "message.send bob 3 reply_to=\"m-0000000002\"",
            "message.sent m-0000000003 to bob in m-0000000001 3"),
        (3, "ada", "message.send bob 4 thread=\"m-0000000001\"",
            "message.sent m-0000000004 to bob in m-0000000001 4"),
        (3, "ada", "message.send bob 5 reply_to=\"m-77\"",
            "message.sent m-0000000005 to bob in m-77 5"),
        (4, "ada", "inbox.list thread=\"m-0000000001\" limit=3",
            "[m-0000000001 ada>bob waiting 1, m-0000000002 bob>ada waiting in m-0000000001 2, \
             m-0000000003 ada>bob waiting in m-0000000001 3] next=m-0000000003"),
        (4, "ada", "inbox.list thread=\"m-0000000001\" agent=\"ada\"",
            "[m-0000000002 bob>ada waiting in m-0000000001 2]"),
    ]

    a_request_is_answered_by_the_commit_of_the_reply => [
        (0, "bob", "inbox.receive wait_ms=900",
            "message.queued bob call=1 until 900; call 1 waits"),
        (1, "ada", "message.request bob 7 timeout_ms=100",
            "message.sent m-0000000002 to bob 7 for agent `bob` until 101 call=2; \
             message.delivered m-0000000002 to bob until 101 call=1; call 2 waits; \
             call 1: [m-0000000002 ada>bob delivered 7]"),
        (2, "eve", "message.reply m-0000000002 body=8", "refused message.not_yours"),
        (2, "bob", "message.reply m-0000000002",        "refused message.bad_field"),
        (2, "bob", "message.reply m-0000000002 body=8 error=9", "refused message.bad_field"),
        (2, "bob", "inbox.ack m-0000000002",            "refused message.wrong_status"),
        (3, "bob", "message.reply m-0000000002 body=8",
            "message.replied m-0000000002 to bob 8 call=2; call 2: m-0000000002 by bob: 8"),
        (4, "bob", "message.reply m-0000000002 body=8", "refused message.already_replied"),
        (5, "ada", "message.send bob 1",                "message.sent m-0000000004 to bob 1"),
        (6, "bob", "message.reply m-0000000004 body=8", "refused message.wrong_status"),
    ]

    a_request_without_a_handler_is_refused_immediately => [
        (0, "ada", "message.request bob 7",             "refused message.no_handler"),
        (0, "ada", "message.request {\"handler\":\"sum\"} 7", "refused message.no_handler"),
        (0, "ada", "message.request {\"capability\":\"sum\"} 7", "refused message.no_handler"),
        (0, "ada", "message.request {\"capability\":\"\"} 7", "refused message.bad_field"),
        (0, "bob", "agent.register bob capabilities=[\"sum\"]",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        // It is registered, but has never received.
        (0, "ada", "message.request bob 7",             "refused message.no_handler"),
        (0, "ada", "message.request {\"capability\":\"sum\"} 7", "refused message.no_handler"),
        (0, "bob", "inbox.receive wait_ms=5",
            "message.queued bob call=2 until 5; call 2 waits"),
        (5, "bob", "time",                      "message.gave_up bob call=2 Timeout; call 2: []"),
        // It has received in this session, so it is expected to do so again.
        (6, "ada", "message.request {\"capability\":\"sum\"} 7 timeout_ms=10",
            "message.sent m-0000000004 to bob 7 for capability `sum` until 16 call=4; \
             call 4 waits"),
        (16, "ada", "time",
            "message.timed_out m-0000000004 to bob call=4; call 4: refused message.timed_out"),
        (17, "bob", "message.reply m-0000000004 body=1", "refused message.too_late"),
        (17, "ada", "message.request bob 7 timeout_ms=0", "refused message.out_of_range"),
    ]

    an_agent_that_polls_receives_requests => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "ada", "message.request bob 7",     "refused message.no_handler"),
        (1, "bob", "inbox.receive",             "message.polled bob"),
        (1, "bob", "inbox.receive",             "r2: []"),
        (2, "ada", "message.request bob 7 timeout_ms=10",
            "message.sent m-0000000003 to bob 7 for agent `bob` until 12 call=3; call 3 waits"),
        (3, "eve", "inbox.receive",             "r3: []"),
        (3, "ada", "message.request eve 7",     "refused message.no_handler"),
    ]

    the_error_of_a_handler_reaches_the_sender => [
        (0, "bob", "handler.register sum",      "refused message.no_session"),
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "handler.register sum",      "message.handler_added sum by bob"),
        (0, "bob", "handler.register sum",      "r2: sum by bob"),
        (0, "bob", "handler.list",              "[sum by bob]"),
        (0, "ada", "#k message.request {\"handler\":\"sum\"} [1,2]",
            "message.sent m-0000000003 to bob [1,2] for handler `sum` until 30000 call=3; \
             receipt.awaited k; call 3 waits"),
        (1, "bob", "message.reply m-0000000003 error={\"code\":\"overflow\"}",
            "message.replied m-0000000003 to bob error {\"code\":\"overflow\"} call=3; \
             receipt.kept k; call 3: refused message.handler_failed"),
        // The request had its effect, so it is not sent again.
        (2, "ada", "#k message.request {\"handler\":\"sum\"} [1,2]",
            "refused message.handler_failed"),
        (3, "bob", "handler.remove sum",        "message.handler_removed sum by bob"),
        (3, "bob", "handler.remove sum",        "refused message.no_such_handler"),
        (3, "bob", "handler.list handler=\"sum\" limit=0", "refused message.out_of_range"),
    ]

    requests_are_distributed_and_redirected_when_a_handler_dies => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "eve", "agent.register eve",
            "agent.joined eve token=2 ttl=60000; namespace.created agent:eve"),
        (0, "bob", "handler.register sum",      "message.handler_added sum by bob"),
        (0, "eve", "handler.register sum",      "message.handler_added sum by eve"),
        (0, "bob", "handler.list limit=1",      "[sum by bob] next=sum/bob"),
        (0, "bob", "handler.list cursor=\"sum/bob\"", "[sum by eve]"),
        (1, "ada", "message.request {\"handler\":\"sum\"} 1",
            "message.sent m-0000000005 to bob 1 for handler `sum` until 30001 call=5; \
             call 5 waits"),
        (1, "ada", "message.request {\"handler\":\"sum\"} 2",
            "message.sent m-0000000006 to eve 2 for handler `sum` until 30001 call=6; \
             call 6 waits"),
        (1, "ada", "message.request {\"handler\":\"sum\"} 3",
            "message.sent m-0000000007 to bob 3 for handler `sum` until 30001 call=7; \
             call 7 waits"),
        (2, "eve", "inbox.receive",
            "message.delivered m-0000000006 to eve until 30001"),
        (2, "eve", "inbox.receive wait_ms=9",
            "message.queued eve call=9 until 11; call 9 waits"),
        (3, "bob", "agent.leave bob",
            "agent.left bob; message.handlers_gone of bob; \
             message.rerouted m-0000000005 to bob on to eve; \
             message.rerouted m-0000000007 to bob on to eve; \
             message.delivered m-0000000005 to eve until 30001 call=9; \
             call 9: [m-0000000005 ada>eve delivered 1]"),
        (4, "bob", "message.reply m-0000000005 body=1", "refused message.not_yours"),
        (4, "eve", "message.reply m-0000000005 body=1",
            "message.replied m-0000000005 to eve 1 call=5; call 5: m-0000000005 by eve: 1"),
        (5, "eve", "agent.leave eve",
            "agent.left eve; message.handlers_gone of eve; \
             message.lost m-0000000006 to eve call=6; message.lost m-0000000007 to eve call=7; \
             call 6: refused message.handler_lost; call 7: refused message.handler_lost"),
        (6, "eve", "message.reply m-0000000007 body=1", "refused message.too_late"),
    ]

    a_requester_that_comes_back_finds_its_place_or_its_answer => [
        (0, "bob", "inbox.receive wait_ms=900",
            "message.queued bob call=1 until 900; call 1 waits"),
        (1, "ada", "#k message.request bob 7",
            "message.sent m-0000000002 to bob 7 for agent `bob` until 30001 call=2; \
             message.delivered m-0000000002 to bob until 30001 call=1; receipt.awaited k; \
             call 2 waits; call 1: [m-0000000002 ada>bob delivered 7]"),
        (2, "ada", "#k message.request bob 7",  "call 2 waits on"),
        (3, "ada", "gone",                      "message.gave_up ada call=2 Gone; call 2: []"),
        (4, "ada", "#k message.request bob 7",
            "message.rejoined m-0000000002 to bob by ada call=4; receipt.awaited k; call 4 waits"),
        (5, "ada", "gone",                      "message.gave_up ada call=4 Gone; call 4: []"),
        (6, "bob", "message.reply m-0000000002 body=8", "message.replied m-0000000002 to bob 8"),
        (7, "ada", "#k message.request bob 7",  "r6: m-0000000002 by bob: 8"),
        (8, "ada", "#k message.request bob 8",  "refused message.no_handler"),
    ]

    a_request_without_an_answer_times_out_however_often_it_is_repeated => [
        (0, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=1 until 9; call 1 waits"),
        (0, "ada", "#k message.request bob 7 timeout_ms=5",
            "message.sent m-0000000002 to bob 7 for agent `bob` until 5 call=2; \
             message.delivered m-0000000002 to bob until 5 call=1; receipt.awaited k; \
             call 2 waits; call 1: [m-0000000002 ada>bob delivered 7]"),
        (1, "ada", "gone",                      "message.gave_up ada call=2 Gone; call 2: []"),
        // The deadline has passed but is not recorded yet: the reply is still too late.
        (5, "ada", "#k message.request bob 7 timeout_ms=5", "refused message.timed_out"),
        (5, "bob", "message.reply m-0000000002 body=8", "refused message.too_late"),
        (5, "bob", "time",                      "message.timed_out m-0000000002 to bob"),
        (6, "ada", "#k message.request bob 7 timeout_ms=5", "refused message.timed_out"),
    ]

    the_end_of_a_session_ends_its_waits => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=2 until 9; call 2 waits"),
        (1, "bob", "agent.leave bob",
            "agent.left bob; message.gave_up bob call=2 SessionEnded; \
             call 2: refused message.session_ended"),
        (1, "ada", "message.request bob 7",     "refused message.no_handler"),
    ]

    only_the_owner_receives_and_acknowledges => [
        (0, "ada", "message.send bob 1",        "message.sent m-0000000001 to bob 1"),
        (0, "eve", "inbox.receive agent=\"bob\"", "refused message.not_yours"),
        (0, "eve", "inbox.ack m-0000000001",    "refused message.not_yours"),
        (0, "bob", "inbox.ack m-0000000001 agent=\"bob\"", "message.acked m-0000000001 to bob"),
        (0, "bob", "inbox.ack m-0000000002",    "refused message.not_found"),
    ]

    a_live_request_leaves_nothing_but_the_end_of_a_wait => [
        (0, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=1 until 9; call 1 waits"),
        (1, "ada", "message.request bob 7 keep=false",
            "live 1 waits; message.gave_up bob call=1 Gone; \
             call 1: [live-1 ada>bob delivered 7]"),
        (1, "bob", "inbox.list",                "[]"),
        (1, "bob", "message.get live-1",        "refused message.not_found"),
        (1, "bob", "inbox.ack live-1",          "refused message.not_found"),
        (1, "eve", "message.reply live-1 body=8", "refused message.not_yours"),
        (1, "bob", "message.reply live-1",      "refused message.bad_field"),
        (1, "bob", "message.reply live-1 body=8",
            "live-1 ada>bob replied 7; live 1: live-1 by bob: 8"),
        (1, "bob", "message.reply live-1 body=8", "refused message.live_over"),
        // The first of the same millisecond has no number.
        (2, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=3 until 11; call 3 waits"),
        (2, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=4 until 11; call 4 waits"),
        (3, "ada", "message.request bob 1 keep=false",
            "live 2 waits; message.gave_up bob call=3 Gone; \
             call 3: [live-3 ada>bob delivered 1]"),
        (3, "ada", "message.request bob 2 keep=false",
            "live 3 waits; message.gave_up bob call=4 Gone; \
             call 4: [live-3.2 ada>bob delivered 2]"),
        (3, "bob", "message.reply live-3.2 error=5",
            "live-3.2 ada>bob replied 2; live 3: failed 5"),
    ]

    a_live_request_waits_for_any_handler_that_asks => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "eve", "agent.register eve",
            "agent.joined eve token=2 ttl=60000; namespace.created agent:eve"),
        (0, "ada", "message.request {\"handler\":\"sum\"} 7 keep=false",
            "refused message.no_handler"),
        (0, "bob", "handler.register sum",      "message.handler_added sum by bob"),
        (0, "eve", "handler.register sum",      "message.handler_added sum by eve"),
        (1, "ada", "message.request {\"handler\":\"sum\"} 1 keep=false", "live 1 waits"),
        (2, "ada", "message.request {\"handler\":\"sum\"} 2 keep=false", "live 2 waits"),
        (3, "ada", "message.request {\"handler\":\"sum\"} 3 keep=false", "live 3 waits"),
        (3, "eve", "message.reply live-1 body=8", "refused message.live_over"),
        // A call gets one, without a wait; what is refused otherwise is refused here.
        (4, "eve", "inbox.receive limit=0",     "refused message.out_of_range"),
        (4, "eve", "inbox.receive wait_ms=9 limit=5", "[live-1 ada>eve delivered 1]"),
        (4, "eve", "message.reply live-1 body=8 wait_ms=9",
            "live 1: live-1 by eve: 8; [live-2 ada>eve delivered 2]"),
        (4, "eve", "message.reply live-2 body=8 wait_ms=3600001", "refused message.out_of_range"),
        // Mail that is kept comes first.
        (5, "ada", "message.send bob 4",        "message.sent m-0000000005 to bob 4"),
        (5, "bob", "inbox.receive",
            "message.delivered m-0000000005 to bob until 60005"),
        (6, "bob", "agent.next kinds=[\"handoff\",\"task\"]", "r6: null"),
        (6, "bob", "agent.next",                "message live-3"),
        (7, "bob", "message.reply live-3 body=9 wait_ms=3",
            "live 3: live-3 by bob: 9; message.queued bob call=7 until 10; call 7 waits"),
        // Among several that wait, the one whose last live request is longest ago.
        (7, "eve", "message.reply live-2 body=9 wait_ms=3",
            "live 2: live-2 by eve: 9; message.queued eve call=8 until 10; call 8 waits"),
        (8, "ada", "message.request {\"handler\":\"sum\"} 5 keep=false",
            "live 4 waits; message.gave_up eve call=8 Gone; \
             call 8: [live-8 ada>eve delivered 5]"),
    ]

    a_call_that_waits_in_several_queues_leaves_all_of_them => [
        (0, "bob", "agent.next wait_ms=9",
            "handoff.queued bob call=1 until 9; message.queued bob call=1 until 9; \
             task.queued bob call=1 until 9; call 1 waits"),
        (1, "ada", "message.request bob 7 keep=false",
            "live 1 waits; message.gave_up bob call=1 Gone; call 1: message live-1"),
        (1, "bob", "time",                      "nothing"),
        (9, "bob", "time",                      "nothing"),
    ]

    a_live_request_ends_with_its_time_its_handler_or_its_caller => [
        (0, "bob", "agent.register bob capabilities=[\"add\"]",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "inbox.receive",             "message.polled bob"),
        (0, "ada", "message.request bob 1 keep=false timeout_ms=5", "live 1 waits"),
        (0, "ada", "message.request {\"capability\":\"add\"} 2 keep=false timeout_ms=5",
            "live 2 waits"),
        (1, "bob", "inbox.receive",             "[live-0 ada>bob delivered 1]"),
        // The deadline has passed but is not noticed yet: the reply is too late.
        (5, "bob", "message.reply live-0 body=8", "refused message.live_over"),
        (5, "bob", "inbox.receive",             "r2: []"),
        (5, "bob", "time",
            "live 1: refused message.timed_out | live 2: refused message.timed_out"),
        (6, "ada", "message.request bob 3 keep=false", "live 3 waits"),
        (6, "ada", "message.request {\"capability\":\"add\"} 4 keep=false", "live 4 waits"),
        (6, "bob", "inbox.receive",             "[live-6 ada>bob delivered 3]"),
        (7, "bob", "agent.leave bob",
            "agent.left bob; live 3: refused message.handler_lost; \
             live 4: refused message.handler_lost"),
        (8, "bob", "inbox.receive wait_ms=9",   "message.queued bob call=4 until 17; call 4 waits"),
        (8, "ada", "message.request bob 5 keep=false",
            "live 5 waits; message.gave_up bob call=4 Gone; \
             call 4: [live-8 ada>bob delivered 5]"),
        (8, "ada", "gone",                      ""),
        (8, "bob", "message.reply live-8 body=6", "refused message.live_over"),
    ]

    a_handler_that_waits_gets_what_waits_for_it => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "eve", "agent.register eve",
            "agent.joined eve token=2 ttl=60000; namespace.created agent:eve"),
        (0, "bob", "handler.register sum",      "message.handler_added sum by bob"),
        (0, "ada", "message.request {\"handler\":\"sum\"} 1 keep=false", "live 1 waits"),
        (1, "eve", "inbox.receive wait_ms=9",   "message.queued eve call=4 until 10; call 4 waits"),
        (1, "eve", "handler.register sum",
            "message.handler_added sum by eve; message.gave_up eve call=4 Gone; \
             call 4: [live-0 ada>eve delivered 1]"),
        (1, "ada", "message.request {\"handler\":\"sum\"} 2 keep=false", "live 2 waits"),
        // Another one handles it.
        (2, "bob", "handler.remove sum",        "message.handler_removed sum by bob"),
        (3, "eve", "handler.remove sum",
            "message.handler_removed sum by eve; live 2: refused message.handler_lost"),
    ]

    a_reply_to_a_kept_request_receives_a_live_one => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "inbox.receive",             "message.polled bob"),
        (0, "ada", "message.request bob 1 timeout_ms=9",
            "message.sent m-0000000003 to bob 1 for agent `bob` until 9 call=3; call 3 waits"),
        (0, "bob", "inbox.receive",             "message.delivered m-0000000003 to bob until 9"),
        (1, "eve", "message.request bob 2 keep=false", "live 1 waits"),
        (1, "bob", "message.reply m-0000000003 body=8 wait_ms=9",
            "message.replied m-0000000003 to bob 8 call=3; message.queued bob call=5 until 10; \
             call 5 waits; call 3: m-0000000003 by bob: 8; message.gave_up bob call=5 Gone; \
             call 5: [live-1 eve>bob delivered 2]"),
    ]

    a_live_request_is_not_remembered => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "inbox.receive",             "message.polled bob"),
        (0, "ada", "#k message.request bob 1 keep=false", "refused message.not_kept"),
        (0, "ada", "all: message.request bob 1 keep=false",
            "refused transaction.command_refused 0 message.not_kept"),
        (0, "ada", "message.request bob 1 keep=false timeout_ms=0", "refused message.out_of_range"),
        (0, "ada", "message.request bob bytes:262145 keep=false", "refused message.too_large"),
        (0, "ada", "under 99 message.request bob 1 keep=false", "refused request.stale_token"),
        (0, "ada", "under 1 message.request bob 1 keep=false", "refused request.not_holder"),
        (0, "bob", "under 1 message.request bob 1 keep=false", "live 1 waits"),
        (0, "bob", "#r inbox.receive wait_ms=9", "[live-0 bob>bob delivered 1]"),
        (0, "bob", "all: message.reply live-0 body=1",
            "refused transaction.command_refused 0 message.not_kept"),
        // A caller that was disconnected while it waited takes its place again.
        (1, "bob", "#s message.reply live-0 body=1 wait_ms=9",
            "live 1: live-0 by bob: 1; message.queued bob call=3 until 10; receipt.awaited s; \
             call 3 waits"),
        (2, "bob", "#s message.reply live-0 body=1 wait_ms=9", "call 3 waits on"),
        (3, "bob", "message.reply live-0 body=1 wait_ms=9", "refused message.live_over"),
    ]

    live_requests_are_limited => [
        (0, "bob", "agent.register bob",
            "agent.joined bob token=1 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "inbox.receive",             "message.polled bob"),
        (0, "ada", "message.request bob 1 keep=false", "live 1 waits"),
        (0, "ada", "message.request bob 2 keep=false", "live 2 waits"),
        (0, "ada", "message.request bob 3 keep=false", "live 3 waits"),
        (0, "ada", "message.request bob 4 keep=false", "live 4 waits"),
        (0, "ada", "message.request bob 5 keep=false", "refused message.too_many"),
    ]

    limits_and_odd_numbers => [
        (0, "ada", "message.send bob bytes:1048577", "refused message.too_large"),
        (0, "ada", "message.request bob bytes:262145", "refused message.too_large"),
        (0, "bob", "inbox.receive limit=0",     "refused message.out_of_range"),
        (0, "bob", "inbox.receive redeliver_ms=99", "refused message.out_of_range"),
        (0, "ada", "many 100 message.send bob {}", "100 message.sent"),
        (0, "ada", "message.send bob 1",        "refused message.inbox_full"),
        (0, "ada", "message.send eve 1",        "message.sent m-0000000002 to eve 1"),
        (0, "bob", "inbox.receive limit=1000",  "100 message.delivered"),
        (0, "ada", "message.send bob 1",        "refused message.inbox_full"),
        (0, "eve", "inbox.ack m-0000000002 messages=[\"m-0000000002\"]",
            "message.acked m-0000000002 to eve"),
    ]

    the_waiting_calls_of_an_agent_are_limited => [
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=1 until 9; call 1 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=2 until 9; call 2 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=3 until 9; call 3 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=4 until 9; call 4 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=5 until 9; call 5 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=6 until 9; call 6 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=7 until 9; call 7 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=8 until 9; call 8 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=9 until 9; call 9 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=10 until 9; call 10 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=11 until 9; call 11 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=12 until 9; call 12 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=13 until 9; call 13 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=14 until 9; call 14 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=15 until 9; call 15 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "message.queued bob call=16 until 9; call 16 waits"),
        (0, "bob", "inbox.receive wait_ms=9", "refused message.too_many"),
    ]
}

#[test]
fn every_word_is_reached() {
    let source = include_str!("vocabulary.rs");
    check_codes(Rejection::REFUSALS, SCENARIOS, &[]);
    check_coverage(source, "kind", SCENARIOS, World::kinds, &[]);
}

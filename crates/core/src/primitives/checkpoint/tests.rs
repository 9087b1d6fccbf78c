//! Scenarios of checkpoints.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{
    Command, Copy, Event, NewWrite, Prune, Rejection, Reply, Retain, Save, Write, encoded,
};
use crate::command::{Mutation, Request};
use crate::json::Json;
use crate::limits;
use crate::messagepack;
use crate::names::{AgentId, CheckpointId, CheckpointKey, CheckpointLabel, StateType, TaskId};
use crate::refusal::TooMany;
use crate::space::batch::Batch;
use crate::space::{CallOutcome, Space};
use crate::testing::{World, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    each_continues_from_the_one_before => [
        (0, "ada", "checkpoint.latest t", "null"),
        (0, "ada", "checkpoint.save t {\"step\":1}", "checkpoint.saved c-0000000001 of t new=1"),
        (1, "ada", "checkpoint.save t {\"step\":2} label=\"half\"",
            "checkpoint.saved c-0000000002 of t `half` after c-0000000001 new=1"),
        (2, "bob", "checkpoint.latest t",
            "c-0000000002 of t #2 `half` after c-0000000001 = {\"step\":2}"),
        (2, "bob", "checkpoint.get c-0000000001", "c-0000000001 of t #1 = {\"step\":1}"),
        (2, "bob", "checkpoint.get c-0000000009", "refused checkpoint.not_found"),
        (3, "bob", "checkpoint.save t {\"step\":2}",
            "checkpoint.saved c-0000000003 of t after c-0000000002 kept=1"),
        (3, "bob", "checkpoint.save t {\"step\":1}",
            "checkpoint.saved c-0000000004 of t after c-0000000003 known=1"),
        (3, "bob", "checkpoint.save t null",
            "checkpoint.saved c-0000000005 of t after c-0000000004 new=1"),
        (3, "bob", "checkpoint.latest t", "c-0000000005 of t #5 after c-0000000004 = null"),
    ]

    the_next_checkpoint_continues_from_the_restored_one => [
        (0, "ada", "checkpoint.save t 1", "checkpoint.saved c-0000000001 of t new=1"),
        (0, "ada", "checkpoint.save t 2",
            "checkpoint.saved c-0000000002 of t after c-0000000001 new=1"),
        (1, "ada", "checkpoint.restore c-0000000001", "checkpoint.restored c-0000000001 of t"),
        (1, "ada", "checkpoint.restore c-0000000001", "r3: c-0000000001 of t #1 = 1"),
        (1, "ada", "checkpoint.restore c-0000000007", "refused checkpoint.not_found"),
        (1, "ada", "checkpoint.latest t", "c-0000000001 of t #1 = 1"),
        (2, "ada", "checkpoint.save t 3",
            "checkpoint.saved c-0000000003 of t after c-0000000001 new=1"),
        (2, "ada", "checkpoint.save t 4 parent=\"c-0000000002\"",
            "checkpoint.saved c-0000000004 of t after c-0000000002 new=1"),
        (2, "ada", "checkpoint.save u 4 parent=\"c-0000000002\"",
            "refused checkpoint.wrong_parent"),
        (2, "ada", "checkpoint.save t 4 parent=\"c-0000000020\"", "refused checkpoint.not_found"),
    ]

    a_repeated_call_has_the_same_answer => [
        (0, "ada", "#s checkpoint.save t {\"step\":1}",
            "checkpoint.saved c-0000000001 of t new=1; receipt.kept s"),
        (0, "ada", "checkpoint.save t 2",
            "checkpoint.saved c-0000000002 of t after c-0000000001 new=1"),
        (0, "ada", "#s checkpoint.save t {\"step\":1}", "r1: c-0000000001 of t #1"),
        (1, "ada", "#r checkpoint.restore c-0000000001",
            "checkpoint.restored c-0000000001 of t; receipt.kept r"),
        (1, "ada", "checkpoint.save t 3",
            "checkpoint.saved c-0000000003 of t after c-0000000001 new=1"),
        (2, "ada", "#r checkpoint.restore c-0000000001",
            "r3: c-0000000001 of t #1 = {\"step\":1}"),
        (3, "ada", "checkpoint.prune t keep=0", "checkpoint.pruned t [(1, 2)] bytes=11 Asked"),
        (4, "ada", "#r checkpoint.restore c-0000000001", "refused checkpoint.not_found"),
        (4, "ada", "#s checkpoint.save t {\"step\":1}", "r1: c-0000000001 of t #1"),
    ]

    a_fork_costs_nothing => [
        (0, "ada", "checkpoint.save t {\"step\":1} label=\"x\" metadata={\"a\":1}",
            "checkpoint.saved c-0000000001 of t `x` new=1"),
        (1, "bob", "checkpoint.fork c-0000000001 u",
            "checkpoint.forked c-0000000002 of u from c-0000000001"),
        (1, "bob", "checkpoint.latest u",
            "c-0000000002 of u #1 after c-0000000001 = {\"step\":1}"),
        (1, "bob", "checkpoint.fork c-0000000001 u", "refused checkpoint.exists"),
        (1, "bob", "checkpoint.fork c-0000000001 t", "refused checkpoint.exists"),
        (1, "bob", "checkpoint.fork c-0000000005 v", "refused checkpoint.not_found"),
        (2, "bob", "checkpoint.save u {\"step\":2}",
            "checkpoint.saved c-0000000003 of u after c-0000000002 new=1"),
        (2, "bob", "checkpoint.save u {\"step\":3} parent=\"c-0000000001\"",
            "checkpoint.saved c-0000000004 of u after c-0000000001 new=1"),
        (3, "bob", "checkpoint.prune t all", "checkpoint.pruned t [(1, 1)] bytes=0 Asked"),
        (3, "bob", "checkpoint.get c-0000000002",
            "c-0000000002 of u #1 after c-0000000001 = {\"step\":1}"),
        (3, "bob", "checkpoint.prune u all", "checkpoint.pruned u [(1, 3)] bytes=30 Asked"),
        (3, "bob", "checkpoint.list", "[]"),
    ]

    only_the_holder_of_a_task_saves => [
        (0, "ada", "task.create build id=\"t\"", "task.created t build ready"),
        (0, "ada", "checkpoint.save t 1", "refused checkpoint.stale_token"),
        (0, "ada", "checkpoint.save t 1 token=1", "refused checkpoint.stale_token"),
        (0, "ada", "task.claim lease_ms=1000", "task.claimed t by ada token=2"),
        (0, "bob", "checkpoint.save t 1", "refused checkpoint.stale_token"),
        (0, "bob", "checkpoint.save t 1 token=1", "refused checkpoint.stale_token"),
        (0, "ada", "checkpoint.save t 1 token=2", "checkpoint.saved c-0000000001 of t new=1"),
        (0, "ada", "checkpoint.save t 2 token=2",
            "checkpoint.saved c-0000000002 of t after c-0000000001 new=1"),
        (0, "bob", "checkpoint.restore c-0000000001", "refused checkpoint.stale_token"),
        (0, "ada", "checkpoint.restore c-0000000001 token=2",
            "checkpoint.restored c-0000000001 of t"),
        (1000, "baton", "time",
            "task.failed t {\"holder\":\"ada\",\"reason\":\"lease_expired\",\"token\":2} again | \
             task.ready t"),
        (1000, "ada", "checkpoint.save t 3 token=2", "refused checkpoint.stale_token"),
        (1000, "ada", "checkpoint.restore c-0000000002 token=2", "refused checkpoint.stale_token"),
        (1000, "eve", "checkpoint.restore c-0000000002", "checkpoint.restored c-0000000002 of t"),
        (2000, "bob", "task.claim", "task.claimed t by bob token=9"),
        (2000, "ada", "checkpoint.save t 3 token=2", "refused checkpoint.stale_token"),
        (2000, "bob", "checkpoint.save t 3 token=9",
            "checkpoint.saved c-0000000003 of t after c-0000000002 new=1"),
        (2000, "bob", "task.complete t token=9", "task.completed t"),
        (2000, "bob", "checkpoint.save t 4 token=9", "refused checkpoint.stale_token"),
    ]

    other_threads_of_work_may_be_guarded_by_any_token => [
        (0, "ada", "checkpoint.save thread-7 1 token=1", "refused checkpoint.stale_token"),
        (0, "ada", "lock.acquire thread-7", "lock.acquired thread-7 by ada token=1"),
        (0, "ada", "checkpoint.save thread-7 1 token=1",
            "checkpoint.saved c-0000000001 of thread-7 new=1"),
        (0, "ada", "lock.release thread-7 token=1", "lock.released thread-7 token=1"),
        (0, "ada", "checkpoint.save thread-7 2 token=1", "refused checkpoint.stale_token"),
        (0, "bob", "task.create build id=\"u\"", "task.created u build ready"),
        (0, "bob", "checkpoint.fork c-0000000001 u token=9", "refused checkpoint.stale_token"),
        (0, "bob", "checkpoint.fork c-0000000001 u",
            "checkpoint.forked c-0000000002 of u from c-0000000001"),
    ]

    pruned_checkpoints => [
        (0, "ada", "checkpoint.save t 1", "checkpoint.saved c-0000000001 of t new=1"),
        (1, "ada", "checkpoint.save t 2 label=\"x\"",
            "checkpoint.saved c-0000000002 of t `x` after c-0000000001 new=1"),
        (2, "ada", "checkpoint.save t 3",
            "checkpoint.saved c-0000000003 of t after c-0000000002 new=1"),
        (3, "ada", "checkpoint.save t 4",
            "checkpoint.saved c-0000000004 of t after c-0000000003 new=1"),
        (4, "ada", "checkpoint.save t 5",
            "checkpoint.saved c-0000000005 of t after c-0000000004 new=1"),
        (4, "ada", "checkpoint.prune t", "refused checkpoint.no_bound"),
        (4, "ada", "checkpoint.prune t keep=9", "r5: pruned=0 bytes=0"),
        (4, "ada", "checkpoint.prune nothing keep=1", "r5: pruned=0 bytes=0"),
        (4, "ada", "checkpoint.prune t keep=1 older_than_ms=2",
            "checkpoint.pruned t [(1, 1)] bytes=1 Asked"),
        (4, "ada", "checkpoint.restore c-0000000003", "checkpoint.restored c-0000000003 of t"),
        (5, "ada", "checkpoint.prune t keep=0", "checkpoint.pruned t [(4, 5)] bytes=2 Asked"),
        (5, "ada", "checkpoint.latest t", "c-0000000003 of t #3 after c-0000000002 = 3"),
        (5, "ada", "checkpoint.save t 6",
            "checkpoint.saved c-0000000006 of t after c-0000000003 new=1"),
        (5, "ada", "checkpoint.label c-0000000002", "checkpoint.labelled c-0000000002 nothing"),
        (5, "ada", "checkpoint.label c-0000000002", "r10: c-0000000002 of t #2 after c-0000000001"),
        (5, "ada", "checkpoint.label c-0000000003 label=\"y\"",
            "checkpoint.labelled c-0000000003 `y`"),
        (5, "ada", "checkpoint.label c-0000000099", "refused checkpoint.not_found"),
        (5, "ada", "checkpoint.prune t keep=0", "checkpoint.pruned t [(2, 2)] bytes=1 Asked"),
        (5, "ada", "checkpoint.prune t keep=1 all", "checkpoint.pruned t [(3, 3)] bytes=1 Asked"),
        (5, "ada", "checkpoint.list task=\"t\"", "[c-0000000006]"),
        (5, "ada", "all: checkpoint.prune t all & checkpoint.save t 7",
            "checkpoint.pruned t [(6, 6)] bytes=1 Asked; checkpoint.saved c-0000000007 of t new=1"),
    ]

    rules_prune_by_themselves => [
        (0, "ada", "checkpoint.retention", "[]"),
        (0, "ada", "checkpoint.retain keep=0", "refused checkpoint.out_of_range"),
        (0, "ada", "checkpoint.retain max_age_ms=0", "refused checkpoint.out_of_range"),
        (0, "ada", "checkpoint.retain", "r0: []"),
        (0, "ada", "checkpoint.retain keep=2", "checkpoint.retained ** keep=2"),
        (0, "ada", "checkpoint.retain keep=2", "r1: [** keep=2]"),
        (0, "ada", "checkpoint.retain task=\"t*\" max_age_ms=100",
            "checkpoint.retained t* age=100"),
        (0, "ada", "checkpoint.retention", "[** keep=2, t* age=100]"),
        (0, "ada", "checkpoint.save u 1", "checkpoint.saved c-0000000001 of u new=1"),
        (0, "ada", "checkpoint.save u 2",
            "checkpoint.saved c-0000000002 of u after c-0000000001 new=1"),
        (0, "ada", "checkpoint.save u 3",
            "checkpoint.saved c-0000000003 of u after c-0000000002 new=1; \
             checkpoint.pruned u [(1, 1)] bytes=1 Count"),
        (0, "ada", "checkpoint.save u 4 label=\"x\"",
            "checkpoint.saved c-0000000004 of u `x` after c-0000000003 new=1"),
        (0, "ada", "checkpoint.save t 1",
            "checkpoint.saved c-0000000005 of t new=1"),
        (50, "ada", "checkpoint.save t 2",
            "checkpoint.saved c-0000000006 of t after c-0000000005 known=1"),
        (99, "baton", "time", "nothing"),
        (100, "baton", "time", "checkpoint.pruned t [(1, 1)] bytes=1 Age"),
        (900, "baton", "time", "nothing"),
        (900, "ada", "checkpoint.save t 3",
            "checkpoint.saved c-0000000007 of t after c-0000000006 known=1"),
        (900, "baton", "time", "checkpoint.pruned t [(2, 2)] bytes=0 Age"),
        (900, "ada", "checkpoint.retain task=\"t*\"", "checkpoint.retained t*"),
        (900, "ada", "checkpoint.retention", "[** keep=2]"),
    ]

    lists_are_newest_first_and_in_pages => [
        (0, "ada", "checkpoint.save t 1 metadata={\"step\":1}",
            "checkpoint.saved c-0000000001 of t new=1"),
        (0, "ada", "checkpoint.save u 2 metadata={\"step\":2,\"tags\":[\"a\",\"b\"]} label=\"x\"",
            "checkpoint.saved c-0000000002 of u `x` new=1"),
        (0, "ada", "checkpoint.save t 3",
            "checkpoint.saved c-0000000003 of t after c-0000000001 new=1"),
        (0, "ada", "checkpoint.save t 4 metadata={\"step\":1,\"x\":{\"y\":1}}",
            "checkpoint.saved c-0000000004 of t after c-0000000003 new=1"),
        (0, "ada", "checkpoint.list",
            "[c-0000000004, c-0000000003, c-0000000002, c-0000000001]"),
        (0, "ada", "checkpoint.list limit=3",
            "[c-0000000004, c-0000000003, c-0000000002] next=c-0000000002"),
        (0, "ada", "checkpoint.list limit=3 cursor=\"c-0000000002\"", "[c-0000000001]"),
        (0, "ada", "checkpoint.list task=\"t\" limit=1 before=\"c-0000000004\"",
            "[c-0000000003] next=c-0000000003"),
        (0, "ada", "checkpoint.list task=\"t\" before=\"c-0000000004\" cursor=\"c-0000000003\"",
            "[c-0000000001]"),
        (0, "ada", "checkpoint.list task=\"nobody\"", "[]"),
        (0, "ada", "checkpoint.list label=\"x\"", "[c-0000000002]"),
        (0, "ada", "checkpoint.list metadata={\"step\":1.0}", "[c-0000000004, c-0000000001]"),
        (0, "ada", "checkpoint.list metadata={\"tags\":[\"b\"]}", "[c-0000000002]"),
        (0, "ada", "checkpoint.list metadata={\"x\":{}} limit=1", "[c-0000000004]"),
        (0, "ada", "checkpoint.list limit=0", "refused checkpoint.out_of_range"),
    ]

    states_that_are_too_large_or_of_the_wrong_form_are_refused => [
        (0, "ada", "checkpoint.save t 1 metadata=[1]", "refused checkpoint.bad_metadata"),
        (0, "ada", "checkpoint.save t 1 metadata=bytes:65537", "refused checkpoint.too_large"),
        (0, "ada", "checkpoint.save t 1 description=bytes:16387", "refused checkpoint.too_large"),
        (0, "ada", "checkpoint.save t bytes:4194305", "refused checkpoint.too_large"),
    ]

    a_key_is_the_callers_own => [
        (0, "ada", "checkpoint.save t 1 key=\"b\"",
            "checkpoint.saved c-0000000001 of t key=b new=1"),
        (0, "ada", "checkpoint.save t 2 key=\"a\" parent_key=\"b\"",
            "checkpoint.saved c-0000000002 of t key=a after c-0000000001 new=1"),
        (0, "ada", "checkpoint.save t 3 key=\"c\" parent_key=\"never\"",
            "checkpoint.saved c-0000000003 of t key=c new=1"),
        (0, "ada", "checkpoint.save t 4 key=\"ns/1\"",
            "checkpoint.saved c-0000000004 of t key=ns/1 new=1"),
        (0, "ada", "checkpoint.history t", "[ns/1=4, c=3 after never, b=1, a=2 after b]"),
        (0, "ada", "checkpoint.history t limit=2", "[ns/1=4, c=3 after never] next=c"),
        (0, "ada", "checkpoint.history t cursor=\"c\"", "[b=1, a=2 after b]"),
        (0, "ada", "checkpoint.history t before=\"b\"", "[a=2 after b]"),
        (0, "ada", "checkpoint.history t prefix=\"ns/\"", "[ns/1=4]"),
        (0, "ada", "checkpoint.history t prefix=\"ns/\" before=\"a\"", "[]"),
        (0, "ada", "checkpoint.history t key=\"b\"", "[b=1]"),
        (0, "ada", "checkpoint.history t key=\"b\" prefix=\"c\"", "[]"),
        (0, "ada", "checkpoint.history u", "[]"),
        (0, "ada", "checkpoint.history t limit=0", "refused checkpoint.out_of_range"),
        (1, "ada", "checkpoint.save t 5 key=\"b\" parent_key=\"a\"",
            "checkpoint.saved c-0000000005 of t key=b after c-0000000002 new=1; \
             checkpoint.pruned t [(1, 1)] bytes=1 Replaced"),
        (1, "ada", "checkpoint.history t key=\"b\"", "[b=5 after a]"),
        (1, "ada", "checkpoint.get c-0000000001", "refused checkpoint.not_found"),
        (2, "ada", "checkpoint.retain keep=2", "checkpoint.retained ** keep=2"),
        (2, "ada", "checkpoint.save t 6 key=\"b\"",
            "checkpoint.saved c-0000000006 of t key=b new=1; \
             checkpoint.pruned t [(5, 5)] bytes=1 Replaced; \
             checkpoint.pruned t [(2, 3)] bytes=2 Count"),
        (2, "ada", "checkpoint.history t", "[ns/1=4, b=6]"),
        (3, "ada", "checkpoint.fork c-0000000006 u",
            "checkpoint.forked c-0000000007 of u from c-0000000006"),
        (3, "ada", "checkpoint.history u", "[]"),
    ]

    bytes_of_a_type_are_not_json => [
        (0, "ada", "checkpoint.save t \"/wA=\" content_type=\"raw\"",
            "checkpoint.saved c-0000000001 of t (raw) new=1"),
        (0, "ada", "checkpoint.latest t", "c-0000000001 of t #1 = \"/wA=\""),
        (0, "ada", "checkpoint.save t \"\\/wA=\" content_type=\"raw\"",
            "checkpoint.saved c-0000000002 of t (raw) after c-0000000001 kept=1"),
        (0, "ada", "checkpoint.save t \"/wA\" content_type=\"raw\"",
            "refused checkpoint.bad_base64"),
        (0, "ada", "checkpoint.save t {} content_type=\"raw\"", "refused checkpoint.bad_base64"),
        (0, "ada", "checkpoint.fork c-0000000001 u",
            "checkpoint.forked c-0000000003 of u from c-0000000001"),
        (0, "ada", "checkpoint.restore c-0000000003",
            "r3: c-0000000003 of u #1 after c-0000000001 = \"/wA=\""),
    ]

    the_first_write_stays_unless_it_is_replaced => [
        (0, "ada", "checkpoint.write t k w [{\"index\":0,\"channel\":\"c\",\"value\":1}]",
            "checkpoint.written t k [w.0:c=1]"),
        (0, "ada", "checkpoint.write t k w [{\"index\":0,\"channel\":\"c\",\"value\":2}]",
            "r1: written=0"),
        (0, "ada", "checkpoint.write t k w [{\"index\":0,\"channel\":\"d\",\"value\":3,\
            \"replace\":true},{\"index\":1,\"channel\":\"c\",\"value\":4},\
            {\"index\":1,\"channel\":\"c\",\"value\":5}]",
            "checkpoint.written t k [w.0:d=3, w.1:c=4]"),
        (0, "ada", "checkpoint.write t k a [{\"index\":-1,\"channel\":\"c\",\"value\":\"/wA=\",\
            \"content_type\":\"raw\"}] path=\"z\"",
            "checkpoint.written t k [a.-1:c=\"/wA=\"]"),
        (0, "ada", "checkpoint.history t", "[]"),
        (0, "ada", "checkpoint.save t 1 key=\"k\"",
            "checkpoint.saved c-0000000001 of t key=k new=1"),
        (0, "ada", "checkpoint.history t", "[k=1 w.0:d=3 w.1:c=4 a.-1:c=\"/wA=\"]"),
        (0, "ada", "checkpoint.save t 2 key=\"k\"",
            "checkpoint.saved c-0000000002 of t key=k new=1; \
             checkpoint.pruned t [(1, 1)] bytes=1 Replaced"),
        (0, "ada", "checkpoint.history t", "[k=2 w.0:d=3 w.1:c=4 a.-1:c=\"/wA=\"]"),
        (0, "ada", "checkpoint.write t k w [{\"index\":7,\"channel\":\"c\",\"value\":1,\
            \"content_type\":\"raw\"}]", "refused checkpoint.bad_base64"),
        (0, "ada", "checkpoint.write t k w [] writer=\"\"", "refused checkpoint.out_of_range"),
        (0, "ada", "checkpoint.write t k w [] path=bytes:515", "refused checkpoint.too_large"),
        (0, "ada", "checkpoint.prune t all", "checkpoint.pruned t [(2, 2)] bytes=1 Asked"),
        (0, "ada", "checkpoint.save t 3 key=\"k\"",
            "checkpoint.saved c-0000000003 of t key=k new=1"),
        (0, "ada", "checkpoint.history t", "[k=3]"),
        (0, "ada", "checkpoint.write u k w [{\"index\":0,\"channel\":\"c\",\"value\":1}]",
            "checkpoint.written u k [w.0:c=1]"),
        (0, "ada", "checkpoint.prune u all", "checkpoint.pruned u [] bytes=0 Asked"),
        (0, "ada", "checkpoint.prune u all", "r9: pruned=0 bytes=0"),
        (0, "ada", "task.create build id=\"x\"", "task.created x build ready"),
        (0, "ada", "checkpoint.write x k w [{\"index\":0,\"channel\":\"c\",\"value\":1}]",
            "refused checkpoint.stale_token"),
    ]

    a_copy_has_everything => [
        (0, "ada", "checkpoint.save t 1 key=\"a\" label=\"x\"",
            "checkpoint.saved c-0000000001 of t key=a `x` new=1"),
        (1, "ada", "checkpoint.save t 2 key=\"b\" parent_key=\"a\"",
            "checkpoint.saved c-0000000002 of t key=b after c-0000000001 new=1"),
        (1, "ada", "checkpoint.write t a w [{\"index\":0,\"channel\":\"c\",\"value\":1}]",
            "checkpoint.written t a [w.0:c=1]"),
        (1, "ada", "checkpoint.restore c-0000000001", "checkpoint.restored c-0000000001 of t"),
        (2, "bob", "checkpoint.copy t u",
            "checkpoint.copied 2 of t to u from c-0000000003"),
        (2, "bob", "checkpoint.history u", "[b=2 after a, a=1 w.0:c=1]"),
        (2, "bob", "checkpoint.latest u", "c-0000000003 of u #1 `x` = 1"),
        (2, "bob", "checkpoint.get c-0000000004", "c-0000000004 of u #2 after c-0000000003 = 2"),
        (2, "bob", "checkpoint.copy t u", "refused checkpoint.exists"),
        (2, "bob", "checkpoint.copy t t", "refused checkpoint.exists"),
        (2, "bob", "checkpoint.copy nothing v", "refused checkpoint.none"),
        (3, "bob", "checkpoint.prune t all", "checkpoint.pruned t [(1, 2)] bytes=0 Asked"),
        (3, "bob", "checkpoint.history u", "[b=2 after a, a=1 w.0:c=1]"),
    ]

    checkpoints_are_pruned_by_key_and_by_metadata => [
        (0, "ada", "checkpoint.save t 1 key=\"a\" metadata={\"run\":1}",
            "checkpoint.saved c-0000000001 of t key=a new=1"),
        (0, "ada", "checkpoint.save t 2 key=\"b\" metadata={\"run\":2}",
            "checkpoint.saved c-0000000002 of t key=b new=1"),
        (0, "ada", "checkpoint.save t 3 key=\"c\" metadata={\"run\":1}",
            "checkpoint.saved c-0000000003 of t key=c new=1"),
        (0, "ada", "checkpoint.prune t keys=[]", "r3: pruned=0 bytes=0"),
        (0, "ada", "checkpoint.prune t metadata={\"run\":1}",
            "checkpoint.pruned t [(1, 1)] bytes=1 Asked"),
        (0, "ada", "checkpoint.prune t metadata={\"run\":1} all",
            "checkpoint.pruned t [(3, 3)] bytes=1 Asked"),
        (0, "ada", "checkpoint.history t", "[b=2]"),
        (0, "ada", "checkpoint.prune t keys=[\"a\",\"b\"]", "r5: pruned=0 bytes=0"),
        (0, "ada", "checkpoint.prune t keys=[\"a\",\"b\"] all",
            "checkpoint.pruned t [(2, 2)] bytes=1 Asked"),
    ]

    rejected_commands_leave_nothing => [
        (0, "ada", "checkpoint.save t {\"step\":1}", "checkpoint.saved c-0000000001 of t new=1"),
        (0, "ada", "checkpoint.retain keep=1", "checkpoint.retained ** keep=1"),
        (0, "ada", "all: checkpoint.save t {\"step\":2} & checkpoint.fork c-0000000002 u & \
            checkpoint.label c-0000000002 label=\"x\" & checkpoint.save t {\"step\":3} & \
            checkpoint.restore c-0000000002 & checkpoint.retain max_age_ms=5 & \
            checkpoint.save t 4 key=\"k\" & checkpoint.save t 5 key=\"k\" & \
            checkpoint.write t k w [{\"index\":0,\"channel\":\"c\",\"value\":1}] & \
            checkpoint.copy t v & checkpoint.prune v all & \
            checkpoint.prune t all & checkpoint.prune u all & checkpoint.save t 9 & \
            checkpoint.restore c-0000000001",
            "refused transaction.command_refused 14 checkpoint.not_found"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = &["checkpoint.too_many"];
    check_codes(Rejection::REFUSALS, SCENARIOS, elsewhere);
}

#[test]
fn every_event_happens() {
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &[]);
}

/// A space in which checkpoints are saved, and the size of its log.
struct Saving {
    space: Space,
    log_bytes: usize,
    batches: Vec<Batch>,
}

impl Saving {
    fn new() -> Self {
        Self { space: Space::default(), log_bytes: 0, batches: Vec::new() }
    }

    fn run(&mut self, command: Command) -> Result<Reply, Rejection> {
        let ada = AgentId::parse("ada").unwrap();
        let request = crate::command::Command::Checkpoint(command).into();
        let committed = match self.space.commit(request, &ada, Timestamp(0)) {
            Ok(committed) => committed,
            Err(crate::Rejection::Checkpoint(rejection)) => return Err(rejection),
            Err(other) => panic!("{other}"),
        };
        if let Some(batch) = committed.batch {
            self.log_bytes += rmp_serde::to_vec_named(&batch).unwrap().len();
            self.batches.push(batch);
        }
        match committed.outcome {
            CallOutcome::Answered(crate::Answer {
                reply: crate::Reply::Checkpoint(reply), ..
            }) => Ok(reply),
            other => panic!("{other:?}"),
        }
    }

    fn save(&mut self, task: &str, text: &str) -> Result<Reply, Rejection> {
        self.run(Command::Save(save(task, text)))
    }

    fn replayed(&self) -> Space {
        let mut space = Space::default();
        self.batches.iter().for_each(|batch| space.replay(batch));
        space
    }

    fn restored(&self) -> Space {
        let head = rmp_serde::to_vec_named(&self.space.head()).unwrap();
        Space::restore(messagepack::from_slice(&head).unwrap(), Vec::new())
    }

    fn state(&self, checkpoint: &CheckpointId) -> Option<String> {
        let state = self.space.checkpoint.state(checkpoint).ok()?;
        Some(state.as_str().to_owned())
    }
}

fn save(task: &str, text: &str) -> Save {
    Save {
        task: TaskId::parse(task).unwrap(),
        state: Json::trusted(text.as_bytes()),
        content_type: None,
        key: None,
        parent_key: None,
        description: None,
        parent: None,
        label: None,
        metadata: None,
        token: None,
    }
}

/// Random numbers.
fn chance(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn letters(seed: &mut u64, count: usize) -> String {
    (0..count).map(|_| char::from(b'a' + u8::try_from(chance(seed) % 26).unwrap())).collect()
}

/// A thousand checkpoints of 100 KB, each with this many changes of this many bytes: the size of
/// the log and of memory.
fn measured(changes: usize, change_bytes: usize) -> (usize, usize) {
    const STATE_BYTES: usize = 100_000;
    let mut seed = 7;
    let mut saving = Saving::new();
    let mut text = letters(&mut seed, STATE_BYTES);
    for _ in 0..1_000 {
        for _ in 0..changes {
            let room = (STATE_BYTES - change_bytes) as u64;
            let at = usize::try_from(chance(&mut seed) % room).unwrap();
            text.replace_range(at..at + change_bytes, &letters(&mut seed, change_bytes));
        }
        saving.save("t", &format!("\"{text}\"")).unwrap();
    }
    let last = CheckpointId::of_number(1_000);
    assert_eq!(saving.state(&last), Some(format!("\"{text}\"")));
    (saving.log_bytes, saving.space.checkpoint.bytes())
}

/// Full copies would be 100 MB of each.
#[test]
fn a_thousand_checkpoints_cost_little_more_than_what_changed() {
    let (log_bytes, memory_bytes) = measured(1, 1_000);
    assert!(log_bytes < 2_000_000, "{log_bytes} bytes of log");
    assert!(memory_bytes < 3_000_000, "{memory_bytes} bytes of memory");
}

#[test]
fn changes_in_many_places_cost_more_but_less_than_the_complete_state() {
    let (log_bytes, memory_bytes) = measured(10, 100);
    assert!(log_bytes < 4_000_000, "{log_bytes} bytes of log");
    assert!(memory_bytes < 7_500_000, "{memory_bytes} bytes of memory");
}

#[test]
fn there_are_limits_to_how_many_and_how_much() {
    let mut saving = Saving::new();
    let mut save_all = |count: usize| (0..count).try_for_each(|_| saving.save("t", "1").map(drop));
    assert_eq!(save_all(limits::CHECKPOINTS_PER_TASK_MAX), Ok(()));
    let max = limits::CHECKPOINTS_PER_TASK_MAX;
    let full = Rejection::from(TooMany { what: "checkpoints of this task", max });
    assert_eq!(save_all(1), Err(full));
    // With a rule about the number there is always room for the next one.
    let retain = Retain { keep: Some(10), ..Retain::default() };
    saving.run(Command::Retain(retain)).unwrap();
    saving.save("t", "2").unwrap();
    assert_eq!(saving.space.checkpoint.len(), 10);
    for number in 1..limits::CHECKPOINT_RULES_MAX {
        let task = Some(format!("t{number}").parse().unwrap());
        saving.run(Command::Retain(Retain { task, keep: Some(1), max_age_ms: None })).unwrap();
    }
    let task = Some("u".parse().unwrap());
    let one_more = saving.run(Command::Retain(Retain { task, keep: Some(1), max_age_ms: None }));
    let max = limits::CHECKPOINT_RULES_MAX;
    assert_eq!(one_more, Err(TooMany { what: "rules about checkpoints", max }.into()));
    let mut seed = 3;
    let mut fill = |number: usize| {
        let text = format!("\"{}\"", letters(&mut seed, limits::CHECKPOINT_BYTES_MAX - 2));
        saving.save(&format!("x{number}"), &text)
    };
    let refused = (0..).find_map(|number| fill(number).err()).unwrap();
    let max = limits::CHECKPOINTS_BYTES_MAX;
    assert_eq!(refused, TooMany { what: "bytes of checkpoints", max }.into());
    assert!(saving.space.checkpoint.bytes() <= max);
}

/// Operations on checkpoints; small numbers select tasks, checkpoints and positions.
#[derive(Clone, Debug)]
enum Step {
    Save { task: u8, at: u16, remove: u16, insert: u16, label: bool, fresh: bool },
    Keyed { task: u8, key: u8, at: u16, is_raw: bool },
    Write { task: u8, key: u8, index: u8, replace: bool },
    Copy(u8, u8),
    Restore(u8),
    Fork(u8, u8),
    Label(u8, bool),
    Prune { task: u8, keep: u8, all: bool },
    Retain(Option<u8>),
}

fn any_step() -> impl Strategy<Value = Step> {
    let save = (0..4_u8, any::<u16>(), 0..300_u16, 0..300_u16, any::<bool>(), any::<bool>());
    let save = save.prop_map(|(task, at, remove, insert, label, fresh)| {
        // Most have no label and differ from the previous one in one place.
        Step::Save {
            task,
            at,
            remove,
            insert,
            label: label && at % 8 == 0,
            fresh: fresh && at % 9 == 0,
        }
    });
    prop_oneof![
        10 => save,
        4 => (0..4_u8, 0..4_u8, any::<u16>(), any::<bool>())
            .prop_map(|(task, key, at, is_raw)| Step::Keyed { task, key, at, is_raw }),
        3 => (0..4_u8, 0..4_u8, 0..3_u8, any::<bool>())
            .prop_map(|(task, key, index, replace)| Step::Write { task, key, index, replace }),
        1 => (0..4_u8, 0..6_u8).prop_map(|(task, to)| Step::Copy(task, to)),
        2 => (0..40_u8).prop_map(Step::Restore),
        2 => (0..40_u8, 0..6_u8).prop_map(|(checkpoint, task)| Step::Fork(checkpoint, task)),
        1 => (0..40_u8, any::<bool>()).prop_map(|(number, label)| Step::Label(number, label)),
        2 => (0..6_u8, 0..6_u8, proptest::bool::weighted(0.2))
            .prop_map(|(task, keep, all)| Step::Prune { task, keep, all }),
        1 => proptest::option::of(1..9_u8).prop_map(Step::Retain),
    ]
}

/// The complete saved states, and the text from which the next one of each task is made.
#[derive(Default)]
struct Model {
    saved: BTreeMap<CheckpointId, String>,
    texts: BTreeMap<u8, String>,
    seed: u64,
}

impl Model {
    fn edited(&mut self, task: u8, at: u16, remove: u16, insert: u16, fresh: bool) -> String {
        let seed = &mut self.seed;
        let text = self.texts.entry(task).or_insert_with(|| letters(seed, 6_000));
        if fresh {
            *text = letters(seed, 3_000);
        }
        let at = usize::from(at) % text.len();
        let end = (at + usize::from(remove)).min(text.len());
        text.replace_range(at..end, &letters(seed, usize::from(insert).max(1)));
        format!("{{\"text\":\"{text}\",\"é\":[1,2.50]}}")
    }

    fn command(&mut self, step: &Step) -> (Command, Option<String>) {
        let id = |number: &u8| CheckpointId::of_number(u64::from(*number));
        let name = |task: &u8| TaskId::parse(&format!("t{task}")).unwrap();
        let label = |is: bool| is.then(|| CheckpointLabel::parse("kept").unwrap());
        match step {
            Step::Save { task, at, remove, insert, label: has_label, fresh } => {
                let text = self.edited(*task, *at, *remove, *insert, *fresh);
                let save = Save { label: label(*has_label), ..save(name(task).as_str(), &text) };
                (Command::Save(save), Some(text))
            }
            Step::Keyed { task, key, at, is_raw } => {
                let text = self.edited(*task, *at, 9, 9, false);
                let mut save = save(name(task).as_str(), &text);
                save.key = Some(CheckpointKey::parse(&key.to_string()).unwrap());
                let mut text = text;
                if *is_raw {
                    let bytes = [&[0xff, 0xc3], text.as_bytes(), &[0x80]].concat();
                    text = format!("\"{}\"", encoded(&bytes));
                    save.state = Json::trusted_text(&text);
                    save.content_type = Some(StateType::parse("raw").unwrap());
                }
                (Command::Save(save), Some(text))
            }
            Step::Write { task, key, index, replace } => {
                let write = NewWrite {
                    index: i32::from(*index),
                    channel: "c".to_owned(),
                    value: Json::null(),
                    content_type: None,
                    replace: *replace,
                };
                let key = CheckpointKey::parse(&key.to_string()).unwrap();
                let (writer, path) = ("w".to_owned(), String::new());
                let (task, writes) = (name(task), vec![write]);
                (Command::Write(Write { task, key, writer, path, writes, token: None }), None)
            }
            Step::Copy(task, to) => {
                (Command::Copy(Copy { task: name(task), to: name(to), token: None }), None)
            }
            Step::Restore(number) => {
                (Command::Restore { checkpoint: id(number), token: None }, None)
            }
            Step::Fork(number, task) => {
                let (checkpoint, text) = (id(number), self.saved.get(&id(number)).cloned());
                (Command::Fork { checkpoint, task: name(task), token: None }, text)
            }
            Step::Label(number, is) => {
                (Command::Label { checkpoint: id(number), label: label(*is) }, None)
            }
            Step::Prune { task, keep, all } => {
                let (task, keep) = (name(task), Some(u64::from(*keep)));
                (Command::Prune(Prune { keep, all: *all, ..Prune::of(&task) }), None)
            }
            Step::Retain(keep) => {
                let keep = keep.map(u64::from);
                (Command::Retain(Retain { keep, ..Retain::default() }), None)
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    /// After any operations, every state is read back as it was saved; also after a replay, after a
    /// snapshot, and when a commit that did all of it was refused at its end.
    #[test]
    fn states_come_back_byte_for_byte(
        steps in proptest::collection::vec(any_step(), 1..60),
        ahead in proptest::collection::vec(any_step(), 1..6),
    ) {
        let (mut saving, mut model) = (Saving::new(), Model::default());
        for step in &steps {
            let next = saving.space.checkpoint.next_id();
            let (command, text) = model.command(step);
            let is_prune = matches!(command, Command::Prune(_));
            let before = saving.space.checkpoint.content().chunks().map(|(_, it)| it.len());
            let before: usize = before.sum();
            let (bytes_before, batches) = (saving.space.checkpoint.bytes(), saving.batches.len());
            let done = saving.run(command);
            let happened = saving.batches.get(batches).map(|batch| &batch.events[0]);
            if let Some(crate::Event::Checkpoint(Event::Saved(saved))) = happened {
                let most = bytes_before + saved.recipe.growth();
                prop_assert!(saving.space.checkpoint.bytes() <= most, "it grew by more");
            }
            if let (Ok(_), Some(text)) = (&done, text) {
                model.saved.insert(next, text);
            }
            if let (true, Ok(Reply::Pruned { bytes, .. })) = (is_prune, done) {
                let after = saving.space.checkpoint.content().chunks().map(|(_, it)| it.len());
                prop_assert_eq!(before - after.sum::<usize>(), usize::try_from(bytes).unwrap());
            }
            saving.space.check();
        }
        let head = saving.space.head();
        // An operation that is refused would end the commit too early.
        let mut trial = saving.restored();
        let commands = ahead.iter().map(|step| model.command(step).0);
        let mut commands: Vec<crate::Command> = commands.map(Into::into).collect();
        let ada = AgentId::parse("ada").unwrap();
        commands.retain(|command| trial.commit(command.clone().into(), &ada, Timestamp(0)).is_ok());
        let task = TaskId::parse("t").unwrap();
        let refused = Prune::of(&task);
        commands.push(Command::Prune(refused).into());
        let (require, optional) = (Vec::new(), Vec::new());
        let mutation = Mutation::Transaction { require, commands, optional };
        let request = Request { mutation, idempotency_key: None };
        prop_assert!(saving.space.commit(request, &ada, Timestamp(0)).is_err());
        prop_assert_eq!(saving.space.head(), head);
        for space in [saving.replayed(), saving.restored()] {
            prop_assert_eq!(space.head(), saving.space.head());
            space.check();
            for (id, text) in &model.saved {
                let state = space.checkpoint.state(id).ok();
                prop_assert!(state.is_none_or(|state| state.as_str() == text));
            }
        }
    }
}

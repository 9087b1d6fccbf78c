//! Scenarios of shared state.

use super::{Entry, Event, Rejection};
use crate::names::{AgentId, NamespaceName};
use crate::numbers::{Revision, Version};
use crate::space::Space;
use crate::storage::{self, Entries, WriteHead};
use crate::testing::{World, check, check_codes, check_coverage, scenarios, story};

scenarios! {
    an_entry_that_is_created_again_continues_its_versions => [
        (10, "ada", "state.get shared/plan",             "refused state.not_found"),
        (10, "ada", "state.set shared/plan 1",           "state.set shared/plan v1 = 1"),
        (20, "bob", "state.set shared/plan [2,3]",       "state.set shared/plan v2 = [2,3]"),
        (30, "cho", "state.get shared/plan",             "shared/plan v2 = [2,3] r2 at 20 by bob"),
        (40, "ada", "state.delete shared/plan",          "state.deleted shared/plan v2"),
        (50, "ada", "state.delete shared/plan",          "refused state.not_found"),
        (50, "ada", "state.get shared/plan",             "refused state.not_found"),
        (60, "bob", "state.set shared/plan null",        "state.set shared/plan v3 = null"),
        (70, "bob", "state.get shared/plan",             "shared/plan v3 = null r4 at 60 by bob"),
    ]

    nothing_lives_outside_of_a_namespace => [
        (0, "ada", "state.set ghost/a 1",                "refused state.unknown_namespace"),
        (0, "ada", "state.patch ghost/a increment=1",    "refused state.unknown_namespace"),
        (0, "ada", "state.delete ghost/a",               "refused state.unknown_namespace"),
        (0, "ada", "state.get ghost/a",                  "refused state.unknown_namespace"),
        (0, "ada", "state.list ghost",                   "refused state.unknown_namespace"),
        (0, "ada", r#"state.snapshot namespace="ghost""#, "refused state.unknown_namespace"),
        (0, "ada", "state.transfer ghost shared",        "refused state.unknown_namespace"),
        (0, "ada", "state.transfer shared ghost",        "refused state.unknown_namespace"),
        (0, "ada", "namespace.create a",                 "namespace.created a"),
        (0, "ada", "state.set a/../shared/b 1",          "state.set a/../shared/b v1 = 1"),
        (0, "ada", "state.list shared",                  "[]"),
    ]

    a_loser_gets_a_conflict => [
        (0, "ada", "state.set shared/n 1 expected_version=1", "refused state.version_conflict"),
        (0, "ada", "state.set shared/n 1 expected_version=0", "state.set shared/n v1 = 1"),
        (0, "bob", "state.set shared/n 2 expected_version=0", "refused state.version_conflict"),
        (0, "bob", "state.set shared/n 2 if_absent",          "refused state.exists"),
        (0, "bob", "state.set shared/n 2 expected_version=1", "state.set shared/n v2 = 2"),
        (0, "ada", "state.set shared/n 3 expected_version=1", "refused state.version_conflict"),
        (0, "ada", "state.delete shared/n expected_version=1", "refused state.version_conflict"),
        (0, "ada", "state.patch shared/n increment=1 expected_version=1",
            "refused state.version_conflict"),
        (0, "ada", "state.patch shared/n increment=1 expected_version=2",
            "state.patched shared/n v3 = 3"),
        (0, "ada", "state.delete shared/n expected_version=3", "state.deleted shared/n v3"),
        (0, "ada", "state.delete shared/n expected_version=3", "refused state.version_conflict"),
        (0, "ada", "state.delete shared/n expected_version=0", "refused state.not_found"),
        (0, "ada", "state.set shared/n 1 if_absent",          "state.set shared/n v4 = 1"),
        (0, "bob", "state.set shared/n 2 expected_revision=4", "refused state.revision_conflict"),
        (0, "bob", "state.set shared/n 2 expected_revision=5", "state.set shared/n v5 = 2"),
        (0, "bob", "state.delete shared/n expected_revision=5", "refused state.revision_conflict"),
        (0, "bob", "state.patch shared/n increment=1 expected_revision=5",
            "refused state.revision_conflict"),
        (0, "bob", "state.delete shared/n expected_revision=6", "state.deleted shared/n v5"),
        (0, "bob", "state.set shared/n 2 expected_revision=6", "refused state.revision_conflict"),
        (0, "bob", "state.set shared/n 2 expected_revision=0", "state.set shared/n v6 = 2"),
    ]

    a_value_is_compared_by_its_meaning => [
        (0, "ada", "state.set shared/n 2 expected_value=1",   "refused state.value_conflict"),
        (0, "ada", r#"state.set shared/n {"a":1,"b":[2]}"#,
            r#"state.set shared/n v1 = {"a":1,"b":[2]}"#),
        (0, "ada", r#"state.set shared/n 2 expected_value={"b":[2],"a":2}"#,
            "refused state.value_conflict"),
        (0, "ada", r#"state.set shared/n 2 expected_value={"b":[2.0],"a":1}"#,
            "state.set shared/n v2 = 2"),
        (0, "ada", "state.set shared/n 3 expected_value=null", "refused state.value_conflict"),
        (0, "ada", "state.set shared/n 3 expected_value=2 expected_version=1",
            "refused state.version_conflict"),
    ]

    the_server_patches => [
        (0, "ada", r#"state.patch shared/m merge={"a":1,"b":null}"#,
            r#"state.patched shared/m v1 = {"a":1}"#),
        (0, "bob", r#"state.patch shared/m merge={"a":null,"c":2}"#,
            r#"state.patched shared/m v2 = {"c":2}"#),
        (0, "bob", r#"state.patch shared/m json_patch=[{"op":"add","path":"/d","value":3}]"#,
            r#"state.patched shared/m v3 = {"c":2,"d":3}"#),
        (0, "bob", r#"state.patch shared/m json_patch=[{"op":"remove","path":"/x"}]"#,
            "refused state.patch_failed"),
        (0, "bob", r#"state.patch shared/x json_patch=[{"op":"remove","path":"/x"}]"#,
            "refused state.not_found"),
        (0, "bob", "state.patch shared/m json_patch=7",     "refused state.patch_failed"),
        (0, "ada", "state.patch shared/l append=1",         "state.patched shared/l v1 = [1]"),
        (0, "ada", "state.patch shared/l append=[2,2]",     "state.patched shared/l v2 = [1,2,2]"),
        (0, "ada", "state.patch shared/l union=[2,3,3]",
            "state.patched shared/l v3 = [1,2,2,3]"),
        (0, "ada", "state.patch shared/m append=1",         "refused state.patch_failed"),
        (0, "ada", "state.patch shared/m union=1",          "refused state.patch_failed"),
        (0, "ada", "state.patch shared/n increment=5",      "state.patched shared/n v1 = 5"),
        (0, "ada", "state.patch shared/n increment=-7",     "state.patched shared/n v2 = -2"),
        (0, "ada", "state.patch shared/n increment=0.5",    "state.patched shared/n v3 = -1.5"),
        (0, "ada", "state.patch shared/l increment=1",      "refused state.patch_failed"),
        (0, "ada", "state.patch shared/n increment=true",   "refused state.patch_failed"),
        (0, "ada", "state.set shared/n 18446744073709551615",
            "state.set shared/n v4 = 18446744073709551615"),
        (0, "ada", "state.patch shared/n increment=1",      "refused state.patch_failed"),
        (0, "ada", "state.patch shared/t max=3",            "state.patched shared/t v1 = 3"),
        (0, "ada", "state.patch shared/t max=2",            "state.patched shared/t v2 = 3"),
        (0, "ada", "state.patch shared/t max=4",            "state.patched shared/t v3 = 4"),
        (0, "ada", "state.patch shared/l max=4",            "refused state.patch_failed"),
    ]

    a_merge_rule_decides_the_effect_of_a_write => [
        (0, "ada", r#"namespace.create lww rules={"merge":"last_write_wins"}"#,
            "namespace.created lww"),
        (0, "ada", "state.set lww/a 1",                "state.set lww/a v1 = 1"),
        (0, "ada", "state.set lww/a 2",                "state.set lww/a v2 = 2"),
        (0, "ada", r#"namespace.create once rules={"merge":"reject"}"#, "namespace.created once"),
        (0, "ada", "state.set once/a 1",               "state.set once/a v1 = 1"),
        (0, "ada", "state.set once/a 2",               "refused state.exists"),
        (0, "ada", "state.set once/a 1.0",             "state.set once/a v2 = 1"),
        (0, "ada", r#"namespace.create map rules={"merge":"json_merge"}"#, "namespace.created map"),
        (0, "ada", r#"state.set map/a {"x":1}"#,       r#"state.set map/a v1 = {"x":1}"#),
        (0, "bob", r#"state.set map/a {"y":2}"#,       r#"state.set map/a v2 = {"x":1,"y":2}"#),
        (0, "ada", r#"namespace.create list rules={"merge":"append"}"#, "namespace.created list"),
        (0, "ada", "state.set list/a 1",               "state.set list/a v1 = [1]"),
        (0, "ada", "state.set list/a [1,2]",           "state.set list/a v2 = [1,1,2]"),
        (0, "ada", r#"namespace.create bag rules={"merge":"union"}"#, "namespace.created bag"),
        (0, "ada", "state.set bag/a [1,1]",            "state.set bag/a v1 = [1]"),
        (0, "ada", "state.set bag/a [1,2]",            "state.set bag/a v2 = [1,2]"),
        (0, "ada", r#"namespace.create sum rules={"merge":"counter"}"#, "namespace.created sum"),
        (0, "ada", "state.set sum/a 2",                "state.set sum/a v1 = 2"),
        (0, "ada", "state.set sum/a 3",                "state.set sum/a v2 = 5"),
        (0, "ada", "state.set sum/a []",               "refused state.patch_failed"),
        (0, "ada", r#"namespace.create top rules={"merge":"max"}"#, "namespace.created top"),
        (0, "ada", "state.set top/a 2",                "state.set top/a v1 = 2"),
        (0, "ada", "state.set top/a 1",                "state.set top/a v2 = 2"),
        (0, "ada", "state.set top/a 9 expected_version=1", "refused state.version_conflict"),
        (0, "ada", "state.set top/a 9 expected_value=2",   "state.set top/a v3 = 9"),
    ]

    append_only_entries_only_grow => [
        (0, "ada", r#"namespace.create log rules={"append_only":true,"ttl_ms":100}"#,
            "namespace.created log"),
        (0, "ada", "state.set log/a [1]",              "state.set log/a v1 = [1] until 100"),
        (0, "ada", "state.set log/a [2]",              "refused state.append_only"),
        (0, "ada", "state.delete log/a",               "refused state.append_only"),
        (0, "ada", r#"state.patch log/a merge={"b":1}"#, "refused state.append_only"),
        (0, "ada", "state.patch log/a json_patch=[]",  "refused state.append_only"),
        (0, "ada", "state.patch log/n increment=1",    "state.patched log/n v1 = 1 until 100"),
        (0, "ada", "state.patch log/n increment=1",    "refused state.append_only"),
        (0, "ada", "state.patch log/n max=1",          "refused state.append_only"),
        (0, "ada", "state.patch log/a append=2",       "state.patched log/a v2 = [1,2] until 100"),
        (0, "ada", "state.patch log/a union=[2,3]",
            "state.patched log/a v3 = [1,2,3] until 100"),
        (0, "ada", "state.transfer log shared",        "refused state.append_only"),
        (0, "ada", "state.set shared/a 1",             "state.set shared/a v1 = 1"),
        (0, "ada", "state.transfer shared log overwrite", "refused state.append_only"),
        (100, "ada", "time", "state.expired log/a v3; state.expired log/n v1"),
        (200, "ada", r#"namespace.configure log rules={"append_only":true,"merge":"append"}"#,
            "namespace.configured log"),
        (200, "ada", "state.set log/a 1",              "state.set log/a v4 = [1]"),
        (200, "ada", "state.set log/a 2",              "state.set log/a v5 = [1,2]"),
    ]

    every_value_is_checked_by_schema_and_size => [
        (0, "ada", r#"namespace.create form rules={"schema":{"type":"object"},"schema_version":1}"#,
            "namespace.created form"),
        (0, "ada", "state.set form/a 1",               "refused state.schema_violation"),
        (0, "ada", r#"state.set form/a {"n":1}"#,      r#"state.set form/a v1 = {"n":1}"#),
        (0, "ada", r#"state.patch form/a json_patch=[{"op":"replace","path":"","value":1}]"#,
            "refused state.schema_violation"),
        (0, "ada", "state.patch form/b append=1",      "refused state.schema_violation"),
        (0, "ada", "state.set shared/b 1",             "state.set shared/b v1 = 1"),
        (0, "ada", "state.transfer shared form",       "refused state.schema_violation"),
        (0, "ada", r#"namespace.create small rules={"value_bytes_max":5}"#,
            "namespace.created small"),
        (0, "ada", "state.set small/a 12345",          "state.set small/a v1 = 12345"),
        (0, "ada", "state.set small/a 123456",         "refused state.value_too_large"),
        (0, "ada", "state.set small/l [1,2]",          "state.set small/l v1 = [1,2]"),
        (0, "ada", "state.patch small/l append=3",     "refused state.value_too_large"),
        (0, "ada", "state.set shared/large bytes:1048576",
            "state.set shared/large v1 = 1048576 bytes"),
        (0, "ada", "state.set shared/large bytes:1048577", "refused state.value_too_large"),
        (0, "ada", "state.transfer shared small",      "refused state.value_too_large"),
    ]

    the_first_pattern_that_matches_a_key_rules => [
        (0, "ada", r#"namespace.create mix rules={"merge":"reject","keys":[
            {"pattern":"count:*","rules":{"merge":"counter"}},
            {"pattern":"count:**","rules":{"merge":"max"}},
            {"pattern":"short","rules":{"ttl_ms":10,"value_bytes_max":1}}]}"#,
            "namespace.created mix"),
        (0, "ada", "state.set mix/count:a 1",          "state.set mix/count:a v1 = 1"),
        (0, "ada", "state.set mix/count:a 1",          "state.set mix/count:a v2 = 2"),
        (0, "ada", "state.set mix/count:a:b 1",        "state.set mix/count:a:b v1 = 1"),
        (0, "ada", "state.set mix/count:a:b 1",        "state.set mix/count:a:b v2 = 1"),
        (0, "ada", "state.set mix/short 1",            "state.set mix/short v1 = 1 until 10"),
        (0, "ada", "state.set mix/short 2",            "state.set mix/short v2 = 2 until 10"),
        (0, "ada", "state.set mix/short 12",           "refused state.value_too_large"),
        (0, "ada", "state.set mix/other 1",            "state.set mix/other v1 = 1"),
        (0, "ada", "state.set mix/other 2",            "refused state.exists"),
    ]

    nested_values_are_taken_with_a_warning => [
        (0, "ada", r#"namespace.create flat rules={"flat":true}"#, "namespace.created flat"),
        (0, "ada", r#"state.set flat/a {"x":1,"l":[1,"b"]}"#,
            r#"state.set flat/a v1 = {"l":[1,"b"],"x":1}"#),
        (0, "ada", r#"state.set flat/a {"x":{"y":1}}"#,
            r#"state.set flat/a v2 = {"x":{"y":1}}; warning state.nested_value"#),
        (0, "ada", r#"state.set flat/a {"x":[{"y":1}]}"#,
            r#"state.set flat/a v3 = {"x":[{"y":1}]}; warning state.nested_value"#),
        (0, "ada", "state.set flat/a [1]",             "state.set flat/a v4 = [1]"),
        (0, "ada",
            r#"#once state.patch flat/a json_patch=[{"op":"replace","path":"","value":{"a":{}}}]"#,
            r#"state.patched flat/a v5 = {"a":{}}; receipt.kept once; warning state.nested_value"#),
        (9, "ada",
            r#"#once state.patch flat/a json_patch=[{"op":"replace","path":"","value":{"a":{}}}]"#,
            r#"r6: flat/a v5 = {"a":{}} r6 at 0 by ada warning state.nested_value"#),
        (9, "ada", "state.get flat/a",                 r#"flat/a v5 = {"a":{}} r6 at 0 by ada"#),
    ]

    an_entry_is_removed_when_its_ttl_ends => [
        (0,   "ada", "state.set shared/a 1 ttl_ms=100",  "state.set shared/a v1 = 1 until 100"),
        (0,   "ada", "state.set shared/b 1 ttl_ms=50",   "state.set shared/b v1 = 1 until 50"),
        (49,  "ada", "time",                             "nothing"),
        (49,  "ada", "state.get shared/b",               "shared/b v1 = 1 r2 at 0 by ada until 50"),
        (50,  "ada", "time",                             "state.expired shared/b v1"),
        (60,  "ada", "state.patch shared/a increment=1", "state.patched shared/a v2 = 2 until 100"),
        (70,  "bob", "state.set shared/a 5 ttl_ms=90",   "state.set shared/a v3 = 5 until 160"),
        (100, "ada", "time",                             "nothing"),
        (110, "bob", "state.set shared/a 6",             "state.set shared/a v4 = 6"),
        (999, "ada", "time",                             "nothing"),
        (999, "ada", "state.set shared/a 7 ttl_ms=1",    "state.set shared/a v5 = 7 until 1000"),
        (999, "ada", "state.delete shared/a",            "state.deleted shared/a v5"),
        (2000, "ada", "time",                            "nothing"),
        (2000, "ada", "state.set shared/a 1 ttl_ms=0",   "refused state.ttl_out_of_range"),
        (2000, "ada", "state.set shared/a 1 ttl_ms=316224000001", "refused state.ttl_out_of_range"),
        (2000, "ada", "state.set shared/a 1 ttl_ms=316224000000",
            "state.set shared/a v6 = 1 until 316224002000"),
    ]

    a_namespace_gives_a_time_to_live => [
        (0,  "ada", r#"namespace.create t rules={"ttl_ms":10}"#, "namespace.created t"),
        (0,  "ada", "state.set t/a 1",                "state.set t/a v1 = 1 until 10"),
        (5,  "ada", "state.set t/b 1 ttl_ms=20",      "state.set t/b v1 = 1 until 25"),
        (5,  "ada", "state.patch t/c increment=1",    "state.patched t/c v1 = 1 until 15"),
        (9,  "ada", "state.set t/a 2",                "state.set t/a v2 = 2 until 19"),
        (19, "ada", "time",                           "state.expired t/c v1; state.expired t/a v2"),
        (30, "ada", "namespace.delete t",             "namespace.deleted t"),
        (30, "ada", "time",                           "nothing"),
    ]

    many_entries_expire_in_several_batches => [
        (0, "ada", "many 1000 state.set shared/a{} 1 ttl_ms=10", "1000 state.set"),
        (0, "ada", "many 500 state.set shared/b{} 1 ttl_ms=11",  "500 state.set"),
        (20, "ada", "time", "1000 state.expired | 500 state.expired"),
        (20, "ada", "workspace.get",
            "count=10000000 age=2592000000 entries=0 namespaces=1 agents=0"),
    ]

    a_clock_that_was_set_back_does_not_make_time_run_backwards => [
        (100, "ada", "state.set shared/a 1",            "state.set shared/a v1 = 1"),
        (50,  "ada", "state.set shared/a 2 ttl_ms=10",  "state.set shared/a v2 = 2 until 110"),
        (60,  "ada", "time",                            "nothing"),
        (60,  "ada", "state.get shared/a", "shared/a v2 = 2 r2 at 100 by ada until 110"),
        (110, "ada", "time",                            "state.expired shared/a v2"),
    ]

    ephemeral_entries_are_removed_in_the_batch_that_ends_the_session => [
        (0, "ada", "state.set shared/here 1 ephemeral", "refused state.no_session"),
        (0, "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=1 ttl=1000; namespace.created agent:ada"),
        (1, "ada", "state.set shared/here 1 ephemeral", "state.set shared/here v1 = 1 with ada"),
        (1, "ada", "state.set agent:ada/x 1 ephemeral ttl_ms=5000",
            "state.set agent:ada/x v1 = 1 until 5001 with ada"),
        (2, "bob", "state.get shared/here", "shared/here v1 = 1 r2 at 1 by ada ephemeral"),
        (3, "bob", "state.set shared/bobs 1 ephemeral", "refused state.no_session"),
        (4, "bob", "state.patch shared/here increment=1",
            "state.patched shared/here v2 = 2 with ada"),
        (5, "ada", "agent.leave ada",
            "agent.left ada; state.let_go agent:ada/x v1; state.let_go shared/here v2"),
        (6, "ada", "state.set shared/here 1 ephemeral", "refused state.no_session"),
        (7, "ada", "agent.register ada ttl_ms=1000",    "agent.joined ada token=6 ttl=1000"),
        (8, "ada", "state.set shared/here 1 ephemeral", "state.set shared/here v3 = 1 with ada"),
        (9, "ada", "agent.register ada ttl_ms=1000",
            "agent.joined ada token=8 ttl=1000; state.let_go shared/here v3"),
        (10, "ada", "state.set shared/a 1 ephemeral",   "state.set shared/a v1 = 1 with ada"),
        (10, "ada", "state.set shared/b 1 ephemeral",   "state.set shared/b v1 = 1 with ada"),
        (10, "ada", "state.set shared/c 1 ephemeral",   "state.set shared/c v1 = 1 with ada"),
        (11, "bob", "state.set shared/b 2",             "state.set shared/b v2 = 2"),
        (11, "bob", "state.delete shared/c",            "state.deleted shared/c v1"),
        (1258, "ada", "time",                           "nothing"),
        (1259, "ada", "time",                           "agent.lost ada; state.let_go shared/a v1"),
        (1260, "ada", "state.get shared/b",             "shared/b v2 = 2 r12 at 11 by bob"),
    ]

    the_holds_of_an_agent_are_limited => [
        (0, "ada", "agent.register ada",
            "agent.joined ada token=1 ttl=60000; namespace.created agent:ada"),
        (0, "ada", "many 1000 state.set shared/e{} 1 ephemeral", "1000 state.set"),
        (0, "ada", "state.set shared/more 1 ephemeral",  "refused state.too_many_ephemeral"),
        (0, "ada", "state.set shared/e0 2 ephemeral",    "state.set shared/e0 v2 = 2 with ada"),
        (0, "bob", "agent.register bob",
            "agent.joined bob token=4 ttl=60000; namespace.created agent:bob"),
        (0, "bob", "state.set shared/e1 1 ephemeral",    "state.set shared/e1 v2 = 1 with bob"),
        (0, "ada", "state.set shared/more 1 ephemeral",  "state.set shared/more v1 = 1 with ada"),
        (0, "ada", "agent.leave ada",                    "1 agent.left; 1000 state.let_go"),
        (0, "bob", "state.get shared/e1", "shared/e1 v2 = 1 r5 at 0 by bob ephemeral"),
    ]

    a_transfer_moves_entries_with_their_source => [
        (0, "ada", "namespace.create a",                "namespace.created a"),
        (0, "ada", "namespace.create b",                "namespace.created b"),
        (0, "ada", "state.set a/x 1",                   "state.set a/x v1 = 1"),
        (0, "ada", "state.set a/x 2",                   "state.set a/x v2 = 2"),
        (0, "bob", "state.set a/y 3 ttl_ms=100",        "state.set a/y v1 = 3 until 100"),
        (9, "cho", r#"state.transfer a b keys=["y"]"#,
            "state.transferred b/y v1 = 3 until 100 from a v1 r5 by bob; \
             state.transferred_away a/y v1"),
        (9, "cho", r#"state.transfer a b keys=["y"]"#,  "refused state.not_found"),
        (9, "cho", "state.set b/x 9",                   "state.set b/x v1 = 9"),
        (9, "cho", "state.transfer a b",                "refused state.exists"),
        (9, "cho", r#"state.transfer a b keys=["x","x"] overwrite"#,
            "state.transferred b/x v2 = 2 from a v2 r4 by ada; state.transferred_away a/x v2"),
        (9, "cho", "state.get b/x",                     "b/x v2 = 2 r8 at 9 by cho"),
        (9, "cho", "state.list a",                      "[]"),
        (9, "cho", "state.transfer a b",                "r8: moved []"),
        (9, "cho", "state.transfer a a",                "refused state.same_namespace"),
        (100, "cho", "time",                            "state.expired b/y v1"),
        (100, "ada", "agent.register ada",
            "agent.joined ada token=10 ttl=60000; namespace.created agent:ada"),
        (100, "ada", "state.set a/e 1 ephemeral",       "state.set a/e v1 = 1 with ada"),
        (100, "ada", "state.transfer a b",
            "state.transferred b/e v1 = 1 from a v1 r11 by ada; state.transferred_away a/e v1"),
        (100, "ada", "agent.leave ada",                 "agent.left ada"),
        (100, "ada", r#"namespace.create c rules={"ttl_ms":7,"merge":"reject"}"#,
            "namespace.created c"),
        (100, "ada", r#"state.transfer b c keys=["e"]"#,
            "state.transferred c/e v1 = 1 until 107 from b v1 r12 by ada; \
             state.transferred_away b/e v1"),
    ]

    a_copy_leaves_its_source => [
        (0, "ada", r#"namespace.create a rules={"append_only":true}"#, "namespace.created a"),
        (0, "ada", "namespace.create b",                "namespace.created b"),
        (0, "ada", "state.set a/x:1 1",                 "state.set a/x:1 v1 = 1"),
        (0, "ada", "state.set a/x:2 2",                 "state.set a/x:2 v1 = 2"),
        (0, "ada", "state.set a/y 3",                   "state.set a/y v1 = 3"),
        (1, "bob", r#"state.transfer a b pattern="x:*""#, "refused state.append_only"),
        (1, "bob", r#"state.transfer a b pattern="x:*" copy"#,
            "state.copied b/x:1 v1 = 1 from a v1 r3 by ada; \
             state.copied b/x:2 v1 = 2 from a v1 r4 by ada"),
        (1, "bob", "state.get a/x:1",                   "a/x:1 v1 = 1 r3 at 0 by ada"),
        (1, "bob", r#"state.transfer a b pattern="x:*" copy"#, "refused state.exists"),
        (1, "bob", r#"state.transfer a b keys=["x:2","y"] pattern="*" copy"#,
            "state.copied b/y v1 = 3 from a v1 r5 by ada"),
        (1, "bob", r#"state.transfer b a pattern="z**""#, "r7: moved []"),
    ]

    a_page_has_the_requested_entries => [
        (0, "ada", "many 5 state.set shared/a:{} 1",    "state.set shared/a:0 v1 = 1; \
            state.set shared/a:1 v1 = 1; state.set shared/a:2 v1 = 1; state.set shared/a:3 v1 = 1; \
            state.set shared/a:4 v1 = 1"),
        (0, "ada", "state.set shared/b 1",              "state.set shared/b v1 = 1"),
        (0, "ada", "namespace.create n",                "namespace.created n"),
        (0, "ada", "state.set n/c 1",                   "state.set n/c v1 = 1"),
        (0, "ada", "state.list n",                      "[n/c]"),
        (0, "ada", "state.list shared limit=2",         "[shared/a:0, shared/a:1] next=a:1"),
        (0, "ada", r#"state.list shared limit=2 cursor="a:3""#, "[shared/a:4, shared/b]"),
        (0, "ada", r#"state.list shared prefix="b""#,   "[shared/b]"),
        (0, "ada", r#"state.list shared pattern="*:3""#, "[shared/a:3]"),
        (0, "ada", r#"state.list shared pattern="a:*" prefix="a:" limit=1 cursor="a:2""#,
            "[shared/a:3] next=a:3"),
        (0, "ada", r#"state.list shared prefix="b" cursor="a""#, "[shared/b]"),
        (0, "ada", r#"state.list shared cursor="z""#,   "[]"),
        (0, "ada", "state.list shared limit=0",         "refused state.limit_out_of_range"),
        (0, "ada", "state.list shared limit=10001",     "refused state.limit_out_of_range"),
        (0, "ada", "state.list shared at=1",            "about the past"),
        (0, "ada", "state.get shared/b at=1",           "about the past"),
        (0, "ada", "state.history",                     "about the past"),
        (0, "ada", "state.diff from=1",                 "about the past"),
        (0, "ada", "state.snapshot at=1",               "about the past"),
        (0, "ada", "state.snapshot limit=2",            "[n/c, shared/a:0] next=4/shared/a:0"),
        (0, "ada", r#"state.snapshot cursor="4/shared/a:3""#, "[shared/a:4, shared/b]"),
        (0, "ada", r#"state.snapshot cursor="3/shared/a:3""#, "about the past"),
        (0, "ada", r#"state.snapshot cursor="shared/a:3""#, "refused state.bad_cursor"),
        (0, "ada", r#"state.snapshot namespace="n""#,   "[n/c]"),
        (0, "ada", r#"state.snapshot namespace="n" cursor="4/shared/a""#, "[]"),
        (0, "ada", "state.snapshot limit=0",            "refused state.limit_out_of_range"),
        (0, "ada", r#"state.snapshot cursor="4/shared""#, "refused state.bad_cursor"),
        (0, "ada", r#"state.snapshot cursor="4//a""#,   "refused state.bad_cursor"),
        (0, "ada", r#"state.snapshot cursor="4/shared/""#, "refused state.bad_cursor"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = [
        // Answered by the engine, which has the history.
        "state.key_without_namespace",
        // Reached below.
        "state.transfer_too_large",
        "state.versions_exhausted",
    ];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    // The tests of `sync` reach these.
    const ELSEWHERE: [&str; 2] = ["state.synced", "state.sync_deleted"];
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &ELSEWHERE);
}

#[test]
fn a_transfer_fits_into_one_batch() {
    let keys = |count: usize| serde_json::json!((0..count).collect::<Vec<_>>()).to_string();
    let named =
        |count: usize| keys(count).replace('[', "[\"").replace(']', "\"]").replace(',', "\",\"");
    let mut world = check(&[(0, "ada", "namespace.create b", "namespace.created b")]);
    for first in 0..5 {
        let asked = format!("many 1000 state.set shared/{first}{{}} 1");
        assert_eq!(world.run(0, "ada", &asked), "1000 state.set");
    }
    world.check(&[
        (0, "ada", "state.set shared/last 1", "state.set shared/last v1 = 1"),
        (0, "ada", "state.transfer shared b", "refused state.transfer_too_large"),
        (0, "ada", "state.delete shared/last", "state.deleted shared/last v1"),
    ]);
    let asked = format!("state.transfer shared b keys={}", named(5_001));
    assert_eq!(world.run(0, "ada", &asked), "refused state.transfer_too_large");
    let all = "5000 state.transferred; 5000 state.transferred_away";
    world.check(&[
        (0, "ada", "state.transfer shared b", all),
        (0, "ada", "state.list shared", "[]"),
    ]);
}

/// A space with one entry that has the maximum version.
fn worn() -> World {
    let head = WriteHead { revision: 1, time_ms: 1, version: u32::MAX, author: 0 };
    let entry = storage::Entry::new(head, "a", b"1");
    let mut known = Space::default().head();
    known.revision = Revision(1);
    known.authors = vec![AgentId::parse("ada").unwrap()];
    let entries = Entries::from_sorted(vec![entry]);
    World::new(Space::restore(known, vec![(NamespaceName::shared(), entries)]))
}

#[test]
fn an_entry_that_cannot_be_counted_further_is_not_written() {
    worn().check(&[
        (2, "ada", "state.set shared/a 2", "refused state.versions_exhausted"),
        (2, "ada", "state.patch shared/a increment=1", "refused state.versions_exhausted"),
        (
            2,
            "ada",
            "state.delete shared/a expected_version=4294967295",
            "state.deleted shared/a v4294967295",
        ),
        (2, "ada", "state.set shared/a 2", "state.set shared/a v1 = 2"),
    ]);
}

#[test]
fn no_version_comes_twice_although_only_the_last_deletions_are_listed() {
    check(&[
        (0, "ada", "state.set shared/old 1", "state.set shared/old v1 = 1"),
        (0, "ada", "state.set shared/old 2", "state.set shared/old v2 = 2"),
        (0, "ada", "state.delete shared/old", "state.deleted shared/old v2"),
        (0, "ada", "many 20 state.set shared/k{} 1", "20 state.set"),
        (0, "ada", "state.set shared/new 1", "state.set shared/new v1 = 1"),
        (0, "ada", "many 20 state.delete shared/k{}", "20 state.deleted"),
        (0, "ada", "state.set shared/old 3", "state.set shared/old v3 = 3"),
        (0, "ada", "state.set shared/newer 1", "state.set shared/newer v3 = 1"),
        (0, "ada", "state.set shared/k7 1", "state.set shared/k7 v2 = 1"),
    ]);
}

#[test]
fn a_large_namespace_is_deleted_without_a_list() {
    check(&[
        (0, "ada", "namespace.create n", "namespace.created n"),
        (0, "ada", "many 21 state.set n/k{} 1", "21 state.set"),
        (
            0,
            "ada",
            "all: namespace.delete n & state.set shared/x 1 & state.set nowhere/x 1",
            "refused transaction.command_refused 2 state.unknown_namespace",
        ),
        (0, "ada", "state.set shared/a 1", "state.set shared/a v1 = 1"),
        (0, "ada", "namespace.delete n", "namespace.deleted n"),
        (0, "ada", "namespace.create n", "namespace.created n"),
        (0, "ada", "state.set n/k1 1", "state.set n/k1 v2 = 1"),
        (0, "ada", "state.set shared/b 1", "state.set shared/b v2 = 1"),
    ]);
}

#[test]
fn a_conflict_contains_the_winning_entry() {
    let mut world =
        check(&[(7, "ada", "state.set shared/plan [1]", "state.set shared/plan v1 = [1]")]);
    let asked = [
        "state.set shared/plan 2 expected_version=0",
        "state.set shared/plan 2 if_absent",
        "state.set shared/plan 2 expected_value=3",
    ];
    for asked in asked {
        let request = crate::testing::read_command(asked).into();
        let bob = AgentId::parse("bob").unwrap();
        let rejection = world.space.commit(request, &bob, world.space.time()).unwrap_err();
        let facts = serde_json::to_value(&rejection).unwrap();
        assert_eq!(facts["entry"]["value"], serde_json::json!([1]), "{asked}");
        assert_eq!(facts["entry"]["version"], 1);
        assert_eq!(facts["entry"]["updated_by"], "ada");
        assert_eq!(facts["entry"]["updated_at"], "1970-01-01T00:00:00.007Z");
        assert_eq!(facts["entry"]["checksum"], format!("crc32:{:08x}", crc32fast::hash(b"[1]")));
    }
}

#[test]
fn a_reader_holds_no_reference_into_the_store() {
    let mut world = check(&[(0, "ada", "state.set shared/a 1", "state.set shared/a v1 = 1")]);
    let (shared, key) = (NamespaceName::shared(), crate::names::Key::parse("a").unwrap());
    let read: Entry = world.space.state.entry(&shared, &key).unwrap();
    world.check(&[
        (1, "bob", "state.set shared/a 2", "state.set shared/a v2 = 2"),
        (2, "bob", "state.delete shared/a", "state.deleted shared/a v2"),
    ]);
    assert_eq!((read.value(), read.version()), (&b"1"[..], Version(1)));
}

/// However many values a transaction writes, its checks end as soon as those of a few would.
#[test]
fn all_values_of_a_transaction_share_one_bound_for_schemas() {
    let mut world = check(&[]);
    let parts = vec![r#"{"items":{"minimum":0}}"#; 40].join(",");
    let rules = format!(r#"namespace.create form rules={{"schema":{{"allOf":[{parts}]}}}}"#);
    assert!(world.run(0, "ada", &rules).starts_with("namespace.created"));
    let set = |key: usize| format!("state.set form/k{key} [{}1]", "1,".repeat(40_000));
    let all: Vec<String> = (0..7).map(set).collect();
    let together = format!("all: {}", all.join(" & "));
    let refused = "refused transaction.command_refused 6 state.schema_violation";
    assert_eq!(world.run(0, "ada", &together), refused);
    assert!(world.run(0, "ada", &all[6]).starts_with("state.set"), "the next has its own");
}

#[test]
fn an_event_knows_its_place() {
    let world = check(&[(0, "ada", "state.set shared/a/b 1", "state.set shared/a/b v1 = 1")]);
    assert_eq!(world.kinds().into_iter().collect::<Vec<_>>(), ["state.set"]);
    let event = Event::Deleted {
        namespace: NamespaceName::shared(),
        key: crate::names::Key::parse("a/b").unwrap(),
        version: Version(1),
        removal: super::Removal::default(),
    };
    assert_eq!(crate::Event::State(event).subject(), "state/shared/a/b");
}

#[test]
fn the_log_of_a_race_reads_as_a_story() {
    let log = story(&[
        (
            0,
            "ada",
            r#"namespace.create votes rules={"merge":"counter"}"#,
            "namespace.created votes",
        ),
        (5, "ada", "state.set votes/yes 1", "state.set votes/yes v1 = 1"),
        (6, "bob", "state.set votes/yes 1", "state.set votes/yes v2 = 2"),
        (7, "bob", "state.set votes/yes 1 expected_version=1", "refused state.version_conflict"),
        (
            8,
            "cho",
            "state.set shared/result 2 ttl_ms=100",
            "state.set shared/result v1 = 2 until 108",
        ),
        (
            9,
            "cho",
            "state.transfer votes shared",
            "state.transferred shared/yes v1 = 2 from votes v2 r3 by bob; \
             state.transferred_away votes/yes v2",
        ),
        (200, "ada", "time", "state.expired shared/result v1"),
    ]);
    insta::assert_snapshot!(log, @r"
    r1 at 0, ada:
        namespace.created votes
    r2 at 5, ada:
        state.set votes/yes v1 = 1
    r3 at 6, bob:
        state.set votes/yes v2 = 2
    r4 at 8, cho:
        state.set shared/result v1 = 2 until 108
    r5 at 9, cho:
        state.transferred shared/yes v1 = 2 from votes v2 r3 by bob
        state.transferred_away votes/yes v2
    r6 at 200, baton:
        state.expired shared/result v1
    ");
}

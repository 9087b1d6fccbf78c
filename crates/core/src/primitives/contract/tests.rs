//! Declared contracts. `spec/scenarios/contracts.txt` has a complete example.

use super::Rejection;
use crate::limits;
use crate::testing::{check, check_codes, scenarios};

const PLAN: &str = r#"contract.declare plan keys=[{"key":"shared/plan","fields":["steps"]}]"#;

scenarios! {
    a_write_that_breaks_a_contract_is_refused => [
        (0, "bob",
            r#"contract.declare c keys=[{"key":"shared/a","type":"number"}] on_break="refuse""#,
            "contract.declared c"),
        (0, "ada", "state.set shared/a 1",     "state.set shared/a v1 = 1"),
        (0, "ada", r#"state.set shared/a "1""#, "refused contract.broken"),
        (0, "bob", r#"state.set shared/a "1""#, "refused contract.broken"),
        (0, "ada", "state.delete shared/a",    "refused contract.broken"),
        (0, "ada", "state.set shared/b true",  "state.set shared/b v1 = true"),
        (0, "ada", "all: state.set shared/b 2 & state.set shared/a null",
            "refused transaction.command_refused 1 contract.broken"),
        (0, "ada", "contract.delete c",        "refused contract.not_owner"),
        (0, "ada", r#"contract.declare c keys=[{"key":"shared/a"}]"#, "refused contract.not_owner"),
        (0, "bob", "contract.delete c",        "contract.deleted c"),
        (0, "bob", "contract.delete c",        "refused contract.not_found"),
        (0, "ada", "state.delete shared/a",    "state.deleted shared/a v1"),
        (0, "ada", "contract.list limit=0",    "refused contract.limit_out_of_range"),
        (0, "ada", r#"contract.declare c keys=[{"key":"a"}]"#, "refused contract.bad_field"),
        (0, "ada", "contract.declare c keys=[]", "refused contract.bad_field"),
        (0, "ada", r#"contract.declare c keys=[{"key":"shared/a","fields":[""]}]"#,
            "refused contract.bad_field"),
    ]

    a_break_that_is_not_refused_is_recorded_once_per_command => [
        (0, "bob", r#"contract.declare c keys=[{"key":"n/**","type":"number"}]"#,
            "contract.declared c"),
        (0, "ada", "namespace.create n",       "namespace.created n"),
        (0, "ada", "namespace.create m",       "namespace.created m"),
        (0, "ada", r#"state.set m/a "x""#,     r#"state.set m/a v1 = "x""#),
        (0, "ada", r#"state.set m/b "x""#,     r#"state.set m/b v1 = "x""#),
        (0, "ada", "state.transfer m n",
            "state.transferred n/a v1 = \"x\" from m v1 r4 by ada; state.transferred_away m/a v1; \
             state.transferred n/b v1 = \"x\" from m v1 r5 by ada; state.transferred_away m/b v1; \
             contract.broken c of bob: n/a None"),
        (0, "ada", "namespace.delete n",
            "namespace.deleted n; contract.broken c of bob: n/a None"),
    ]

    expiry_that_breaks_a_contract_is_recorded_and_not_refused => [
        (0, "bob", r#"contract.declare c keys=[{"key":"shared/a"}] on_break="refuse""#,
            "contract.declared c"),
        (0, "ada", "state.set shared/a 1 ttl_ms=100", "state.set shared/a v1 = 1 until 100"),
        (100, "ada", "time",
            "state.expired shared/a v1; contract.broken c of bob: shared/a None"),
    ]

    a_schema_that_excludes_or_guarantees_less_is_refused => [
        (0, "bob", r#"contract.declare c keys=[{"key":"n/k","type":"object","fields":["a"],
            "schema":{"properties":{"b":{"type":"integer"}}}}] on_break="refuse""#,
            "contract.declared c"),
        (0, "ada", r#"namespace.create n rules={"schema":{"type":"array"}}"#,
            "refused contract.broken"),
        (0, "ada", r#"namespace.create n rules={"schema":{"type":"object","required":["a"],
            "properties":{"b":{"type":"number"}}}}"#, "namespace.created n"),
        (0, "ada", r#"namespace.configure n rules={"schema":{"properties":{"a":{},"b":{}},
            "additionalProperties":false}}"#, "refused contract.broken"),
        (0, "ada", "namespace.configure n rules={}", "refused contract.broken"),
        (0, "ada", r#"namespace.configure n rules={"schema":{"required":["a"],
            "properties":{"b":{"type":"string"}}}}"#, "refused contract.broken"),
        (0, "ada", r#"namespace.configure n rules={"schema":{"required":["a","c"],
            "properties":{"b":{"type":"number"}}}}"#, "namespace.configured n"),
        (0, "ada", r#"namespace.configure n rules={"schema":{"required":["a","c"],
            "properties":{"b":{"type":"number"}}},
            "keys":[{"pattern":"k","rules":{"schema":false}}]}"#,
            "refused contract.broken"),
        (0, "ada", "namespace.configure n rules={\"ttl_ms\":5000}", "refused contract.broken"),
    ]

    a_namespace_with_an_entry_that_is_depended_on_stays => [
        (0, "bob", r#"contract.declare c keys=[{"key":"n/k"},{"key":"n/x*","optional":true}]
            on_break="refuse""#, "contract.declared c"),
        (0, "ada", "namespace.create n",       "namespace.created n"),
        (0, "ada", "state.set n/x1 1",         "state.set n/x1 v1 = 1"),
        (0, "ada", "state.set n/k 1",          "state.set n/k v1 = 1"),
        (0, "ada", "namespace.delete n",       "refused contract.broken"),
        (0, "bob", "contract.delete c",        "contract.deleted c"),
        (0, "ada", "namespace.delete n",       "namespace.deleted n"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = [
        "contract.schema_without_namespace",
        "contract.too_many",
        "contract.too_much",
        "contract.unknown_namespace",
    ];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn contracts_and_their_patterns_are_limited() {
    let mut world = check(&[]);
    let per_contract = limits::CONTRACT_KEYS_MAX;
    let keys = vec![r#"{"key":"shared/*"}"#; per_contract].join(",");
    for number in 0..limits::CONTRACT_PATTERNS_MAX / per_contract {
        world.run(0, "ada", &format!("contract.declare wild{number} keys=[{keys}]"));
    }
    let one_more = r#"contract.declare more keys=[{"key":"shared/*"}]"#;
    assert_eq!(world.run(0, "ada", one_more), "refused contract.too_many");
    // Replacing one does not count its patterns twice.
    let again = format!("contract.declare wild0 keys=[{keys}]");
    assert_eq!(world.run(0, "ada", &again), "contract.declared wild0");
    for number in world.space.contract.len()..limits::CONTRACTS_MAX {
        world.run(0, "ada", &format!(r#"contract.declare c{number} keys=[{{"key":"shared/a"}}]"#));
    }
    assert_eq!(world.run(0, "ada", PLAN), "refused contract.too_many");
}

#[test]
fn a_large_namespace_is_not_searched_for_a_pattern() {
    let mut world = check(&[]);
    world.run(0, "ada", "namespace.create n");
    let batch = 1_000;
    for number in 0..=limits::CONTRACT_ENTRIES_MAX / batch {
        world.run(0, "ada", &format!("many {batch} state.set n/k{number}-{{}} 1"));
    }
    world.run(0, "bob", r#"contract.declare c keys=[{"key":"n/*x"}]"#);
    assert_eq!(world.run(0, "ada", "namespace.delete n"), "refused contract.too_much");
}

#[test]
fn a_renamed_field_is_reported() {
    let mut world = check(&[]);
    world.run(0, "ada", r#"state.set shared/plan {"steps":[1,2],"by":"ada"}"#);
    world.run(0, "bob", PLAN);
    world.run(0, "ada", r#"state.set shared/plan {"stages":[1,2],"by":"ada"}"#);
    let events = world.batches().last().map(|batch| format!("{:?}", batch.events)).unwrap();
    assert!(events.contains("it may have been renamed to `stages`"), "{events}");
}

#[test]
fn all_commands_of_a_transaction_share_the_limit_of_checks() {
    let mut world = check(&[]);
    for number in 0..40 {
        let declared = format!(
            r#"contract.declare c{number} on_break="refuse"
                keys=[{{"key":"shared/*","schema":{{"type":"array"}}}}]"#
        );
        assert!(world.run(0, "bob", &declared).starts_with("contract.declared"));
    }
    let set = |key: &str| format!("state.set shared/{key} [{}1]", "1,".repeat(40_000));
    assert!(world.run(0, "ada", &set("a")).starts_with("state.set"));
    let together = format!("all: {} & {}", set("a"), set("b"));
    let refused = "refused transaction.command_refused 1 contract.broken";
    assert_eq!(world.run(0, "ada", &together), refused);
    assert!(world.run(0, "ada", &set("b")).starts_with("state.set"), "the next has its own");
}

/// A deleted contract leaves nothing behind for one that is declared in the same commit.
#[test]
fn a_contract_that_replaces_another_is_checked_by_its_own_pattern() {
    let mut world = check(&[]);
    let declare = |pattern: &str| {
        format!(
            r#"contract.declare c keys=[{{"key":"shared/a","schema":{{"pattern":"{pattern}"}}}}]
                on_break="refuse""#
        )
    };
    for _ in 0..20 {
        let all = format!(
            r#"all: {} & state.set shared/a "x" & contract.delete c force=true & {}
                & state.set shared/a "y" & contract.delete c force=true"#,
            declare("^x$"),
            declare("^y$")
        );
        let rendered = world.run(0, "bob", &all);
        assert!(rendered.contains("= \"y\""), "{rendered}");
    }
}

//! Scenarios of rules.

use super::{Check, On, Rejection, Rule, Severity};
use crate::limits;
use crate::names::{AgentId, RuleName};
use crate::numbers::Revision;
use crate::space::Space;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    a_rule_is_added_replaced_and_removed => [
        (0, "ada", "rule.list", "[]"),
        (0, "ada", "rule.remove tests", "refused rule.not_found"),
        (1, "ada", r#"rule.add tests check={"required_keys":["tests"]}"#,
            r#"rule.added tests error {"required_keys":["tests"]}"#),
        (2, "bob", r#"rule.add hops check={"hops_max":3} severity="warning" message="too-far""#,
            r#"rule.added hops warning {"hops_max":3}"#),
        (3, "bob", r#"rule.add tests on={"task_type":"code:*","from":"ada","to":"r-**"}
            check={"capability":"review"}"#,
            r#"rule.added tests error {"capability":"review"} replaced"#),
        (4, "ada", "rule.list", "[hops, tests]"),
        (4, "ada", "rule.list limit=1", "[hops] next=hops"),
        (4, "ada", r#"rule.list limit=1 cursor="hops""#, "[tests]"),
        (4, "ada", "rule.list limit=0", "refused rule.limit_out_of_range"),
        (4, "ada", "rule.list limit=10001", "refused rule.limit_out_of_range"),
        (5, "ada", "rule.remove tests", "rule.removed tests"),
        (5, "ada", "rule.remove tests", "refused rule.not_found"),
        (5, "ada", r#"#k rule.add alive check={"receiver_alive":true}"#,
            r#"rule.added alive error {"receiver_alive":true}; receipt.kept k"#),
        (5, "ada", r#"#k rule.add alive check={"receiver_alive":true}"#,
            "r5: rule alive by ada r5"),
        (5, "ada", "rule.list", "[alive, hops]"),
    ]

    a_rule_has_exactly_one_valid_check => [
        (0, "ada", "rule.add a check={}", "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"hops_max":1,"receiver_alive":true}"#,
            "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"receiver_alive":false}"#, "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"required_keys":[]}"#, "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"required_keys":["x",""]}"#, "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"capability":"a\nb"}"#, "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"expression":"state."}"#, "refused rule.bad_expression"),
        (0, "ada", r#"rule.add a check={"expression":"tasks.a","hops_max":1}"#,
            "refused rule.faulty_check"),
        (0, "ada", r#"rule.add a check={"hops_max":1} message=bytes:1027"#,
            "refused rule.message_too_long"),
        (0, "ada", r#"rule.add a check={"hops_max":0} message=bytes:1026"#,
            r#"rule.added a error {"hops_max":0}"#),
        (0, "ada", r#"rule.add b check={"state_bytes_max":0}"#,
            r#"rule.added b error {"state_bytes_max":0}"#),
        (0, "ada", r#"rule.add c check={"schema":{"type":"object","required":["plan"]}}"#,
            r#"rule.added c error {"schema":{"required":["plan"],"type":"object"}}"#),
        (0, "ada", r#"rule.add d check={"expression":"has(state.plan)"}"#,
            r#"rule.added d error {"expression":"has(state.plan)"}"#),
    ]

    rules_of_a_transaction_are_all_there_or_none => [
        (0, "ada", r#"rule.add a check={"hops_max":1}"#, r#"rule.added a error {"hops_max":1}"#),
        (0, "ada", r#"all: rule.add a check={"hops_max":2} & rule.add b check={"hops_max":2}
            & rule.remove a & rule.remove c"#,
            "refused transaction.command_refused 3 rule.not_found"),
        (0, "ada", "rule.list", "[a]"),
        (0, "ada", r#"all: rule.remove a & rule.add b check={"hops_max":2}"#,
            r#"rule.removed a; rule.added b error {"hops_max":2}"#),
        (0, "ada", "rule.list", "[b]"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = ["rule.too_many"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &[]);
}

#[test]
fn the_number_of_names_in_a_rule_is_limited() {
    let mut world = check(&[]);
    let asked = |count: usize| {
        let names: Vec<_> = (0..count).map(|number| format!("\"k{number}\"")).collect();
        format!(r#"rule.add a check={{"required_keys":[{}]}}"#, names.join(","))
    };
    let over = asked(limits::RULE_KEYS_MAX + 1);
    assert_eq!(world.run(0, "ada", &over), "refused rule.faulty_check");
    let most = asked(limits::RULE_KEYS_MAX);
    assert!(world.run(0, "ada", &most).starts_with("rule.added a error"));
}

/// A workspace with the maximum number of rules.
fn full() -> World {
    let mut head = Space::default().head();
    head.rules.extend((0..limits::RULES_MAX).map(|number| Rule {
        name: RuleName::parse(&format!("r{number}")).unwrap(),
        on: On::default(),
        check: Check::HopsMax(1),
        severity: Severity::Error,
        message: None,
        added_at: Timestamp(0),
        added_by: AgentId::engine(),
        revision: Revision(0),
    }));
    World::new(Space::restore(head, Vec::new()))
}

#[test]
fn a_full_workspace_accepts_no_rule_but_replaces_one() {
    full().check(&[
        (0, "ada", r#"rule.add a check={"hops_max":1}"#, "refused rule.too_many"),
        (
            0,
            "ada",
            r#"rule.add r1 check={"hops_max":2}"#,
            r#"rule.added r1 error {"hops_max":2} replaced"#,
        ),
        (0, "ada", "rule.remove r1", "rule.removed r1"),
        (0, "ada", r#"rule.add a check={"hops_max":1}"#, r#"rule.added a error {"hops_max":1}"#),
    ]);
}

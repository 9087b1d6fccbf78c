//! Derived contracts. `spec/scenarios/contracts.txt` has a complete example.

use crate::contract::Rejection;
use crate::limits;
use crate::testing::{check, check_codes, scenarios};

scenarios! {
    a_missing_required_key_is_described => [
        (0, "ada", r#"rule.add plan check={"required_keys":["shared/plan","tone"]}"#,
            r#"rule.added plan error {"required_keys":["shared/plan","tone"]}"#),
        (0, "ada", "contract.check", concat!(r#"{"problems":{"problems":[{"key":"shared/plan","#,
            r#""problem":"vanished","detail":"`shared/plan` does not exist","#,
            r#""depended_on_by":["rule:plan"]}]}}"#)),
        (0, "ada", "state.set shared/plan 1", "state.set shared/plan v1 = 1"),
        (0, "ada", "contract.check", r#"{"problems":{"problems":[]}}"#),
    ]

    a_schema_that_guarantees_less_is_described => [
        (0, "ada", r#"namespace.create n rules={"schema":{"required":["a","b"],
            "properties":{"a":{"type":"string"}}}}"#, "namespace.created n"),
        (0, "ada", r#"state.set n/k {"a":"x","b":1}"#, r#"state.set n/k v1 = {"a":"x","b":1}"#),
        (0, "ada", r#"rule.add k check={"required_keys":["n/k"]}"#,
            r#"rule.added k error {"required_keys":["n/k"]}"#),
        (0, "ada", r#"contract.check namespace="n" schema={"required":["a"]}"#, concat!(
            r#"{"problems":{"problems":[{"key":"n/k","problem":"schema","#,
            r#""detail":"`b` would no longer be required","depended_on_by":["rule:k"]},"#,
            r#"{"key":"n/k","problem":"schema","#,
            r#""detail":"`a` was of type \"string\" and could be anything","#,
            r#""depended_on_by":["rule:k"]}]}}"#)),
    ]

    invalid_queries_are_refused => [
        (0, "ada", r#"contract.check schema={"type":"object"}"#,
            "refused contract.schema_without_namespace"),
        (0, "ada", r#"contract.check namespace="nowhere""#, "refused contract.unknown_namespace"),
        (0, "ada", "contract.show limit=0", "refused contract.limit_out_of_range"),
        (0, "ada", "contract.show limit=10001", "refused contract.limit_out_of_range"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let declaring = ["bad_field", "broken", "not_found", "not_owner", "too_many", "too_much"];
    let elsewhere = declaring.map(|code| format!("contract.{code}"));
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere.each_ref().map(String::as_str));
}

#[test]
fn a_namespace_of_too_many_bytes_is_not_examined() {
    let mut world = check(&[]);
    let value = "x".repeat(1_000_000);
    let fitting = limits::CONTRACT_BYTES_MAX / (value.len() + 16);
    for number in 0..fitting {
        world.run(0, "ada", &format!(r#"state.set shared/k{number} "{value}""#));
    }
    let asked = r#"contract.check namespace="shared" schema={"type":"string"}"#;
    assert_eq!(world.run(0, "ada", asked), r#"{"problems":{"problems":[]}}"#);
    world.run(0, "ada", &format!(r#"state.set shared/more "{value}""#));
    assert_eq!(world.run(0, "ada", asked), "refused contract.too_much");
}

#[test]
fn a_namespace_that_is_too_large_is_not_examined() {
    let mut world = check(&[]);
    let batch = 1_000;
    for number in 0..limits::CONTRACT_ENTRIES_MAX / batch {
        world.run(0, "ada", &format!("many {batch} state.set shared/k{number}-{{}} 1"));
    }
    let asked = r#"contract.check namespace="shared" schema={"type":"number"}"#;
    assert_eq!(world.run(0, "ada", asked), r#"{"problems":{"problems":[]}}"#);
    world.run(0, "ada", "state.set shared/one-more 1");
    assert_eq!(world.run(0, "ada", asked), "refused contract.too_much");
}

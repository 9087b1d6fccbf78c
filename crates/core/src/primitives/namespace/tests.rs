//! Scenarios of namespaces.

use super::{Namespace, Rejection};
use crate::limits;
use crate::names::{AgentId, NamespaceName};
use crate::namespace::rules::Rules;
use crate::numbers::Revision;
use crate::space::Space;
use crate::testing::{World, check, check_codes, check_coverage, scenarios};
use crate::time::Timestamp;

scenarios! {
    a_namespace_is_created_and_deleted_with_its_entries => [
        (0, "ada", "namespace.get shared",    "namespace shared by baton r0"),
        (1, "ada", "namespace.get a",         "refused namespace.not_found"),
        (1, "ada", "namespace.configure a rules={}", "refused namespace.not_found"),
        (1, "ada", "namespace.delete a",      "refused namespace.not_found"),
        (1, "ada", "namespace.create a",      "namespace.created a"),
        (2, "bob", "namespace.create a",      "refused namespace.exists"),
        (2, "bob", "namespace.create shared", "refused namespace.exists"),
        (2, "bob", "namespace.get a",         "namespace a by ada r1"),
        (2, "bob", r#"namespace.configure a rules={"append_only":true}"#,
            "namespace.configured a"),
        (2, "bob", "namespace.get a",         "namespace a by ada r2"),
        (3, "ada", "many 20 state.set a/k{} 1 ttl_ms=5", "20 state.set"),
        (3, "ada", "state.set a/plain 1",     "state.set a/plain v1 = 1"),
        (3, "ada", "namespace.delete a",      "namespace.deleted a"),
        (9, "ada", "time",                    "nothing"),
        (9, "ada", "state.get a/k1",          "refused state.unknown_namespace"),
        (9, "ada", "namespace.create a",      "namespace.created a"),
        (9, "ada", "state.list a",            "[]"),
        (9, "ada", "state.set a/k1 1",        "state.set a/k1 v2 = 1"),
        (9, "ada", "state.set a/k1 2",        "state.set a/k1 v3 = 2"),
        (9, "ada", "namespace.delete shared", "refused namespace.permanent"),
    ]

    the_rules_of_shared_can_be_changed => [
        (0, "ada", r#"namespace.configure shared rules={"ttl_ms":5}"#,
            "namespace.configured shared"),
        (0, "ada", "state.set shared/a 1",    "state.set shared/a v1 = 1 until 5"),
        (0, "ada", "namespace.configure shared rules={}", "namespace.configured shared"),
        (0, "ada", "state.set shared/a 1",    "state.set shared/a v2 = 1"),
    ]

    rules_must_make_sense => [
        (0, "ada", r#"namespace.create a rules={"ttl_ms":0}"#, "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"ttl_ms":316224000001}"#,
            "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"value_bytes_max":0}"#,
            "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"value_bytes_max":1048577}"#,
            "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"keys":[{"pattern":"x","rules":{"ttl_ms":0}}]}"#,
            "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"keys":[{"pattern":"x","rules":{"keys":
            [{"pattern":"y","rules":{}}]}}]}"#, "refused namespace.faulty_rules"),
        (0, "ada", r#"namespace.create a rules={"value_bytes_max":1048576,"ttl_ms":1}"#,
            "namespace.created a"),
        (0, "ada", r#"namespace.configure a rules={"ttl_ms":0}"#, "refused namespace.faulty_rules"),
    ]

    a_changed_schema_needs_a_newer_version => [
        (0, "ada", r#"namespace.create a rules={"schema":{"type":"object"},"schema_version":2}"#,
            "namespace.created a"),
        (0, "ada", r#"namespace.configure a rules={"schema":{"type":"object"},"schema_version":2}"#,
            "namespace.configured a"),
        (0, "ada", r#"namespace.configure a rules={"schema":{"type":"array"},"schema_version":2}"#,
            "refused namespace.old_schema_version"),
        (0, "ada", r#"namespace.configure a rules={"schema":{"type":"object"},"schema_version":1}"#,
            "refused namespace.old_schema_version"),
        (0, "ada", r#"namespace.configure a rules={"schema":{"type":"array"}}"#,
            "refused namespace.old_schema_version"),
        (0, "ada", r#"namespace.configure a rules={"schema":{"type":"array"},"schema_version":3}"#,
            "namespace.configured a"),
        (0, "ada", "namespace.configure a rules={}", "namespace.configured a"),
        (0, "ada", r#"namespace.configure a rules={"keys":[
            {"pattern":"k","rules":{"schema":{"type":"null"},"schema_version":5}}]}"#,
            "namespace.configured a"),
        (0, "ada", r#"namespace.configure a rules={"keys":[
            {"pattern":"other","rules":{"schema":{"type":"array"},"schema_version":1}},
            {"pattern":"k","rules":{"schema":{"type":"array"},"schema_version":5}}]}"#,
            "refused namespace.old_schema_version"),
        (0, "ada", r#"namespace.configure a rules={"keys":[
            {"pattern":"k","rules":{"schema":{"type":"array"},"schema_version":6}}]}"#,
            "namespace.configured a"),
    ]

    namespaces_come_page_by_page => [
        (0, "ada", "many 3 namespace.create n{}",
            "namespace.created n0; namespace.created n1; namespace.created n2"),
        (0, "ada", "namespace.list",               "[n0, n1, n2, shared]"),
        (0, "ada", "namespace.list limit=2",       "[n0, n1] next=n1"),
        (0, "ada", r#"namespace.list limit=2 cursor="n1""#, "[n2, shared]"),
        (0, "ada", r#"namespace.list cursor="z""#, "[]"),
        (0, "ada", "namespace.list limit=0",       "refused namespace.limit_out_of_range"),
        (0, "ada", "namespace.list limit=10001",   "refused namespace.limit_out_of_range"),
    ]

    a_policy_accepts_an_existing_namespace => [
        (0, "ada", "namespace.create agent:ada",   "namespace.created agent:ada"),
        (0, "ada", "state.set agent:ada/a 1",      "state.set agent:ada/a v1 = 1"),
        (0, "ada", "agent.register ada",           "agent.joined ada token=3 ttl=60000"),
        (0, "ada", "namespace.delete agent:ada",   "namespace.deleted agent:ada"),
        (0, "ada", "agent.register ada",
            "agent.joined ada token=5 ttl=60000; namespace.created agent:ada"),
    ]
}

#[test]
fn every_refusal_is_reached() {
    let elsewhere = ["namespace.too_many"];
    check_codes(Rejection::REFUSALS, SCENARIOS, &elsewhere);
}

#[test]
fn every_event_happens() {
    check_coverage(include_str!("vocabulary.rs"), "kind", SCENARIOS, World::kinds, &[]);
}

#[test]
fn too_many_key_patterns_make_no_sense() {
    let rules = |count: usize| {
        let one = |number| format!(r#"{{"pattern":"{number}","rules":{{}}}}"#);
        format!(r#"{{"keys":[{}]}}"#, (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    let mut world = check(&[]);
    let asked = |count| format!("namespace.create a rules={}", rules(count));
    assert_eq!(world.run(0, "ada", &asked(65)), "refused namespace.faulty_rules");
    assert_eq!(world.run(0, "ada", &asked(64)), "namespace.created a");
}

/// A workspace with the maximum number of namespaces.
fn full() -> World {
    let mut head = Space::default().head();
    head.namespaces.extend((1..limits::NAMESPACES_MAX).map(|number| Namespace {
        name: NamespaceName::parse(&format!("n{number}")).unwrap(),
        rules: Rules::default(),
        created_at: Timestamp(0),
        created_by: AgentId::engine(),
        revision: Revision(0),
    }));
    World::new(Space::restore(head, Vec::new()))
}

#[test]
fn a_full_workspace_accepts_no_namespace_and_no_new_agent() {
    full().check(&[
        (0, "ada", "namespace.create a", "refused namespace.too_many"),
        (0, "ada", "namespace.create n1", "refused namespace.exists"),
        (0, "ada", "agent.register ada", "refused namespace.too_many"),
        (0, "ada", "namespace.delete n1", "namespace.deleted n1"),
        (
            0,
            "ada",
            "agent.register ada",
            "agent.joined ada token=2 ttl=60000; namespace.created agent:ada",
        ),
    ]);
}

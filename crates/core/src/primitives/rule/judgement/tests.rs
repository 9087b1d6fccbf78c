//! The values that each check accepts, and its findings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Judgement, Proposal, Receiver};
use crate::command::Command;
use crate::json::Json;
use crate::names::{AgentId, TaskType};
use crate::space::CommitEffort;
use crate::testing::World;
use crate::time::Timestamp;

/// A proposal as text, so that tests change one thing at a time.
struct Offer {
    to: Option<&'static str>,
    capability: Option<&'static str>,
    task_type: Option<&'static str>,
    state: Value,
    /// Whether the receiver is active, and its capabilities.
    receiver: Option<(bool, &'static [&'static str])>,
    hops: u64,
}

fn offer() -> Offer {
    Offer {
        to: Some("bob"),
        capability: None,
        task_type: Some("code:fix"),
        state: json!({"plan": "p", "shared/notes": [1, 2]}),
        receiver: Some((true, &["review"])),
        hops: 2,
    }
}

/// The judgement of rules, each given as the fields of `rule.add`, about an offer.
fn judged(rules: &[Value], offer: &Offer) -> Judgement {
    let mut world = World::new(crate::Space::default());
    for (number, rule) in rules.iter().enumerate() {
        let mut fields = rule.clone();
        fields["name"] = json!(format!("r{number}"));
        let command: Command = serde_json::from_value(json!({"rule": {"add": fields}})).unwrap();
        let rendered = world.commit(command.into(), &AgentId::engine(), Timestamp(0));
        assert!(rendered.starts_with("rule.added"), "{rule}: {rendered}");
    }
    let from = AgentId::parse("ada").unwrap();
    let to = offer.to.map(|to| AgentId::parse(to).unwrap());
    let task_type = offer.task_type.map(|name| TaskType::parse(name).unwrap());
    let task = Json::of(&json!({"id": "t1", "type": offer.task_type, "priority": 5})).unwrap();
    let fields = offer.state.as_object().unwrap().iter();
    let state: BTreeMap<String, Json> =
        fields.map(|(name, value)| (name.clone(), Json::of(value).unwrap())).collect();
    let names = offer.receiver.map_or(&[][..], |(_, names)| names);
    let capabilities: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let receiver =
        offer.receiver.map(|(is_active, _)| Receiver { is_active, capabilities: &capabilities });
    let proposal = Proposal {
        from: &from,
        to: to.as_ref(),
        capability: offer.capability,
        task: Some(&task),
        task_type: task_type.as_ref(),
        state: &state,
        receiver,
        hops: offer.hops,
        reason: Some("tired"),
    };
    world.space.rule.judge(&proposal, &CommitEffort::default()).expect("it takes little")
}

/// The finding of one check, if any.
fn said(check: &Value, offer: &Offer) -> Option<String> {
    let mut judgement = judged(&[json!({ "check": check })], offer);
    assert!(judgement.warnings.is_empty() && judgement.errors.len() <= 1);
    judgement.errors.pop().map(|finding| {
        let broken = if finding.broken { "broken " } else { "" };
        format!("{broken}{}", finding.detail)
    })
}

#[track_caller]
fn passes(check: &Value, offer: &Offer) {
    assert_eq!(said(check, offer), None);
}

#[track_caller]
fn objects(check: &Value, offer: &Offer, detail: &str) {
    assert_eq!(said(check, offer).as_deref(), Some(detail));
}

#[test]
fn keys_that_are_required_must_be_there() {
    passes(&json!({"required_keys": ["plan", "shared/notes"]}), &offer());
    objects(
        &json!({"required_keys": ["tests", "plan", "notes"]}),
        &offer(),
        "the state lacks `tests`, `notes`",
    );
    let many: Vec<_> = (0..7).map(|number| number.to_string()).collect();
    objects(
        &json!({ "required_keys": many }),
        &offer(),
        "the state lacks `0`, `1`, `2`, `3`, `4` and 2 more",
    );
}

#[test]
fn the_state_as_one_object_satisfies_its_schema() {
    let schema = json!({"schema": {
        "required": ["plan"],
        "properties": {"plan": {"type": "string"}, "shared/notes": {"maxItems": 2}},
    }});
    passes(&schema, &offer());
    let other = Offer { state: json!({"plan": 7}), ..offer() };
    objects(&schema, &other, "value violates its schema at `/plan`: 7 is not of type \"string\"");
    let other = Offer { state: json!({}), ..offer() };
    objects(&schema, &other, "value violates its schema at ``: \"plan\" is a required property");
}

#[test]
fn a_schema_that_takes_too_much_work_cannot_be_run() {
    let twice = json!([{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]);
    let schema = json!({"schema": {
        "$defs": {"a": {"anyOf": [{"type": "null"}, {"items": {"anyOf": twice}}]}},
        "additionalProperties": {"$ref": "#/$defs/a"},
    }});
    let deep = (0..20).fold(json!(1), |inner, _| json!([inner]));
    let other = Offer { state: json!({ "deep": deep }), ..offer() };
    let detail = said(&schema, &other).unwrap();
    assert!(detail.starts_with("broken the rule cannot be run: the schema takes more"), "{detail}");
}

#[test]
fn an_expression_is_true() {
    let expression = |source: &str| json!({ "expression": source });
    for source in [
        "state.plan == 'p' && state['shared/notes'][1] == 2",
        "from == 'ada' && to == 'bob' && capability == null && reason == 'tired'",
        "task.priority == 5 && task.type == task_type && task_type.startsWith('code:')",
        "receiver.active && 'review' in receiver.capabilities && hops == 2",
    ] {
        passes(&expression(source), &offer());
    }
    objects(&expression("hops < 2"), &offer(), "`hops < 2` is false");
    let nobody = Offer { to: None, receiver: None, task_type: None, ..offer() };
    passes(&expression("to == null && receiver == null && task_type == null"), &nobody);
    passes(&expression("!has(receiver.active)"), &nobody);
    objects(
        &expression("receiver.active"),
        &nobody,
        "broken the rule cannot be run: at byte 9: null has no fields and no elements",
    );
    let long = format!("{}hops < 2", "hops == 2 && ".repeat(200));
    let detail = said(&expression(&long), &offer()).unwrap();
    assert_eq!(detail.chars().count(), crate::json::REASON_CHARACTERS_MAX);
}

#[test]
fn a_rule_that_cannot_be_evaluated_blocks_even_as_a_warning() {
    let rules = [
        json!({"check": {"expression": "state.missing"}, "severity": "warning", "message": "ask"}),
        json!({"check": {"expression": "hops > 2"}, "severity": "warning"}),
    ];
    let rendered = serde_json::to_value(judged(&rules, &offer())).unwrap();
    let detail = "ask: the rule cannot be run: at byte 6: there is no `missing`";
    assert_eq!(
        rendered,
        json!({
            "errors": [{"rule": "r0", "detail": detail, "broken": true}],
            "warnings": [{"rule": "r1", "detail": "`hops > 2` is false"}],
        })
    );
}

#[test]
fn the_receiver_has_the_capability_or_must_have_it() {
    let check = || json!({"capability": "review"});
    passes(&check(), &offer());
    let other = Offer { receiver: Some((true, &["write"])), ..offer() };
    objects(&check(), &other, "`bob` does not have capability `review`");
    let other = Offer { receiver: None, ..offer() };
    objects(
        &check(),
        &other,
        "`bob` is not registered, so it is not known to have capability `review`",
    );
    let anybody = Offer { to: None, receiver: None, capability: Some("review"), ..offer() };
    passes(&check(), &anybody);
    let anybody = Offer { capability: Some("write"), ..anybody };
    objects(&check(), &anybody, "it names neither an agent nor the capability `review`");
}

#[test]
fn the_receiver_has_a_session() {
    let check = || json!({"receiver_alive": true});
    passes(&check(), &offer());
    let other = Offer { receiver: Some((false, &[])), ..offer() };
    objects(&check(), &other, "the session of `bob` has ended");
    objects(&check(), &Offer { receiver: None, ..offer() }, "`bob` is not registered");
    passes(&check(), &Offer { to: None, receiver: None, ..offer() });
}

#[test]
fn numbers_are_not_exceeded() {
    // `plan` and `"p"`, `shared/notes` and `[1,2]`.
    passes(&json!({"state_bytes_max": 4 + 3 + 12 + 5}), &offer());
    objects(
        &json!({"state_bytes_max": 23}),
        &offer(),
        "there are 24 bytes of state, at most 23 are allowed",
    );
    passes(&json!({"hops_max": 2}), &offer());
    objects(&json!({"hops_max": 1}), &offer(), "there are 2 hops, at most 1 are allowed");
}

#[test]
fn a_rule_is_evaluated_only_where_it_applies() {
    let applies = |on: Value, offer: &Offer| {
        !judged(&[json!({"on": on, "check": {"hops_max": 0}})], offer).is_valid()
    };
    assert!(applies(json!({}), &offer()));
    assert!(applies(json!({"task_type": "code:*", "from": "a*", "to": "bob"}), &offer()));
    assert!(!applies(json!({"task_type": "code"}), &offer()));
    assert!(!applies(json!({"from": "bob"}), &offer()));
    assert!(!applies(json!({"task_type": "code:*", "to": "ada"}), &offer()));
    let nothing = Offer { to: None, task_type: None, ..offer() };
    assert!(applies(json!({}), &nothing));
    assert!(!applies(json!({"task_type": "**"}), &nothing));
    assert!(!applies(json!({"to": "**"}), &nothing));
}

#[test]
fn findings_are_sorted_by_severity_and_begin_with_the_message_of_the_rule() {
    let rules = [
        json!({"check": {"hops_max": 1}, "severity": "warning", "message": "ask a person"}),
        json!({"check": {"required_keys": ["tests"]}, "message": "run the tests first"}),
        json!({"check": {"hops_max": 2}}),
        json!({"check": {"required_keys": ["other"]}}),
    ];
    let rendered = serde_json::to_value(judged(&rules, &offer())).unwrap();
    assert_eq!(
        rendered,
        json!({
            "errors": [
                {"rule": "r1", "detail": "run the tests first: the state lacks `tests`"},
                {"rule": "r3", "detail": "the state lacks `other`"},
            ],
            "warnings": [
                {"rule": "r0", "detail": "ask a person: there are 2 hops, at most 1 are allowed"},
            ],
        })
    );
    assert_eq!(serde_json::from_value::<Judgement>(rendered).unwrap(), judged(&rules, &offer()));
    assert_eq!(serde_json::to_value(judged(&[], &offer())).unwrap(), json!({}));
}

#[test]
fn rules_share_the_work_that_their_schemas_may_cost() {
    let mut state = 1_u64;
    let bit = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 40 & 1 == 0 { '0' } else { '1' }
    };
    let noise: String = (0..60_000).map(bit).collect();
    let slow = |at: usize| {
        let pattern = format!("^[01]*1[01]{{{}}}[^01]", 100 + at);
        json!({"check": {"schema": {"properties": {"plan": {"pattern": pattern}}}}})
    };
    let rules: Vec<Value> = (0..40).map(slow).collect();
    let judgement = judged(&rules, &Offer { state: json!({"plan": noise}), ..offer() });
    assert_eq!(judgement.errors.len(), 40);
    let broken = judgement.errors.iter().filter(|finding| finding.broken);
    assert_eq!(broken.count(), 40, "what came to no end has found nothing");
}

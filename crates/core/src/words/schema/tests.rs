use serde_json::json;

use super::*;
use crate::json::REASON_CHARACTERS_MAX;
use crate::messagepack;

fn json(value: &Value) -> Json {
    Json::of(value).unwrap()
}

fn schema(source: &Value) -> Schema {
    Schema::compile(&json(source)).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn refusal(source: &Value) -> String {
    Schema::compile(&json(source)).expect_err("the schema is refused").to_string()
}

fn violation(source: &Value, value: &Value) -> String {
    schema(source).check(&json(value)).expect_err("the value is refused").to_string()
}

fn person() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        },
        "additionalProperties": false,
        "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
    })
}

#[test]
fn values_that_satisfy_pass() {
    let schema = schema(&person());
    for value in [
        json!({"name": "ada"}),
        json!({"name": "ada", "age": 36}),
        json!({"name": "ada", "age": 36.0, "tags": ["math", "engines"]}),
    ] {
        assert_eq!(schema.check(&json(&value)), Ok(()), "{value}");
    }
}

#[test]
fn the_first_violation_is_named() {
    for (value, expected) in [
        (json!(1), r#"value violates its schema at ``: 1 is not of type "object""#),
        (json!({}), r#"value violates its schema at ``: "name" is a required property"#),
        (
            json!({"name": "ada", "age": -1}),
            "value violates its schema at `/age`: -1 is less than the minimum of 0",
        ),
        (
            json!({"name": "ada", "tags": ["math", "B"]}),
            r#"value violates its schema at `/tags/1`: "B" does not match "^[a-z]+$""#,
        ),
    ] {
        assert_eq!(violation(&person(), &value), expected, "{value}");
    }
}

#[test]
fn a_long_reason_is_shortened_and_still_names_the_error() {
    let value = json!({"name": "é".repeat(10_000), "age": "x".repeat(10_000)});
    let refused = schema(&person()).check(&json(&value)).unwrap_err();
    assert_eq!(refused.path, "/age");
    assert_eq!(refused.reason, r#"value is not of type "integer""#);
    let key = "k".repeat(10_000);
    let refused = schema(&json!({"additionalProperties": {"type": "string"}}))
        .check(&json(&json!({ key: 1 })))
        .unwrap_err();
    assert_eq!(refused.path.chars().count(), REASON_CHARACTERS_MAX);
}

#[test]
fn an_invalid_schema_is_refused() {
    for (source, expected) in [
        (json!(1), r#"invalid schema at ``: 1 is not of types "boolean", "object""#),
        (
            json!({"properties": {"a": {"type": "text"}}}),
            concat!(
                "invalid schema at `/properties/a/type`: ",
                "\"text\" is not valid under any of the schemas"
            ),
        ),
        (json!({"minimum": "1"}), r#"invalid schema at `/minimum`: "1" is not of type "number""#),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            "invalid schema at `/$schema`: draft 4 is not supported, use 2020-12",
        ),
        (
            json!({"$schema": "https://elsewhere.example/schema"}),
            "invalid schema at ``: Unknown meta-schema: 'https://elsewhere.example/schema'",
        ),
        (
            json!({"$defs": {"a": {"description": "a".repeat(SCHEMA_BYTES_MAX)}}}),
            "a schema has at most 65536 bytes, got 65570",
        ),
    ] {
        assert!(refusal(&source).starts_with(expected), "{}", refusal(&source));
    }
}

#[test]
fn drafts_are_known_by_their_name() {
    let tuple = |schema: &str| json!({"$schema": schema, "items": [{"type": "string"}]});
    assert!(Schema::compile(&json(&tuple("http://json-schema.org/draft-07/schema#"))).is_ok());
    assert!(
        Schema::compile(&json(&tuple("https://json-schema.org/draft/2020-12/schema"))).is_err()
    );
    assert!(Schema::compile(&json(&json!({"items": [{"type": "string"}]}))).is_err());
    assert!(Schema::compile(&json(&json!({"prefixItems": [{"type": "string"}]}))).is_ok());
    assert!(Schema::compile(&json(&json!(true))).is_ok());
}

#[test]
fn nothing_outside_of_the_schema_can_be_referred_to() {
    for reference in [
        "http://localhost:1/schema.json",
        "https://json-schema.org/draft/2020-12/schema",
        "file:///schema.json",
        "other.json",
        "other.json#/a",
        "urn:a:b",
        "#anchor",
        "#/nowhere",
        "#/$defs/%6",
        "#/$defs/%62",
        "",
    ] {
        let text =
            format!("reference `{reference}` must be `#`, or `#/` and a path within the schema");
        for source in [
            json!({"$ref": reference, "$defs": {"a": {"$anchor": "anchor"}}}),
            json!({"properties": {"a": {"anyOf": [{"$ref": reference}]}}}),
            json!({"$defs": {"a": {"$defs": {"b": {"$ref": reference}}}}}),
            json!({"$ref": "#/elsewhere/a", "elsewhere": {"a": {"$ref": reference}}}),
        ] {
            assert_eq!(refusal(&source), text, "{source}");
        }
    }
}

#[test]
fn references_are_pointers_with_escapes() {
    let definitions = json!({"a/b": {"type": "string"}, "c~d e": {"type": "null"}});
    for (reference, value) in [
        ("#/$defs/a~1b", json!("a")),
        ("#/$defs/a%7E1b", json!("a")),
        ("#/%24defs/%61~1b", json!("a")),
        ("#/$defs/c~0d%20e", json!(null)),
    ] {
        let schema = schema(&json!({"$ref": reference, "$defs": definitions}));
        assert_eq!(schema.check(&json(&value)), Ok(()), "{reference}");
        assert!(schema.check(&json(&json!(1))).is_err(), "{reference}");
    }
}

#[test]
fn schemas_within_the_schema_are_refused() {
    for (source, expected) in [
        (json!({"$dynamicRef": "#a"}), "keyword `$dynamicRef` is not supported"),
        (json!({"not": {"$recursiveRef": "#"}}), "keyword `$recursiveRef` is not supported"),
        (
            json!({"$defs": {"a": {"$id": "urn:a"}}}),
            "keyword `$id` is not supported below the root",
        ),
        (
            json!({"items": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}),
            "keyword `$schema` is not supported below the root",
        ),
        (
            json!({"$ref": "#/x/y/z", "x": {"y": {"$id": "urn:a", "z": {}}}}),
            "reference `#/x/y/z` must be `#`, or `#/` and a path within the schema",
        ),
    ] {
        assert_eq!(refusal(&source), expected);
    }
    let sound = json!({"$id": "urn:root", "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}});
    assert_eq!(schema(&sound).check(&json(&json!("a"))), Ok(()));
    let named_like_keywords = json!({"properties": {"$ref": {"type": "string"}, "$id": true}});
    assert!(Schema::compile(&json(&named_like_keywords)).is_ok());
}

#[test]
fn regular_expressions_are_linear_and_bounded() {
    let unusable = "unusable regular expression, write it without lookaround and backreference";
    for pattern in ["(?=a)b", r"(a)\1", r"\p{L}{99}", "((a{100}){100}){100}"] {
        let text = refusal(&json!({"pattern": pattern}));
        assert!(text.starts_with(&format!("invalid schema at `/pattern`: {unusable}")), "{text}");
        assert!(Schema::compile(&json(&json!({"patternProperties": {pattern: true}}))).is_err());
    }
    let letters = schema(&json!({"pattern": r"^\p{L}+[\w.-]{0,99}$"}));
    assert_eq!(letters.check(&json(&json!("né"))), Ok(()));
    let hungry = schema(&json!({"pattern": "^(a+)+$"}));
    assert!(hungry.check(&json(&json!("a".repeat(100_000) + "b"))).is_err());
    let many: Vec<Value> = (0..=REGEXES_MAX).map(|_| json!({"pattern": "a"})).collect();
    assert_eq!(
        refusal(&json!({ "allOf": many })),
        "a schema has at most 64 regular expressions, got 65"
    );
}

/// The schema of this many expressions of half a megabyte each, none of them like another.
fn hungry(count: usize) -> Value {
    hungry_for(count, 'x')
}

fn hungry_for(count: usize, letter: char) -> Value {
    let hungry =
        |at| json!({"pattern": format!(r"^\p{{L}}{{{}}}{letter}{{{}}}$", 10 + at % 5, 1 + at / 5)});
    json!({"anyOf": (0..count).map(hungry).collect::<Vec<_>>()})
}

#[test]
fn expressions_have_a_bound_together() {
    let refused = refusal(&hungry(60));
    let expected = "the regular expressions of a schema take at most 4194304 bytes when they are";
    assert!(refused.starts_with(expected), "{refused}");
    let ordinary = [
        "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        r"^\d{4}-\d{2}-\d{2}$",
        r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
        "^[a-z]{1,64}$",
    ];
    let ordinary: Vec<Value> =
        (0..REGEXES_MAX).map(|at| json!({"pattern": ordinary[at % 4]})).collect();
    assert!(schema(&json!({"anyOf": ordinary})).regexes_bytes() < REGEXES_BYTES_MAX / 4);
    assert!(Schema::compile(&json(&json!({"pattern": r"^\p{L}{1,20}$"}))).is_ok());
}

#[test]
fn a_schema_that_is_only_read_builds_no_automaton() {
    let before = automata_built();
    // Expressions that no other test has built: automata are shared by all threads.
    let read = schema(&hungry_for(8, 'y'));
    assert!(Schema::compile(&json(&hungry(60))).is_err());
    assert!(Schema::compile(&json(&json!({"pattern": "("}))).is_err());
    let again: Schema = serde_json::from_str(read.source().as_str()).unwrap();
    assert_eq!(automata_built(), before);
    assert!(again.check(&json(&json!("1"))).is_err());
    assert_eq!(automata_built(), before + 8, "they are needed");
    assert!(read.check(&json(&json!("1"))).is_err());
    assert_eq!(automata_built(), before + 8, "the same are shared");
}

#[test]
fn a_schema_of_the_log_is_accepted() {
    let packed = rmp_serde::to_vec_named(&json(&hungry(60))).unwrap();
    let stored = messagepack::from_slice::<Schema>(&packed).unwrap();
    assert!(serde_json::from_str::<Schema>(stored.source().as_str()).is_err());
    assert_eq!(stored.check(&json(&json!("é".repeat(10) + "x"))), Ok(()));
    assert!(stored.check(&json(&json!("1"))).unwrap_err().reason.contains("anyOf"));
}

/// Zeros and ones without any order that a small automaton could know.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let bit = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        if state >> 40 & 1 == 0 { '0' } else { '1' }
    };
    (0..bytes).map(bit).collect()
}

#[test]
fn an_expression_that_takes_too_long_on_a_text_is_stopped() {
    let slow = "value violates its schema at ``: a regular expression takes too long on this value";
    let text = json!(noise(1_000_000));
    for repeated in [100, 1_000] {
        let pattern = format!("^[01]*1[01]{{{repeated}}}[^01]");
        for schema in [
            json!({ "pattern": pattern }),
            json!({"not": {"pattern": pattern}}),
            json!({"anyOf": [{"pattern": pattern}, {"type": "number"}]}),
        ] {
            assert_eq!(violation(&schema, &text), slow, "{repeated}");
        }
        let named = json!({"patternProperties": {pattern: {"type": "number"}}});
        assert_eq!(violation(&named, &json!({noise(60_000): 1})), slow, "{repeated}");
    }
    let many: Vec<Value> =
        (20..80).map(|at| json!({"pattern": format!("^[01]*1[01]{{{at}}}[^01]")})).collect();
    assert_eq!(violation(&json!({ "anyOf": many }), &text), slow);
    let long = noise(300_000);
    let short: Vec<&str> = (0..300).map(|at| &long[at * 1_000..(at + 1) * 1_000]).collect();
    let items = json!({"items": {"not": {"pattern": "^[01]*1[01]{100}[^01]"}}});
    assert_eq!(violation(&items, &json!(short)), slow, "many short texts are like a long one");
}

#[test]
fn ordinary_expressions_pass_on_long_texts() {
    let text = json!("Lorem ipsum dolor sit amet, né. ".repeat(30_000));
    for pattern in [r"^[\p{L} .,]+$", "^(Lorem|ipsum|[^x])*$", "amet, né. $", "^.{10,500}", "x|n"]
    {
        assert_eq!(schema(&json!({"pattern": pattern})).check(&json(&text)), Ok(()), "{pattern}");
    }
    let words = json!(vec!["0b1e0b1e-6d1c-4d4f-8a3b-2f1c0d9e8a7b"; 20_000]);
    let uuid = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
    let all = json!({"items": {"pattern": uuid, "maxLength": 36}});
    assert_eq!(schema(&all).check(&json(&words)), Ok(()));
}

#[test]
fn a_value_is_found_among_many_options() {
    let options: Vec<Value> = (0..3_000).map(|at| json!({"kind": 3_000 - at})).collect();
    let values: Vec<Value> = (0..20_000).map(|at| json!({"kind": 1 + at % 3_000})).collect();
    let schema = schema(&json!({"items": {"enum": options}}));
    assert_eq!(schema.check(&json(&json!(values))), Ok(()));
    let text = schema.check(&json(&json!([{"kind": 0}]))).unwrap_err().to_string();
    assert!(text.contains(r#"is not one of {"kind":3000}, {"kind":2999}"#), "{text}");
}

#[test]
fn operands_and_texts_are_part_of_the_work() {
    let names: Vec<String> = (0..4_000).map(|at| format!("n{at}")).collect();
    let named: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!(true))).collect();
    let empty = json!(vec![json!({}); 50_000]);
    let lists: serde_json::Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!(["x"]))).collect();
    for part in [json!({"properties": named}), json!({"dependentRequired": lists})] {
        assert!(violation(&json!({"items": part}), &empty).contains("steps on this value"));
    }
    let lengths: Vec<Value> = (0..2_000).map(|_| json!({"maxLength": 9_999_999})).collect();
    let text = json!("a".repeat(1_000_000));
    assert!(violation(&json!({"allOf": lengths}), &text).contains("steps on this value"));
}

/// A chain of definitions, each built from the next.
fn chain(count: usize, link: impl Fn(&str) -> Value, last: Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for at in 0..count {
        definitions.insert(format!("d{at}"), link(&format!("#/$defs/d{}", at + 1)));
    }
    definitions.insert(format!("d{count}"), last);
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ "x": inner }))
}

#[test]
fn branches_that_multiply_are_stopped() {
    let doubling =
        chain(60, |next| json!({"anyOf": [{"$ref": next}, {"$ref": next}]}), json!(false));
    assert_eq!(
        violation(&doubling, &json!(1)),
        "value violates its schema at ``: the schema takes more than 10064 steps on this value"
    );
    let along_the_value =
        json!({"type": "object", "properties": {"x": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    let text = violation(&along_the_value, &nested(60));
    assert!(text.ends_with("takes more than 13904 steps on this value"), "{text}");
    assert!(violation(&along_the_value, &nested(3)).contains("anyOf"));
    let repeating = chain(
        20,
        |next| json!({"allOf": [{"$ref": next}], "unevaluatedProperties": false}),
        json!(true),
    );
    let value = json!({"a": 1, "b": 2, "c": 3});
    assert!(violation(&repeating, &value).contains("steps on this value"));
    let broad: Vec<Value> = (0..600).map(|_| json!({"additionalProperties": true})).collect();
    let wide = Value::Object((0..5_000).map(|at| (at.to_string(), json!(at))).collect());
    assert!(violation(&json!({ "allOf": broad }), &wide).contains("steps on this value"));
}

#[test]
fn references_that_nest_or_never_end_are_stopped() {
    let ring = chain(
        100,
        |next| json!({"allOf": [{"$ref": next}]}),
        json!({"properties": {"x": {"$ref": "#/$defs/d0"}}}),
    );
    let text = violation(&ring, &nested(60));
    assert!(text.ends_with("the schema nests beyond 1000 levels on this value"), "{text}");
    let endless = json!({"$ref": "#"});
    assert!(refusal(&endless).contains("applies itself to the same value, without end"));
    let accepted = Schema::of_log(&json(&endless)).unwrap();
    let text = accepted.check(&json(&json!(1))).unwrap_err().to_string();
    assert!(text.contains("the schema nests beyond"), "{text}");
    let deepest = chain(990, |next| json!({ "$ref": next }), json!({"type": "string"}));
    assert!(violation(&deepest, &json!(1)).contains("is not of type"));
    let branching = chain(490, |next| json!({"anyOf": [{ "$ref": next }]}), json!(false));
    assert!(violation(&branching, &json!(1)).contains("anyOf"));
    let watched = chain(
        490,
        |next| json!({"if": {"$ref": next}, "unevaluatedProperties": false}),
        json!({"type": "string"}),
    );
    assert_eq!(schema(&watched).check(&json(&json!(1))), Ok(()));
}

#[test]
fn ordinary_recursion_and_size_pass() {
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {
                "value": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
            "additionalProperties": false,
        }},
    });
    let leaf = json!({"value": "leaf"});
    let broad = json!({"value": 1, "children": vec![leaf.clone(); 3_000]});
    assert_eq!(schema(&tree).check(&json(&broad)), Ok(()));
    let deep = (0..30).fold(leaf, |inner, _| json!({"value": null, "children": [inner]}));
    assert_eq!(schema(&tree).check(&json(&deep)), Ok(()));

    let variants: Vec<Value> = (0..20)
        .map(|at| json!({"type": "object", "properties": {"kind": {"const": at}, "text": true}}))
        .collect();
    let union = json!({"type": "array", "items": {"oneOf": variants}});
    let values: Vec<Value> = (0..1_000).map(|at| json!({"kind": at % 20, "text": "t"})).collect();
    assert_eq!(schema(&union).check(&json(&json!(values))), Ok(()));
}

#[test]
fn a_schema_is_its_source() {
    let source = Json::parse(r#"{ "type": "string" }"#).unwrap();
    let schema = Schema::compile(&source).unwrap();
    assert_eq!(schema.source(), &source);
    assert_eq!(schema, schema.clone());
    assert_eq!(schema, Schema::compile(&source).unwrap());
    assert_ne!(schema, Schema::compile(&Json::parse(r#"{"type":"string"}"#).unwrap()).unwrap());
    assert_eq!(format!("{schema:?}"), source.as_str());
    assert_eq!(serde_json::to_string(&schema).unwrap(), source.as_str());
    assert_eq!(serde_json::from_str::<Schema>(source.as_str()).unwrap(), schema);
    let packed = rmp_serde::to_vec_named(&schema).unwrap();
    assert_eq!(messagepack::from_slice::<Schema>(&packed).unwrap(), schema);
    assert!(serde_json::from_str::<Schema>(r#"{"type":"text"}"#).is_err());
}

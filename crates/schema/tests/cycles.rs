//! A schema that applies a part of itself to the same value is refused: no value could be checked.

use baton_schema::{Effort, Validator};
use serde_json::{Value, json};

fn refusal(schema: &Value) -> Option<String> {
    Validator::compile(schema).err().map(|error| error.to_string())
}

#[test]
fn a_schema_that_leads_back_to_itself_is_refused() {
    let two = json!({"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}});
    for (schema, path) in [
        (json!({"$ref": "#"}), ""),
        (json!({"allOf": [true, {"$ref": "#"}]}), ""),
        (json!({"type": "object", "anyOf": [{"type": "null"}, {"oneOf": [{"$ref": "#"}]}]}), ""),
        (json!({"if": {"$ref": "#"}, "then": true}), ""),
        (json!({"if": true, "else": {"$ref": "#"}}), ""),
        (json!({"dependentSchemas": {"x": {"$ref": "#"}}}), ""),
        (json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": two}), "/$defs/a"),
    ] {
        let reason = "it applies itself to the same value, without end";
        let expected = format!("invalid schema at `{path}`: {reason}");
        assert_eq!(refusal(&schema), Some(expected), "{schema}");
        // One that an earlier version accepted can still be read from a log.
        assert!(Validator::of_accepted(&schema).is_ok(), "{schema}");
    }
}

#[test]
fn a_recursive_schema_that_goes_into_the_value_is_accepted() {
    let list = json!({
        "type": ["object", "null"],
        "properties": {"next": {"$ref": "#"}, "all": {"items": {"$ref": "#"}}},
        "allOf": [{"$ref": "#/$defs/named"}, {"$ref": "#/$defs/named"}],
        "$defs": {"named": {"required": ["name"]}},
    });
    let validator = Validator::compile(&list).unwrap();
    let value = json!({"name": "a", "next": {"name": "b", "all": [{"name": "c"}]}});
    assert!(validator.check(&value, &Effort::default()).is_ok());
    let value = json!({"name": "a", "next": {}});
    assert!(validator.check(&value, &Effort::default()).is_err());
}

//! Whether one JSON value contains another, like the operator `@>` of `PostgreSQL`.
//!
//! | pattern | is contained in |
//! |---|---|
//! | an object | an object that has all its keys, with values that contain those of the pattern |
//! | a list | a list in which some element contains each element of the pattern |
//! | anything else | an equal value; numbers are compared by value |
//! | no object or list | also a list that has it as an element, at the top level |

use serde_json::Value;

use crate::json::value_order;

/// Whether a value contains the pattern.
pub fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Array(elements), wanted) if !wanted.is_array() && !wanted.is_object() => {
            elements.iter().any(|element| value_order(element, wanted).is_eq())
        }
        (value, wanted) => has(value, wanted),
    }
}

fn has(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(fields), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| fields.get(key).is_some_and(|it| has(it, wanted)))
        }
        (Value::Array(elements), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| elements.iter().any(|element| has(element, wanted)))
        }
        (value, wanted) => value_order(value, wanted).is_eq(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containment_of_values() {
        let value = json!({"step": 3, "tags": ["a", {"b": 1, "c": 2}], "deep": {"x": {"y": null}}});
        let contained = [
            json!({}),
            json!({"step": 3.0}),
            json!({"tags": []}),
            json!({"tags": [{"c": 2}]}),
            json!({"tags": ["a", "a"]}),
            json!({"deep": {"x": {}}}),
            json!({"deep": {"x": {"y": null}}, "step": 3}),
        ];
        for wanted in contained {
            assert!(contains(&value, &wanted), "{wanted}");
        }
        let strange = [
            json!({"step": "3"}),
            json!({"tags": "a"}),
            json!({"tags": [["a"]]}),
            json!({"tags": [{"c": 3}]}),
            json!({"deep": {"x": {"z": null}}}),
            json!([]),
            json!("step"),
        ];
        for wanted in strange {
            assert!(!contains(&value, &wanted), "{wanted}");
        }
        assert!(contains(&json!([1, 2]), &json!(2)) && !contains(&json!([[1]]), &json!(1)));
    }
}

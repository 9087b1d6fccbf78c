//! Whether the actual result contains the expected one.
//!
//! | expected | is contained in                                                          |
//! |----------|--------------------------------------------------------------------------|
//! | object   | an object that has each of its members, and perhaps others               |
//! | list     | a list of the same length, item by item                                  |
//! | `null`   | `null`, or nothing at all: the way to state that a field is absent        |
//! | other    | the same value; numbers by their value                                   |

use serde_json::Value;

/// The value that is missing or different in the actual value, and where; none if it contains the
/// expected one.
pub fn difference(expected: &Value, actual: &Value) -> Option<String> {
    within("", expected, Some(actual))
}

fn within(path: &str, expected: &Value, actual: Option<&Value>) -> Option<String> {
    let otherwise = || {
        let place = if path.is_empty() { "the whole" } else { path };
        let actual = actual.map_or_else(|| "nothing".to_owned(), Value::to_string);
        Some(format!("{place}: expected {expected}, came {actual}"))
    };
    match (expected, actual) {
        (Value::Null, None | Some(Value::Null)) => None,
        (Value::Object(expected), Some(Value::Object(actual))) => expected
            .iter()
            .find_map(|(name, value)| within(&format!("{path}/{name}"), value, actual.get(name))),
        (Value::Array(expected), Some(Value::Array(actual))) if expected.len() == actual.len() => {
            (0..).zip(expected.iter().zip(actual)).find_map(|(index, (value, actual))| {
                within(&format!("{path}/{index}"), value, Some(actual))
            })
        }
        (Value::Number(expected), Some(Value::Number(actual))) => {
            let same = expected == actual || expected.as_f64() == actual.as_f64();
            if same { None } else { otherwise() }
        }
        (expected, Some(actual)) if expected == actual => None,
        _ => otherwise(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_that_contains_the_expected_one_has_no_difference() {
        let actual = json!({"a": 1, "b": [{"c": "x", "d": 2.0}], "e": null});
        for expected in [
            json!({}),
            json!({"a": 1.0}),
            json!({"b": [{"d": 2}]}),
            json!({"e": null, "f": null}),
            actual.clone(),
        ] {
            assert_eq!(difference(&expected, &actual), None, "{expected}");
        }
    }

    #[test]
    fn a_difference_has_its_position() {
        let actual = json!({"a": 1, "b": [{"c": "x"}]});
        let cases = [
            (json!({"a": 2}), "/a: expected 2, came 1"),
            (json!({"z": 1}), "/z: expected 1, came nothing"),
            (json!({"a": null}), "/a: expected null, came 1"),
            (json!({"b": []}), r#"/b: expected [], came [{"c":"x"}]"#),
            (json!({"b": [{"c": "y"}]}), r#"/b/0/c: expected "y", came "x""#),
            (json!([]), r#"the whole: expected [], came {"a":1,"b":[{"c":"x"}]}"#),
        ];
        for (expected, message) in cases {
            assert_eq!(difference(&expected, &actual).as_deref(), Some(message));
        }
    }
}

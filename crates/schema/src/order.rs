//! Compares JSON values by meaning: `1` and `1.0` are equal, and so are objects in any order.
//!
//! Two objects or arrays of different length are never compared by their contents, so sorting many
//! values costs little more than reading them.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// A total order in which equal means the same value. The order itself is arbitrary but fixed: it
/// allows a set of values to be searched without comparing all pairs.
pub fn value_order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => number_order(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let lengths = left.len().cmp(&right.len());
            let mut pairs = left.iter().zip(right).map(|(left, right)| value_order(left, right));
            lengths.then_with(|| pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len().cmp(&right.len()).then_with(|| object_order(left, right))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn object_order(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    // Sorted here because a program that embeds Baton may have configured `serde_json` to keep the
    // insertion order; for sorted maps this is one pass.
    let mut left: Vec<_> = left.iter().collect();
    let mut right: Vec<_> = right.iter().collect();
    left.sort_unstable_by_key(|(key, _)| *key);
    right.sort_unstable_by_key(|(key, _)| *key);
    let mut pairs = left.into_iter().zip(right).map(|((left_key, left), (right_key, right))| {
        left_key.cmp(right_key).then_with(|| value_order(left, right))
    });
    pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Compares by exact value: an integer is never rounded to a double for the comparison.
pub fn number_order(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => integer_order(left, double(right)),
        (None, Some(right)) => integer_order(right, double(left)).reverse(),
        (None, None) => double(left).partial_cmp(&double(right)).expect("JSON has no not-a-number"),
    }
}

fn double(number: &Number) -> f64 {
    number.as_f64().expect("a number that is no integer of 64 bits is a double")
}

fn integer_order(integer: i128, double: f64) -> Ordering {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and integers of 64 bits are far from where it would"
    )]
    let whole = double.trunc() as i128;
    let fraction = double.fract();
    integer.cmp(&whole).then_with(|| 0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}

/// Whether no two elements are the same value.
pub(crate) fn all_differ(elements: &[Value]) -> bool {
    let mut sorted: Vec<_> = elements.iter().collect();
    sorted.sort_unstable_by(|left, right| value_order(left, right));
    sorted.windows(2).all(|pair| value_order(pair[0], pair[1]).is_ne())
}

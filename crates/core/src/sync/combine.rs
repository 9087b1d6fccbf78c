//! Combining two values that were changed from a common one.

use serde_json::{Map, Value};

use crate::json::{Json, value_order};
use crate::state::merge::{self, Merge, Patch};

/// The combination of two values of a key, of which the first was written earlier; none if the rule
/// does not apply to them.
pub(super) fn combine(rule: Merge, base: Option<&Json>, first: &Json, last: &Json) -> Option<Json> {
    match rule {
        Merge::LastWriteWins | Merge::Reject => None,
        Merge::Max => merge::patch(Some(first), &Patch::Max(last.clone())).ok(),
        Merge::Counter => {
            let change = merge::difference(last, base)?;
            merge::patch(Some(first), &Patch::Increment(change)).ok()
        }
        Merge::Union => merge::patch(Some(first), &Patch::Union(last.clone())).ok(),
        Merge::Append => {
            let (first_added, added) = (added(base, first)?, added(base, last)?);
            let both: Vec<Value> = first_added.into_iter().chain(added).collect();
            let empty = Json::trusted(b"[]");
            let start = base.unwrap_or(&empty);
            merge::patch(Some(start), &Patch::Append(Json::of(&both).ok()?)).ok()
        }
        Merge::JsonMerge => {
            let (Value::Object(first), Value::Object(last)) = (first.to_value(), last.to_value())
            else {
                return None;
            };
            let base = match base.map(Json::to_value) {
                Some(Value::Object(base)) => base,
                Some(_) | None => Map::new(),
            };
            Json::of(&members(&base, first, &last)).ok()
        }
    }
}

/// The elements after the common ones; none if the common ones changed.
fn added(base: Option<&Json>, list: &Json) -> Option<Vec<Value>> {
    let Value::Array(mut list) = list.to_value() else { return None };
    let base = match base.map(Json::to_value) {
        Some(Value::Array(base)) => base,
        Some(_) => return None,
        None => Vec::new(),
    };
    let is_begun = list.len() >= base.len()
        && base.iter().zip(&list).all(|(one, other)| value_order(one, other).is_eq());
    is_begun.then(|| list.split_off(base.len()))
}

/// The members that changed on each side; the later write for a member that changed on both.
fn members(
    base: &Map<String, Value>,
    first: Map<String, Value>,
    last: &Map<String, Value>,
) -> Map<String, Value> {
    let is_same = |one: Option<&Value>, other: Option<&Value>| match (one, other) {
        (Some(one), Some(other)) => value_order(one, other).is_eq(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    let mut combined = first;
    let names: Vec<String> = base.keys().chain(last.keys()).cloned().collect();
    for name in names {
        let (before, there) = (base.get(&name), last.get(&name));
        if is_same(before, there) {
            continue;
        }
        let nested = match (before, combined.get(&name), there) {
            (before, Some(Value::Object(first)), Some(Value::Object(last))) => {
                let before = before.and_then(Value::as_object).cloned().unwrap_or_default();
                Some(Value::Object(members(&before, first.clone(), last)))
            }
            (_, _, there) => there.cloned(),
        };
        match nested {
            Some(value) => combined.insert(name, value),
            None => combined.remove(&name),
        };
    }
    combined
}

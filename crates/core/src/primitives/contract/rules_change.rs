//! The effect of other namespace rules on a contract: a schema can exclude the expected values, or
//! no longer guarantee them.
//!
//! Only `type`, `required`, `properties` and `additionalProperties` are compared. A pattern of keys
//! is compared with the rules of the namespace, or with the key rules of the same pattern.

use std::collections::BTreeSet;

use serde_json::Value;

use super::terms::{Breach, Terms, path};
use crate::json::Shape;
use crate::schema::Schema;

/// The schemas of a key before and after a change.
pub(crate) struct SchemaChange {
    before: Option<Value>,
    after: Option<Value>,
}

impl SchemaChange {
    /// A change; none if the schema stays the same.
    pub(crate) fn between(before: Option<&Schema>, after: Option<&Schema>) -> Option<Self> {
        let source = |schema: Option<&Schema>| schema.map(|schema| schema.source().to_value());
        (before != after).then(|| Self { before: source(before), after: source(after) })
    }
}

impl Terms {
    /// How a change of the schema of these keys breaks the terms, if it does.
    pub(crate) fn schema_breach(&self, change: &SchemaChange) -> Option<Breach> {
        let key = self.key.as_str();
        let SchemaChange { before, after } = change;
        if *after == Some(Value::Bool(false)) {
            return Some(Breach::new(key, None, "values", "a schema that accepts none"));
        }
        if let (Some(kind), Some(after)) = (self.kind, after)
            && let Some(allowed) = types(after)
            && !allows(&allowed, kind)
        {
            let expected = format!("values of type {kind}");
            return Some(Breach::new(key, None, &expected, &only(&allowed)));
        }
        for (field, kind) in self.depended_on() {
            let path = path(&field);
            let after = after.as_ref().map(|schema| promise(schema, &path)).unwrap_or_default();
            let before = before.as_ref().map(|schema| promise(schema, &path)).unwrap_or_default();
            let fault = if after.is_excluded {
                Some("a schema that rejects it".to_owned())
            } else if before.is_required && !after.is_required {
                Some("a schema that no longer requires it".to_owned())
            } else {
                retyped(&before, &after, kind.as_ref())
            };
            if let Some(fault) = fault {
                return Some(Breach::new(key, Some(&field), "a field", &fault));
            }
        }
        None
    }

    /// The fields that the terms require, with their types where the schema of the terms has them.
    fn depended_on(&self) -> Vec<(String, Option<BTreeSet<String>>)> {
        let schema = self.schema.as_ref().map(|schema| schema.source().to_value());
        let schema = schema.unwrap_or_default();
        let required = schema["required"].as_array().into_iter().flatten();
        let typed = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name);
        let mut fields: BTreeSet<String> = self.fields.iter().cloned().collect();
        fields.extend(required.filter_map(Value::as_str).map(str::to_owned));
        fields.extend(typed.cloned());
        let with_type = |field: String| {
            let kind = promise(&schema, &path(&field)).types;
            (field, kind)
        };
        fields.into_iter().map(with_type).collect()
    }
}

/// The statement of a schema about a field.
#[derive(Default)]
struct Promise {
    is_required: bool,
    is_excluded: bool,
    types: Option<BTreeSet<String>>,
}

fn promise(schema: &Value, path: &[String]) -> Promise {
    let mut promise = Promise { is_required: true, ..Promise::default() };
    let mut node = schema;
    for part in path {
        let required = node["required"].as_array().into_iter().flatten();
        promise.is_required &= required.filter_map(Value::as_str).any(|name| name == part);
        if let Some(allowed) = types(node)
            && !allowed.contains("object")
        {
            return Promise { is_excluded: true, ..promise };
        }
        let Some(next) = node["properties"].get(part) else {
            let is_closed = node["additionalProperties"] == Value::Bool(false)
                && node.get("patternProperties").is_none();
            return Promise { is_excluded: is_closed, ..promise };
        };
        node = next;
    }
    Promise { is_excluded: *node == Value::Bool(false), types: types(node), ..promise }
}

fn types(schema: &Value) -> Option<BTreeSet<String>> {
    match schema.get("type")? {
        Value::String(one) => Some(BTreeSet::from([one.clone()])),
        Value::Array(many) => {
            Some(many.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn allows(types: &BTreeSet<String>, kind: Shape) -> bool {
    types.contains(kind.word()) || kind == Shape::Number && types.contains("integer")
}

/// Whether a field would have other types than the contract expects, or than it had.
fn retyped(
    before: &Promise,
    after: &Promise,
    expected: Option<&BTreeSet<String>>,
) -> Option<String> {
    if let (Some(expected), Some(after)) = (expected, &after.types)
        && expected.is_disjoint(after)
        && !(expected.contains("number") && after.contains("integer"))
        && !(expected.contains("integer") && after.contains("number"))
    {
        return Some(only(after));
    }
    let before = before.types.as_ref()?;
    let kept = after.types.as_ref().is_some_and(|after| after.is_subset(before));
    (!kept).then(|| match &after.types {
        Some(after) => format!("a change of its type from {} to {}", list(before), list(after)),
        None => format!("a change of its type from {} to any", list(before)),
    })
}

fn only(types: &BTreeSet<String>) -> String {
    format!("a schema that accepts only {}", list(types))
}

fn list(types: &BTreeSet<String>) -> String {
    types.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
}

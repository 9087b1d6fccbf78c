//! The shape of a schema: which of its parts look at which parts of a value.
//!
//! Two questions are answered from it without judging any value:
//!
//! | question                  | asked           | by walking                                     |
//! |---------------------------|-----------------|------------------------------------------------|
//! | are the references sound? | when compiling  | every part of the schema once                  |
//! | how much work is a check? | before each one | the parts of the schema that meet each part of |
//! |                           |                 | the value, as often as they meet it            |
//!
//! The second is an upper bound: a real check stops early, at the first branch that fits or the
//! first that does not. The walks keep their own stack, so that no schema can exhaust the thread's.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{REGEXES_MAX, SchemaError};
use crate::json::shortened;

/// Work that every check may cost, in meetings of a part of the schema with a part of the value.
pub(super) const MEETINGS_BASE: usize = 10_000;

/// Work that a check may cost for each part of the value on top of that. A union of twenty objects
/// needs some forty.
pub(super) const MEETINGS_PER_PART: usize = 64;

/// How many parts of a schema may be at work inside each other. Each takes some stack.
pub(super) const LEVELS_MAX: usize = 1_000;

/// Which parts of a value a part of a schema looks at, seen from the part it belongs to.
#[derive(Clone, Copy)]
enum Target<'a> {
    Same,
    Field(&'a str),
    Fields,
    FieldNames,
    Element(usize),
    Elements,
    /// Definitions look at nothing until they are referred to.
    Nothing,
}

/// Calls `visit` for each part that belongs directly to this part of the schema. References must be
/// sound or are left out.
fn parts<'a>(root: &'a Value, schema: &'a Value, visit: &mut dyn FnMut(Target<'a>, &'a Value)) {
    let Value::Object(keywords) = schema else { return };
    for (keyword, operand) in keywords {
        match (keyword.as_str(), operand) {
            ("$ref", Value::String(reference)) => {
                if let Some(part) = resolved(root, reference) {
                    visit(Target::Same, part);
                }
            }
            ("not" | "if" | "then" | "else", part) => visit(Target::Same, part),
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                for part in parts {
                    visit(Target::Same, part);
                }
            }
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                parts.values().for_each(|part| visit(Target::Same, part));
            }
            ("$defs" | "definitions", Value::Object(parts)) => {
                parts.values().for_each(|part| visit(Target::Nothing, part));
            }
            ("properties", Value::Object(parts)) => {
                parts.iter().for_each(|(name, part)| visit(Target::Field(name), part));
            }
            ("patternProperties", Value::Object(parts)) => {
                parts.values().for_each(|part| visit(Target::Fields, part));
            }
            ("additionalProperties" | "unevaluatedProperties", part) => {
                visit(Target::Fields, part);
            }
            ("propertyNames", part) => visit(Target::FieldNames, part),
            ("prefixItems" | "items", Value::Array(parts)) => {
                parts.iter().enumerate().for_each(|(at, part)| visit(Target::Element(at), part));
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", part) => {
                visit(Target::Elements, part);
            }
            _ => {}
        }
    }
}

/// The part of the schema that a reference names, if it is of the kind that is supported.
fn resolved<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let path = reference.strip_prefix('#')?;
    // The validator decodes percent signs, this does not; so nothing may hide behind one.
    if path.contains('%') { None } else { root.pointer(path) }
}

/// Finds what could lead out of the schema, or to another place in it than [`resolved`] says.
pub(super) fn check_references(root: &Value) -> Result<(), SchemaError> {
    let mut regexes = 0;
    let mut seen = BTreeSet::from([std::ptr::from_ref(root)]);
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        if let Value::Object(keywords) = schema {
            check_keywords(root, keywords, std::ptr::eq(schema, root))?;
            regexes += regexes_of(keywords);
        }
        parts(root, schema, &mut |_, part| {
            if seen.insert(std::ptr::from_ref(part)) {
                pending.push(part);
            }
        });
    }
    if regexes > REGEXES_MAX {
        return Err(SchemaError::TooManyRegexes { regexes, regexes_max: REGEXES_MAX });
    }
    Ok(())
}

fn check_keywords(
    root: &Value,
    keywords: &Map<String, Value>,
    is_root: bool,
) -> Result<(), SchemaError> {
    let refused = |keyword: &str, below_root| {
        Err(SchemaError::Keyword { keyword: keyword.into(), below_root })
    };
    for keyword in ["$dynamicRef", "$recursiveRef"] {
        if keywords.contains_key(keyword) {
            return refused(keyword, false);
        }
    }
    // Both open a schema within the schema, with a root or rules of its own.
    for keyword in ["$id", "$schema"] {
        if !is_root && keywords.contains_key(keyword) {
            return refused(keyword, true);
        }
    }
    match keywords.get("$ref") {
        Some(Value::String(reference)) if !is_sound(root, reference) => {
            Err(SchemaError::Reference { reference: shortened(reference) })
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether a reference resolves, without passing through a schema within the schema.
fn is_sound(root: &Value, reference: &str) -> bool {
    let Some(path) = reference.strip_prefix('#') else { return false };
    let passed = path.match_indices('/').skip(1).filter_map(|(at, _)| root.pointer(&path[..at]));
    let mut ids = passed.filter_map(|value| value.get("$id"));
    !ids.any(Value::is_string) && resolved(root, reference).is_some()
}

fn regexes_of(keywords: &Map<String, Value>) -> usize {
    let by_name = keywords.get("patternProperties").and_then(Value::as_object);
    usize::from(keywords.contains_key("pattern")) + by_name.map_or(0, Map::len)
}

/// Whether the schema, with references followed, has so few parts that no value can make it work
/// too much. True of most schemas, which are therefore never counted again.
pub(super) fn is_small(root: &Value) -> bool {
    let mut pending = vec![root];
    let mut met = 0;
    while let Some(schema) = pending.pop() {
        met += 1;
        let repeats = schema.as_object().is_some_and(repeats);
        parts(root, schema, &mut |target, part| match target {
            Target::Nothing => {}
            Target::Same
            | Target::Field(_)
            | Target::Fields
            | Target::FieldNames
            | Target::Element(_)
            | Target::Elements => pending.push(part),
        });
        if repeats || met + pending.len() > MEETINGS_PER_PART {
            return false;
        }
    }
    true
}

/// Whether parts on the same value are consulted again for each of its fields or elements.
fn repeats(keywords: &Map<String, Value>) -> bool {
    keywords.contains_key("unevaluatedProperties") || keywords.contains_key("unevaluatedItems")
}

/// Counts the work of a check, and says why not if it is too much.
pub(super) fn check_effort(root: &Value, instance: &Value) -> Result<(), String> {
    let meetings_max = MEETINGS_BASE.saturating_add(MEETINGS_PER_PART * parts_of(instance));
    let mut met = 0;
    let mut pending = vec![(root, instance, 0)];
    while let Some((schema, instance, level)) = pending.pop() {
        met += 1;
        if level > LEVELS_MAX {
            return Err(format!("the schema nests beyond {LEVELS_MAX} levels on this value"));
        }
        let times = match schema {
            Value::Object(keywords) if repeats(keywords) => 1 + children(instance).count(),
            _ => 1,
        };
        let mut add = |part, value| {
            // What is beyond the limit is not kept: one too many is all that must be known.
            if met + pending.len() <= meetings_max {
                pending.push((part, value, level + 1));
            }
        };
        parts(root, schema, &mut |target, part| match target {
            Target::Same => (0..times).for_each(|_| add(part, instance)),
            Target::Field(name) => {
                instance.get(name).into_iter().for_each(|value| add(part, value));
            }
            Target::Element(at) => {
                instance.get(at).into_iter().for_each(|value| add(part, value));
            }
            Target::Fields if instance.is_object() => {
                children(instance).for_each(|value| add(part, value));
            }
            Target::FieldNames if instance.is_object() => {
                children(instance).for_each(|_| add(part, &Value::Null));
            }
            Target::Elements if instance.is_array() => {
                children(instance).for_each(|value| add(part, value));
            }
            Target::Fields | Target::FieldNames | Target::Elements | Target::Nothing => {}
        });
        if met + pending.len() > meetings_max {
            return Err(format!("the schema takes more than {meetings_max} steps on this value"));
        }
    }
    Ok(())
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

fn parts_of(value: &Value) -> usize {
    1 + children(value).map(parts_of).sum::<usize>()
}

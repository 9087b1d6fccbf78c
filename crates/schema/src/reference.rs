//! Resolves references, and rejects those that could have several targets.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::message::shortened;
use crate::{REGEXES_MAX, SchemaError};

/// The part of the schema that a reference names, if it is of a supported kind.
pub(crate) fn resolved<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(&path(reference)?)
}

/// A reference as a JSON Pointer.
fn path(reference: &str) -> Option<String> {
    let path = reference.strip_prefix('#')?;
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            _ => byte,
        });
    }
    let decoded = String::from_utf8(decoded).ok()?;
    (decoded.is_empty() || decoded.starts_with('/')).then_some(decoded)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Finds references that could leave the schema, or lead to another place in it than [`resolved`]
/// would.
pub(crate) fn check(root: &Value) -> Result<(), SchemaError> {
    let mut regexes = 0;
    let mut seen = BTreeSet::from([std::ptr::from_ref(root)]);
    let mut pending = vec![root];
    while let Some(schema) = pending.pop() {
        let Value::Object(keywords) = schema else { continue };
        check_keywords(root, keywords, std::ptr::eq(schema, root))?;
        regexes += regexes_of(keywords);
        parts(root, keywords, &mut |part| {
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

/// Calls `visit` for each direct subpart, whichever draft gives it a meaning. Invalid references
/// are skipped.
fn parts<'a>(root: &'a Value, keywords: &'a Map<String, Value>, visit: &mut dyn FnMut(&'a Value)) {
    for (keyword, operand) in keywords {
        match (keyword.as_str(), operand) {
            ("$ref", Value::String(reference)) => {
                resolved(root, reference).into_iter().for_each(&mut *visit);
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(parts)) => {
                parts.iter().for_each(&mut *visit);
            }
            (
                "$defs" | "definitions" | "dependentSchemas" | "dependencies" | "properties"
                | "patternProperties",
                Value::Object(parts),
            ) => parts.values().for_each(&mut *visit),
            (
                "not"
                | "if"
                | "then"
                | "else"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains",
                part,
            ) => visit(part),
            _ => {}
        }
    }
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
    // Both start a schema within the schema, with its own root or rules.
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
    let Some(path) = path(reference) else { return false };
    let passed = path.match_indices('/').skip(1).filter_map(|(at, _)| root.pointer(&path[..at]));
    let mut ids = passed.filter_map(|value| value.get("$id"));
    !ids.any(Value::is_string) && root.pointer(&path).is_some()
}

fn regexes_of(keywords: &Map<String, Value>) -> usize {
    let by_name = keywords.get("patternProperties").and_then(Value::as_object);
    usize::from(keywords.contains_key("pattern")) + by_name.map_or(0, Map::len)
}

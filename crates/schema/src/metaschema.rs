//! The operands that the drafts require of each keyword.
//!
//! The rules are those of the meta-schemas, without their URI formats, which are not used here. A
//! schema is visited in the order of its keywords, and the first error is reported.

use serde_json::{Map, Number, Value};

use crate::draft::Draft;
use crate::keyword::{Types, is_integer};
use crate::message::{Failure, Reason, begun, escaped};
use crate::order::{all_differ, number_order};
use crate::regex::Pattern;
use crate::{SchemaError, shortened};

/// The required type of an operand.
#[derive(Clone, Copy)]
enum Rule {
    Schema,
    /// At least one.
    Schemas,
    SchemaByName,
    SchemaByPattern,
    /// In older drafts: one, or a list for the positions.
    SchemaOrSchemas,
    /// By name, a schema or a list of names.
    Dependencies,
    Names,
    NamesByName,
    BooleanByName,
    Text,
    Boolean,
    Array,
    Number,
    Positive,
    Natural,
    Regex,
    Type,
}

fn rule(keyword: &str, draft: Draft) -> Option<Rule> {
    let since = |first: Draft, rule| (draft >= first).then_some(rule);
    match keyword {
        "$id" | "$schema" | "$ref" | "title" | "description" | "format" => Some(Rule::Text),
        "$comment" | "contentMediaType" | "contentEncoding" => since(Draft::D7, Rule::Text),
        "$anchor" => since(Draft::D2019, Rule::Text),
        "$recursiveAnchor" if draft == Draft::D2019 => Some(Rule::Boolean),
        "$dynamicAnchor" | "$recursiveAnchor" => since(Draft::D2020, Rule::Text),
        "$vocabulary" => since(Draft::D2019, Rule::BooleanByName),
        "uniqueItems" => Some(Rule::Boolean),
        "readOnly" | "writeOnly" => since(Draft::D7, Rule::Boolean),
        "deprecated" => since(Draft::D2019, Rule::Boolean),
        "enum" | "examples" => Some(Rule::Array),
        "maximum" | "minimum" | "exclusiveMaximum" | "exclusiveMinimum" => Some(Rule::Number),
        "multipleOf" => Some(Rule::Positive),
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            Some(Rule::Natural)
        }
        "maxContains" | "minContains" => since(Draft::D2019, Rule::Natural),
        "pattern" => Some(Rule::Regex),
        "type" => Some(Rule::Type),
        "required" => Some(Rule::Names),
        "dependentRequired" => since(Draft::D2019, Rule::NamesByName),
        _ => applicator_rule(keyword, draft),
    }
}

fn applicator_rule(keyword: &str, draft: Draft) -> Option<Rule> {
    let since = |first: Draft, rule| (draft >= first).then_some(rule);
    match keyword {
        "if" | "then" | "else" => since(Draft::D7, Rule::Schema),
        "unevaluatedProperties" | "unevaluatedItems" | "contentSchema" => {
            since(Draft::D2019, Rule::Schema)
        }
        "additionalItems" if draft < Draft::D2020 => Some(Rule::Schema),
        "items" if draft < Draft::D2020 => Some(Rule::SchemaOrSchemas),
        "items" | "contains" | "additionalProperties" | "propertyNames" | "not" => {
            Some(Rule::Schema)
        }
        "prefixItems" => since(Draft::D2020, Rule::Schemas),
        "allOf" | "anyOf" | "oneOf" => Some(Rule::Schemas),
        "definitions" | "properties" => Some(Rule::SchemaByName),
        "$defs" | "dependentSchemas" => since(Draft::D2019, Rule::SchemaByName),
        "patternProperties" => Some(Rule::SchemaByPattern),
        "dependencies" => Some(Rule::Dependencies),
        _ => None,
    }
}

/// Checks a schema and everything in it that its draft calls a schema.
pub(crate) fn check(root: &Value, draft: Draft) -> Result<(), SchemaError> {
    check_part(root, draft, "")
}

/// The same for a part of a schema at this path. The recursion is as deep as the text is nested.
pub(crate) fn check_part(schema: &Value, draft: Draft, path: &str) -> Result<(), SchemaError> {
    let keywords = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(keywords) => keywords,
        _ => return refuse(schema, Reason::Types(Types::SCHEMA), path),
    };
    for (keyword, operand) in keywords {
        if let Some(rule) = rule(keyword, draft) {
            check_operand(rule, operand, draft, &inside(path, keyword))?;
        }
    }
    Ok(())
}

fn check_operand(rule: Rule, operand: &Value, draft: Draft, path: &str) -> Result<(), SchemaError> {
    match (rule, operand) {
        (Rule::SchemaOrSchemas, Value::Array(_)) | (Rule::Schemas, _) => {
            let parts = array(operand, path)?;
            if parts.is_empty() {
                return refuse(operand, Reason::MinItems(1), path);
            }
            let mut parts = parts.iter().enumerate();
            parts.try_for_each(|(at, part)| check_part(part, draft, &format!("{path}/{at}")))
        }
        (Rule::Schema | Rule::SchemaOrSchemas, _) => check_part(operand, draft, path),
        (Rule::SchemaByName | Rule::SchemaByPattern | Rule::Dependencies, _) => {
            for (name, part) in object(operand, path)? {
                if matches!(rule, Rule::SchemaByPattern) {
                    pattern(name, path)?;
                }
                match part {
                    Value::Array(_) if matches!(rule, Rule::Dependencies) => {
                        check_names(part, &inside(path, name))?;
                    }
                    _ => check_part(part, draft, &inside(path, name))?,
                }
            }
            Ok(())
        }
        (Rule::NamesByName, _) => {
            let mut lists = object(operand, path)?.iter();
            lists.try_for_each(|(name, names)| check_names(names, &inside(path, name)))
        }
        (Rule::BooleanByName, _) => {
            let mut flags = object(operand, path)?.iter();
            flags.try_for_each(|(name, flag)| typed(flag, "boolean", &inside(path, name)))
        }
        _ => check_plain(rule, operand, path),
    }
}

fn check_plain(rule: Rule, operand: &Value, path: &str) -> Result<(), SchemaError> {
    match rule {
        Rule::Names => check_names(operand, path),
        Rule::Boolean => typed(operand, "boolean", path),
        Rule::Array => array(operand, path).map(drop),
        Rule::Number => number(operand, path).map(drop),
        Rule::Positive => match number(operand, path)? {
            number if number_order(number, &Number::from(0)).is_gt() => Ok(()),
            _ => refuse(operand, Reason::ExclusiveMinimum(&Number::from(0)), path),
        },
        Rule::Natural => match operand {
            Value::Number(number) if !is_integer(number) => typed(operand, "integer", path),
            Value::Number(number) if number_order(number, &Number::from(0)).is_lt() => {
                refuse(operand, Reason::Minimum(&Number::from(0)), path)
            }
            _ => typed(operand, "integer", path),
        },
        Rule::Regex => match operand {
            Value::String(source) => pattern(source, path).map(drop),
            _ => typed(operand, "string", path),
        },
        Rule::Type => check_types(operand, path),
        _ => typed(operand, "string", path),
    }
}

fn check_types(operand: &Value, path: &str) -> Result<(), SchemaError> {
    let known = match operand {
        Value::String(name) => Types::of([name.as_str()]).is_some(),
        Value::Array(names) => {
            let names: Option<Vec<_>> = names.iter().map(Value::as_str).collect();
            let known = names.and_then(Types::of);
            known.is_some_and(|types| types.names().count() == operand_len(operand))
                && operand_len(operand) > 0
        }
        _ => false,
    };
    if known { Ok(()) } else { refuse(operand, Reason::AnyOf, path) }
}

fn operand_len(operand: &Value) -> usize {
    operand.as_array().map_or(0, Vec::len)
}

fn check_names(operand: &Value, path: &str) -> Result<(), SchemaError> {
    let names = array(operand, path)?;
    for (at, name) in names.iter().enumerate() {
        typed(name, "string", &format!("{path}/{at}"))?;
    }
    if all_differ(names) { Ok(()) } else { refuse(operand, Reason::UniqueItems, path) }
}

fn typed(operand: &Value, name: &'static str, path: &str) -> Result<(), SchemaError> {
    match Types::of([name]) {
        Some(types) if !types.admit(operand) => refuse(operand, Reason::Types(types), path),
        _ => Ok(()),
    }
}

fn array<'a>(operand: &'a Value, path: &str) -> Result<&'a Vec<Value>, SchemaError> {
    typed(operand, "array", path)?;
    Ok(operand.as_array().expect("the type was checked"))
}

fn object<'a>(operand: &'a Value, path: &str) -> Result<&'a Map<String, Value>, SchemaError> {
    typed(operand, "object", path)?;
    Ok(operand.as_object().expect("the type was checked"))
}

fn number<'a>(operand: &'a Value, path: &str) -> Result<&'a Number, SchemaError> {
    typed(operand, "number", path)?;
    Ok(operand.as_number().expect("the type was checked"))
}

/// A regular expression, or why it cannot be used.
pub(crate) fn pattern(source: &str, path: &str) -> Result<Pattern, SchemaError> {
    Pattern::new(source).ok_or_else(|| unusable(path))
}

pub(crate) fn unusable(path: &str) -> SchemaError {
    let wish = "write it without lookaround and backreference, and shorter";
    let reason = format!("unusable regular expression, {wish}");
    SchemaError::Invalid { path: shortened(path), reason }
}

fn inside(path: &str, name: &str) -> String {
    format!("{path}/{}", escaped(name))
}

fn refuse<T>(operand: &Value, reason: Reason<'_>, path: &str) -> Result<T, SchemaError> {
    let reason = Failure { reason, instance: operand, steps: Vec::new() }.text();
    Err(SchemaError::Invalid { path: begun(&path), reason })
}

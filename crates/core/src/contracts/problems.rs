//! Dependencies that are broken, or would be under another schema.

use std::collections::BTreeSet;

use serde_json::Value;

use super::usage::{KeyUsage, UsageByName, entry, gather, split_name};
use super::{By, ContractProblem, Trouble};
use crate::contract::{Candidate, Rejection, Reply};
use crate::json::Shape;
use crate::limits;
use crate::names::{Key, NamespaceName};
use crate::schema::{self, Effort, Schema};
use crate::space::Space;

/// Checks every key that has readers.
pub fn check(
    space: &Space,
    namespace: Option<&NamespaceName>,
    schema: Option<&Schema>,
) -> Result<Reply, Rejection> {
    let Some(namespace) = namespace else {
        if schema.is_some() {
            return Err(Rejection::SchemaWithoutNamespace {});
        }
        let all = gather(space, |_| true)?;
        let mut problems = broken(space, &all)?;
        problems.extend(unsatisfied(space, &all)?);
        problems.sort_by(|left, right| left.key.cmp(&right.key));
        return Ok(Reply::Problems { problems });
    };
    if space.namespace.get(namespace).is_none() {
        return Err(Rejection::UnknownNamespace { namespace: namespace.clone() });
    }
    let prefix = format!("{namespace}/");
    let all = gather(space, |name| name.starts_with(&prefix))?;
    let mut problems = broken(space, &all)?;
    problems.extend(unsatisfied(space, &all)?);
    if let Some(schema) = schema {
        problems.extend(under(space, namespace, schema, &all)?);
    }
    problems.sort_by(|left, right| left.key.cmp(&right.key));
    Ok(Reply::Problems { problems })
}

fn dependants(known: &KeyUsage) -> Vec<String> {
    let who: BTreeSet<&str> = known.readers.iter().map(|reader| reader.who.as_str()).collect();
    who.into_iter().map(str::to_owned).collect()
}

/// Keys that are missing, or have another type than their readers got.
fn broken(space: &Space, all: &UsageByName) -> Result<Vec<ContractProblem>, Rejection> {
    let mut problems = Vec::new();
    for (key, known) in all.iter().filter(|(_, known)| !known.readers.is_empty()) {
        let depended_on_by = dependants(known);
        let (problem, detail) = match entry(space, key) {
            None => match successor(space, key, known, all)? {
                Some(other) => (
                    Trouble::Renamed,
                    format!("`{key}` does not exist; it may have been renamed to `{other}`"),
                ),
                None => (Trouble::Vanished, format!("`{key}` does not exist")),
            },
            Some(entry) => {
                let kind = Shape::of(entry.value());
                let mut got =
                    known.readers.iter().filter_map(|reader| Some((reader, reader.kind?)));
                let Some((reader, before)) = got.find(|(_, before)| *before != kind) else {
                    continue;
                };
                let who = &reader.who;
                let then = match reader.version {
                    Some(version) => format!("`{who}` got {before} at {version}"),
                    None => format!("`{who}` expects {before}"),
                };
                (Trouble::Retyped, format!("`{key}` is of kind {kind} now, {then}"))
            }
        };
        problems.push(ContractProblem { key: key.clone(), problem, detail, depended_on_by });
    }
    Ok(problems)
}

/// Values that lack a field of a declared contract, or do not satisfy its schema. Other types are
/// reported before.
fn unsatisfied(space: &Space, all: &UsageByName) -> Result<Vec<ContractProblem>, Rejection> {
    let mut problems = Vec::new();
    let effort = Effort::default();
    let mut bytes = 0;
    for (key, known) in all {
        if known.readers.iter().all(|reader| reader.by != By::Contract) {
            continue;
        }
        let Some(entry) = entry(space, key) else { continue };
        bytes += entry.value().len();
        check_bytes(bytes)?;
        let value = entry.json();
        let mut candidate = Candidate::new(&value);
        for (contract, terms) in space.contract.concerning(key) {
            let is_retyped = terms.kind.is_some_and(|kind| kind != Shape::of(entry.value()));
            let breach = terms.breach(key, &mut candidate, None, &effort);
            check_effort(&effort)?;
            let Some(breach) = breach.filter(|_| !is_retyped) else { continue };
            let (key, detail) = (key.clone(), breach.sentence(&contract.name, &contract.owner));
            let depended_on_by = vec![contract.owner.to_string()];
            problems.push(ContractProblem {
                key,
                problem: Trouble::Broken,
                detail,
                depended_on_by,
            });
        }
    }
    Ok(problems)
}

fn check_bytes(bytes: usize) -> Result<(), Rejection> {
    let max = limits::CONTRACT_BYTES_MAX;
    if bytes > max {
        return Err(Rejection::TooMuch { what: "bytes of values", max });
    }
    Ok(())
}

/// All values share it: one query must not block the others.
fn check_effort(effort: &Effort) -> Result<(), Rejection> {
    if effort.is_spent() {
        let max = schema::MEETINGS_MAX;
        return Err(Rejection::TooMuch { what: "steps of the schema", max });
    }
    Ok(())
}

/// The newest key in the same namespace that may replace a missing one: of the same type, by a
/// giver of the old one, and without readers.
fn successor(
    space: &Space,
    key: &str,
    known: &KeyUsage,
    all: &UsageByName,
) -> Result<Option<String>, Rejection> {
    let got = known.readers.iter().find(|reader| reader.by == By::Handoff);
    let Some(kind) = got.and_then(|reader| reader.kind) else { return Ok(None) };
    let Some((namespace, _)) = split_name(key) else { return Ok(None) };
    check_size(space, &namespace)?;
    let entries = space.state.everything(Some(&namespace), None);
    let fits = entries.filter(|entry| {
        Shape::of(entry.value()) == kind && known.givers.contains(entry.updated_by())
    });
    let named = fits.map(|entry| (entry.revision(), format!("{namespace}/{}", entry.key())));
    let free = named.filter(|(_, name)| all.get(name).is_none_or(|other| other.readers.is_empty()));
    Ok(free.max().map(|(_, name)| name))
}

fn check_size(space: &Space, namespace: &NamespaceName) -> Result<(), Rejection> {
    let max = limits::CONTRACT_ENTRIES_MAX;
    if space.state.count(namespace) > max {
        return Err(Rejection::TooMuch { what: "entries of one namespace", max });
    }
    Ok(())
}

/// Finds the contracts that would be broken if the namespace had this schema.
fn under(
    space: &Space,
    namespace: &NamespaceName,
    schema: &Schema,
    all: &UsageByName,
) -> Result<Vec<ContractProblem>, Rejection> {
    check_size(space, namespace)?;
    let mut problems = Vec::new();
    let effort = Effort::default();
    let mut bytes = 0;
    for entry in space.state.everything(Some(namespace), None) {
        bytes += entry.value().len();
        check_bytes(bytes)?;
        let checked = schema.check_within(&entry.json(), &effort);
        check_effort(&effort)?;
        let Err(violation) = checked else { continue };
        let key = format!("{namespace}/{}", entry.key());
        let depended_on_by = all.get(&key).map(dependants).unwrap_or_default();
        let detail = format!("the current value would be refused: {violation}");
        problems.push(ContractProblem { key, problem: Trouble::Schema, detail, depended_on_by });
    }
    let after = schema.source().to_value();
    for (name, known) in all.iter().filter(|(_, known)| !known.readers.is_empty()) {
        let Some((_, key)) = split_name(name) else { continue };
        for detail in lost_promises(space, namespace, &key, &after) {
            let depended_on_by = dependants(known);
            let problem = Trouble::Schema;
            problems.push(ContractProblem { key: name.clone(), problem, detail, depended_on_by });
        }
    }
    Ok(problems)
}

/// The guarantees of the current schema of a key that another schema lacks: required fields, and
/// the types of fields.
fn lost_promises(
    space: &Space,
    namespace: &NamespaceName,
    key: &Key,
    after: &Value,
) -> Vec<String> {
    let rules = space.namespace.get(namespace).map(|there| there.rules.for_key(key));
    let Some(before) = rules.and_then(|rules| rules.schema.as_ref()) else { return Vec::new() };
    let before = before.source().to_value();
    let mut lost = Vec::new();
    let demanded = required(after);
    for field in required(&before).difference(&demanded) {
        lost.push(format!("`{field}` would no longer be required"));
    }
    let types = |schema: &Value, field: &str| schema["properties"][field]["type"].clone();
    let fields = before["properties"].as_object().into_iter().flatten();
    for (field, _) in fields {
        let (was, is) = (types(&before, field), types(after, field));
        if !was.is_null() && was != is {
            lost.push(match is {
                Value::Null => format!("`{field}` was of type {was} and could be anything"),
                is => format!("`{field}` was of type {was} and would be of type {is}"),
            });
        }
    }
    lost
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let fields = schema["required"].as_array().into_iter().flatten();
    fields.filter_map(Value::as_str).collect()
}

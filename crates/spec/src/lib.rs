//! Generates the `OpenAPI` 3.1 document of the HTTP API, and the reference for people.
//!
//! ```text
//!   core's types ──schemars──▶ vocabulary: fields and results by operation
//!                                   │
//!   OPERATIONS: method, path, … ────┴──▶ components: `state.set`, `Entry`, `Problem` …, and paths
//!
//!   document ──▶ spec/openapi.json, which the server embeds
//!   document, spec/events.json ──▶ docs/reference.md
//!   OPERATIONS, vocabulary ──▶ spec/operations.json, for programs that generate clients
//!   refusals! { … } of the core ──▶ docs/errors.md
//! ```
//!
//! Nothing that ships depends on this crate: it is the only one that enables the `schema` features,
//! and its tests compare what it generates with the files of the repository.
//! `BATON_GOLDEN=write cargo test -p baton-spec` rewrites them.
//!
//! Invariants:
//!
//! 1. Fields, results, names and limits come from the types that the server reads and writes: a new
//!    field of a command appears here without further work.
//! 2. Every operation is described, as a command and with an example that can be read; a test walks
//!    over them.
//! 3. The files change only on purpose: a test fails while a file differs from what is generated.
//!
//! Deliberately absent: what the WebSocket says after its handshake. `OpenAPI` has no words for
//! it; the commands are the same.

mod access;
mod contents;
mod errors;
mod examples;
mod handbook;
mod operations;
mod paths;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::collections::BTreeSet;

use baton_core::wire::{Effect, OPERATIONS, Operation, operation};
use serde_json::{Map, Value, json};

pub use errors::page as errors_page;
pub use handbook::page as reference_page;
pub use operations::operations;
use vocabulary::Vocabulary;

/// Where a component stands in the document.
const COMPONENTS: &str = "#/components/schemas/";

fn reference(component: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{component}")})
}

/// The `OpenAPI` document.
pub fn document() -> Value {
    let mut vocabulary = Vocabulary::gather();
    let paths = paths::paths(&vocabulary);
    let mut schemas = std::mem::take(&mut vocabulary.components);
    // Ours come later: the core's own sums go by the same names, and nothing refers to them.
    schemas.extend(commands(&vocabulary));
    schemas.extend(answers(&vocabulary));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Baton",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The place where a fleet of AI agents works together: shared, \
                versioned state, namespaces, agents, tasks, locks, transactions, history and \
                watches.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "paths": paths,
        "components": {"schemas": schemas, "responses": paths::refusals()},
    });
    prune(&mut document);
    document
}

/// Every operation as an object: with its envelope where it is posted by itself, and bare where it
/// is part of a transaction.
fn commands(vocabulary: &Vocabulary) -> Map<String, Value> {
    let mut schemas = Map::new();
    let (mut posted, mut parts) = (Vec::new(), Vec::new());
    for operation in OPERATIONS {
        let name = operation.name;
        schemas.insert(name.to_owned(), with_envelope(vocabulary.command(name), name));
        posted.push(name.to_owned());
        if operation.effect == Effect::Changes {
            let part = format!("transaction.{name}");
            schemas.insert(part.clone(), vocabulary.command(name));
            parts.push(part);
        }
    }
    let transaction = json!({
        "description": "Several commands, all or nothing, under preconditions.",
        "type": "object",
        "properties": {
            "require": {"type": "array", "items": reference("Precondition"),
                "maxItems": baton_core::limits::TRANSACTION_REQUIREMENTS_MAX},
            "commands": {"type": "array", "items": reference("TransactionCommand"), "minItems": 1,
                "maxItems": baton_core::limits::TRANSACTION_COMMANDS_MAX},
        },
        "required": ["commands"],
        "additionalProperties": false,
    });
    let mut named = transaction.clone();
    named["properties"]["command"] = json!({"const": "transaction"});
    named["required"] = json!(["command", "commands"]);
    schemas.insert("Transaction".to_owned(), with_envelope(transaction, ""));
    schemas.insert("transaction".to_owned(), with_envelope(named, "transaction"));
    posted.push("transaction".to_owned());
    schemas.insert("Command".to_owned(), one_of("A command or a question, by name.", &posted, ""));
    let part = one_of("A command of a transaction, by name.", &parts, "transaction.");
    schemas.insert("TransactionCommand".to_owned(), part);
    schemas
}

fn one_of(description: &str, components: &[String], prefix: &str) -> Value {
    let mapping: Map<String, Value> = components
        .iter()
        .map(|name| {
            let command = name.strip_prefix(prefix).unwrap_or(name);
            (command.to_owned(), format!("{COMPONENTS}{name}").into())
        })
        .collect();
    let references: Vec<Value> = components.iter().map(|name| reference(name)).collect();
    json!({
        "description": description,
        "oneOf": references,
        "discriminator": {"propertyName": "command", "mapping": mapping},
    })
}

/// Whether it can be asked about any moment.
fn is_timeless(operation: &Operation) -> bool {
    operation.effect == Effect::Asks && !operation.is_about_the_past
}

/// The moment that a question is about.
fn moment() -> Value {
    json!({
        "description": "As it was at this revision or time; the present if not given.",
        "anyOf": [reference("At"), {"type": "null"}],
    })
}

/// Who acts, and under which key and token, may stand in the object itself.
fn with_envelope(mut schema: Value, name: &str) -> Value {
    let given = |component: &str| json!({"anyOf": [reference(component), {"type": "null"}]});
    schema["properties"]["agent"] = given("AgentId");
    schema["properties"]["idempotency_key"] = given("IdempotencyKey");
    let is_fenced = |it: &Operation| it.effect == Effect::Changes && !it.names_token;
    if operation(name).is_some_and(is_fenced) {
        schema["properties"]["token"] = json!({
            "description": "What the caller acts under: refused if it is stale.",
            "allOf": [reference("Token")],
        });
    }
    if operation(name).is_some_and(is_timeless) {
        schema["properties"]["at"] = moment();
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|field| field != "agent");
    }
    if let Some(example) = examples::example(name) {
        schema["examples"] = json!([example]);
    }
    schema
}

/// What is answered to commands by name.
fn answers(vocabulary: &Vocabulary) -> Map<String, Value> {
    let result = json!({"anyOf": vocabulary.all_results()});
    let answer = json!({
        "description": "What was asked for, and the revision at which it is the truth.",
        "type": "object",
        "properties": {"revision": reference("Revision"), "result": reference("Result")},
        "required": ["revision", "result"],
    });
    let of_transaction = json!({
        "description": "One result for each command, in order.",
        "type": "object",
        "properties": {
            "revision": reference("Revision"),
            "results": {"type": "array", "items": reference("Result")},
        },
        "required": ["revision", "results"],
    });
    let refused = json!({
        "description": "One of several commands was refused.",
        "type": "object",
        "properties": {"error": reference("Error")},
        "required": ["error"],
    });
    let words = [
        ("code", "Stable across releases."),
        ("detail", "What happened, as a sentence."),
        ("hint", "What to do next, as a sentence."),
    ];
    let mut fields: Map<String, Value> = words
        .into_iter()
        .map(|(name, what)| (name.to_owned(), json!({"type": "string", "description": what})))
        .collect();
    fields.insert("kind".to_owned(), reference("Kind"));
    let error = json!({
        "description": "What went wrong, why, and what to do; facts stand beside these.",
        "type": "object",
        "properties": fields,
        "required": ["code", "kind", "detail", "hint"],
    });
    let mut problem = error.clone();
    problem["properties"]["type"] = json!({"type": "string", "format": "uri-reference"});
    problem["properties"]["title"] = json!({"type": "string"});
    problem["properties"]["status"] = json!({"type": "integer", "minimum": 400, "maximum": 599});
    problem["required"] = json!(["type", "title", "status", "code", "kind", "detail", "hint"]);
    let named = [
        ("Result", result),
        ("Answer", answer),
        ("TransactionAnswer", of_transaction),
        ("Refused", refused),
        ("Error", error),
        ("Problem", problem),
    ];
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Takes out the components that no path leads to: the sums that were walked over.
fn prune(document: &mut Value) {
    let mut reached = BTreeSet::new();
    let mut to_visit = vec![&document["paths"], &document["components"]["responses"]];
    while let Some(value) = to_visit.pop() {
        match value {
            Value::Object(fields) => to_visit.extend(fields.values()),
            Value::Array(items) => to_visit.extend(items),
            // A reference, or a place in a discriminator's table.
            Value::String(text) => {
                if let Some(name) = text.strip_prefix(COMPONENTS)
                    && reached.insert(name.to_owned())
                {
                    to_visit.push(&document["components"]["schemas"][name]);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| reached.contains(name));
    }
}

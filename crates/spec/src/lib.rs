//! Generates the `OpenAPI` 3.1 document of the HTTP API, and the reference.
//!
//! ```text
//!   core's types ──schemars──▶ vocabulary: fields and results by operation
//!                                   │
//!   OPERATIONS: method, path, … ────┴──▶ components: `state.set`, `Entry`, `Problem` …, and paths
//!
//!   document ──▶ spec/openapi.json, which the server embeds
//!   document, spec/events.json ──▶ docs/reference.md
//!   OPERATIONS, vocabulary ──▶ spec/operations.json, for programs that generate clients
//!   refusals! { … } ──▶ docs/errors.md
//! ```
//!
//! No published crate depends on this one: it is the only one that enables the `schema` features,
//! and its tests compare its output with the files of the repository. `BATON_GOLDEN=write cargo
//! test -p baton-spec` rewrites them.
//!
//! Invariants:
//!
//! 1. Fields, results, names, limits and defaults come from the types that the server reads and
//!    writes: a new field of a command appears here without further work.
//! 2. Every operation is described, with an example that can be parsed. Every optional field has a
//!    default or states what its absence means, and every nullable reply states when it is `null`.
//! 3. The files change only on purpose: a test fails while a file differs from the generated one.
//!
//! Deliberately absent from the `OpenAPI` document: the messages on a WebSocket, which it cannot
//! express. The commands are the same.

mod access;
mod calls;
mod contents;
mod errors;
mod examples;
mod handbook;
mod operations;
mod paths;
#[cfg(test)]
mod tests;
mod vocabulary;

use baton_core::wire::{Effect, OPERATIONS, Operation, operation};
use serde_json::{Map, Value, json};

pub use errors::page as errors_page;
pub use handbook::page as reference_page;
pub use operations::operations;
use vocabulary::Vocabulary;

/// The path of components in the document.
const COMPONENTS: &str = "#/components/schemas/";

fn reference(component: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{component}")})
}

/// A reference with its own description.
fn described(component: &str, description: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{component}"), "description": description})
}

/// The `OpenAPI` document.
pub fn document() -> Value {
    let mut vocabulary = Vocabulary::gather();
    let paths = paths::paths(&vocabulary);
    let mut schemas = std::mem::take(&mut vocabulary.components);
    // These replace the sums of the core, which have the same names and no references.
    schemas.extend(commands(&vocabulary));
    schemas.extend(answers(&vocabulary));
    name_preconditions(&mut schemas);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Baton",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A coordination server for AI agents: shared state, tasks, hand-offs, \
                locks and messages in one durable, ordered log.",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        // The server that the document came from.
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": schemas, "responses": paths::refusals()},
    });
    prune(&mut document);
    document
}

/// Makes components of the objects in a precondition: some generators cannot name an object that
/// is defined where it is used, if it is used twice.
fn name_preconditions(schemas: &mut Map<String, Value>) {
    let mut named = Map::new();
    let alternatives = schemas.get_mut("Precondition").and_then(|it| it["oneOf"].as_array_mut());
    for alternative in alternatives.into_iter().flatten() {
        let fields = alternative["properties"].as_object_mut();
        for (field, schema) in fields.into_iter().flatten() {
            if !schema["properties"].is_object() {
                continue;
            }
            let (first, rest) = field.split_at(1);
            let name = format!("{}{rest}Precondition", first.to_uppercase());
            named.insert(name.clone(), std::mem::replace(schema, reference(&name)));
        }
    }
    schemas.extend(named);
}

/// Every operation as an object: with its envelope as a request, and without it as a part of a
/// transaction.
fn commands(vocabulary: &Vocabulary) -> Map<String, Value> {
    let mut schemas = Map::new();
    let (mut posted, mut parts) = (Vec::new(), Vec::new());
    for operation in OPERATIONS {
        let name = operation.name;
        schemas.insert(name.to_owned(), with_envelope(vocabulary.command(name), name));
        posted.push(name.to_owned());
        if operation.effect == Effect::Changes {
            let part = format!("transaction.{name}");
            schemas.insert(part.clone(), as_part(vocabulary.command(name)));
            parts.push(part);
        }
    }
    let transaction = transaction();
    let mut named = transaction.clone();
    named["properties"]["command"] = json!({"const": "transaction"});
    named["required"] = json!(["command", "commands"]);
    schemas.insert("TransactionRequest".to_owned(), with_envelope(transaction, ""));
    schemas.insert("transaction".to_owned(), with_envelope(named, "transaction"));
    posted.push("transaction".to_owned());
    schemas.insert("Command".to_owned(), one_of("An operation by name.", &posted, ""));
    let part = one_of("A command in a transaction, by name.", &parts, "transaction.");
    schemas.insert("TransactionCommand".to_owned(), part);
    schemas
}

/// A command as a part of a transaction.
fn as_part(mut command: Value) -> Value {
    command["properties"]["optional"] = json!({
        "type": "boolean",
        "default": false,
        "description": "Whether the command may come to nothing, such as a lock that is not free. \
            If `false`, no command of the transaction is executed then.",
    });
    command
}

/// The fields of a transaction.
pub(crate) fn transaction() -> Value {
    json!({
        "description": "Several commands that are executed atomically, under preconditions.",
        "type": "object",
        "properties": {
            "require": {"type": "array", "items": reference("Precondition"), "default": [],
                "description": "Preconditions. If one does not hold, no command is executed.",
                "maxItems": baton_core::limits::TRANSACTION_REQUIREMENTS_MAX},
            "commands": {"type": "array", "items": reference("TransactionCommand"), "minItems": 1,
                "description": "The commands, in order. If one is rejected or has no effect, none \
                    is executed. A command with `optional: true` may have no effect. Queries, and \
                    commands that would have to wait, are rejected.",
                "maxItems": baton_core::limits::TRANSACTION_COMMANDS_MAX},
        },
        "required": ["commands"],
        "additionalProperties": false,
    })
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

/// Whether it takes `at`.
fn is_timeless(operation: &Operation) -> bool {
    operation.effect == Effect::Asks && !operation.is_about_the_past
}

/// The revision or time that a query is about.
fn moment() -> Value {
    json!({
        "description": "Read the state at this revision or time. Default: the present.",
        "anyOf": [reference("At"), {"type": "null"}],
    })
}

/// The description of the field `agent`.
const AGENT: &str = "The agent that acts. If omitted, the agent of the access token or of the \
    header `Baton-Agent`, else `anonymous`.";

/// The description of the field `caller`.
const CALLER: &str = "The agent that acts, if `agent` names another one. If omitted, the agent of \
    the header `Baton-Agent`, else the one that `agent` names.";

/// The description of the field `idempotency_key`.
const IDEMPOTENCY_KEY: &str = "A repeated request with the same key returns the stored answer and \
    has no second effect. If omitted, a repeated request is executed again.";

/// The description of the field `return`.
const RETURN: &str = "`minimal` for an answer with what the caller cannot know, such as the id, \
    the version and the token, instead of the whole record. If omitted, the whole record.";

/// Adds the fields that every command has besides its own.
fn with_envelope(mut schema: Value, name: &str) -> Value {
    let given = |component: &str, description: &str| {
        let forms = [reference(component), json!({"type": "null"})];
        json!({"anyOf": forms, "description": description})
    };
    let agent = match schema["properties"]["agent"]["description"].as_str() {
        Some(own) if own.contains("If omitted") => own.to_owned(),
        Some(own) => format!("{own} If omitted, the agent that acts."),
        None => AGENT.to_owned(),
    };
    schema["properties"]["agent"] = given("AgentId", &agent);
    if operation(name).is_some_and(|it| it.names_agent) {
        schema["properties"]["caller"] = given("AgentId", CALLER);
    }
    schema["properties"]["idempotency_key"] = given("IdempotencyKey", IDEMPOTENCY_KEY);
    let changes = |it: &Operation| it.effect == Effect::Changes;
    if operation(name).is_none_or(changes) {
        schema["properties"]["return"] = given("ReturnForm", RETURN);
    }
    let is_fenced = |it: &Operation| it.effect == Effect::Changes && !it.names_token;
    if operation(name).is_some_and(is_fenced) {
        schema["properties"]["token"] = json!({
            "description": "Fencing token of the caller's lease, hold or session. A stale one is \
                rejected. If omitted, it is not checked.",
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

/// The answers to commands by name.
fn answers(vocabulary: &Vocabulary) -> Map<String, Value> {
    let result = json!({
        "description": "The result of any operation.",
        "anyOf": vocabulary.all_results(),
    });
    let answer = json!({
        "description": "The result, and the revision that it reflects.",
        "type": "object",
        "properties": {
            "revision": described("Revision", "The revision that the result reflects."),
            "result": described("Result", "The result of the operation."),
        },
        "required": ["revision", "result"],
    });
    let of_transaction = json!({
        "description": "One result for each command, in order.",
        "type": "object",
        "properties": {
            "revision": described("Revision", "The revision of the commit."),
            "results": {"type": "array", "items": reference("Result"),
                "description": "One result per command, in order."},
        },
        "required": ["revision", "results"],
    });
    let refused = json!({
        "description": "One of several operations was rejected.",
        "type": "object",
        "properties": {"error": described("Error", "Why it was rejected.")},
        "required": ["error"],
    });
    let return_form = json!({
        "description": "The form of the record in the answer to a write.",
        "type": "string",
        "enum": ["minimal", "representation"],
    });
    let words = [
        ("code", "Error code, stable across releases."),
        ("detail", "A description of the error, as a sentence."),
        ("hint", "The next step, as a sentence."),
    ];
    let mut fields: Map<String, Value> = words
        .into_iter()
        .map(|(name, what)| (name.to_owned(), json!({"type": "string", "description": what})))
        .collect();
    fields.insert("kind".to_owned(), described("Kind", "The category of the error."));
    let error = json!({
        "description": "An error. Further members are facts about it.",
        "type": "object",
        "properties": fields,
        "required": ["code", "kind", "detail", "hint"],
    });
    let mut problem = error.clone();
    problem["properties"]["type"] = json!({"type": "string", "format": "uri-reference",
        "description": "The documentation of the error code."});
    problem["properties"]["title"] =
        json!({"type": "string", "description": "The title of the HTTP status."});
    problem["properties"]["status"] = json!({"type": "integer", "minimum": 400, "maximum": 599,
        "description": "The HTTP status."});
    problem["required"] = json!(["type", "title", "status", "code", "kind", "detail", "hint"]);
    let named = [
        ("Result", result),
        ("Answer", answer),
        ("TransactionAnswer", of_transaction),
        ("Refused", refused),
        ("ReturnForm", return_form),
        ("Error", error),
        ("Problem", problem),
    ];
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Removes the components that no path refers to: the sums over primitives.
fn prune(document: &mut Value) {
    let Some(components) = document["components"]["schemas"].as_object() else { return };
    let used = [&document["paths"], &document["components"]["responses"]];
    let reached = vocabulary::reached(used.into_iter(), components);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| reached.contains(name));
    }
}

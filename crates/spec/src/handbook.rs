//! The reference for people, generated from the same vocabulary as the description for programs.
//!
//! A test compares `docs/reference.md` with it: a new field appears there, or the test fails and
//! names the command that rewrites the file.

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_core::access::Role;
use baton_core::wire::{Effect, OPERATIONS, Operation};
use serde_json::{Map, Value};

use crate::calls::{self, SpecialCall};
use crate::paths::path_of;
use crate::vocabulary::Vocabulary;
use crate::{COMPONENTS, document};

const INTRODUCTION: &str = "\
# Reference

Every operation, type and event. This page is generated from the types that the server reads and
writes. Errors are in [errors.md](errors.md), the protocols in [wire.md](wire.md), and the same for
programs is `GET /openapi.json`.

An operation is the same on every interface:

| interface | how |
|---|---|
| HTTP | its own path, or `POST /v1/{workspace}/commands` with `{\"command\": \"state.set\", …}` |
| WebSocket | `{\"id\": 1, \"workspace\": \"research\", \"command\": \"state.set\", …}` |
| shell | `baton state set …`; `baton help` lists the commands |

A path answers with the result itself. `/commands` and the WebSocket answer with
`{\"revision\": …, \"result\": …}`.

Besides its own fields every operation takes:

| field | for | default | |
|---|---|---|---|
| `agent` | all | `anonymous`, or the agent of the access token | the agent that acts |
| `caller` | operations with a field `agent` of their own | the agent in that field | the agent \
that acts, if the field names another one |
| `idempotency_key` | writes | none | a repeated request with the same key returns the stored \
answer and has no second effect |
| `token` | writes | none | a fencing token; a stale one is rejected |
| `return` | writes | `representation` | `minimal` answers with a [Minimal](#type-minimal) \
instead of the whole record, where the operation says so |
| `at` | reads | the present | a revision or time of the past |

On a path they are the headers `Baton-Agent`, `Idempotency-Key`, `Baton-Token` and `Prefer`
(`return=minimal`), and the query parameter `at`. An optional field that is `null` counts as
omitted, unless it takes any JSON. Names that end in `_ms` are durations in milliseconds. Every
write may also trigger [reactions](#reaction).

";

const BESIDE: &str = "\
## Server

Paths of the whole server. See [access.md](access.md) for permissions.

| path | | request | response |
|---|---|---|---|
";

const EVENTS: &str = "\
## Events

The events that watches deliver and history keeps: the type, and the fields that it may have besides
`revision`, `time`, `agent`, `type` and `subject`. Events of `event.emit` have the type that the
agent gave them.

| type | fields |
|---|---|
";

/// Why writing to the page cannot fail.
const WRITABLE: &str = "a string takes any text";

/// The whole page; the events are those of the golden file.
pub fn page(events: &Value) -> String {
    let (document, vocabulary) = (document(), Vocabulary::gather());
    let schemas = document["components"]["schemas"].as_object().expect("it has components");
    let mut page = INTRODUCTION.to_owned();
    let mut primitives: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in OPERATIONS {
        // A wait for a status is described with what has the status.
        let primitive = match operation.parts() {
            ("wait", name) => name.split('.').next().unwrap_or(name),
            (primitive, _) => primitive,
        };
        primitives.entry(primitive).or_default().push(operation);
    }
    let links: Vec<String> = primitives.keys().map(|name| format!("[{name}](#{name})")).collect();
    writeln!(
        page,
        "{} · [transactions and watches](#transactions-and-watches) · [server](#server) · \
         [types](#types) · [events](#events)\n",
        links.join(" · ")
    )
    .expect(WRITABLE);
    for (primitive, operations) in primitives {
        writeln!(page, "## {primitive}\n").expect(WRITABLE);
        for operation in operations {
            write_operation(&mut page, operation, &vocabulary, &schemas[operation.name]);
        }
    }
    page.push_str("## Transactions and watches\n\n");
    for call in calls::all(&vocabulary) {
        write_call(&mut page, &call);
    }
    write_beside(&mut page, &document);
    page.push_str("## Types\n\n");
    for (name, schema) in schemas.iter().filter(|(name, _)| is_type(name)) {
        // A field of an answer is not required of anyone.
        let required = if vocabulary.sent.contains(name) { "required" } else { "always present" };
        write_type(&mut page, name, schema, required);
    }
    page.push_str(EVENTS);
    for (name, fields) in event_fields(events) {
        writeln!(page, "| `{name}` | {} |", fields.join(", ")).expect(WRITABLE);
    }
    page
}

/// Whether a component has its own section under the types.
fn is_type(name: &str) -> bool {
    let sums =
        ["Command", "TransactionCommand", "Result", "Answer", "TransactionAnswer", "Refused"];
    let is_operation = OPERATIONS.iter().any(|operation| operation.name == name);
    !is_operation && !name.to_lowercase().starts_with("transaction") && !sums.contains(&name)
}

fn write_operation(
    page: &mut String,
    operation: &Operation,
    vocabulary: &Vocabulary,
    schema: &Value,
) {
    let Operation { name, summary, needs, side_effects, null_when, .. } = *operation;
    writeln!(page, "### {name}\n\n{summary}.{}\n", further(schema)).expect(WRITABLE);
    let effect = match operation.effect {
        Effect::Changes => "Write",
        // The engine carries these out beside the log of the workspace, without the fields that
        // every other write takes.
        Effect::Asks if matches!(name, "workspace.fork" | "workspace.delete") => {
            "Write that takes neither `idempotency_key` nor a token"
        }
        Effect::Asks => "Read",
    };
    let result = shown(&vocabulary.result(name));
    let (method, path) = (operation.method.name(), path_of(operation));
    let role = Role::ALL.into_iter().find(|role| role.covers(needs)).map_or("", Role::name);
    write!(page, "`{method} {path}` · {effect}, role `{role}`. Returns {result}").expect(WRITABLE);
    if operation.returns_minimal() {
        page.push_str(" (`return: minimal`: [Minimal](#type-minimal))");
    }
    match null_when {
        Some(clause) => write!(page, ", or `null` if {clause}."),
        None => write!(page, "."),
    }
    .expect(WRITABLE);
    if let (Some(other), Some(reply)) = (operation.other_reply, vocabulary.other_result(name)) {
        write!(page, " With {}: {}.", other.when, shown(&reply)).expect(WRITABLE);
    }
    page.push_str("\n\n");
    if !side_effects.is_empty() {
        writeln!(page, "Side effects: {side_effects}\n").expect(WRITABLE);
    }
    write_fields(page, vocabulary.fields(name), "required");
    if let Some(example) = schema["examples"].get(0) {
        writeln!(page, "```json\n{example}\n```\n").expect(WRITABLE);
    }
}

/// The description of a type after its first sentence, which repeats the summary.
fn further(schema: &Value) -> String {
    let description = sentence(schema);
    description.split_once(". ").map(|(_, further)| format!(" {further}")).unwrap_or_default()
}

fn write_call(page: &mut String, call: &SpecialCall) {
    let SpecialCall { name, summary, details, http, fields, example, .. } = call;
    writeln!(page, "### {name}\n\n{summary}.\n").expect(WRITABLE);
    if let Some((method, path)) = http {
        writeln!(page, "`{method} {path}`\n").expect(WRITABLE);
    }
    writeln!(page, "{details}\n").expect(WRITABLE);
    write_fields(page, fields, "required");
    writeln!(page, "```json\n{example}\n```\n").expect(WRITABLE);
}

/// The paths of the whole server, which have no command.
fn write_beside(page: &mut String, document: &Value) {
    page.push_str(BESIDE);
    let paths = document["paths"].as_object().into_iter().flatten();
    for (path, methods) in paths.filter(|(path, _)| path.starts_with("/v1/access/")) {
        for (method, described) in methods.as_object().into_iter().flatten() {
            let json = |content: &Value| shown(&content["content"]["application/json"]["schema"]);
            let asked = match &described["requestBody"] {
                Value::Null => String::new(),
                body => json(body),
            };
            let is_good = |(status, _): &(&String, &Value)| status.starts_with('2');
            let answers = described["responses"].as_object();
            let answer = answers.and_then(|answers| answers.iter().find(is_good));
            let answer = answer.map_or_else(String::new, |(_, answer)| {
                let is_json = answer["content"]["application/json"].is_object();
                if is_json { json(answer) } else { "bytes".to_owned() }
            });
            let summary = described["summary"].as_str().unwrap_or_default();
            let method = method.to_uppercase();
            writeln!(page, "| `{method} {path}` | {summary} | {asked} | {answer} |")
                .expect(WRITABLE);
        }
    }
    page.push('\n');
}

fn write_type(page: &mut String, name: &str, schema: &Value, required: &str) {
    writeln!(page, "### type {name}\n\n{}\n", sentence(schema)).expect(WRITABLE);
    if schema["properties"].is_object() || schema["oneOf"].is_array() {
        write_fields(page, schema, required);
    } else {
        let or_null = if is_nullable(schema) { " or `null`" } else { "" };
        writeln!(page, "{}{or_null}\n", shown(schema)).expect(WRITABLE);
    }
}

/// Whether `null` is one of its forms.
pub(crate) fn is_nullable(schema: &Value) -> bool {
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    forms.into_iter().any(|form| form["type"] == "null")
}

/// A table of the fields; `mark` is the note for a required field.
fn write_fields(page: &mut String, schema: &Value, mark: &str) {
    let nothing = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&nothing);
    if !fields.is_empty() {
        page.push_str("| field | type | default | |\n|---|---|---|---|\n");
        let required = schema["required"].as_array();
        for (field, schema) in fields {
            let is_required = required.is_some_and(|names| names.iter().any(|name| name == field));
            let default = match schema.get("default") {
                _ if is_required => mark.to_owned(),
                Some(default) => format!("`{default}`"),
                None => "–".to_owned(),
            };
            let kind = shown(schema).replace('|', "\\|");
            let words = sentence(schema).replace('|', "\\|");
            writeln!(page, "| `{field}` | {kind} | {default} | {words} |").expect(WRITABLE);
        }
        page.push('\n');
    }
    let forms = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    if !forms.is_empty() {
        page.push_str("One of:\n\n");
        for form in forms {
            writeln!(page, "- {}{}", shown(form), described(form)).expect(WRITABLE);
        }
        page.push('\n');
    }
}

fn sentence(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The description of one of several forms, after a colon.
fn described(form: &Value) -> String {
    let words = sentence(form);
    if words.is_empty() { words } else { format!(": {words}") }
}

/// A type in a few words.
fn shown(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.trim_start_matches(COMPONENTS);
        if name == "TransactionCommand" {
            return "command".to_owned();
        }
        return format!("[{name}](#type-{})", name.to_lowercase().replace('.', ""));
    }
    // A form of an operation that only states which of its fields is required.
    let is_bare = schema["type"].is_null() && schema["properties"].is_null();
    if let (true, Some(required)) = (is_bare, schema["required"].as_array()) {
        let names: Vec<String> = required.iter().filter_map(Value::as_str).map(code).collect();
        return names.join(", ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{word}`");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" | ");
    }
    for several in ["anyOf", "allOf", "oneOf"] {
        if let Some(forms) = schema[several].as_array() {
            let forms = forms.iter().filter(|form| form["type"] != "null");
            return forms.map(shown).collect::<Vec<_>>().join(" | ");
        }
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match kinds.into_iter().find(|kind| *kind != "null") {
        Some("array") => format!("list of {}", shown(&schema["items"])),
        Some("object") => of_an_object(schema),
        Some(kind) => format!("{kind}{}", bounds(schema)),
        None => "any JSON".to_owned(),
    }
}

fn of_an_object(schema: &Value) -> String {
    match schema["properties"].as_object() {
        Some(fields) => {
            let names: Vec<String> = fields.keys().map(|name| code(name)).collect();
            format!("object with {}", names.join(", "))
        }
        None => "object".to_owned(),
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

/// The range of a number or the length of a text.
fn bounds(schema: &Value) -> String {
    let is_safe = |max: &i64| *max < (1 << 53) - 1;
    let (min, max) = (schema["minimum"].as_i64(), schema["maximum"].as_i64().filter(is_safe));
    let range = match (min, max) {
        (Some(min), Some(max)) => format!(", {min} to {max}"),
        (None, Some(max)) => format!(", at most {max}"),
        (Some(min), None) if min != 0 => format!(", at least {min}"),
        (_, None) => String::new(),
    };
    match schema["maxLength"].as_u64() {
        Some(max) => format!("{range}, at most {max} characters"),
        None => range,
    }
}

/// The fields that examples of each type have.
fn event_fields(events: &Value) -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for example in events["examples"].as_array().into_iter().flatten() {
        let name = example["name"].as_str().unwrap_or_default();
        let kind = name.split_whitespace().next().unwrap_or_default();
        // Receipts are not delivered, and events of `event.emit` have the types that agents give.
        if kind.starts_with("receipt.") || example["json"]["event"].is_object() {
            continue;
        }
        let inner = example["json"].as_object().and_then(|sum| sum.values().next());
        let fields = inner.and_then(Value::as_object).and_then(|sum| sum.values().next());
        let known = types.entry(kind.to_owned()).or_default();
        for field in fields.and_then(Value::as_object).into_iter().flat_map(Map::keys) {
            let field = format!("`{field}`");
            if !known.contains(&field) {
                known.push(field);
            }
        }
    }
    types
}

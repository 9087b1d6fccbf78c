//! The reference for people, made of the same vocabulary as the description for programs.
//!
//! A test compares `docs/reference.md` with it: a field that is added anywhere appears there, or
//! the test fails and names the command that rewrites the file.

use std::collections::BTreeMap;
use std::fmt::Write;

use baton_core::wire::{Effect, OPERATIONS, Operation};
use serde_json::{Map, Value};

use crate::paths::path_of;
use crate::vocabulary::Vocabulary;
use crate::{COMPONENTS, document};

const INTRODUCTION: &str = "\
# Reference

Every operation, every type and every event. This page is made from the types that the server
reads and writes; a test holds it against them. What goes wrong is in [errors.md](errors.md), how
the doors work in [wire.md](wire.md), and the same for programs is `GET /openapi.json`.

An operation is the same at every door:

| door | how |
|---|---|
| HTTP | `POST /v1/{workspace}/commands` with `{\"command\": \"state.set\", …}`, or its own path |
| WebSocket | `{\"id\": 1, \"workspace\": \"research\", \"command\": \"state.set\", …}` |
| shell | `baton state set …`; `baton help` lists the commands |

Besides their own fields all of them take `agent` (who acts). What changes something also takes
`idempotency_key` (repeating it has no second effect) and `token` (refused if it is stale); what
asks takes `at`, a revision or a time of the past.

";

const BESIDE: &str = "\
## Beside the workspaces

What is of the whole server. See [access.md](access.md) for who may.

| path | | takes | answers with |
|---|---|---|---|
";

const EVENTS: &str = "\
## Events

What watchers are told and the history keeps: the type, and the fields that one may have besides
`revision`, `time`, `agent`, `type` and `subject`. What agents emit themselves has the type that
they give it.

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
        primitives.entry(operation.parts().0).or_default().push(operation);
    }
    let links: Vec<String> = primitives.keys().map(|name| format!("[{name}](#{name})")).collect();
    writeln!(
        page,
        "{} · [beside](#beside-the-workspaces) · [types](#types) · [events](#events)\n",
        links.join(" · ")
    )
    .expect(WRITABLE);
    for (primitive, operations) in primitives {
        writeln!(page, "## {primitive}\n").expect(WRITABLE);
        for operation in operations {
            write_operation(&mut page, operation, &vocabulary, &schemas[operation.name]);
        }
    }
    write_beside(&mut page, &document);
    page.push_str("## Types\n\n");
    for (name, schema) in schemas.iter().filter(|(name, _)| is_type(name)) {
        write_type(&mut page, name, schema);
    }
    page.push_str(EVENTS);
    for (name, fields) in event_fields(events) {
        writeln!(page, "| `{name}` | {} |", fields.join(", ")).expect(WRITABLE);
    }
    page
}

/// Sums and envelopes say nothing that does not stand elsewhere.
fn is_type(name: &str) -> bool {
    let sums =
        ["Command", "TransactionCommand", "Result", "Answer", "TransactionAnswer", "Refused"];
    let is_operation = OPERATIONS.iter().any(|operation| operation.name == name);
    !is_operation && !name.starts_with("transaction") && !sums.contains(&name)
}

fn write_operation(
    page: &mut String,
    operation: &Operation,
    vocabulary: &Vocabulary,
    schema: &Value,
) {
    let name = operation.name;
    let effect = match operation.effect {
        Effect::Changes => "changes",
        Effect::Asks => "asks",
    };
    let words = Some(sentence(schema)).filter(|words| !words.is_empty());
    let words = words.unwrap_or_else(|| format!("{}.", operation.summary));
    writeln!(page, "### {name}\n\n{words}\n").expect(WRITABLE);
    let result = shown(&vocabulary.result(name));
    let (method, path) = (operation.method.name(), path_of(operation));
    writeln!(page, "It {effect}; answered with {result}. `{method} {path}`\n").expect(WRITABLE);
    write_fields(page, vocabulary.fields(name));
    if let Some(example) = schema["examples"].get(0) {
        writeln!(page, "```json\n{example}\n```\n").expect(WRITABLE);
    }
}

/// What is of the whole server, and has a path but no command.
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

fn write_type(page: &mut String, name: &str, schema: &Value) {
    writeln!(page, "### type {name}\n\n{}\n", sentence(schema)).expect(WRITABLE);
    if schema["properties"].is_object() || schema["oneOf"].is_array() {
        write_fields(page, schema);
    } else {
        writeln!(page, "{}\n", shown(schema)).expect(WRITABLE);
    }
}

fn write_fields(page: &mut String, schema: &Value) {
    let nothing = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&nothing);
    if !fields.is_empty() {
        page.push_str("| field | type | |\n|---|---|---|\n");
        let required = schema["required"].as_array();
        for (field, schema) in fields {
            let is_required = required.is_some_and(|names| names.iter().any(|name| name == field));
            let mark = if is_required { "" } else { "?" };
            let kind = shown(schema).replace('|', "\\|");
            writeln!(page, "| `{field}`{mark} | {kind} | {} |", sentence(schema)).expect(WRITABLE);
        }
        page.push('\n');
    }
    let forms = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    if !forms.is_empty() {
        page.push_str("One of:\n\n");
        for form in forms {
            writeln!(page, "- {}{}", shown(form), said(form)).expect(WRITABLE);
        }
        page.push('\n');
    }
}

fn sentence(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// What is said of one of several forms, after a colon.
fn said(form: &Value) -> String {
    let words = sentence(form);
    if words.is_empty() { words } else { format!(": {words}") }
}

/// A type in a few words.
fn shown(schema: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.trim_start_matches(COMPONENTS);
        return format!("[{name}](#type-{})", name.to_lowercase().replace('.', ""));
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
            let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
            format!("object with {}", names.join(", "))
        }
        None => "object".to_owned(),
    }
}

fn bounds(schema: &Value) -> String {
    let mut bounds = Vec::new();
    for (key, words) in [("minimum", "from"), ("maximum", "to"), ("maxLength", "of at most")] {
        // What every number of its width can be is no bound to speak of.
        if let Some(bound) = schema[key].as_u64().filter(|bound| ![0, u64::MAX].contains(bound)) {
            let unit = if key == "maxLength" { " characters" } else { "" };
            bounds.push(format!(" {words} {bound}{unit}"));
        }
    }
    bounds.concat()
}

/// The fields that examples of each type have.
fn event_fields(events: &Value) -> BTreeMap<String, Vec<String>> {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for example in events["examples"].as_array().into_iter().flatten() {
        let name = example["name"].as_str().unwrap_or_default();
        let kind = name.split_whitespace().next().unwrap_or_default();
        // Receipts are told to nobody, and what agents emit has the types they give it.
        if kind.starts_with("receipt.") || example["json"]["bus"].is_object() {
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

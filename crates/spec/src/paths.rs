//! Paths: what each takes, and what it may answer.

use baton_core::wire::{Effect, OPERATIONS, Operation, Rest};
use serde_json::{Map, Value, json};

use crate::vocabulary::Vocabulary;
use crate::{access, contents, examples, reference};

/// What may be refused, by status.
const REFUSALS: [(u16, &str); 12] = [
    (400, "The request cannot be understood, or makes no sense."),
    (401, "No token was shown, or one that is worth nothing."),
    (
        403,
        "A page from elsewhere, a name that is not the server's, or more than the token permits.",
    ),
    (404, "It is not there."),
    (405, "This path does not take this method."),
    (408, "The body took too long."),
    (409, "It conflicts with what is there, which stands in the answer."),
    (412, "A token is stale: the session or hold has ended, or another has taken its place."),
    (413, "Too much at once."),
    (415, "A body in a form that is not known."),
    (429, "A limit has been reached; try again later."),
    (503, "The server cannot answer now; it may have carried the request out."),
];

/// The refusals as components.
pub(crate) fn refusals() -> Value {
    let response = |(status, description): (u16, &str)| {
        let response = json!({
            "description": description,
            "content": {"application/problem+json": {"schema": reference("Problem")}},
        });
        (format!("Problem{status}"), response)
    };
    REFUSALS.map(response).into_iter().collect::<Map<_, _>>().into()
}

/// Adds these refusals to the answers of a path.
pub(crate) fn refused(responses: &mut Value, statuses: &[u16]) {
    for status in statuses {
        let path = format!("#/components/responses/Problem{status}");
        responses[status.to_string()] = json!({"$ref": path});
    }
}

/// Every path.
pub(crate) fn paths(vocabulary: &Vocabulary) -> Value {
    let mut paths = json!({});
    for operation in OPERATIONS {
        let method = operation.method.name().to_lowercase();
        paths[path_of(operation)][method] = resource(operation, vocabulary);
    }
    paths["/v1/{workspace}/commands"]["post"] = commands();
    paths["/v1/{workspace}/transactions"]["post"] = transactions();
    paths["/v1/{workspace}/watch"]["get"] = watch(vocabulary);
    paths["/v1/ws"]["get"] = socket();
    contents::add(&mut paths);
    access::add(&mut paths);
    about(&mut paths);
    paths
}

/// The path of an operation, with the names of its fields.
pub(crate) fn path_of(operation: &Operation) -> String {
    format!("/v1/{{workspace}}{}", operation.path.replace("{*", "{"))
}

pub(crate) fn in_path(name: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": schema})
}

pub(crate) fn header(name: &str, description: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

pub(crate) fn workspace() -> Value {
    in_path("workspace", &reference("WorkspaceName"))
}

/// What a header can say: plain ASCII, without blanks around it.
fn plain_text() -> Value {
    let bytes_max = baton_core::limits::IDEMPOTENCY_KEY_BYTES_MAX;
    json!({"type": "string", "maxLength": bytes_max, "pattern": "^[!-~]([ -~]*[!-~])?$"})
}

/// Who acts, and under which key.
fn caller() -> [Value; 2] {
    [
        header("Baton-Agent", "Who acts; `anonymous` if nobody is named.", &reference("AgentId")),
        header(
            "Idempotency-Key",
            "Repeating the request under the same key has no second effect.",
            &plain_text(),
        ),
    ]
}

/// A field as a query can say it: there is no `null`, and JSON is written as JSON.
fn in_query(name: &str, mut schema: Value, required: bool) -> Value {
    let description = schema["description"].take();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("default");
        fields.remove("description");
        if let Some(types) = fields.get_mut("type").and_then(Value::as_array_mut) {
            types.retain(|kind| kind != "null");
            let only = types.first().cloned().filter(|_| types.len() == 1);
            if let Some(only) = only {
                fields.insert("type".to_owned(), only);
            }
        }
        if let Some(forms) = fields.get_mut("anyOf").and_then(Value::as_array_mut) {
            forms.retain(|form| form["type"] != "null");
            let only = forms.first().cloned().filter(|_| forms.len() == 1);
            if let Some(only) = only {
                schema = only;
            }
        }
    }
    let mut parameter = json!({"name": name, "in": "query", "required": required});
    if !description.is_null() {
        parameter["description"] = description;
    }
    if is_any(&schema) {
        parameter["content"] = json!({"application/json": {"schema": true}});
        return parameter;
    }
    if schema["type"] == "array" {
        parameter["style"] = "form".into();
        parameter["explode"] = false.into();
    }
    parameter["schema"] = schema;
    parameter
}

/// Whether a schema takes every value.
fn is_any(schema: &Value) -> bool {
    schema == &json!(true) || schema == &json!({})
}

fn is_required(schema: &Value, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|it| it == field))
}

/// An operation's fields without those that stand elsewhere.
fn without(schema: &Value, elsewhere: &[&str]) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema["properties"].as_object_mut() {
        fields.retain(|name, _| !elsewhere.contains(&name.as_str()));
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name.as_str().is_none_or(|name| !elsewhere.contains(&name)));
    }
    schema
}

/// The fields that are in an operation's path.
pub(crate) fn fields_in_path(operation: &Operation) -> Vec<&'static str> {
    let parts = operation.path.split('/');
    let fields = parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    fields.map(|field| field.trim_start_matches('*')).collect()
}

fn resource(operation: &Operation, vocabulary: &Vocabulary) -> Value {
    let name = operation.name;
    let changes = operation.effect == Effect::Changes;
    let in_the_path = fields_in_path(operation);
    let mut parameters = vec![workspace()];
    parameters.extend(in_the_path.iter().map(|part| in_path(part, &vocabulary.field(name, part))));
    let fields = vocabulary.fields(name);
    let whole = if let Rest::Whole(field) = operation.rest { Some(field) } else { None };
    if matches!(operation.rest, Rest::Query | Rest::Whole(_)) {
        for (field, schema) in fields["properties"].as_object().into_iter().flatten() {
            let is_elsewhere = in_the_path.contains(&field.as_str()) || whole == Some(field);
            if !is_elsewhere {
                let required = is_required(fields, field);
                parameters.push(in_query(field, schema.clone(), required));
            }
        }
    }
    if crate::is_timeless(operation) {
        parameters.retain(|parameter| parameter["name"] != "at");
        parameters.push(in_query("at", crate::moment(), false));
    }
    parameters.extend(conditions(operation, fields));
    if changes {
        parameters.extend(caller());
        // Where the token is a field of its own, it is described as such.
        if !operation.names_token {
            let description = "What the caller acts under: refused if it is stale.";
            parameters.push(header("Baton-Token", description, &reference("Token")));
        }
    }
    let mut described = json!({
        "operationId": name,
        "summary": operation.summary,
        "tags": [operation.parts().0],
        "parameters": parameters,
        "responses": {"200": answered(name, vocabulary)},
    });
    if let Some(body) = body(operation, &in_the_path, vocabulary) {
        described["requestBody"] = body;
        refused(&mut described["responses"], &[408, 415]);
    }
    refused(&mut described["responses"], &[400, 403, 404, 405, 413, 429, 503]);
    // A fork changes nothing here, and can meet another workspace of its name.
    if changes || name == "workspace.fork" {
        refused(&mut described["responses"], &[409, 412]);
    }
    if operation.has_version && !changes {
        described["responses"]["304"] = json!({"description": "The caller has it already."});
    }
    described
}

/// Conditions in HTTP's own manner.
fn conditions(operation: &Operation, fields: &Value) -> Vec<Value> {
    if !operation.has_version {
        return Vec::new();
    }
    if operation.effect == Effect::Asks {
        return vec![header(
            "If-None-Match",
            "Versions that the caller has already.",
            &plain_text(),
        )];
    }
    let version = json!({"type": "string", "pattern": "^\"[0-9]{1,19}\"$"});
    let mut conditions = vec![header("If-Match", "Only if the entry has this version.", &version)];
    if !fields["properties"]["if_absent"].is_null() {
        let star = json!({"const": "*"});
        conditions.push(header("If-None-Match", "Only if there is none.", &star));
    }
    conditions
}

fn answered(name: &str, vocabulary: &Vocabulary) -> Value {
    let revision = json!({
        "description": "The revision at which this is the truth.",
        "required": true,
        "schema": reference("Revision"),
    });
    let mut answered = json!({
        "description": "What was asked for.",
        "headers": {"Baton-Revision": revision},
        "content": {"application/json": {"schema": vocabulary.result(name)}},
    });
    if vocabulary.result(name) == reference("Entry") {
        answered["headers"]["ETag"] = json!({
            "description": "The entry's version, in quotes.",
            "required": true,
            "schema": {"type": "string"},
        });
    }
    answered
}

fn body(operation: &Operation, in_the_path: &[&str], vocabulary: &Vocabulary) -> Option<Value> {
    let name = operation.name;
    let rest = || without(vocabulary.fields(name), in_the_path);
    let json_of = |schema: &Value| json!({"application/json": {"schema": schema}});
    match operation.rest {
        Rest::Query => None,
        Rest::Body => {
            let mut rest = rest();
            let is_needed = rest["required"].as_array().is_some_and(|names| !names.is_empty());
            if let Some(example) = examples::fields(name, in_the_path) {
                rest["examples"] = json!([example]);
            }
            Some(json!({"required": is_needed, "content": json_of(&rest)}))
        }
        Rest::Whole(field) => {
            let schema = vocabulary.field(name, field);
            Some(json!({"required": true, "content": json_of(&schema)}))
        }
        Rest::Patch => Some(json!({"required": true, "content": {
            "application/json": {"schema": rest()},
            "application/merge-patch+json": {"schema": true},
            "application/json-patch+json": {"schema": {"type": "array"}},
        }})),
    }
}

/// All that commands by name may be refused with.
const EVERY: [u16; 11] = [400, 403, 404, 405, 408, 409, 412, 413, 415, 429, 503];

fn commands() -> Value {
    let many = json!({"type": "array", "items": reference("Command"), "maxItems": 1_000});
    let one_answer = json!({"anyOf": [reference("Answer"), reference("TransactionAnswer")]});
    let any = [reference("Answer"), reference("TransactionAnswer"), reference("Refused")];
    let many_answers = json!({"type": "array", "items": {"anyOf": any}});
    let mut described = json!({
        "operationId": "commands",
        "summary": "Say a command or ask a question by name, or several at once",
        "description": "Several are independent of each other and answered in order; one that is \
            refused is answered with its error.",
        "tags": ["commands"],
        "parameters": [workspace()],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"oneOf": [reference("Command"), many]},
            "examples": examples::all(),
        }}},
        "responses": {"200": {
            "description": "What was asked for.",
            "content": {"application/json": {"schema": {"oneOf": [one_answer, many_answers]}}},
        }},
    });
    add_caller(&mut described);
    refused(&mut described["responses"], &EVERY);
    described
}

fn transactions() -> Value {
    let mut described = json!({
        "operationId": "transactions",
        "summary": "Carry out several commands, all or nothing",
        "tags": ["commands"],
        "parameters": [workspace()],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": reference("Transaction"),
            "examples": {"transaction": {"value": examples::transaction()}},
        }}},
        "responses": {"200": {
            "description": "One result for each command, in order.",
            "content": {"application/json": {"schema": reference("TransactionAnswer")}},
        }},
    });
    add_caller(&mut described);
    refused(&mut described["responses"], &EVERY);
    described
}

fn add_caller(described: &mut Value) {
    if let Some(parameters) = described["parameters"].as_array_mut() {
        parameters.extend(caller());
    }
}

fn watch(vocabulary: &Vocabulary) -> Value {
    let mut parameters = vec![workspace()];
    let fields = vocabulary.watch["properties"].as_object().into_iter().flatten();
    parameters.extend(fields.map(|(name, schema)| in_query(name, schema.clone(), false)));
    parameters.push(header(
        "Last-Event-ID",
        "The last revision that was seen whole; events after it follow.",
        &reference("Revision"),
    ));
    let mut described = json!({
        "operationId": "watch",
        "summary": "Events as they happen",
        "description": "Server-Sent Events: `event` is the type, `data` the event as JSON, `id` \
            the revision, on the last event of a commit only: resuming never splits one.",
        "tags": ["watch"],
        "parameters": parameters,
        "responses": {"200": {
            "description": "Events, in order, without gap or duplicate, until one side ends it.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 413, 429, 503]);
    described
}

fn socket() -> Value {
    let mut described = json!({
        "operationId": "websocket",
        "summary": "Commands, answers and events over a WebSocket",
        "description": "Sub-protocols: `baton.v1.json` (text, the default) and `baton.v1.msgpack` \
            (the same documents as bytes). A request is a command with `id` and `workspace`.",
        "tags": ["watch"],
        "responses": {"101": {"description": "The WebSocket is open."}},
    });
    refused(&mut described["responses"], &[400, 403, 405, 429, 503]);
    described
}

/// The server about itself.
fn about(paths: &mut Value) {
    let status = json!({
        "type": "object",
        "properties": {"status": {"type": "string"}},
        "required": ["status"],
    });
    let answers = [
        ("/healthz", "Whether the server runs", "application/json", status.clone()),
        ("/readyz", "Whether requests are served", "application/json", status),
        ("/metrics", "Counters in the form of Prometheus", "text/plain", json!({"type": "string"})),
        ("/openapi.json", "This document", "application/json", json!({"type": "object"})),
    ];
    for (path, summary, kind, schema) in answers {
        let mut described = json!({
            "operationId": path.trim_start_matches('/'),
            "summary": summary,
            "tags": ["server"],
            "responses": {"200": {
                "description": "So it is.",
                "content": {kind: {"schema": schema}},
            }},
        });
        refused(&mut described["responses"], &[403, 405, 429, 503]);
        paths[path]["get"] = described;
    }
}

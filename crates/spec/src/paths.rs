//! The paths: parameters, bodies and responses.

use baton_core::wire::{Effect, OPERATIONS, Operation, Rest};
use serde_json::{Map, Value, json};

use crate::vocabulary::Vocabulary;
use crate::{access, contents, examples, reference};

/// The errors, by status.
const REFUSALS: [(u16, &str); 12] = [
    (400, "The request is malformed or its values are invalid."),
    (401, "The access token is missing or invalid."),
    (403, "The access token does not permit this, or `Host` or `Origin` is not allowed."),
    (404, "Not found."),
    (405, "Method not allowed on this path."),
    (408, "The request body did not arrive in time."),
    (409, "Conflict with the current state, which the problem contains."),
    (412, "Stale token: the lease, hold or session has ended or was replaced."),
    (413, "The request is too large."),
    (415, "Unsupported media type."),
    (429, "A limit or quota is reached; try again later."),
    (503, "The server cannot answer now. The request may have been executed."),
];

/// The errors as components.
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

/// Adds these errors to the responses of a path.
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
    json!({"name": name, "in": "path", "required": true, "schema": never_null(schema)})
}

/// The schema without the alternative `null`: a part of a path is always there.
fn never_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let null = json!({"type": "null"});
    let Some(Value::Array(alternatives)) = schema.get("anyOf").cloned() else { return schema };
    let rest: Vec<Value> = alternatives.into_iter().filter(|it| *it != null).collect();
    if let (Some(fields), [Value::Object(only)]) = (schema.as_object_mut(), rest.as_slice()) {
        fields.remove("anyOf");
        fields.extend(only.clone());
    }
    schema
}

pub(crate) fn header(name: &str, description: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "header", "description": description, "schema": schema})
}

pub(crate) fn workspace() -> Value {
    in_path("workspace", &reference("WorkspaceName"))
}

/// A header value: printable ASCII without surrounding spaces.
fn plain_text() -> Value {
    let bytes_max = baton_core::limits::IDEMPOTENCY_KEY_BYTES_MAX;
    json!({"type": "string", "maxLength": bytes_max, "pattern": "^[!-~]([ -~]*[!-~])?$"})
}

/// The headers that name the agent and the idempotency key.
fn caller() -> [Value; 2] {
    [
        header("Baton-Agent", "The agent that acts. Default: `anonymous`.", &reference("AgentId")),
        header(
            "Idempotency-Key",
            "A repeated request with the same key returns the stored answer and has no second \
             effect.",
            &plain_text(),
        ),
    ]
}

/// A field as a query parameter: there is no `null`, and any JSON is written as JSON.
fn in_query(name: &str, mut schema: Value, required: bool) -> Value {
    let description = schema["description"].take();
    if let Some(fields) = schema.as_object_mut() {
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
        parameter["content"] = json!({"application/json": {"schema": {}}});
        return parameter;
    }
    if schema["type"] == "array" {
        parameter["style"] = "form".into();
        parameter["explode"] = false.into();
    }
    parameter["schema"] = schema;
    parameter
}

/// Whether a schema allows every value.
fn is_any(schema: &Value) -> bool {
    schema == &json!(true) || schema == &json!({})
}

fn is_required(schema: &Value, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|it| it == field))
}

/// The fields of an operation without those that are elsewhere in the request.
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
        // Operations with their own field `token` describe it as such.
        if !operation.names_token {
            let description =
                "Fencing token of the caller's lease, hold or session. A stale one is rejected.";
            parameters.push(header("Baton-Token", description, &reference("Token")));
        }
    }
    let mut described = json!({
        "operationId": name,
        "summary": operation.summary,
        "tags": [operation.parts().0],
        "parameters": parameters,
        "responses": {"200": answered(operation, vocabulary)},
    });
    if !operation.side_effects.is_empty() {
        described["description"] = operation.side_effects.into();
    }
    if let Some(body) = body(operation, &in_the_path, vocabulary) {
        described["requestBody"] = body;
        refused(&mut described["responses"], &[408, 415]);
    }
    refused(&mut described["responses"], &[400, 403, 404, 405, 413, 429, 503]);
    // These are queries, but the name of a fork may exist, a workspace may be in use, and two
    // copies may have no common revision.
    if changes || matches!(name, "workspace.fork" | "workspace.delete" | "workspace.changes") {
        refused(&mut described["responses"], &[409, 412]);
    }
    if operation.has_version && !changes {
        described["responses"]["304"] = json!({"description": "Not modified."});
    }
    described
}

/// Conditional requests.
fn conditions(operation: &Operation, fields: &Value) -> Vec<Value> {
    if !operation.has_version {
        return Vec::new();
    }
    if operation.effect == Effect::Asks {
        return vec![header(
            "If-None-Match",
            "ETags of versions that the caller has.",
            &plain_text(),
        )];
    }
    let version = json!({"type": "string", "pattern": "^\"[0-9]{1,19}\"$"});
    let mut conditions =
        vec![header("If-Match", "Write only if the entry has this version.", &version)];
    if !fields["properties"]["if_absent"].is_null() {
        let star = json!({"type": "string", "enum": ["*"]});
        conditions.push(header("If-None-Match", "Write only if the entry does not exist.", &star));
    }
    conditions
}

fn answered(operation: &Operation, vocabulary: &Vocabulary) -> Value {
    let result = vocabulary.result(operation.name);
    let revision = json!({
        "description": "The revision that the answer reflects.",
        "required": true,
        "schema": reference("Revision"),
    });
    let mut answered = json!({
        "description": match operation.null_when {
            Some(clause) => format!("Success. The result is `null` if {clause}."),
            None => "Success.".to_owned(),
        },
        "headers": {"Baton-Revision": revision},
        "content": {"application/json": {"schema": result}},
    });
    if let Some(other) = vocabulary.other_result(operation.name) {
        answered["content"]["application/json"]["schema"] = json!({"anyOf": [result, other]});
    }
    if operation.returns_minimal() {
        // Most generators of clients know one type per response: the description has this one.
        let note = " With `Prefer: return=minimal`, a `Minimal`, and `Preference-Applied`.";
        answered["description"] = format!("{}{note}", text(&answered["description"])).into();
    }
    if result == reference("Entry") {
        answered["headers"]["ETag"] = json!({
            "description": "The version of the entry, in quotes.",
            "required": true,
            "schema": {"type": "string"},
        });
    }
    answered
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
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
            "application/merge-patch+json": {"schema": {}},
            "application/json-patch+json": {
                "schema": {"type": "array", "items": {"type": "object"}},
            },
        }})),
    }
}

/// Every error of commands by name.
const EVERY: [u16; 11] = [400, 403, 404, 405, 408, 409, 412, 413, 415, 429, 503];

fn commands() -> Value {
    let many = json!({"type": "array", "items": reference("Command"), "maxItems": 1_000});
    let one_answer = json!({"anyOf": [reference("Answer"), reference("TransactionAnswer")]});
    let any = [reference("Answer"), reference("TransactionAnswer"), reference("Refused")];
    let many_answers = json!({"type": "array", "items": {"anyOf": any}});
    let mut described = json!({
        "operationId": "commands",
        "summary": "Execute one or several operations by name",
        "description": "An array is executed in order, each operation on its own; a rejected one \
            is answered with its error and does not affect the others.",
        "tags": ["commands"],
        "parameters": [workspace()],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": {"oneOf": [reference("Command"), many]},
            "examples": examples::all(),
        }}},
        "responses": {"200": {
            "description": "Success.",
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
        "summary": "Execute several commands atomically",
        "tags": ["commands"],
        "parameters": [workspace()],
        "requestBody": {"required": true, "content": {"application/json": {
            "schema": reference("TransactionRequest"),
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
    for parameter in parameters.iter_mut().filter(|parameter| parameter["name"] == "pattern") {
        parameter["schema"] = json!({"allOf": [reference("Pattern")], "default": "**"});
    }
    parameters.push(header(
        "Last-Event-ID",
        "The last revision that was received completely; events after it are sent.",
        &reference("Revision"),
    ));
    let mut described = json!({
        "operationId": "watch",
        "summary": "Stream events as they are committed",
        "description": "Server-Sent Events: `event` is the type and `data` the event as JSON. \
            `id` is the revision and is sent with the last event of each commit, so that resuming \
            never splits a commit.",
        "tags": ["watch"],
        "parameters": parameters,
        "responses": {"200": {
            "description": "Events in order, without gaps or duplicates, until either side closes \
                the connection.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 413, 429, 503]);
    described
}

fn socket() -> Value {
    let mut described = json!({
        "operationId": "websocket",
        "summary": "Open a WebSocket for commands, answers and events",
        "description": "Sub-protocols: `baton.v1.json` (text, the default) and `baton.v1.msgpack` \
            (the same documents as bytes). A request is a command with `id` and `workspace`.",
        "tags": ["watch"],
        "responses": {"101": {"description": "Switched to WebSocket."}},
    });
    refused(&mut described["responses"], &[400, 403, 405, 429, 503]);
    described
}

/// Health, metrics and this document.
fn about(paths: &mut Value) {
    let status = json!({
        "type": "object",
        "properties": {"status": {"type": "string"}},
        "required": ["status"],
    });
    let answers = [
        ("/healthz", "Check that the server is running", "application/json", status.clone()),
        ("/readyz", "Check that the server accepts requests", "application/json", status),
        (
            "/metrics",
            "Get metrics in the Prometheus text format",
            "text/plain",
            json!({"type": "string"}),
        ),
        ("/openapi.json", "Get this document", "application/json", json!({"type": "object"})),
        (
            "/docs/errors",
            "Get the list of errors, to which the `type` of a problem leads",
            "text/plain",
            json!({"type": "string"}),
        ),
        (
            "/llms.txt",
            "Get what a language model should read first, with links to the documentation",
            "text/plain",
            json!({"type": "string"}),
        ),
    ];
    for (path, summary, kind, schema) in answers {
        let mut described = json!({
            "operationId": path.trim_start_matches('/').replace('/', "."),
            "summary": summary,
            "tags": ["server"],
            "responses": {"200": {
                "description": "Success.",
                "content": {kind: {"schema": schema}},
            }},
        });
        refused(&mut described["responses"], &[403, 405, 429, 503]);
        paths[path]["get"] = described;
    }
}

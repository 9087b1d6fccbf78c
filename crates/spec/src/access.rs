//! The paths of the whole server: tokens and denied requests.

use serde_json::{Map, Value, json};

use crate::paths::{in_path, refused};
use crate::reference;

pub(crate) fn add(paths: &mut Value) {
    paths["/v1/access/tokens"]["get"] = list();
    paths["/v1/access/tokens"]["post"] = create();
    paths["/v1/access/tokens/{token}"]["delete"] = revoke();
    paths["/v1/access/refusals"]["get"] = refusals();
    paths["/v1/access/grant"]["get"] = grant();
    paths["/v1/access/cluster"]["get"] = cluster();
    let summary = "Empty a server without stopping it: its shards go to the others";
    paths["/v1/access/cluster/drain"]["post"] = drain("cluster.drain", summary);
    let summary = "Let a drained server take shards again";
    paths["/v1/access/cluster/undrain"]["post"] = drain("cluster.undrain", summary);
}

fn of(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

/// A path without its particular errors.
fn described(id: &str, summary: &str, status: u16, answer: (&str, &Value)) -> Value {
    let (description, schema) = answer;
    let mut described = json!({
        "operationId": id,
        "summary": summary,
        "tags": ["access"],
        "parameters": [],
        "responses": {},
    });
    described["responses"][status.to_string()] =
        json!({"description": description, "content": of(schema)});
    refused(&mut described["responses"], &[400, 401, 403, 405, 503]);
    described
}

fn list() -> Value {
    let tokens = json!({
        "type": "object",
        "properties": {"tokens": {"type": "array", "items": reference("TokenRecord")}},
        "required": ["tokens"],
    });
    described("token.list", "List tokens, including revoked ones", 200, ("The tokens.", &tokens))
}

fn create() -> Value {
    let answer = ("The token, which is returned only once.", &reference("TokenMade"));
    let mut described = described("token.create", "Create a token", 201, answer);
    let example = json!({
        "name": "ci",
        "grant": {"role": "worker", "workspaces": ["team-*"], "agent": "ci"},
        "ttl_ms": 2_592_000_000_u64,
    });
    let mut content = of(&reference("TokenWanted"));
    content["application/json"]["example"] = example;
    described["requestBody"] = json!({"required": true, "content": content});
    refused(&mut described["responses"], &[408, 413, 415, 429]);
    described
}

fn revoke() -> Value {
    let answer = ("The revoked token.", &reference("TokenRecord"));
    let summary = "Revoke a token and close its connections";
    let mut described = described("token.revoke", summary, 200, answer);
    let id = json!({"type": "string", "description": "The id of the token, not the token itself."});
    described["parameters"] = json!([in_path("token", &id)]);
    refused(&mut described["responses"], &[404]);
    described
}

fn grant() -> Value {
    let answer =
        ("The permissions of the token; without tokens, the role is `admin`.", &reference("Grant"));
    let summary = "Get the permissions of the caller";
    described("access.grant", summary, 200, answer)
}

/// A server of the cluster, as an answer shows it.
fn server() -> Value {
    let number = json!({"type": "integer", "minimum": 0});
    let numbers = json!({"type": "array", "items": number});
    let text = json!({"type": "string"});
    let names = [
        "shards_taken",
        "shards_lost",
        "forwarded",
        "forward_failures",
        "take_ms_mean",
        "heartbeat_us_mean",
    ];
    let counters: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), number.clone())).collect();
    let counters = json!({
        "type": "object",
        "description": "Since the server was started; missing if it did not answer.",
        "properties": counters,
        "required": names,
    });
    json!({
        "type": "object",
        "properties": {
            "id": text, "address": text, "version": text, "heartbeat_age_ms": number,
            "draining": {"type": "boolean"}, "shards": numbers, "counters": counters,
        },
        "required": ["id", "address", "version", "heartbeat_age_ms", "draining", "shards"],
    })
}

fn drain(id: &str, summary: &str) -> Value {
    let answer = ("The server, with the shards that it had before.", &server());
    let mut described = described(id, summary, 200, answer);
    let which = json!({
        "type": "string",
        "description": "The address of the server, its id or the beginning of it. Default: the \
            server that answers.",
    });
    let wanted = json!({
        "type": "object",
        "properties": {"server": which},
        "additionalProperties": false,
    });
    let mut content = of(&wanted);
    content["application/json"]["example"] = json!({"server": "3f9a1c"});
    described["requestBody"] = json!({"required": false, "content": content});
    refused(&mut described["responses"], &[404, 408, 409]);
    described
}

fn cluster() -> Value {
    let number = json!({"type": "integer", "minimum": 0});
    let numbers = json!({"type": "array", "items": number});
    let text = json!({"type": "string"});
    let server = server();
    let status = json!({
        "type": "object",
        "properties": {
            "answered_by": text, "shards": number,
            "servers": {"type": "array", "items": server}, "unowned": numbers,
        },
        "required": ["answered_by", "shards", "servers", "unowned"],
    });
    let answer = ("The servers with their shards, and the shards without an owner.", &status);
    described("cluster.status", "List the servers that share the data", 200, answer)
}

fn refusals() -> Value {
    let answer = ("Denied requests, newest first.", &reference("RefusalPage"));
    let summary = "List recently denied requests";
    let mut described = described("access.refusals", summary, 200, answer);
    let number = |name: &str, description: &str, schema: Value| {
        json!({
            "name": name, "in": "query", "description": description, "schema": schema,
        })
    };
    let limit = json!({"type": "integer", "minimum": 1, "maximum": 1_000, "default": 100});
    let before = json!({"type": "integer", "minimum": 1});
    described["parameters"] = json!([
        number("limit", "The maximum number of results.", limit),
        number("before", "The `cursor` of the previous page. Default: the newest first.", before),
    ]);
    described
}

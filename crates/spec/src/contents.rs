//! The paths whose bodies are bytes instead of JSON.

use serde_json::{Value, json};

use crate::paths::{header, in_path, refused, workspace};
use crate::reference;

pub(crate) fn add(paths: &mut Value) {
    paths["/v1/{workspace}/artifacts"]["put"] = upload();
    paths["/v1/{workspace}/artifacts/{artifact}"]["get"] = download();
    paths["/v1/{workspace}/export"]["get"] = export();
    paths["/v1/access/backup"]["get"] = backup();
    paths["/v1/{workspace}/import"]["post"] = import();
    paths["/v1/{workspace}/secrets"]["put"] = hide();
    paths["/v1/{workspace}/secrets/{secret}/reveal"]["post"] = reveal();
}

fn any_bytes() -> Value {
    json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}})
}

fn agent() -> Value {
    header("Baton-Agent", "The agent that acts. Default: `anonymous`.", &reference("AgentId"))
}

fn in_query(name: &str, description: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn upload() -> Value {
    let known = "The artifact existed; its retention time starts again.";
    let schema = reference("Artifact");
    let mut keep = number();
    keep["default"] = baton_core::limits::ARTIFACT_KEEP_MS_DEFAULT.into();
    let answered = |description: &str| {
        json!({
            "description": description,
            "content": {"application/json": {"schema": schema}},
        })
    };
    let mut described = json!({
        "operationId": "artifact.put",
        "summary": "Upload an artifact",
        "tags": ["artifact"],
        "parameters": [
            workspace(),
            in_query("name", "File name for display. Default: none.", &reference("ContentName")),
            in_query("keep_ms", "How long it is kept without a reference, in milliseconds.", &keep),
            header("Baton-Artifact", "The expected id of the body.", &reference("ArtifactId")),
            header("Content-Digest", "Expected digest as in RFC 9530.", &json!({"type": "string"})),
            agent(),
        ],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": answered("Created."), "200": answered(known)},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 413, 415, 429, 503]);
    described
}

fn download() -> Value {
    let mut described = json!({
        "operationId": "artifact.read",
        "summary": "Download an artifact",
        "tags": ["artifact"],
        "parameters": [
            workspace(),
            in_path("artifact", &reference("ArtifactId")),
            header("Range", "Byte range, such as `bytes=0-99`.", &json!({"type": "string"})),
            header("If-None-Match", "ETags that the caller has.", &json!({"type": "string"})),
        ],
        "responses": {
            "200": {"description": "The content.", "content": any_bytes()},
            "206": {"description": "The requested range.", "content": any_bytes()},
            "304": {"description": "Not modified."},
            "416": {
                "description": "The range is not satisfiable.",
                "content": {"application/problem+json": {"schema": reference("Problem")}},
            },
        },
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 503]);
    described
}

fn export() -> Value {
    let mut described = json!({
        "operationId": "workspace.export",
        "summary": "Export a workspace without its history and secret values",
        "tags": ["workspace"],
        "parameters": [
            workspace(),
            in_query("at", "The revision or time. Default: the present.", &crate::moment()),
            agent(),
        ],
        "responses": {"200": {"description": "The file.", "content": any_bytes()}},
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 413, 429, 503]);
    described
}

fn backup() -> Value {
    let mut described = json!({
        "operationId": "server.backup",
        "summary": "Back up all workspaces with their history and secret values",
        "tags": ["server"],
        "parameters": [],
        "responses": {"200": {"description": "The file.", "content": any_bytes()}},
    });
    refused(&mut described["responses"], &[403, 405, 429, 503]);
    described
}

fn import() -> Value {
    let mut described = json!({
        "operationId": "workspace.import",
        "summary": "Import an exported file as a new workspace",
        "tags": ["workspace"],
        "parameters": [workspace(), agent()],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": {
            "description": "Created.",
            "content": {"application/json": {"schema": reference("Forked")}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 409, 415, 429, 503]);
    described
}

fn hide() -> Value {
    let mut described = json!({
        "operationId": "secret.put",
        "summary": "Store a secret",
        "tags": ["secret"],
        "parameters": [
            workspace(),
            in_query("name", "Name for display. Default: none.", &reference("ContentName")),
            in_query("ttl_ms", "Time to live in milliseconds. Default: no expiry.", &number()),
            agent(),
        ],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": {
            "description": "The secret's reference and metadata.",
            "content": {"application/json": {"schema": reference("SecretRecord")}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 413, 415, 429, 503]);
    described
}

fn reveal() -> Value {
    let mut described = json!({
        "operationId": "secret.reveal",
        "summary": "Read the value of a secret; the access is recorded",
        "tags": ["secret"],
        "parameters": [workspace(), in_path("secret", &reference("SecretId")), agent()],
        "responses": {"200": {"description": "The value.", "content": any_bytes()}},
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 503]);
    described
}

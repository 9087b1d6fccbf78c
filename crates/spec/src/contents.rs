//! The paths where a body is bytes, and not the fields of an operation.

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
    json!({"*/*": {"schema": {"type": "string", "format": "binary"}}})
}

fn agent() -> Value {
    header("Baton-Agent", "Who acts; `anonymous` if nobody is named.", &reference("AgentId"))
}

fn said(name: &str, description: &str, schema: &Value) -> Value {
    json!({"name": name, "in": "query", "description": description, "schema": schema})
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn upload() -> Value {
    let known = "It was there already, and is kept for as long again.";
    let schema = reference("Artifact");
    let answered = |description: &str| {
        json!({
            "description": description,
            "content": {"application/json": {"schema": schema}},
        })
    };
    let mut described = json!({
        "operationId": "artifact.put",
        "summary": "Put an artifact: the body, as it is",
        "tags": ["artifact"],
        "parameters": [
            workspace(),
            said("name", "What people call it.", &reference("ContentName")),
            said("keep_ms", "How long it is kept while nobody names it.", &number()),
            header("Baton-Artifact", "What the body must turn out as.", &reference("ArtifactId")),
            header("Content-Digest", "The same, as RFC 9530 says it.", &json!({"type": "string"})),
            agent(),
        ],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": answered("It is there."), "200": answered(known)},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 413, 429, 503]);
    described
}

fn download() -> Value {
    let mut described = json!({
        "operationId": "artifact.read",
        "summary": "Read the bytes of an artifact, or a part of them",
        "tags": ["artifact"],
        "parameters": [
            workspace(),
            in_path("artifact", &reference("ArtifactId")),
            header("Range", "Which part: `bytes=0-99`.", &json!({"type": "string"})),
            header("If-None-Match", "Tags that the caller has.", &json!({"type": "string"})),
        ],
        "responses": {
            "200": {"description": "All of it.", "content": any_bytes()},
            "206": {"description": "The part.", "content": any_bytes()},
            "304": {"description": "The caller has it already."},
            "416": {
                "description": "It has no such part.",
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
        "summary": "The whole workspace as one file, without its past and the values of secrets",
        "tags": ["workspace"],
        "parameters": [
            workspace(),
            said("at", "As it was at this revision or time.", &crate::moment()),
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
        "summary": "All workspaces as one file, with their past and the values of secrets",
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
        "summary": "Make a workspace, which must not be there yet, of such a file",
        "tags": ["workspace"],
        "parameters": [workspace(), agent()],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": {
            "description": "It is there.",
            "content": {"application/json": {"schema": reference("Forked")}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 409, 429, 503]);
    described
}

fn hide() -> Value {
    let mut described = json!({
        "operationId": "secret.put",
        "summary": "Hand in a secret: the body, as it is",
        "tags": ["secret"],
        "parameters": [
            workspace(),
            said("name", "What people call it.", &reference("ContentName")),
            said("ttl_ms", "How long it is kept; until it is deleted if not given.", &number()),
            agent(),
        ],
        "requestBody": {"required": true, "content": any_bytes()},
        "responses": {"201": {
            "description": "Its reference.",
            "content": {"application/json": {"schema": reference("SecretRecord")}},
        }},
    });
    refused(&mut described["responses"], &[400, 403, 405, 408, 413, 429, 503]);
    described
}

fn reveal() -> Value {
    let mut described = json!({
        "operationId": "secret.reveal",
        "summary": "The value of a secret; that it was asked for is written down",
        "tags": ["secret"],
        "parameters": [workspace(), in_path("secret", &reference("SecretId")), agent()],
        "responses": {"200": {"description": "The value.", "content": any_bytes()}},
    });
    refused(&mut described["responses"], &[400, 403, 404, 405, 503]);
    described
}

//! The paths beside the workspaces: tokens, and what was refused.

use serde_json::{Value, json};

use crate::paths::{in_path, refused};
use crate::reference;

pub(crate) fn add(paths: &mut Value) {
    paths["/v1/access/tokens"]["get"] = list();
    paths["/v1/access/tokens"]["post"] = create();
    paths["/v1/access/tokens/{token}"]["delete"] = revoke();
    paths["/v1/access/refusals"]["get"] = refusals();
}

fn of(schema: &Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

/// What one of them is, but for what it may refuse.
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
    described("token.list", "Every token, also those that were revoked", 200, ("All.", &tokens))
}

fn create() -> Value {
    let answer = ("The token, shown this once.", &reference("TokenMade"));
    let mut described = described("token.create", "Make a token", 201, answer);
    let example = json!({
        "name": "ci",
        "grant": {"role": "worker", "workspaces": ["team-*"], "agent": "ci"},
        "ttl_ms": 2_592_000_000_u64,
    });
    let mut content = of(&reference("TokenWanted"));
    content["application/json"]["example"] = example;
    described["requestBody"] = json!({"required": true, "content": content});
    refused(&mut described["responses"], &[408, 413, 429]);
    described
}

fn revoke() -> Value {
    let answer = ("It is worth nothing any more.", &reference("TokenRecord"));
    let summary = "Revoke a token; what its owner has open ends";
    let mut described = described("token.revoke", summary, 200, answer);
    let id = json!({"type": "string", "description": "Its id, not the token itself."});
    described["parameters"] = json!([in_path("token", &id)]);
    refused(&mut described["responses"], &[404]);
    described
}

fn refusals() -> Value {
    let answer = ("The newest first.", &reference("RefusalPage"));
    let summary = "What was refused lately, to whom and why; for operators and admins";
    let mut described = described("access.refusals", summary, 200, answer);
    let number = |name: &str, description: &str, max: u64| {
        json!({
            "name": name, "in": "query", "description": description,
            "schema": {"type": "integer", "minimum": 1, "maximum": max},
        })
    };
    described["parameters"] = json!([
        number("limit", "How many at most.", 1_000),
        number("before", "Only those before this number: the cursor of the page before.", u64::MAX),
    ]);
    described
}

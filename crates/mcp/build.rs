//! Derives a tool from every operation of `spec/operations.json`, so that an operation is declared
//! once.

use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value, json};

/// The operations, which the tests of `baton-spec` write.
const OPERATIONS: &str = "../../spec/operations.json";
/// The schemas that they refer to.
const SCHEMAS: &str = "../../spec/openapi.json";

fn main() {
    println!("cargo::rerun-if-changed={OPERATIONS}");
    println!("cargo::rerun-if-changed={SCHEMAS}");
    let read = |path: &str| -> Value {
        let text = fs::read(path).expect("the file is in the repository");
        serde_json::from_slice(&text).expect("it is JSON")
    };
    let (operations, schemas) = (read(OPERATIONS), read(SCHEMAS));
    let operations = operations["operations"].as_array().expect("there is a list of operations");
    let tools: Vec<Value> = operations.iter().map(|operation| tool(operation, &schemas)).collect();
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let text = serde_json::to_string(&tools).expect("JSON can be written");
    fs::write(Path::new(&folder).join("operations.json"), text).expect("it can be written");
}

fn tool(operation: &Value, schemas: &Value) -> Value {
    let text = |name: &str| operation[name].as_str().unwrap_or_default();
    let fields = operation["fields"].as_object().expect("an operation has fields");
    let properties: Map<String, Value> = fields
        .iter()
        .map(|(name, field)| (name.clone(), plain(&field["schema"], schemas, 0)))
        .collect();
    let required: Vec<&String> = fields
        .iter()
        .filter(|(_, field)| field["required"] == true)
        .map(|(name, _)| name)
        .collect();
    let (is_read, is_deletion) = (text("effect") == "asks", text("method") == "DELETE");
    // A fork is asked for like a question, and creates a workspace.
    let is_read = is_read && text("permission") == "read";
    json!({
        "operation": text("name"),
        "permission": text("permission"),
        "name": format!("baton_{}", text("name").replace('.', "_")),
        "description": format!("{}. {}", text("summary"), text("side_effects")).trim(),
        "inputSchema": {"type": "object", "properties": properties, "required": required},
        "annotations": {
            "readOnlyHint": is_read,
            "destructiveHint": is_deletion || text("name") == "checkpoint.prune",
            "idempotentHint": is_read || text("method") == "PUT" || is_deletion,
            "openWorldHint": false,
        },
    })
}

/// A schema without references: those of names and numbers are written out, others are any value.
fn plain(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let Some(members) = schema.as_object() else { return schema.clone() };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let target = &schemas["components"]["schemas"][name];
        let is_simple = target["type"] == "string" || target["type"] == "integer";
        let mut shown = json!({});
        if is_simple && depth < 4 {
            shown["type"] = target["type"].clone();
        }
        if let Some(description) = members.get("description") {
            shown["description"] = description.clone();
        }
        return shown;
    }
    let kept = ["type", "description", "default", "minimum", "maximum", "enum", "const"];
    let mut shown = Map::new();
    for (name, value) in members {
        match name.as_str() {
            "items" => _ = shown.insert(name.clone(), plain(value, schemas, depth + 1)),
            "anyOf" | "oneOf" => {
                let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let list = list.iter().map(|one| plain(one, schemas, depth + 1)).collect();
                shown.insert(name.clone(), list);
            }
            other if kept.contains(&other) => _ = shown.insert(name.clone(), value.clone()),
            _ => {}
        }
    }
    Value::Object(shown)
}

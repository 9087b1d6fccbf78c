//! The table of operations for programs that generate clients: `spec/operations.json`.
//!
//! It contains what `OpenAPI` cannot express: which operations wait, which take a token, which
//! have a minimal answer, which have another reply with further fields, which operation gives a
//! late grant back (each item, if the reply is a list), when a reply is `null`, and side effects.
//! `calls` are transactions and the calls about a connection. Types are references into
//! `openapi.json`.

use baton_core::access::Role;
use baton_core::wire::{Effect, GivesBack, OPERATIONS, Operation, OtherReply, Rest};
use serde_json::{Map, Value, json};

use crate::calls::{self, SpecialCall};
use crate::paths::{fields_in_path, path_of};
use crate::vocabulary::Vocabulary;
use crate::{COMPONENTS, examples, is_timeless};

/// Every operation with its whole declaration.
pub fn operations() -> Value {
    let vocabulary = Vocabulary::gather();
    let described = OPERATIONS.map(|operation| described(operation, &vocabulary));
    let calls = calls::all(&vocabulary);
    let calls = calls.each_ref().map(special);
    let mut table = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "operations": &described[..],
        "calls": &calls[..],
    });
    refer_to_document(&mut table);
    table
}

fn described(operation: &Operation, vocabulary: &Vocabulary) -> Value {
    let name = operation.name;
    let least = Role::ALL.into_iter().find(|role| role.covers(operation.needs));
    let changes = operation.effect == Effect::Changes;
    let mut described = json!({
        "name": name,
        "primitive": operation.parts().0,
        "effect": if changes { "changes" } else { "asks" },
        "method": operation.method.name(),
        "path": path_of(operation),
        "fields": fields(operation, vocabulary.fields(name)),
        "reply": vocabulary.result(name),
        "other_reply": operation.other_reply.map(|OtherReply { fields, when, .. }| {
            json!({"fields": fields, "when": when, "reply": vocabulary.other_result(name)})
        }),
        "permission": operation.needs,
        "role": least.map(Role::name),
        "waits": operation.waits,
        "token": token(operation),
        "agent": agent(operation),
        "past": past(operation),
        "has_version": operation.has_version,
        "gives_back": operation.gives_back.map(gives_back),
        "minimal": operation.returns_minimal(),
        "summary": operation.summary,
        "null_when": operation.null_when,
        "side_effects": Some(operation.side_effects).filter(|sentences| !sentences.is_empty()),
        "example": examples::fields(name, &[]),
    });
    if let Some((alias, field)) = operation.alias {
        described["aliases"] = json!({alias: field});
    }
    if let Some(forms) = vocabulary.fields(name).get("oneOf") {
        described["forms"] = forms.clone();
    }
    described
}

fn special(call: &SpecialCall) -> Value {
    let (method, path) = call.http.unzip();
    json!({
        "name": call.name,
        "method": method,
        "path": path,
        "fields": call.fields,
        "reply": call.reply,
        "summary": call.summary,
        "details": call.details,
        "example": call.example,
    })
}

/// Each field with its type, whether it must be given, and where it is in an HTTP request.
fn fields(operation: &Operation, schema: &Value) -> Value {
    let in_the_path = fields_in_path(operation);
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let properties = schema["properties"].as_object().into_iter().flatten();
    let fields = properties.map(|(field, schema)| {
        let place = match operation.rest {
            _ if in_the_path.contains(&field.as_str()) => "path",
            Rest::Whole(whole) if whole == field => "whole_body",
            Rest::Query | Rest::Whole(_) => "query",
            Rest::Body | Rest::Patch => "body",
        };
        let is_required = required.iter().any(|name| name == field);
        (field.clone(), json!({"in": place, "required": is_required, "schema": schema}))
    });
    fields.collect::<Map<_, _>>().into()
}

/// A field of the operation, a fence that the call must pass, or none.
fn token(operation: &Operation) -> Option<&'static str> {
    match operation.effect {
        Effect::Changes if operation.names_token => Some("field"),
        Effect::Changes => Some("fence"),
        Effect::Asks => None,
    }
}

/// `agent` is who acts; it may also be the subject of the operation, or filter a list.
fn agent(operation: &Operation) -> &'static str {
    match (operation.names_agent, operation.narrows_by_agent) {
        (false, _) => "acts",
        (true, false) => "field",
        (true, true) => "narrows",
    }
}

/// Whether it is always about the past, or with `at`.
fn past(operation: &Operation) -> Option<&'static str> {
    if operation.is_about_the_past {
        return Some("always");
    }
    is_timeless(operation).then_some("at")
}

fn gives_back(GivesBack { operation, fields }: GivesBack) -> Value {
    let fields: Map<String, Value> = fields
        .iter()
        .map(|(field, from)| {
            let key = if from.starts_with('/') { "pointer" } else { "text" };
            ((*field).to_owned(), json!({key: from}))
        })
        .collect();
    json!({"operation": operation, "fields": fields})
}

/// The types are in the other file.
fn refer_to_document(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(path)) = fields.get_mut("$ref")
                && path.starts_with(COMPONENTS)
            {
                path.insert_str(0, "openapi.json");
            }
            fields.values_mut().for_each(refer_to_document);
        }
        Value::Array(items) => items.iter_mut().for_each(refer_to_document),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

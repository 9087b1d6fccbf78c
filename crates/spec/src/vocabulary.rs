//! The core's types as JSON Schema, by operation.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::wire::{Effect, OPERATIONS, Watch, operation};
use baton_core::{
    Command, IdempotencyKey, Kind, Minimal, Precondition, Query, Reply, WorkspaceName, limits,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{COMPONENTS, reference};
use baton_server::access::{DenialPage, Made, TokenRecord, Wanted};

/// The fields and replies of all operations.
pub(crate) struct Vocabulary {
    /// The types that are referred to.
    pub(crate) components: Map<String, Value>,
    /// The fields of every operation.
    fields: BTreeMap<&'static str, Value>,
    /// The reply of every operation: the name of a component.
    results: BTreeMap<&'static str, String>,
    /// The same with further fields, of the operations that have another reply then.
    other_results: BTreeMap<&'static str, String>,
    /// The fields of a watch.
    pub(crate) watch: Value,
    /// The components that occur in requests.
    pub(crate) sent: BTreeSet<String>,
}

impl Vocabulary {
    pub(crate) fn gather() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let mut generator = settings.into_generator();
        let commands = sum::<Command>(&mut generator);
        let queries = sum::<Query>(&mut generator);
        let replies = sum::<Reply>(&mut generator);
        let watch = schema::<Watch>(&mut generator);
        // Paths and headers refer to these, and no command does.
        generator.subschema_for::<(Kind, Precondition, WorkspaceName, IdempotencyKey)>();
        generator.subschema_for::<Minimal>();
        generator.subschema_for::<(Wanted, Made, TokenRecord, DenialPage)>();
        let mut components = generator.definitions().clone();
        let (mut fields, mut results) = (BTreeMap::new(), BTreeMap::new());
        let mut other_results = BTreeMap::new();
        for operation in OPERATIONS {
            let (primitive, variant) = operation.parts();
            let said = match operation.effect {
                Effect::Changes => &commands,
                Effect::Asks => &queries,
            };
            let own = said.get(primitive).and_then(|variants| variants.get(variant));
            let own = own.unwrap_or_else(|| panic!("`{}` has a variant", operation.name));
            fields.insert(operation.name, resolved(own, &components).clone());
            let mut named = |reply_name: &str| {
                let reply = replies.get(primitive).and_then(|variants| variants.get(reply_name));
                let reply = reply.unwrap_or_else(|| panic!("`{}` has a reply", operation.name));
                // The other form of a nullable reply is `null`.
                let reply = if operation.never_null { &reply["anyOf"][0] } else { reply };
                if let Some(path) = reply["$ref"].as_str() {
                    return path.trim_start_matches(COMPONENTS).to_owned();
                }
                let name = result_name(primitive, reply_name);
                components.insert(name.clone(), reply.clone());
                name
            };
            results.insert(operation.name, named(operation.reply));
            if let Some(other) = operation.other_reply {
                other_results.insert(operation.name, named(other.reply));
            }
        }
        let sent = BTreeSet::new();
        let mut vocabulary = Self { components, fields, results, other_results, watch, sent };
        vocabulary.complete();
        vocabulary
    }

    /// Adds facts to the schemas that the types do not contain: the bounds of numbers, and the
    /// defaults of fields that are not nullable.
    fn complete(&mut self) {
        let named = ["Precondition", "TokenWanted"];
        let sent = named.map(|name| &self.components[name]).into_iter().chain([&self.watch]);
        self.sent = reached(self.fields.values().chain(sent), &self.components);
        self.sent.extend(named.map(str::to_owned));
        for (name, schema) in &mut self.components {
            bound(schema, self.sent.contains(name));
            add_defaults(schema);
            unwrap_descriptions(schema);
        }
        for schema in self.fields.values_mut().chain([&mut self.watch]) {
            bound(schema, true);
            add_defaults(schema);
            unwrap_descriptions(schema);
        }
    }

    /// The fields of an operation, by name.
    pub(crate) fn fields(&self, name: &str) -> &Value {
        &self.fields[name]
    }

    /// A field of an operation.
    pub(crate) fn field(&self, name: &str, field: &str) -> Value {
        self.fields[name]["properties"][field].clone()
    }

    /// The reply of an operation.
    pub(crate) fn result(&self, name: &str) -> Value {
        reference(&self.results[name])
    }

    /// The reply of an operation with further fields, if it has another one then.
    pub(crate) fn other_result(&self, name: &str) -> Option<Value> {
        self.other_results.get(name).map(|name| reference(name))
    }

    /// Every reply, each once. Operations without a result return an empty object.
    pub(crate) fn all_results(&self) -> Vec<Value> {
        let mut names: Vec<&String> =
            self.results.values().chain(self.other_results.values()).collect();
        names.sort();
        names.dedup();
        let mut all: Vec<Value> = names.into_iter().map(|name| reference(name)).collect();
        all.push(reference("Minimal"));
        all.push(json!({"type": "object", "maxProperties": 0}));
        all
    }

    /// An operation as an object with its name.
    pub(crate) fn command(&self, name: &str) -> Value {
        let mut schema = self.fields[name].clone();
        schema["properties"]["command"] = json!({"const": name});
        let mut required = vec![Value::from("command")];
        required.extend(schema["required"].as_array().cloned().unwrap_or_default());
        schema["required"] = required.into();
        if operation(name).is_some_and(|operation| operation.names_agent) {
            let agent = &mut schema["properties"]["agent"];
            *agent = json!({"description": agent["description"], "allOf": [reference("AgentId")]});
        }
        schema
    }
}

/// A name for a result whose type has none, different from the names of operations.
fn result_name(primitive: &str, reply: &str) -> String {
    let name = format!("{primitive}.{reply}");
    if operation(&name).is_some() { format!("{name}.result") } else { name }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    T::json_schema(generator).to_value()
}

/// The schema that a reference refers to.
fn resolved<'a>(schema: &'a Value, components: &'a Map<String, Value>) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(path) => &components[path.trim_start_matches(COMPONENTS)],
        None => schema,
    }
}

/// A sum over the primitives: by primitive and variant, the fields.
fn sum<T: JsonSchema>(
    generator: &mut SchemaGenerator,
) -> BTreeMap<String, BTreeMap<String, Value>> {
    let whole = schema::<T>(generator);
    let components = generator.definitions();
    variants(&whole)
        .into_iter()
        .map(|(primitive, inner)| (primitive, variants(resolved(&inner, components))))
        .collect()
}

/// The variants of an enum as serde writes it: a word, or an object with one member.
fn variants(schema: &Value) -> BTreeMap<String, Value> {
    let alone = [schema.clone()];
    let forms = schema["oneOf"].as_array().map_or(&alone[..], Vec::as_slice);
    let mut variants = BTreeMap::new();
    for form in forms {
        for (name, inner) in form["properties"].as_object().into_iter().flatten() {
            let mut inner = inner.clone();
            // A type without a name has no description either.
            if inner.get("$ref").is_none() && inner.get("description").is_none() {
                inner["description"] = form["description"].clone();
            }
            variants.insert(name.clone(), inner);
        }
        let words = form["enum"].as_array().into_iter().flatten().chain(form.get("const"));
        for word in words.filter_map(Value::as_str) {
            let nothing =
                json!({"type": "object", "properties": {}, "additionalProperties": false});
            variants.insert(word.to_owned(), nothing);
        }
    }
    variants
}

/// The largest integer that a JavaScript number represents exactly.
const SAFE_INTEGER_MAX: u64 = (1 << 53) - 1;

/// Replaces the formats of unsigned numbers, which few programs know. No number in an answer
/// exceeds what JavaScript can represent; a request may contain any number of 64 bits, unless its
/// field has a range.
fn bound(schema: &mut Value, is_sent: bool) {
    match schema {
        Value::Object(fields) => {
            let format = fields.get("format").and_then(Value::as_str);
            let max = match format {
                Some("uint64" | "uint") if is_sent => None,
                Some("uint64" | "uint") => Some(SAFE_INTEGER_MAX),
                Some("uint32") => Some(u64::from(u32::MAX)),
                _ => None,
            };
            if format.is_some_and(|format| format.starts_with("uint")) {
                fields.remove("format");
                if let Some(max) = max {
                    fields.entry("maximum").or_insert(max.into());
                }
            }
            // This is the maximum of every wait.
            if let Some(wait) = fields.get_mut("wait_ms").and_then(Value::as_object_mut) {
                wait.remove("format");
                wait.insert("maximum".to_owned(), limits::WAIT_MS_MAX.into());
            }
            fields.values_mut().for_each(|schema| bound(schema, is_sent));
        }
        Value::Array(items) => items.iter_mut().for_each(|schema| bound(schema, is_sent)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds the default of every optional field whose type is not nullable: it is the empty value.
fn add_defaults(schema: &mut Value) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let optional = properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name)));
        for (_, property) in optional {
            let Some(fields) = property.as_object_mut() else { continue };
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            let is_map = fields.contains_key("additionalProperties");
            let empty = match fields.get("type").and_then(Value::as_str) {
                Some("boolean") => json!(false),
                Some("array") => json!([]),
                Some("object") if is_map => json!({}),
                _ => continue,
            };
            fields.entry("default").or_insert(empty);
        }
    }
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(add_defaults),
        Value::Array(items) => items.iter_mut().for_each(add_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Joins the lines of descriptions, which end where those of the source do.
fn unwrap_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
                *text = paragraphs.collect::<Vec<_>>().join("\n\n");
            }
            fields.values_mut().for_each(unwrap_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_descriptions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The names of the components that these schemas refer to, directly or through others.
pub(crate) fn reached<'a>(
    schemas: impl Iterator<Item = &'a Value>,
    components: &'a Map<String, Value>,
) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut to_visit: Vec<&Value> = schemas.collect();
    while let Some(value) = to_visit.pop() {
        match value {
            Value::Object(fields) => to_visit.extend(fields.values()),
            Value::Array(items) => to_visit.extend(items),
            // A reference, or an entry of a discriminator.
            Value::String(text) => {
                if let Some(name) = text.strip_prefix(COMPONENTS)
                    && reached.insert(name.to_owned())
                {
                    to_visit.extend(components.get(name));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    reached
}

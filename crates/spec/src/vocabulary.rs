//! The core's types as JSON Schema, by operation.

use std::collections::BTreeMap;

use baton_core::wire::{Effect, OPERATIONS, Watch, operation};
use baton_core::{
    Command, IdempotencyKey, Kind, Precondition, Query, Reply, WorkspaceName, limits,
};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::{COMPONENTS, reference};
use baton_server::access::{DenialPage, Made, Record, Wanted};

/// What can be said, and what is answered.
pub(crate) struct Vocabulary {
    /// The types that are referred to.
    pub(crate) components: Map<String, Value>,
    /// The fields of every operation.
    fields: BTreeMap<&'static str, Value>,
    /// What every operation is answered with: a component's name.
    results: BTreeMap<&'static str, String>,
    /// The fields of a watch.
    pub(crate) watch: Value,
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
        // What no command refers to, but paths and headers do.
        generator.subschema_for::<(Kind, Precondition, WorkspaceName, IdempotencyKey)>();
        generator.subschema_for::<(Wanted, Made, Record, DenialPage)>();
        let mut components = generator.definitions().clone();
        let (mut fields, mut results) = (BTreeMap::new(), BTreeMap::new());
        for operation in OPERATIONS {
            let (primitive, variant) = operation.parts();
            let said = match operation.effect {
                Effect::Changes => &commands,
                Effect::Asks => &queries,
            };
            let own = said.get(primitive).and_then(|variants| variants.get(variant));
            let own = own.unwrap_or_else(|| panic!("`{}` has a variant", operation.name));
            fields.insert(operation.name, resolved(own, &components).clone());
            let reply = replies.get(primitive).and_then(|variants| variants.get(operation.reply));
            let reply = reply.unwrap_or_else(|| panic!("`{}` has a reply", operation.name));
            let name = match reply["$ref"].as_str() {
                Some(path) => path.trim_start_matches(COMPONENTS).to_owned(),
                None => {
                    let name = result_name(primitive, operation.reply);
                    components.insert(name.clone(), reply.clone());
                    name
                }
            };
            results.insert(operation.name, name);
        }
        let mut vocabulary = Self { components, fields, results, watch };
        vocabulary.components.values_mut().for_each(bound);
        vocabulary.fields.values_mut().for_each(bound);
        bound(&mut vocabulary.watch);
        vocabulary
    }

    /// The fields of an operation, by name.
    pub(crate) fn fields(&self, name: &str) -> &Value {
        &self.fields[name]
    }

    /// A field of an operation.
    pub(crate) fn field(&self, name: &str, field: &str) -> Value {
        self.fields[name]["properties"][field].clone()
    }

    /// What an operation is answered with.
    pub(crate) fn result(&self, name: &str) -> Value {
        reference(&self.results[name])
    }

    /// Everything that can be answered, each once. What has nothing to tell is an empty object.
    pub(crate) fn all_results(&self) -> Vec<Value> {
        let mut names: Vec<&String> = self.results.values().collect();
        names.sort();
        names.dedup();
        let mut all: Vec<Value> = names.into_iter().map(|name| reference(name)).collect();
        all.push(json!({"type": "object", "maxProperties": 0}));
        all
    }

    /// An operation as an object that says its name.
    pub(crate) fn command(&self, name: &str) -> Value {
        let mut schema = self.fields[name].clone();
        schema["properties"]["command"] = json!({"const": name});
        let mut required = vec![Value::from("command")];
        required.extend(schema["required"].as_array().cloned().unwrap_or_default());
        schema["required"] = required.into();
        if operation(name).is_some_and(|operation| operation.names_agent) {
            schema["properties"]["agent"] = reference("AgentId");
        }
        schema
    }
}

/// A name for a result that has none of its own, beside those of the operations.
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
            variants.insert(name.clone(), inner.clone());
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

/// Says of every unsigned number how large it may be: its format says so only to programs that know
/// the name.
fn bound(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let max = match fields.get("format").and_then(Value::as_str) {
                Some("uint64" | "uint") => Some(u64::MAX),
                Some("uint32") => Some(u64::from(u32::MAX)),
                _ => None,
            };
            if let Some(max) = max {
                fields.remove("format");
                fields.insert("maximum".to_owned(), max.into());
            }
            // Nothing waits for longer, whatever it waits for.
            if let Some(wait) = fields.get_mut("wait_ms").and_then(Value::as_object_mut) {
                wait.remove("format");
                wait.insert("maximum".to_owned(), limits::WAIT_MS_MAX.into());
            }
            fields.values_mut().for_each(bound);
        }
        Value::Array(items) => items.iter_mut().for_each(bound),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

//! The messages of the protocol, by name.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// Written by `scripts/a2a_schema.py`.
const SCHEMA: &str = include_str!("schema.json");

/// The definition of the service.
#[derive(Deserialize)]
pub(super) struct Schema {
    /// The name of the service.
    pub(super) service: String,
    /// The message types that each method receives and returns.
    pub(super) methods: HashMap<String, [String; 2]>,
    pub(super) messages: HashMap<String, Vec<Field>>,
    pub(super) enums: HashMap<String, HashMap<String, i32>>,
}

/// A field: its number, its name in JSON, its kind, and how often it occurs.
#[derive(Deserialize)]
pub(super) struct Field(pub(super) u32, pub(super) String, String, pub(super) Rule);

/// How often a field occurs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Rule {
    Single,
    Repeated,
    /// By a text.
    Map,
}

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Bytes,
    Integer,
    Bool,
    /// Any object.
    Struct,
    /// Any value.
    Value,
    Time,
    Enum(&'static HashMap<String, i32>),
    Message(&'static [Field]),
}

pub(super) fn schema() -> &'static Schema {
    static READ: OnceLock<Schema> = OnceLock::new();
    READ.get_or_init(|| serde_json::from_str(SCHEMA).expect("a test reads the schema"))
}

impl Kind {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "bytes" => Self::Bytes,
            "int32" => Self::Integer,
            "bool" => Self::Bool,
            "Struct" => Self::Struct,
            "Value" => Self::Value,
            "Timestamp" => Self::Time,
            name => match schema().enums.get(name) {
                Some(values) => Self::Enum(values),
                None => Self::Message(&schema().messages[name]),
            },
        }
    }
}

impl Field {
    pub(super) fn kind(&self) -> Kind {
        Kind::named(&self.2)
    }
}

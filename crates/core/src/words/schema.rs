//! Schemas: constraints on the values of a namespace, in JSON Schema.
//!
//! ```text
//!   Json ──compile──▶ Schema ──check(value)──▶ fine, or the first violation
//!          once                 on every write
//! ```
//!
//! Without `$schema`, a schema is of draft 2020-12. Drafts 6 to 2020-12 can be named.
//!
//! A schema is sent by an agent and runs in the one thread that decides all requests, so it is
//! treated as untrusted code. Invariants:
//!
//! 1. Compiling and checking read no file and no network. A reference is `#`, or `#/` and a path
//!    that exists in the same schema; every other one is refused when the schema is compiled.
//! 2. Regular expressions match in linear time: no lookaround and no backreference. Their number
//!    and the size of each are bounded.
//! 3. A check is bounded. Branches that refer to branches could otherwise take unbounded time or
//!    stack, with a schema and a value of a few lines each. So the work is counted first, and too
//!    much of it is a violation.
//! 4. A [`Schema`] is its source: equality, encoding and printing are those of the text.
//!
//! Compiling, counting and checking are those of `baton-schema` (ADR 24).
//!
//! Deliberately absent: `$dynamicRef`, `$recursiveRef`, anchors and embedded `$id`, which make the
//! target of a reference depend on more than its text; `format`, where the draft calls it a
//! comment; and a list of all violations, since the first is what a writer acts on.

use std::fmt;
use std::sync::Arc;

use baton_schema::Validator;
pub use baton_schema::{REGEX_BYTES_MAX, REGEXES_MAX, SchemaError, Violation};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::json::Json;

#[cfg(test)]
mod tests;

/// The maximum size of a schema in bytes. It is part of the rules of the namespace and stays in
/// memory.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// A compiled JSON Schema. Cloning it is cheap.
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    source: Json,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema, once for many checks.
    pub fn compile(text: &Json) -> Result<Schema, SchemaError> {
        let bytes = text.as_bytes().len();
        if bytes > SCHEMA_BYTES_MAX {
            return Err(SchemaError::TooLarge { bytes, bytes_max: SCHEMA_BYTES_MAX });
        }
        let validator = Validator::compile(&text.to_value())?;
        Ok(Schema(Arc::new(Compiled { source: text.clone(), validator })))
    }

    /// Whether a value satisfies the schema; if not, the first violation.
    pub fn check(&self, value: &Json) -> Result<(), Violation> {
        let instance = value.to_value();
        self.check_effort(&instance).map_err(|reason| Violation { path: String::new(), reason })?;
        self.check_tree(&instance)
    }

    /// Whether the work of checking this value is bounded; if not, why.
    pub(crate) fn check_effort(&self, instance: &Value) -> Result<(), String> {
        self.0.validator.check_effort(instance)
    }

    /// Checks a tree whose work is known to be bounded.
    pub(crate) fn check_tree(&self, instance: &Value) -> Result<(), Violation> {
        self.0.validator.check(instance)
    }

    /// The source of the schema.
    pub fn source(&self) -> &Json {
        &self.0.source
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.source == other.0.source
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.source, formatter)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.source.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Schema, D::Error> {
        let source = Json::deserialize(deserializer)?;
        Schema::compile(&source).map_err(D::Error::custom)
    }
}

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
//! 2. Regular expressions match in linear time: no lookaround and no backreference. Their number,
//!    the size of each and of all together, and the states of their automata are bounded.
//! 3. A check ends soon. Without the limit, branches that refer to branches could take longer than
//!    any caller would wait, or overflow the stack, with a schema and a value of a few lines each.
//!    So the work is counted first, and too much of it is a violation.
//! 4. Reading a schema takes time proportional to its text: automata are built by the first check
//!    that needs them. So a request that is refused builds none.
//! 5. A schema that is read from the log is accepted: limits are those of requests.
//! 6. A [`Schema`] is its source: equality, encoding and printing are those of the text.
//!
//! Compiling, counting and checking are those of `baton-schema` (ADR 24).
//!
//! Deliberately absent: `$dynamicRef`, `$recursiveRef`, anchors and embedded `$id`, which make the
//! target of a reference depend on more than its text; `format`, where the draft calls it a
//! comment; and a list of all violations, since the first is what a writer acts on.

use std::fmt;
use std::sync::Arc;

use baton_schema::Validator;
#[cfg(test)]
pub(crate) use baton_schema::automata_built;
pub(crate) use baton_schema::{Effort, MEETINGS_MAX};
pub use baton_schema::{REGEX_BYTES_MAX, REGEXES_BYTES_MAX, REGEXES_MAX, SchemaError, Violation};
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

    /// The same for a schema from the log, which was accepted when it was written there, perhaps
    /// under fewer limits.
    fn of_log(text: &Json) -> Result<Schema, SchemaError> {
        let validator = Validator::of_accepted(&text.to_value())?;
        Ok(Schema(Arc::new(Compiled { source: text.clone(), validator })))
    }

    /// About how much memory its regular expressions take when a value is checked, in bytes.
    pub(crate) fn regexes_bytes(&self) -> usize {
        self.0.validator.regexes_bytes()
    }

    /// Units of work to check a value of this many bytes, beside reading it once: to build the
    /// automata that it needs, if they are not in memory, and for parts of the schema that the same
    /// part of the value meets. An ordinary schema is no more than a few.
    pub(crate) fn units(&self, bytes: usize) -> usize {
        const AUTOMATA_BYTES_PER_UNIT: usize = 8 << 10;
        const MEETINGS_PER_UNIT: usize = 40;
        let meetings = self.0.validator.estimated_meetings(bytes);
        self.regexes_bytes() / AUTOMATA_BYTES_PER_UNIT + meetings / MEETINGS_PER_UNIT
    }

    /// Whether a value satisfies the schema; if not, the first violation.
    pub fn check(&self, value: &Json) -> Result<(), Violation> {
        self.check_within(value, &Effort::default())
    }

    /// The same, together with other checks that share its effort.
    pub(crate) fn check_within(&self, value: &Json, effort: &Effort) -> Result<(), Violation> {
        let instance = value.to_value();
        let too_much = |reason| Violation { path: String::new(), reason };
        self.check_effort(&instance, effort).map_err(too_much)?;
        self.check_tree(&instance, effort)
    }

    /// Whether checking this value would end soon; if not, why.
    pub(crate) fn check_effort(&self, instance: &Value, effort: &Effort) -> Result<(), String> {
        self.0.validator.check_effort(instance, effort)
    }

    /// Checks a tree whose effort is known to be bearable.
    pub(crate) fn check_tree(&self, instance: &Value, effort: &Effort) -> Result<(), Violation> {
        self.0.validator.check(instance, effort)
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
        // Requests are text; the log is not.
        let is_request = deserializer.is_human_readable();
        let source = Json::deserialize(deserializer)?;
        let schema = if is_request { Schema::compile(&source) } else { Schema::of_log(&source) };
        schema.map_err(D::Error::custom)
    }
}

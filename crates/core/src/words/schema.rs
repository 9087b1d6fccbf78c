//! Schemas: what the values of a namespace must look like, in JSON Schema.
//!
//! ```text
//!   Json ──compile──▶ Schema ──check(value)──▶ fine, or the first violation
//!          once                 on every write
//! ```
//!
//! Without `$schema` a schema is one of draft 2020-12. Drafts 6 to 2020-12 can be named.
//!
//! A schema is sent by an agent and runs inside the one thread that decides for everybody, so it is
//! treated like code from a stranger. Invariants:
//!
//! 1. Compiling and checking read no file and no network. A reference is `#`, or `#/` and a path
//!    that exists in the same schema; every other one is refused when the schema is compiled.
//! 2. Regular expressions match in linear time: no lookaround and no backreference. Their number
//!    and the size of each are bounded.
//! 3. A check ends soon. Branches that refer to branches could otherwise take longer than anybody
//!    would wait, or more stack than there is, with a schema and a value of a few lines each. So
//!    the work is counted first, and too much of it is a violation.
//! 4. A [`Schema`] is its source: equality, encoding and printing are those of the text.
//!
//! Deliberately absent: `$dynamicRef`, `$recursiveRef`, anchors and embedded `$id`, which make the
//! target of a reference depend on more than its text; `format`, where the draft calls it a
//! comment; and a list of all violations, since the first is what a writer acts on.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, ValidationError, Validator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use thiserror::Error;

use crate::json::{Json, shortened};

#[cfg(test)]
mod tests;
mod work;

/// Largest schema in bytes. It is part of the namespace's rules and held in memory for good.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;

/// Most regular expressions in a schema.
pub const REGEXES_MAX: usize = 64;

/// Most memory for one compiled regular expression, in bytes. What counts most is how often a class
/// of thousands of letters is repeated: `\p{L}+` is small, `\p{L}{20}` is too large.
pub const REGEX_BYTES_MAX: usize = 512 << 10;

/// A compiled JSON Schema. Cloning it is cheap.
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    source: Json,
    /// The source as a tree, where the work of a check must be counted.
    counted: Option<Value>,
    validator: Validator,
}

/// Why a text is not a [`Schema`]. Serialized, it is its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum SchemaError {
    /// It is too large.
    #[error("a schema has at most {bytes_max} bytes, got {bytes}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit, [`SCHEMA_BYTES_MAX`].
        bytes_max: usize,
    },
    /// It refers to something outside of itself, or in a way that is not supported.
    #[error("reference `{reference}` must be `#`, or `#/` and a path within the schema")]
    Reference {
        /// The reference as written.
        reference: String,
    },
    /// It uses a keyword that is not supported.
    #[error("keyword `{keyword}` is not supported{place}", place = in_place(*.below_root))]
    Keyword {
        /// Which one.
        keyword: String,
        /// Whether it would be fine at the root of the schema.
        below_root: bool,
    },
    /// It has too many regular expressions.
    #[error("a schema has at most {regexes_max} regular expressions, got {regexes}")]
    TooManyRegexes {
        /// How many it has.
        regexes: usize,
        /// The limit, [`REGEXES_MAX`].
        regexes_max: usize,
    },
    /// It is no JSON Schema of a known draft.
    #[error("invalid schema at `{path}`: {reason}")]
    Invalid {
        /// JSON Pointer into the schema; empty for its root.
        path: String,
        /// What is wrong there.
        reason: String,
    },
}

fn in_place(below_root: bool) -> &'static str {
    if below_root { " below the root" } else { "" }
}

/// The first way in which a value does not satisfy its schema.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("value violates its schema at `{path}`: {reason}")]
pub struct Violation {
    /// JSON Pointer into the value; empty for its root.
    pub path: String,
    /// What was expected there.
    pub reason: String,
}

impl Schema {
    /// Compiles a schema, once for many checks.
    pub fn compile(text: &Json) -> Result<Schema, SchemaError> {
        let bytes = text.as_bytes().len();
        if bytes > SCHEMA_BYTES_MAX {
            return Err(SchemaError::TooLarge { bytes, bytes_max: SCHEMA_BYTES_MAX });
        }
        let tree = text.to_value();
        if Draft::default().detect(&tree) == Draft::Draft4 {
            let reason = "draft 4 is not supported, use 2020-12".into();
            return Err(SchemaError::Invalid { path: "/$schema".into(), reason });
        }
        work::check_references(&tree)?;
        let regexes =
            PatternOptions::regex().size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(regexes)
            .build(&tree)
            .map_err(|error| refused(&error))?;
        let counted = (!work::is_small(&tree)).then_some(tree);
        Ok(Schema(Arc::new(Compiled { source: text.clone(), counted, validator })))
    }

    /// Whether a value satisfies the schema; if not, the first violation.
    pub fn check(&self, value: &Json) -> Result<(), Violation> {
        let instance = value.to_value();
        self.check_effort(&instance).map_err(|reason| Violation { path: String::new(), reason })?;
        self.check_tree(&instance)
    }

    /// Whether checking this value would end soon; if not, why.
    pub(crate) fn check_effort(&self, instance: &Value) -> Result<(), String> {
        self.0.counted.as_ref().map_or(Ok(()), |tree| work::check_effort(tree, instance))
    }

    /// Checks a tree whose effort is known to be bearable.
    pub(crate) fn check_tree(&self, instance: &Value) -> Result<(), Violation> {
        // Asking for the error costs far more than asking whether there is one.
        if self.0.validator.is_valid(instance) {
            return Ok(());
        }
        self.0.validator.validate(instance).map_err(|error| Violation {
            path: shortened(error.instance_path().as_str()),
            reason: reason(&error),
        })
    }

    /// The schema as it was written.
    pub fn source(&self) -> &Json {
        &self.0.source
    }
}

fn refused(error: &ValidationError<'_>) -> SchemaError {
    let path = shortened(error.instance_path().as_str());
    match error.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            SchemaError::Reference { reference: shortened(uri) }
        }
        ValidationErrorKind::Format { format } if format == "regex" => {
            let wish = "write it without lookaround and backreference, and shorter";
            SchemaError::Invalid { path, reason: format!("unusable regular expression, {wish}") }
        }
        _ => SchemaError::Invalid { path, reason: reason(error) },
    }
}

/// The library's message, which repeats the offending value unless that is too long.
fn reason(error: &ValidationError<'_>) -> String {
    let full = error.to_string();
    if shortened(&full) == full { full } else { shortened(&error.masked().to_string()) }
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

//! The drafts of JSON Schema, and their differences.

use serde_json::Value;

use crate::SchemaError;

/// A supported draft, in order of age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    /// `draft-06`
    D6,
    /// `draft-07`
    D7,
    /// `draft/2019-09`
    D2019,
    /// `draft/2020-12`
    D2020,
}

impl Draft {
    /// The draft that a schema names with `$schema`, or the newest.
    pub(crate) fn of(schema: &Value) -> Result<Draft, SchemaError> {
        let Some(uri) = schema.get("$schema").and_then(Value::as_str) else {
            return Ok(Draft::D2020);
        };
        let name = uri.trim_end_matches('#');
        let path = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"));
        let (path, reason) = match path.and_then(|path| path.strip_prefix("json-schema.org/")) {
            Some("schema" | "draft/2020-12/schema") => return Ok(Draft::D2020),
            Some("draft/2019-09/schema") => return Ok(Draft::D2019),
            Some("draft-07/schema") => return Ok(Draft::D7),
            Some("draft-06/schema") => return Ok(Draft::D6),
            Some("draft-04/schema") => {
                ("/$schema", "draft 4 is not supported, use 2020-12".to_owned())
            }
            _ => ("", crate::shortened(&format!("Unknown meta-schema: '{uri}'"))),
        };
        Err(SchemaError::Invalid { path: path.into(), reason })
    }

    /// Whether `$ref` disables the keywords next to it.
    pub(crate) fn reference_stands_alone(self) -> bool {
        self <= Draft::D7
    }

    /// Whether `format` and the keywords about content are assertions.
    pub(crate) fn asserts_format(self) -> bool {
        self <= Draft::D7
    }
}

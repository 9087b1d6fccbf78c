//! The terms that a receiver expects of a key, and the check of a value against them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{Json, Shape, shortened};
use crate::names::{AgentId, ContractName};
use crate::pattern::Pattern;
use crate::schema::{Effort, Schema};

/// The terms that a receiver expects of one key, or of all keys that match a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContractTerms"))]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// `namespace/key`, or a pattern of such names.
    pub key: Pattern,
    /// The JSON type of the value. If omitted, any.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Shape>,
    /// Fields that the value contains: names, or JSON Pointers (RFC 6901) such as `/owner/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// A JSON Schema that the value satisfies. If omitted, any value does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// Whether the entry may be deleted. If `false`, that breaks the contract.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// How a key breaks a contract, or would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ContractBreach"))]
pub struct Breach {
    /// `namespace/key`, or the pattern if all keys are concerned.
    pub key: String,
    /// The field inside of the value, as the contract names it, or a JSON Pointer. Absent if it
    /// is about the whole value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The expectation of the contract.
    pub expected: String,
    /// The state that was found instead.
    pub found: String,
}

impl Breach {
    /// A breach of this key, with texts of a bounded length.
    pub(super) fn new(key: &str, field: Option<&str>, expected: &str, found: &str) -> Self {
        let field = field.map(shortened);
        Self { key: key.to_owned(), field, expected: shortened(expected), found: shortened(found) }
    }

    /// Describes the breach of a contract as a sentence.
    pub(crate) fn sentence(&self, contract: &ContractName, owner: &AgentId) -> String {
        let Self { expected, found, .. } = self;
        let place = self.place();
        format!("contract `{contract}` of `{owner}`: {place}: expected {expected}; found: {found}")
    }

    /// The key, with the field if there is one.
    pub(super) fn place(&self) -> String {
        match &self.field {
            Some(field) => format!("field `{field}` of `{}`", self.key),
            None => format!("`{}`", self.key),
        }
    }

    /// Bytes of its texts.
    pub(super) fn weight(&self) -> usize {
        let field = self.field.as_ref().map_or(0, String::len);
        self.key.len() + field + self.expected.len() + self.found.len()
    }
}

/// A value that is compared with contracts: it is parsed at most once, and only if terms look
/// inside of it.
pub(crate) struct Candidate<'a> {
    text: &'a Json,
    parsed: Option<Value>,
}

impl<'a> Candidate<'a> {
    pub(crate) fn new(text: &'a Json) -> Self {
        Self { text, parsed: None }
    }

    fn value(&mut self) -> &Value {
        self.parsed.get_or_insert_with(|| self.text.to_value())
    }
}

/// The parts of the path to a field.
pub(super) fn path(field: &str) -> Vec<String> {
    match field.strip_prefix('/') {
        Some(rest) => {
            rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
        }
        None => vec![field.to_owned()],
    }
}

/// The value of a field.
fn field_of<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    if field.starts_with('/') { value.pointer(field) } else { value.get(field) }
}

impl Terms {
    /// An upper bound of their size in the log, in bytes.
    pub(super) fn weight(&self) -> usize {
        const FRAME: usize = 64;
        let fields = self.fields.iter().map(|field| field.len() + 8).sum::<usize>();
        let schema = self.schema.as_ref().map_or(0, |schema| schema.source().as_bytes().len());
        FRAME + self.key.as_str().len() + fields + schema
    }

    /// How the deletion of a key breaks them, if it does.
    pub(crate) fn absence(&self, key: &str) -> Option<Breach> {
        (!self.optional).then(|| Breach::new(key, None, "an entry", "none"))
    }

    /// How a value breaks them, if it does. `before` is the value that it replaces. Both are parsed
    /// once, however many terms use them.
    pub(crate) fn breach(
        &self,
        key: &str,
        value: &mut Candidate<'_>,
        before: Option<&mut Candidate<'_>>,
        effort: &Effort,
    ) -> Option<Breach> {
        let kind = Shape::of(value.text.as_bytes());
        if let Some(expected) = self.kind.filter(|expected| *expected != kind) {
            let expected = format!("a value of type {expected}");
            return Some(Breach::new(key, None, &expected, &format!("type {kind}")));
        }
        if self.fields.is_empty() && self.schema.is_none() {
            return None;
        }
        let value = value.value();
        effort.spend(self.fields.len());
        if let Some(field) = self.fields.iter().find(|field| field_of(value, field).is_none()) {
            let other = before.and_then(|before| renamed(before.value(), value, field, effort));
            let found = match other {
                Some(other) => format!("none; it may have been renamed to `{other}`"),
                None => "none".to_owned(),
            };
            return Some(Breach::new(key, Some(field), "a field", &found));
        }
        let schema = self.schema.as_ref()?;
        if let Err(reason) = schema.check_effort(value, effort) {
            return Some(Breach::new(key, None, "a value that can be checked", &reason));
        }
        let violation = schema.check_tree(value, effort).err()?;
        let field = Some(violation.path.as_str()).filter(|path| !path.is_empty());
        let found = violation.reason;
        Some(Breach::new(key, field, "a value that satisfies the schema", &found))
    }
}

/// The new field with the value that the missing one had. It is a hint, which is left out once the
/// effort is spent.
fn renamed(before: &Value, after: &Value, field: &str, effort: &Effort) -> Option<String> {
    let lost = field_of(before, field)?;
    let path = path(field);
    let (_, parents) = path.split_last()?;
    let parent = |root| parents.iter().try_fold(root, |value: &Value, part| value.get(part));
    let (before, after) = (parent(before)?.as_object()?, parent(after)?.as_object()?);
    if effort.is_spent() {
        return None;
    }
    effort.spend(after.len());
    let mut fresh = after.iter().filter(|(name, _)| !before.contains_key(*name));
    fresh.find(|(_, value)| *value == lost).map(|(name, _)| name.clone())
}

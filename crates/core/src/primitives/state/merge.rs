//! Merges and patches: how a written value combines with the existing one.
//!
//! | form         | does                                        | if absent  | needs there     |
//! |--------------|---------------------------------------------|------------|-----------------|
//! | `merge`      | JSON Merge Patch, RFC 7396                  | as on `{}` | anything        |
//! | `json_patch` | JSON Patch, RFC 6902                        | refused    | what it says    |
//! | `append`     | a list grows at its end, by one value or by | as on `[]` | a list          |
//! |              | the elements of a list                      |            |                 |
//! | `union`      | the same, without values already there      | as on `[]` | a list          |
//! | `increment`  | adds a number                               | as on `0`  | a number        |
//! | `max`        | keeps the larger number, at a tie the old   | the number | a number        |
//!
//! A rule ([`Merge`]) defines the form of a plain write. Two rules are not forms: `last_write_wins`
//! takes the written value, `reject` refuses to replace a value with another.
//!
//! Invariants:
//!
//! 1. Pure: the same two values always give the same bytes.
//! 2. Unchanged parts keep their bytes: the elements of lists, the winner of `max`, the value under
//!    `reject`. Results of `merge` and `json_patch` are encoded anew, with sorted keys, since
//!    `serde_json` sorts them unless the program that embeds Baton disables that.
//! 3. [`Json::same_value`] defines equality: for `union`, for `reject` and for the `test` of a JSON
//!    Patch.
//! 4. Integers are exact. A sum that needs more than 64 bits is refused, not rounded. If one of the
//!    numbers is a fraction the sum is a double, and must be finite.
//! 5. No result is nested deeper than [`DEPTH_MAX`], and no intermediate value is.
//!
//! Deliberately absent: limits on the size of the result, which the caller checks for every value.
//! Only a JSON Patch could exhaust memory before that, by copying copies, so its work is bounded
//! here.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use json_patch::PatchOperation;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};
use thiserror::Error;

use crate::json::{DEPTH_MAX, Json, JsonError, number_order, value_order};

#[cfg(test)]
mod tests;

/// The maximum number of operations in one JSON Patch. Each may shift a whole list by one position.
pub const PATCH_OPERATIONS_MAX: usize = 256;

/// The maximum total size of what the `copy` operations of one JSON Patch copy. Without it, a patch
/// of forty lines that each copy the whole document into itself would exhaust any memory.
pub const PATCH_COPIED_BYTES_MAX: usize = 1 << 20;

/// How the server combines a written value with the existing one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// The written value replaces the existing one.
    #[default]
    LastWriteWins,
    /// An existing value cannot be replaced by another.
    Reject,
    /// Like `merge` of `state.patch`.
    JsonMerge,
    /// Like `append` of `state.patch`.
    Append,
    /// Like `union` of `state.patch`.
    Union,
    /// Like `increment` of `state.patch`.
    Counter,
    /// Like `max` of `state.patch`.
    Max,
}

/// One of the forms of `state.patch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Patch {
    /// JSON Merge Patch, RFC 7396: members replace members, `null` removes one.
    Merge(Json),
    /// JSON Patch, RFC 6902: a list of operations, applied entirely or not at all.
    JsonPatch(Json),
    /// Appends the value, or the elements of the list, to the list.
    Append(Json),
    /// A value, or a list of values, to append to the list unless it already contains them.
    Union(Json),
    /// Adds the number.
    Increment(Json),
    /// Keeps the larger number.
    Max(Json),
}

impl Patch {
    /// The operand.
    pub fn value(&self) -> &Json {
        match self {
            Self::Merge(value)
            | Self::JsonPatch(value)
            | Self::Append(value)
            | Self::Union(value)
            | Self::Increment(value)
            | Self::Max(value) => value,
        }
    }
}

/// Why values cannot be combined. Serialized as its facts under its name.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeError {
    /// There is another value, and the rule forbids replacing it.
    #[error("there already is a different value")]
    Exists,
    /// There is no value to apply a JSON Patch to.
    #[error("there is no value to patch")]
    Absent,
    /// The existing value has the wrong type for this form.
    #[error("the existing value must be a {expected}, but its type is {found}")]
    NotA {
        /// The required type.
        expected: &'static str,
        /// The type of the existing value.
        found: &'static str,
    },
    /// The operand has the wrong type for this form.
    #[error("the given value must be a {expected}, but its type is {found}")]
    BadOperand {
        /// The required type.
        expected: &'static str,
        /// The type of the operand.
        found: &'static str,
    },
    /// The operand is not a JSON Patch.
    #[error("the given value is not a JSON Patch: {reason}")]
    NotAPatch {
        /// Where and why it is not.
        reason: String,
    },
    /// The JSON Patch has too many operations.
    #[error("a JSON Patch has at most {operations_max} operations, got {operations}")]
    TooManyOperations {
        /// The number of operations.
        operations: usize,
        /// The limit, [`PATCH_OPERATIONS_MAX`].
        operations_max: usize,
    },
    /// The JSON Patch copies too much.
    #[error("operation {operation} of the patch copies more than {bytes_max} bytes in total")]
    CopiesTooMuch {
        /// The operation, counted from 0.
        operation: usize,
        /// The limit, [`PATCH_COPIED_BYTES_MAX`].
        bytes_max: usize,
    },
    /// An operation of the JSON Patch does not apply to the existing value.
    #[error("operation {operation} of the patch failed: {reason}")]
    PatchFailed {
        /// The operation, counted from 0.
        operation: usize,
        /// The reason.
        reason: String,
    },
    /// The sum is out of range.
    #[error("the sum of {current} and {added} is out of range")]
    Overflow {
        /// The existing number.
        current: String,
        /// The number to add.
        added: String,
    },
    /// The result would be nested too deeply.
    #[error("the result would nest deeper than {depth_max} levels")]
    TooDeep {
        /// The limit, [`DEPTH_MAX`].
        depth_max: usize,
    },
}

/// The value after the patch.
pub fn patch(current: Option<&Json>, patch: &Patch) -> Result<Json, MergeError> {
    match patch {
        Patch::Merge(operand) => merge_fields(current, operand),
        Patch::JsonPatch(operand) => apply_operations(current, operand),
        Patch::Append(operand) => append(current, operand),
        Patch::Union(operand) => union(current, operand),
        Patch::Increment(operand) => increment(current, operand),
        Patch::Max(operand) => max(current, operand),
    }
}

/// The value after a write under this rule.
pub fn merge(rule: Merge, current: Option<&Json>, written: Json) -> Result<Json, MergeError> {
    match rule {
        Merge::LastWriteWins => Ok(written),
        Merge::Reject => match current {
            None => Ok(written),
            Some(there) if there.same_value(&written) => Ok(there.clone()),
            Some(_) => Err(MergeError::Exists),
        },
        Merge::JsonMerge => merge_fields(current, &written),
        Merge::Append => append(current, &written),
        Merge::Union => union(current, &written),
        Merge::Counter => increment(current, &written),
        Merge::Max => max(current, &written),
    }
}

fn merge_fields(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let mut value = current.map_or_else(|| Value::Object(Map::new()), Json::to_value);
    json_patch::merge(&mut value, &operand.to_value());
    Json::of(&value).map_err(|error| unstorable(&error))
}

/// The parts are valid, so that only the depth of a result can be wrong.
fn unstorable(error: &JsonError) -> MergeError {
    assert!(matches!(error, JsonError::TooDeep { .. }), "sound values combine soundly: {error}");
    MergeError::TooDeep { depth_max: DEPTH_MAX }
}

fn apply_operations(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let mut value = current.ok_or(MergeError::Absent)?.to_value();
    let operations: json_patch::Patch =
        operand.to().map_err(|error| MergeError::NotAPatch { reason: error.to_string() })?;
    if operations.len() > PATCH_OPERATIONS_MAX {
        let (operations, operations_max) = (operations.len(), PATCH_OPERATIONS_MAX);
        return Err(MergeError::TooManyOperations { operations, operations_max });
    }
    let mut copied_bytes = 0;
    for (index, operation) in operations.iter().enumerate() {
        check_depth(&value, operation)?;
        copied_bytes += bytes_to_copy(&value, operation);
        if copied_bytes > PATCH_COPIED_BYTES_MAX {
            let bytes_max = PATCH_COPIED_BYTES_MAX;
            return Err(MergeError::CopiesTooMuch { operation: index, bytes_max });
        }
        apply_operation(&mut value, operation)
            .map_err(|reason| MergeError::PatchFailed { operation: index, reason })?;
    }
    Json::of(&value).map_err(|error| unstorable(&error))
}

fn apply_operation(value: &mut Value, operation: &PatchOperation) -> Result<(), String> {
    if let PatchOperation::Test(test) = operation {
        // Done here because the library treats 1 and 1.0 as different.
        let found = value.pointer(test.path.as_str()).ok_or("there is nothing at `path`")?;
        let same = value_order(found, &test.value).is_eq();
        return if same { Ok(()) } else { Err("the tested value is another".into()) };
    }
    // Without rollback: if a patch fails, the value it worked on is discarded.
    json_patch::patch_unsafe(value, std::slice::from_ref(operation)).map_err(|error| {
        match error.kind {
            json_patch::PatchErrorKind::InvalidPointer => "there is nothing at `path`".into(),
            json_patch::PatchErrorKind::InvalidFromPointer => "there is nothing at `from`".into(),
            kind => kind.to_string(),
        }
    })
}

/// Refuses an operation that would create a value that is too deep, before it is executed: by
/// copying a value into itself a few times, a patch could create one that is too deep even to be
/// dropped.
fn check_depth(value: &Value, operation: &PatchOperation) -> Result<(), MergeError> {
    let placed = match operation {
        PatchOperation::Add(add) => Some(&add.value),
        PatchOperation::Replace(replace) => Some(&replace.value),
        PatchOperation::Move(moved) => value.pointer(moved.from.as_str()),
        PatchOperation::Copy(copy) => value.pointer(copy.from.as_str()),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => None,
    };
    let reached = placed.map_or(0, |placed| operation.path().count() + depth(placed));
    if reached > DEPTH_MAX { Err(MergeError::TooDeep { depth_max: DEPTH_MAX }) } else { Ok(()) }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
    }
}

fn bytes_to_copy(value: &Value, operation: &PatchOperation) -> usize {
    let PatchOperation::Copy(copy) = operation else { return 0 };
    value.pointer(copy.from.as_str()).map_or(0, |copied| copied.to_string().len())
}

fn append(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let inner = current.map(list_inner).transpose()?.unwrap_or_default();
    let added = if kind(operand) == LIST { list_inner(operand)? } else { operand.as_str() };
    joined(inner, added)
}

fn union(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let inner = current.map(list_inner).transpose()?.unwrap_or_default();
    let mut seen: BTreeSet<ByMeaning> = match current.map(Json::to_value) {
        Some(Value::Array(elements)) => elements.into_iter().map(ByMeaning).collect(),
        Some(_) | None => BTreeSet::new(),
    };
    let given: Vec<Json> =
        if kind(operand) == LIST { elements(operand) } else { vec![operand.clone()] };
    let new: Vec<&str> = given
        .iter()
        .filter(|element| seen.insert(ByMeaning(element.to_value())))
        .map(Json::as_str)
        .collect();
    joined(inner, &new.join(","))
}

/// The elements of a list, as texts.
fn elements(list: &Json) -> Vec<Json> {
    let raw: Vec<&RawValue> =
        serde_json::from_str(list.as_str()).expect("the caller saw that it is a list");
    raw.into_iter().map(|element| Json::trusted(element.get().as_bytes())).collect()
}

/// A value ordered by meaning, so that membership in a large set is found quickly.
struct ByMeaning(Value);

impl Ord for ByMeaning {
    fn cmp(&self, other: &ByMeaning) -> Ordering {
        value_order(&self.0, &other.0)
    }
}

impl PartialOrd for ByMeaning {
    fn partial_cmp(&self, other: &ByMeaning) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByMeaning {
    fn eq(&self, other: &ByMeaning) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ByMeaning {}

/// The text between the brackets, empty if the list is empty.
fn list_inner(list: &Json) -> Result<&str, MergeError> {
    let inner = list.as_str().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.map(str::trim_ascii).ok_or(MergeError::NotA { expected: LIST, found: kind(list) })
}

/// Joins the contents of two lists as text, so that elements keep their bytes.
fn joined(first: &str, second: &str) -> Result<Json, MergeError> {
    let comma = if first.is_empty() || second.is_empty() { "" } else { "," };
    Json::parse(format!("[{first}{comma}{second}]")).map_err(|error| unstorable(&error))
}

fn increment(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let added = given_number(operand)?;
    let Some(there) = current else { return Ok(operand.clone()) };
    let number = number_there(there)?;
    let sum = sum(&number, &added).ok_or_else(|| MergeError::Overflow {
        current: number.to_string(),
        added: added.to_string(),
    })?;
    Json::of(&sum).map_err(|error| unstorable(&error))
}

/// None if the sum is out of range.
fn sum(left: &Number, right: &Number) -> Option<Number> {
    if let (Some(left), Some(right)) = (left.as_i128(), right.as_i128()) {
        let sum = left + right;
        let signed = i64::try_from(sum).ok().map(Number::from);
        return signed.or_else(|| u64::try_from(sum).ok().map(Number::from));
    }
    Number::from_f64(left.as_f64()? + right.as_f64()?)
}

/// The difference of two numbers; none if one of them is no number, or if the result is out of
/// range.
pub(crate) fn difference(value: &Json, base: Option<&Json>) -> Option<Json> {
    let number = given_number(value).ok()?;
    let Some(base) = base else { return Some(value.clone()) };
    let base = given_number(base).ok()?;
    let added = match (number.as_i128(), base.as_i128()) {
        (Some(number), Some(base)) => Number::from_i128(number - base)?,
        (_, _) => Number::from_f64(number.as_f64()? - base.as_f64()?)?,
    };
    Json::of(&added).ok()
}

fn max(current: Option<&Json>, operand: &Json) -> Result<Json, MergeError> {
    let given = given_number(operand)?;
    let Some(there) = current else { return Ok(operand.clone()) };
    let larger = number_order(&given, &number_there(there)?).is_gt();
    Ok(if larger { operand.clone() } else { there.clone() })
}

fn given_number(operand: &Json) -> Result<Number, MergeError> {
    operand.to().map_err(|_| MergeError::BadOperand { expected: NUMBER, found: kind(operand) })
}

fn number_there(there: &Json) -> Result<Number, MergeError> {
    there.to().map_err(|_| MergeError::NotA { expected: NUMBER, found: kind(there) })
}

const LIST: &str = "list";
const NUMBER: &str = "number";

fn kind(json: &Json) -> &'static str {
    match json.as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => LIST,
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        Some(_) | None => NUMBER,
    }
}

//! JSON values, kept as the bytes that were received.
//!
//! ```text
//!   bytes ──parse──▶ Json ──as_bytes──▶ the same bytes, to the log, a reader, a watcher
//!                     │
//!                     └──to_value──▶ a tree, only where a rule must look inside
//! ```
//!
//! | format                    | written as               | read from                       |
//! |---------------------------|--------------------------|---------------------------------|
//! | JSON text                 | the text, in place       | the text, in place              |
//! | `serde_json::Value`       | a tree                   | a tree, encoded anew            |
//! | other readable formats    | as the format encodes `RawValue` | a tree, encoded anew |
//! | binary, e.g. `MessagePack`| a byte string            | a byte string, checked again    |
//!
//! Invariants of every [`Json`], however it was built ([`Json::trusted`] trusts its caller):
//!
//! 1. It is exactly one JSON value, in UTF-8, without surrounding whitespace.
//! 2. It nests at most [`DEPTH_MAX`] deep, so that no walk over it can exhaust a stack.
//! 3. It decodes: no number beyond the range of a double and no half of a surrogate pair, both of
//!    which the grammar allows. [`Json::to_value`] therefore cannot fail.
//! 4. It is never re-encoded. Whitespace, key order, duplicate keys and the spelling of numbers are
//!    kept. One exception is due to serde: inside a flattened struct or an internally tagged or
//!    untagged enum the text is lost before this module sees it, and the value is encoded anew with
//!    its keys sorted.
//!
//! Equality (`==`) compares bytes. [`Json::same_value`] compares values.
//!
//! Deliberately absent: a limit on size, since every use has its own; and access by path, since a
//! rule that looks inside needs the tree anyway.

use std::fmt;
use std::str::Utf8Error;
use std::sync::Arc;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use thiserror::Error;

pub mod scan;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(test)]
pub(crate) use baton_schema::REASON_CHARACTERS_MAX;
pub(crate) use baton_schema::order::{number_order, value_order};
pub(crate) use baton_schema::shortened;
pub use shape::Shape;

/// The maximum depth of lists and objects. Far beyond what people and agents write, and half of the
/// limit of the parser, so that a value inside a request still fits.
pub const DEPTH_MAX: usize = 64;

/// An integer with at most this many digits is within the range of a double.
const DIGITS_SAFE: usize = 308;

/// The name under which `serde_json` passes text through serde unparsed, as for its `RawValue`. It
/// is not guaranteed: the tests of this module would fail if it changed.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A JSON value as the bytes that were received. See the [module](self) for its invariants. The
/// bytes are shared between the event, the record and the answers that contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

/// Why bytes are not a [`Json`], or a [`Json`] not of a type. Serializes as its facts.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[serde(untagged)]
pub enum JsonError {
    /// The bytes are not one JSON value that can be decoded.
    #[error("malformed JSON at line {line} column {column}: {reason}")]
    Malformed {
        /// Counted from 1.
        line: usize,
        /// In bytes, counted from 1; 0 for the start of the line.
        column: usize,
        /// The text that was found or expected there.
        reason: String,
    },
    /// Lists and objects are nested too deeply.
    #[error("JSON nests deeper than {depth_max} levels")]
    TooDeep {
        /// The limit, [`DEPTH_MAX`].
        depth_max: usize,
    },
    /// The value is valid, but does not have the expected type.
    #[error("unexpected JSON at line {line} column {column}: {reason}")]
    Mismatched {
        /// Counted from 1; 0 if there is no position.
        line: usize,
        /// In bytes, counted from 1; 0 if there is no position.
        column: usize,
        /// The expected and the actual text there.
        reason: String,
    },
    /// A value of the program has no JSON form.
    #[error("value has no JSON form: {reason}")]
    Unencodable {
        /// The part without a JSON form.
        reason: String,
    },
}

impl Json {
    /// Validates the bytes and takes ownership; surrounding whitespace is dropped.
    pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Json, JsonError> {
        let text = String::from_utf8(bytes.into())
            .map_err(|error| invalid_utf8(error.as_bytes(), error.utf8_error()))?;
        match scan::only_value(text.as_bytes())? {
            (0, end) if end == text.len() => Ok(Json(text.into())),
            (start, end) => Ok(Json(text[start..end].into())),
        }
    }

    /// Validates bytes like [`Json::parse`] and returns the text of the value in them, without
    /// surrounding whitespace. Nothing is copied.
    pub fn checked_slice(bytes: &[u8]) -> Result<&str, JsonError> {
        let text = str::from_utf8(bytes).map_err(|error| invalid_utf8(bytes, error))?;
        let (start, end) = scan::only_value(bytes)?;
        Ok(&text[start..end])
    }

    /// Encodes a value. Values that JSON cannot represent (infinities and NaN) become `null`, as
    /// always with `serde_json`.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Json, JsonError> {
        let raw = to_raw_value(value)
            .map_err(|error| JsonError::Unencodable { reason: reason(&error) })?;
        Json::checked(raw)
    }

    /// Accepts bytes that came from a [`Json`], without validating them again. With any other bytes
    /// the caller is responsible for the invariants.
    pub fn trusted(bytes: &[u8]) -> Json {
        let text = str::from_utf8(bytes).expect("the bytes of a `Json` are UTF-8");
        Json(text.into())
    }

    /// The same for a text.
    pub fn trusted_text(text: &str) -> Json {
        Json(text.into())
    }

    /// The value `null`.
    pub fn null() -> Json {
        Json("null".into())
    }

    /// The bytes as received.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    /// The text as received.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tree. Of duplicate keys the last one counts.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(self.as_str()).expect("a `Json` was checked to decode when built")
    }

    /// Decodes into a type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        serde_json::from_str(self.as_str()).map_err(|error| JsonError::Mismatched {
            line: error.line(),
            column: error.column(),
            reason: reason(&error),
        })
    }

    /// Whether both have the same value, regardless of whitespace, key order and the spelling of
    /// numbers, so that `1` is `1.0`. Integers that need more than 64 bits are compared as doubles.
    pub fn same_value(&self, other: &Json) -> bool {
        // Identical text is by far the most frequent case, and needs no tree.
        self == other || value_order(&self.to_value(), &other.to_value()).is_eq()
    }

    fn checked(raw: Box<RawValue>) -> Result<Json, JsonError> {
        scan::only_value(raw.get().as_bytes())?;
        Ok(Json(Box::<str>::from(raw).into()))
    }
}

impl TryFrom<Value> for Json {
    type Error = JsonError;

    fn try_from(value: Value) -> Result<Json, JsonError> {
        Json::of(&value)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Whether a syntactically valid number is within the range of a double.
#[inline]
fn check_number(number: &[u8], has_exponent: bool) -> bool {
    // Uses the decoder itself, so that what passes here cannot fail in `to_value`.
    !(has_exponent || number.len() > DIGITS_SAFE) || serde_json::from_slice::<f64>(number).is_ok()
}

fn invalid_utf8(bytes: &[u8], error: Utf8Error) -> JsonError {
    let (line, column) = place(bytes, error.valid_up_to());
    JsonError::Malformed { line, column, reason: "invalid UTF-8".into() }
}

/// Line and column as `serde_json` counts them: of the byte at `offset`, or of the last one if the
/// text ends there; a newline belongs to the line that it starts.
fn place(bytes: &[u8], offset: usize) -> (usize, usize) {
    let read = &bytes[..bytes.len().min(offset + 1)];
    let lines = || read.split(|byte| *byte == b'\n');
    (lines().count(), lines().next_back().map_or(0, <[u8]>::len))
}

/// The message of the parser without the position, which the error types have as numbers.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    shortened(text.strip_suffix(&place).unwrap_or(&text))
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            // Like `RawValue`, without the parsing that creating one from text would cost.
            let mut shell = serializer.serialize_struct(RAW_VALUE, 1)?;
            shell.serialize_field(RAW_VALUE, self.as_str())?;
            shell.end()
        } else {
            serializer.serialize_bytes(self.as_bytes())
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_newtype_struct(RAW_VALUE, TextVisitor)
        } else {
            let bytes = serde_bytes::ByteBuf::deserialize(deserializer)?;
            Json::parse(bytes.into_vec()).map_err(D::Error::custom)
        }
    }
}

/// Deserializes an optional value that is present, so that `null` is a value like any other. Serde
/// alone would treat it as absent, and a comparison with `null` as no comparison.
pub(crate) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// A deserializer that has the text passes it as a map; all others unwrap the newtype.
struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        let raw = Box::<RawValue>::deserialize(MapAccessDeserializer::new(map))?;
        Json::checked(raw).map_err(A::Error::custom)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Json, D::Error> {
        inner.deserialize_any(TreeVisitor)
    }

    /// Only the fields of the wire format pass bytes here: they have just been scanned.
    fn visit_borrowed_bytes<E: serde::de::Error>(self, scanned: &'de [u8]) -> Result<Json, E> {
        Ok(Json::trusted(scanned))
    }

    fn visit_byte_buf<E: serde::de::Error>(self, value: Vec<u8>) -> Result<Json, E> {
        Json::parse(value).map_err(E::custom)
    }
}

/// Encodes a tree anew. It also accepts a byte string: serde buffers the content of a tagged enum,
/// and its buffer claims to be human-readable even if its content came from a binary format.
struct TreeVisitor;

fn encoded<T: Serialize + ?Sized, E: serde::de::Error>(value: &T) -> Result<Json, E> {
    Json::of(value).map_err(E::custom)
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Json, E> {
        encoded(&value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Json, E> {
        encoded(&value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Json, E> {
        encoded(&value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        encoded(&value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Json, E> {
        encoded(value)
    }

    fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Result<Json, E> {
        Json::parse(value).map_err(E::custom)
    }

    fn visit_byte_buf<E: serde::de::Error>(self, value: Vec<u8>) -> Result<Json, E> {
        Json::parse(value).map_err(E::custom)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Json, E> {
        Ok(Json::null())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Json, E> {
        Ok(Json::null())
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Json, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Json, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Json, A::Error> {
        encoded(&Value::deserialize(SeqAccessDeserializer::new(list))?)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Json, A::Error> {
        encoded(&Value::deserialize(MapAccessDeserializer::new(map))?)
    }
}

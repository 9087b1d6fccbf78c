//! Refusals that all primitives share: numbers out of range, invalid fields, fields that are too
//! large, and limits on how many there may be.
//!
//! The checks and their messages are here; each primitive declares its own code and hint for them
//! with [`refusals!`](crate::refusals!).

use std::borrow::Cow;

use serde::Serialize;
use thiserror::Error;

use crate::json::Json;

/// A number that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[error("{what} must be between {min} and {max}, not {given}")]
pub struct OutOfRange {
    /// The number.
    pub what: &'static str,
    /// The given value.
    pub given: u64,
    /// The minimum.
    pub min: u64,
    /// The maximum.
    pub max: u64,
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize)]
#[error("`{field}` is invalid: {reason}")]
pub struct BadField {
    /// The field.
    pub field: Cow<'static, str>,
    /// The reason.
    pub reason: String,
}

/// A field that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[error("`{field}` has {bytes} bytes; the limit is {bytes_max}")]
pub struct TooLarge {
    /// The field.
    pub field: &'static str,
    /// Its size.
    pub bytes: usize,
    /// The maximum size.
    pub bytes_max: usize,
}

/// A limit on a number of things that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[error("too many {what} (limit {max})")]
pub struct TooMany {
    /// The name of the limited quantity.
    pub what: &'static str,
    /// The limit.
    pub max: usize,
}

/// The number, or the default if none was given, if it is within the range.
pub fn within(
    what: &'static str,
    given: Option<u64>,
    usual: u64,
    (min, max): (u64, u64),
) -> Result<u64, OutOfRange> {
    let given = given.unwrap_or(usual);
    if (min..=max).contains(&given) { Ok(given) } else { Err(OutOfRange { what, given, min, max }) }
}

/// An invalid field.
pub fn bad(field: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> BadField {
    BadField { field: field.into(), reason: reason.into() }
}

/// Refuses a field that is too large.
pub fn fits(field: &'static str, bytes: usize, bytes_max: usize) -> Result<(), TooLarge> {
    if bytes > bytes_max { Err(TooLarge { field, bytes, bytes_max }) } else { Ok(()) }
}

/// Refuses a text that is too long.
pub fn text_fits(
    field: &'static str,
    text: Option<&String>,
    bytes_max: usize,
) -> Result<(), TooLarge> {
    fits(field, text.map_or(0, String::len), bytes_max)
}

/// Refuses a value that is too large.
pub fn json_fits(
    field: &'static str,
    json: Option<&Json>,
    bytes_max: usize,
) -> Result<(), TooLarge> {
    fits(field, json.map_or(0, |json| json.as_bytes().len()), bytes_max)
}

/// Refuses a value that is present and not an object.
pub fn is_object(field: &'static str, json: Option<&Json>) -> Result<(), BadField> {
    match json {
        Some(json) if !json.as_str().starts_with('{') => Err(bad(field, "it must be an object")),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a value that is present and not a list.
pub fn is_list(field: &'static str, json: Option<&Json>) -> Result<(), BadField> {
    match json {
        Some(json) if !json.as_str().starts_with('[') => Err(bad(field, "it must be a list")),
        Some(_) | None => Ok(()),
    }
}

/// Refuses another one if a limit is reached. Each check is what is counted, the current number and
/// the maximum.
pub fn has_room(
    counts: impl IntoIterator<Item = (&'static str, usize, usize)>,
) -> Result<(), TooMany> {
    match counts.into_iter().find(|(_, count, max)| count >= max) {
        Some((what, _, max)) => Err(TooMany { what, max }),
        None => Ok(()),
    }
}

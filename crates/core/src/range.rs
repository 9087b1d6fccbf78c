//! Numbers that must lie within a range.

use serde::Serialize;
use thiserror::Error;

/// A number that makes no sense where it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Serialize)]
#[error("{what} is {given}, it must be between {min} and {max}")]
pub struct OutOfRange {
    /// Which number.
    pub what: &'static str,
    /// What was given.
    pub given: u64,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// The number, or the usual one if none was given, if it lies within the range.
pub fn within(
    what: &'static str,
    given: Option<u64>,
    usual: u64,
    (min, max): (u64, u64),
) -> Result<u64, OutOfRange> {
    let given = given.unwrap_or(usual);
    if (min..=max).contains(&given) { Ok(given) } else { Err(OutOfRange { what, given, min, max }) }
}

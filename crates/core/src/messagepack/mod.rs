//! Reads the MessagePack that `rmp_serde` writes for the log, for snapshots and for receipts.
//!
//! Writing is done by `rmp_serde`; reading is done here because of code size. `rmp_serde` answers
//! every `deserialize_*` with whatever the bytes contain, so the visitor of every struct, field
//! name and newtype is compiled together with all of MessagePack. Two thirds of the machine code of
//! the engine were such copies. Here a type gets the kind of value that it requests or an error,
//! and all types share one tokenizer that is not generic:
//!
//! ```text
//!   T::deserialize ──▶ reader.rs: a few generic lines per type ──▶ token.rs: bytes to tokens, once
//! ```
//!
//! | asked for | read from |
//! |---|---|
//! | struct | a map with names as keys, or an array with a value for each field |
//! | enum | the variant's name, or a map with that name as its only key |
//! | option | nil, or the value |
//! | newtype | the value |
//! | unit struct | nil or an empty array |
//! | bytes | bin or str |
//! | float | any number |
//! | anything, as untagged, flattened and internally tagged types do | all but ext |
//!
//! 1. Everything that `rmp_serde` writes is read back, except for 128-bit integers, which none of
//!    our types has. For any bytes that both accept, `rmp_serde::from_slice` reads the same value.
//! 2. No input panics or overflows the stack. Memory grows with the actual input, not with a length
//!    that it claims.
//! 3. Strings and bytes are borrowed from the input if the type can borrow; nothing is buffered.
//!
//! Stricter than `rmp_serde`, which never writes any of this: bytes after the value, numbers in
//! place of names, bin in place of str or array, arrays in place of bytes, arrays shorter than the
//! struct, and ext types are refused, and so is nesting deeper than [`DEPTH_MAX`].

mod reader;
#[cfg(test)]
mod tests;
mod token;

use serde::Deserialize;
use serde::de;
use thiserror::Error;

use token::Reader;

/// How deep arrays, maps and variants may be nested. Types of the log need about a dozen levels.
pub const DEPTH_MAX: u8 = 128;

/// Why bytes are not the value that was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The value is longer than the bytes.
    #[error("the bytes end within a value")]
    Truncated,
    /// The value is shorter than the bytes.
    #[error("{bytes} bytes follow the value")]
    Trailing {
        /// How many are left.
        bytes: usize,
    },
    /// A value is of another kind.
    #[error("expected {expected}, found marker 0x{marker:02x}")]
    Unexpected {
        /// The type that was requested.
        expected: &'static str,
        /// The first byte of what is there.
        marker: u8,
    },
    /// An integer does not fit the type.
    #[error("an integer is out of range")]
    OutOfRange,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// An array or map continues where its type is complete.
    #[error("an array or map has {excess} more elements than expected")]
    Excess {
        /// How many were not read.
        excess: u32,
    },
    /// Values are nested too deep.
    #[error("values are nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// The type refused what it was given.
    #[error("{0}")]
    Refused(Box<str>),
}

impl de::Error for Error {
    #[cold]
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Refused(message.to_string().into())
    }
}

/// Reads a value that takes up all of the bytes.
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    let mut reader = Reader::new(bytes);
    let value = T::deserialize(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

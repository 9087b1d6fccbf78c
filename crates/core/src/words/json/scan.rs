//! A scanner for JSON text: is there a valid value, and where does it end?
//!
//! ```text
//!   {"id":7,"value":{"a":[1,2]},"key":"k"}
//!                   ▲          ▲
//!                   at         value_end(text, at)
//! ```
//!
//! Everything that a [`Json`](super::Json) guarantees is checked on the way, without building a
//! tree and without recursion: open objects and lists are one bit per level, set for an object.
//!
//! Invariants:
//!
//! 1. A value is accepted exactly if `serde_json` decodes it and it is at most [`DEPTH_MAX`] levels
//!    deep: the tests compare the two.
//! 2. No input makes it panic or read a byte more than a few times.
//! 3. Bytes outside ASCII are allowed inside strings only, and are **not** validated as UTF-8. The
//!    caller does that, best once for the whole buffer with [`str::from_utf8`].
//!
//! Deliberately absent: what follows the value. `01` is the value `0` followed by something, and
//! the caller knows what may follow.

use super::{DEPTH_MAX, JsonError, check_number, place};

#[cfg(test)]
mod tests;

/// A byte in every lane of a word.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST_BITS: u64 = ONES << 7;

/// The end of the value that starts exactly at `at`, without whitespace before it. Depth counts
/// from this value. Errors have the line and column in the complete `text`. UTF-8 must be validated
/// by the caller, see the [module](self).
pub fn value_end(text: &[u8], at: usize) -> Result<usize, JsonError> {
    scan(text, at).map_err(|fault| fault.into_error(text))
}

/// The end of the whitespace that starts at `at`, which may be empty.
#[inline]
pub fn blank_end(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// The range of the only value of the text, without surrounding whitespace.
pub(super) fn only_value(text: &[u8]) -> Result<(usize, usize), JsonError> {
    let start = blank_end(text, 0);
    let end = value_end(text, start)?;
    let rest = blank_end(text, end);
    if rest == text.len() {
        Ok((start, end))
    } else {
        Err(Fault::new(rest, Reason::Trailing).into_error(text))
    }
}

/// An error, small enough to be passed through the scanner at no cost.
#[derive(Clone, Copy)]
struct Fault {
    at: usize,
    reason: Reason,
}

#[derive(Clone, Copy)]
enum Reason {
    Value,
    ValueEnd,
    Number,
    Range,
    Key,
    Colon,
    CommaInObject,
    CommaInList,
    ObjectEnd,
    ListEnd,
    StringEnd,
    Control,
    Escape,
    Surrogate,
    TooDeep,
    Trailing,
}

impl Fault {
    fn new(at: usize, reason: Reason) -> Fault {
        Fault { at, reason }
    }

    /// At the end of the text the error is its end, otherwise the character.
    fn or_end(text: &[u8], at: usize, reason: Reason, end: Reason) -> Fault {
        Fault { at, reason: if at < text.len() { reason } else { end } }
    }

    #[cold]
    fn into_error(self, text: &[u8]) -> JsonError {
        let reason = match self.reason {
            Reason::Value => "expected value",
            Reason::ValueEnd => "EOF while parsing a value",
            Reason::Number => "invalid number",
            Reason::Range => "number out of range",
            Reason::Key => "key must be a string",
            Reason::Colon => "expected `:`",
            Reason::CommaInObject => "expected `,` or `}`",
            Reason::CommaInList => "expected `,` or `]`",
            Reason::ObjectEnd => "EOF while parsing an object",
            Reason::ListEnd => "EOF while parsing a list",
            Reason::StringEnd => "EOF while parsing a string",
            Reason::Control => "control character (\\u0000-\\u001F) found while parsing a string",
            Reason::Escape => "invalid escape",
            Reason::Surrogate => "lone surrogate in hex escape",
            Reason::Trailing => "trailing characters",
            Reason::TooDeep => return JsonError::TooDeep { depth_max: DEPTH_MAX },
        };
        let (line, column) = place(text, self.at);
        JsonError::Malformed { line, column, reason: reason.into() }
    }
}

fn scan(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    let mut depth = 0;
    let mut objects = 0_u64;
    loop {
        let first = text.get(at).copied();
        match first {
            Some(b'"') => at = string_end(text, at + 1)?,
            Some(b'-' | b'0'..=b'9') => at = number_end(text, at)?,
            Some(b't') => at = word_end(text, at, b"true")?,
            Some(b'f') => at = word_end(text, at, b"false")?,
            Some(b'n') => at = word_end(text, at, b"null")?,
            Some(open @ (b'{' | b'[')) => {
                if depth == DEPTH_MAX {
                    return Err(Fault::new(at, Reason::TooDeep));
                }
                let is_object = open == b'{';
                let inner = blank_end(text, at + 1);
                // An object or a list is closed by the byte two after the one that opens it.
                if text.get(inner) == Some(&(open + 2)) {
                    at = inner + 1;
                } else {
                    depth += 1;
                    objects = objects << 1 | u64::from(is_object);
                    at = if is_object { name_end(text, inner)? } else { inner };
                    continue;
                }
            }
            _ => return Err(Fault::or_end(text, at, Reason::Value, Reason::ValueEnd)),
        }
        // A value is complete. Objects and lists that it completes are closed until another value
        // follows.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            let is_object = objects & 1 == 1;
            at = blank_end(text, at);
            match text.get(at) {
                Some(b',') => {
                    let next = blank_end(text, at + 1);
                    at = if is_object { name_end(text, next)? } else { next };
                    break;
                }
                Some(b'}') if is_object => {}
                Some(b']') if !is_object => {}
                _ => return Err(unclosed(text, at, is_object)),
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

#[cold]
fn unclosed(text: &[u8], at: usize, is_object: bool) -> Fault {
    if is_object {
        Fault::or_end(text, at, Reason::CommaInObject, Reason::ObjectEnd)
    } else {
        Fault::or_end(text, at, Reason::CommaInList, Reason::ListEnd)
    }
}

/// The start of the value of the field whose name starts at `at`.
#[inline]
fn name_end(text: &[u8], at: usize) -> Result<usize, Fault> {
    if text.get(at) != Some(&b'"') {
        return Err(Fault::or_end(text, at, Reason::Key, Reason::ObjectEnd));
    }
    let colon = blank_end(text, string_end(text, at + 1)?);
    match text.get(colon) {
        Some(b':') => Ok(blank_end(text, colon + 1)),
        _ => Err(Fault::or_end(text, colon, Reason::Colon, Reason::ObjectEnd)),
    }
}

#[inline]
fn word_end(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Fault> {
    if text[at..].starts_with(word) {
        Ok(at + word.len())
    } else {
        Err(Fault::new(at, Reason::Value))
    }
}

/// The end of the string whose opening quote was just before `at`.
#[inline]
fn string_end(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    loop {
        at = plain_end(text, at);
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(text, at)?,
            _ => return Err(Fault::or_end(text, at, Reason::Control, Reason::StringEnd)),
        }
    }
}

/// The position of the next quote, backslash or control character, or the end: eight bytes per
/// step.
#[inline]
pub(crate) fn plain_end(text: &[u8], mut at: usize) -> usize {
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        let found = stops(word);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let is_plain = |byte: &u8| *byte >= 0x20 && !matches!(byte, b'"' | b'\\');
    while text.get(at).is_some_and(is_plain) {
        at += 1;
    }
    at
}

/// Marks the lanes of a word where plain text stops, by their highest bits. Control characters and
/// the quote are found together: flipping the second bit makes the quote a space, and anything
/// below 0x21 was then either. A borrow can set bits above the lowest lane found, never below it,
/// so that the lowest is always right.
#[inline]
fn stops(word: u64) -> u64 {
    let controls_and_quotes = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslashes = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (controls_and_quotes | backslashes) & !word & HIGHEST_BITS
}

/// The end of the escape whose backslash is at `at`. Both halves of a surrogate pair are one.
fn escape_end(text: &[u8], at: usize) -> Result<usize, Fault> {
    match text.get(at + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
        Some(b'u') => match code_unit(text, at)? {
            0xD800..=0xDBFF => match (text.get(at + 6), text.get(at + 7)) {
                (Some(b'\\'), Some(b'u')) => match code_unit(text, at + 6)? {
                    0xDC00..=0xDFFF => Ok(at + 12),
                    _ => Err(Fault::new(at, Reason::Surrogate)),
                },
                _ => Err(Fault::new(at, Reason::Surrogate)),
            },
            0xDC00..=0xDFFF => Err(Fault::new(at, Reason::Surrogate)),
            _ => Ok(at + 6),
        },
        _ => Err(Fault::or_end(text, at + 1, Reason::Escape, Reason::StringEnd)),
    }
}

/// The four hexadecimal digits of the escape whose backslash is at `at`.
fn code_unit(text: &[u8], at: usize) -> Result<u32, Fault> {
    (at + 2..at + 6).try_fold(0, |unit, place| {
        let digit = text.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        let fault = || Fault::or_end(text, place, Reason::Escape, Reason::StringEnd);
        digit.map(|digit| unit << 4 | digit).ok_or_else(fault)
    })
}

/// The end of the number that starts at `start`.
fn number_end(text: &[u8], start: usize) -> Result<usize, Fault> {
    let after_sign = start + usize::from(text[start] == b'-');
    let mut at = match text.get(after_sign) {
        Some(b'0') => after_sign + 1,
        _ => some_digits_end(text, after_sign)?,
    };
    if text.get(at) == Some(&b'.') {
        at = some_digits_end(text, at + 1)?;
    }
    let has_exponent = matches!(text.get(at), Some(b'e' | b'E'));
    if has_exponent {
        let is_signed = matches!(text.get(at + 1), Some(b'+' | b'-'));
        at = some_digits_end(text, at + 1 + usize::from(is_signed))?;
    }
    if check_number(&text[start..at], has_exponent) {
        Ok(at)
    } else {
        Err(Fault::new(start, Reason::Range))
    }
}

/// The end of the digits that start at `start`, of which there must be one.
#[inline]
fn some_digits_end(text: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start;
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    if at == start {
        Err(Fault::or_end(text, at, Reason::Number, Reason::ValueEnd))
    } else {
        Ok(at)
    }
}

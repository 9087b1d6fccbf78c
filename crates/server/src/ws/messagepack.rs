//! The same documents in MessagePack: translated at the edge, so that there is one parser and one
//! encoder of the vocabulary.
//!
//! | MessagePack            | JSON                                            |
//! |------------------------|-------------------------------------------------|
//! | nil, booleans          | `null`, `true`, `false`                         |
//! | integers, floats       | numbers; infinities and NaN are refused         |
//! | str                    | strings                                         |
//! | array                  | lists                                           |
//! | map with str keys      | objects; other keys are refused                 |
//! | bin, ext               | refused: JSON has no form for them              |
//!
//! Invariants:
//!
//! 1. No bytes make it panic, and it is nested no deeper than JSON may be.
//! 2. A round trip gives the same value.

use std::io::Write;

use baton_core::json::DEPTH_MAX;
use baton_core::wire::{Fault, write_text};
use rmp::Marker;
use serde_json::Value;

#[cfg(test)]
mod tests;

/// Capacity for the structure around a value of the maximum depth.
const LEVELS_MAX: usize = DEPTH_MAX + 2;

/// Appends the JSON text of one MessagePack document.
pub fn to_json(document: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    let mut reader = Reader { rest: document, out };
    reader.value(0)?;
    if !reader.rest.is_empty() {
        return Err(malformed("there is something after the document"));
    }
    Ok(())
}

fn malformed(reason: &str) -> Fault {
    Fault::Malformed { reason: format!("as MessagePack, {reason}") }
}

struct Reader<'a> {
    rest: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) =
            self.rest.split_at_checked(count).ok_or_else(|| malformed("it is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Fault> {
        let taken = self.take(COUNT)?;
        Ok(*taken.first_chunk().expect("so many were taken"))
    }

    fn length(&mut self, width: usize) -> Result<usize, Fault> {
        let taken = self.take(width)?;
        Ok(taken.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        write!(self.out, "{number}").expect("a vector takes everything");
    }

    fn float(&mut self, number: f64) -> Result<(), Fault> {
        if !number.is_finite() {
            return Err(malformed("a number is infinite or none"));
        }
        serde_json::to_writer(&mut *self.out, &number).expect("finite numbers are JSON");
        Ok(())
    }

    fn text(&mut self, length: usize) -> Result<(), Fault> {
        let text = self.take(length)?;
        let text = str::from_utf8(text).map_err(|_| malformed("a string is not UTF-8"))?;
        write_text(self.out, text);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        let [marker] = self.bytes()?;
        match Marker::from_u8(marker) {
            Marker::Null => self.out.extend_from_slice(b"null"),
            Marker::True => self.out.extend_from_slice(b"true"),
            Marker::False => self.out.extend_from_slice(b"false"),
            Marker::FixPos(number) => self.number(number),
            Marker::FixNeg(number) => self.number(number),
            Marker::U8 => self.bytes().map(|bytes| self.number(u8::from_be_bytes(bytes)))?,
            Marker::U16 => self.bytes().map(|bytes| self.number(u16::from_be_bytes(bytes)))?,
            Marker::U32 => self.bytes().map(|bytes| self.number(u32::from_be_bytes(bytes)))?,
            Marker::U64 => self.bytes().map(|bytes| self.number(u64::from_be_bytes(bytes)))?,
            Marker::I8 => self.bytes().map(|bytes| self.number(i8::from_be_bytes(bytes)))?,
            Marker::I16 => self.bytes().map(|bytes| self.number(i16::from_be_bytes(bytes)))?,
            Marker::I32 => self.bytes().map(|bytes| self.number(i32::from_be_bytes(bytes)))?,
            Marker::I64 => self.bytes().map(|bytes| self.number(i64::from_be_bytes(bytes)))?,
            Marker::F32 => {
                let number = f32::from_be_bytes(self.bytes()?);
                self.float(f64::from(number))?;
            }
            Marker::F64 => {
                let number = f64::from_be_bytes(self.bytes()?);
                self.float(number)?;
            }
            Marker::FixStr(length) => self.text(usize::from(length))?,
            Marker::Str8 => self.length(1).and_then(|length| self.text(length))?,
            Marker::Str16 => self.length(2).and_then(|length| self.text(length))?,
            Marker::Str32 => self.length(4).and_then(|length| self.text(length))?,
            Marker::FixArray(length) => self.list(usize::from(length), depth)?,
            Marker::Array16 => self.length(2).and_then(|length| self.list(length, depth))?,
            Marker::Array32 => self.length(4).and_then(|length| self.list(length, depth))?,
            Marker::FixMap(length) => self.map(usize::from(length), depth)?,
            Marker::Map16 => self.length(2).and_then(|length| self.map(length, depth))?,
            Marker::Map32 => self.length(4).and_then(|length| self.map(length, depth))?,
            other => return Err(malformed(&format!("{other:?} has no form in JSON"))),
        }
        Ok(())
    }

    fn list(&mut self, length: usize, depth: usize) -> Result<(), Fault> {
        Self::deeper(depth)?;
        self.out.push(b'[');
        for index in 0..length {
            if index > 0 {
                self.out.push(b',');
            }
            self.value(depth + 1)?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn map(&mut self, length: usize, depth: usize) -> Result<(), Fault> {
        Self::deeper(depth)?;
        self.out.push(b'{');
        for index in 0..length {
            if index > 0 {
                self.out.push(b',');
            }
            let [marker] = self.bytes()?;
            let bytes = match Marker::from_u8(marker) {
                Marker::FixStr(length) => usize::from(length),
                Marker::Str8 => self.length(1)?,
                Marker::Str16 => self.length(2)?,
                Marker::Str32 => self.length(4)?,
                _ => return Err(malformed("a key is not a string")),
            };
            self.text(bytes)?;
            self.out.push(b':');
            self.value(depth + 1)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    fn deeper(depth: usize) -> Result<(), Fault> {
        if depth >= LEVELS_MAX {
            return Err(malformed(&format!("it nests deeper than {LEVELS_MAX} levels")));
        }
        Ok(())
    }
}

/// Appends the MessagePack form of a JSON text that was written by the server.
pub fn from_json(text: &[u8], out: &mut Vec<u8>) {
    let value: Value = serde_json::from_slice(text).expect("what we write is JSON");
    write_value(out, &value);
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    let count = |length: usize| u32::try_from(length).expect("messages are smaller than 4 GiB");
    let fits = "a vector takes everything";
    match value {
        Value::Null => rmp::encode::write_nil(out).expect(fits),
        Value::Bool(value) => rmp::encode::write_bool(out, *value).expect(fits),
        Value::Number(number) => {
            if let Some(number) = number.as_u64() {
                rmp::encode::write_uint(out, number).map(drop).expect(fits);
            } else if let Some(number) = number.as_i64() {
                rmp::encode::write_sint(out, number).map(drop).expect(fits);
            } else {
                let number = number.as_f64().expect("it is no integer of 64 bits");
                rmp::encode::write_f64(out, number).expect(fits);
            }
        }
        Value::String(text) => rmp::encode::write_str(out, text).expect(fits),
        Value::Array(items) => {
            rmp::encode::write_array_len(out, count(items.len())).map(drop).expect(fits);
            for item in items {
                write_value(out, item);
            }
        }
        Value::Object(fields) => {
            rmp::encode::write_map_len(out, count(fields.len())).map(drop).expect(fits);
            for (name, value) in fields {
                rmp::encode::write_str(out, name).expect(fits);
                write_value(out, value);
            }
        }
    }
}

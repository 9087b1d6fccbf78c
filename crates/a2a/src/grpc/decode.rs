//! Messages as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use baton_core::Timestamp;
use serde_json::{Map, Number, Value};

use super::DEPTH_MAX;
use super::schema::{Field, Kind, Rule};
use super::wire::{Content, Reader, malformed};
use crate::error::Error;

/// A whole message.
pub(super) fn message(kind: Kind, bytes: &[u8]) -> Result<Value, Error> {
    value(kind, Content::Bytes(bytes), 0)
}

fn value(kind: Kind, content: Content<'_>, depth: usize) -> Result<Value, Error> {
    if depth > DEPTH_MAX {
        return Err(malformed("it is too deep"));
    }
    Ok(match (kind, content) {
        (Kind::Text, Content::Bytes(bytes)) => text(bytes)?.into(),
        (Kind::Bytes, Content::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Kind::Integer, Content::Integer(bits)) => integer(bits).into(),
        (Kind::Bool, Content::Integer(bits)) => (bits != 0).into(),
        (Kind::Enum(names), Content::Integer(bits)) => {
            let number = integer(bits);
            let named = names.iter().find(|(_, known)| i64::from(**known) == number);
            named.map_or(number.into(), |(name, _)| name.as_str().into())
        }
        (Kind::Struct, Content::Bytes(bytes)) => object(bytes, depth)?,
        (Kind::Value, Content::Bytes(bytes)) => any(bytes, depth)?,
        (Kind::Time, Content::Bytes(bytes)) => time(bytes)?,
        (Kind::Message(fields), Content::Bytes(bytes)) => members(fields, bytes, depth)?,
        _ => return Err(malformed("a field is of another type")),
    })
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    str::from_utf8(bytes).map_err(|_| malformed("a text is not UTF-8"))
}

/// A negative number has all higher bits set.
fn integer(bits: u64) -> i64 {
    i64::from_le_bytes(bits.to_le_bytes())
}

fn members(fields: &[Field], bytes: &[u8], depth: usize) -> Result<Value, Error> {
    let mut members = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, content)) = reader.field()? {
        // A field of a later version is ignored, as the format demands.
        let Some(field) = fields.iter().find(|field| field.0 == number) else { continue };
        let name = &field.1;
        match field.3 {
            Rule::Single => {
                members.insert(name.clone(), value(field.kind(), content, depth + 1)?);
            }
            Rule::Repeated => {
                let one = value(field.kind(), content, depth + 1)?;
                let list = members.entry(name.clone()).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().expect("a repeated field is a list").push(one);
            }
            Rule::Map => {
                let (key, one) = entry(field.kind(), content, depth + 1)?;
                let map = members.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                map.as_object_mut().expect("a map is an object").insert(key, one);
            }
        }
    }
    Ok(Value::Object(members))
}

/// An entry of a map: a key and a value.
fn entry(kind: Kind, content: Content<'_>, depth: usize) -> Result<(String, Value), Error> {
    let Content::Bytes(bytes) = content else { return Err(malformed("a map is of another type")) };
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader(bytes);
    while let Some(field) = reader.field()? {
        match field {
            (1, Content::Bytes(bytes)) => text(bytes)?.clone_into(&mut key),
            (2, content) => found = Some(value(kind, content, depth)?),
            _ => {}
        }
    }
    // A value that is not written has its default, which has no bytes.
    let found = match found {
        Some(found) => found,
        None => value(kind, Content::Bytes(&[]), depth)?,
    };
    Ok((key, found))
}

/// `google.protobuf.Struct`.
fn object(bytes: &[u8], depth: usize) -> Result<Value, Error> {
    let mut members = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, content)) = reader.field()? {
        if number == 1 {
            let (key, value) = entry(Kind::Value, content, depth + 1)?;
            members.insert(key, value);
        }
    }
    Ok(Value::Object(members))
}

/// `google.protobuf.Value`.
fn any(bytes: &[u8], depth: usize) -> Result<Value, Error> {
    let mut found = Value::Null;
    let mut reader = Reader(bytes);
    while let Some(field) = reader.field()? {
        found = match field {
            (1, Content::Integer(_)) => Value::Null,
            (2, Content::Fixed64(bytes)) => number(f64::from_le_bytes(bytes))?,
            (3, Content::Bytes(bytes)) => text(bytes)?.into(),
            (4, Content::Integer(bits)) => (bits != 0).into(),
            (5, content) => value(Kind::Struct, content, depth + 1)?,
            (6, Content::Bytes(bytes)) => list(bytes, depth + 1)?,
            _ => return Err(malformed("a value is of an unknown kind")),
        };
    }
    Ok(found)
}

fn list(bytes: &[u8], depth: usize) -> Result<Value, Error> {
    let mut items = Vec::new();
    let mut reader = Reader(bytes);
    while let Some((number, content)) = reader.field()? {
        if number == 1 {
            items.push(value(Kind::Value, content, depth)?);
        }
    }
    Ok(Value::Array(items))
}

/// A whole number is written without a fraction, as clients of JSON write it.
fn number(value: f64) -> Result<Value, Error> {
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT_MAX {
        let whole: i64 = format!("{value:.0}").parse().map_err(|_| malformed("a number"))?;
        return Ok(whole.into());
    }
    let number = Number::from_f64(value).ok_or_else(|| malformed("a number is not finite"))?;
    Ok(Value::Number(number))
}

/// The last second of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

/// `google.protobuf.Timestamp`, to the millisecond.
fn time(bytes: &[u8]) -> Result<Value, Error> {
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    let mut reader = Reader(bytes);
    while let Some(field) = reader.field()? {
        match field {
            (1, Content::Integer(bits)) => seconds = integer(bits),
            (2, Content::Integer(bits)) => nanos = integer(bits),
            _ => {}
        }
    }
    if !(0..=LAST_SECOND).contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
        return Err(malformed("a time is not between 1970 and 9999"));
    }
    let milliseconds = u64::try_from(seconds * 1_000 + nanos / 1_000_000);
    let time = Timestamp(milliseconds.expect("it is not negative"));
    Ok(time.to_string().into())
}

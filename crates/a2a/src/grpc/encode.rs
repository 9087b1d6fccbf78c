//! JSON as messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use baton_core::Timestamp;
use serde_json::{Map, Value};

use super::schema::{Kind, Rule};
use super::wire::Writer;

/// Writes a message. Fields that are not in its schema are left out: a test compares everything
/// that the service answers with.
pub(super) fn message(writer: &mut Writer, kind: Kind, value: &Value) {
    let Kind::Message(fields) = kind else { return };
    for field in fields {
        let (number, content) = (field.0, &value[&field.1]);
        match (field.3, content) {
            (_, Value::Null) => {}
            (Rule::Repeated, Value::Array(items)) => {
                for item in items {
                    put(writer, number, field.kind(), item);
                }
            }
            (Rule::Map, Value::Object(members)) => {
                for (key, value) in members {
                    let mut entry = Writer::default();
                    entry.text(1, key);
                    put(&mut entry, 2, field.kind(), value);
                    writer.bytes(number, &entry.0);
                }
            }
            _ => put(writer, number, field.kind(), content),
        }
    }
}

fn put(writer: &mut Writer, number: u32, kind: Kind, value: &Value) {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => writer.text(number, text),
        (Kind::Bytes, Value::String(text)) => {
            writer.bytes(number, &STANDARD.decode(text).unwrap_or_default());
        }
        (Kind::Integer, Value::Number(given)) => {
            let given = given.as_i64().unwrap_or_default();
            writer.integer(number, u64::from_le_bytes(given.to_le_bytes()));
        }
        (Kind::Bool, Value::Bool(given)) => writer.integer(number, u64::from(*given)),
        (Kind::Enum(names), Value::String(name)) => {
            let given = names.get(name).copied().unwrap_or_default();
            writer.integer(number, u64::try_from(given).unwrap_or_default());
        }
        (Kind::Struct, Value::Object(members)) => writer.bytes(number, &object(members)),
        (Kind::Value, value) => writer.bytes(number, &any(value)),
        (Kind::Time, Value::String(text)) => {
            let Ok(Timestamp(milliseconds)) = text.parse() else { return };
            let mut time = Writer::default();
            time.integer(1, milliseconds / 1_000);
            time.integer(2, milliseconds % 1_000 * 1_000_000);
            writer.bytes(number, &time.0);
        }
        (Kind::Message(_), Value::Object(_)) => {
            let mut inner = Writer::default();
            message(&mut inner, kind, value);
            writer.bytes(number, &inner.0);
        }
        _ => {}
    }
}

/// `google.protobuf.Struct`.
fn object(members: &Map<String, Value>) -> Vec<u8> {
    let mut writer = Writer::default();
    for (key, value) in members {
        let mut entry = Writer::default();
        entry.text(1, key);
        entry.bytes(2, &any(value));
        writer.bytes(1, &entry.0);
    }
    writer.0
}

/// `google.protobuf.Value`.
fn any(value: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    match value {
        Value::Null => writer.integer(1, 0),
        Value::Number(number) => writer.double(2, number.as_f64().unwrap_or_default()),
        Value::String(text) => writer.text(3, text),
        Value::Bool(given) => writer.integer(4, u64::from(*given)),
        Value::Object(members) => writer.bytes(5, &object(members)),
        Value::Array(items) => {
            let mut list = Writer::default();
            for item in items {
                list.bytes(1, &any(item));
            }
            writer.bytes(6, &list.0);
        }
    }
    writer.0
}

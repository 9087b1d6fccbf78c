//! Commands, queries and replies as text, for clients.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::answer::own_fields;
use super::operations::operation;
use crate::command::{Command, Query};
use crate::reply::Reply;

/// A command or a query as it is sent, for clients.
pub struct Spoken {
    /// Its name.
    pub name: String,
    /// Its fields as a JSON object.
    pub fields: Vec<u8>,
}

impl Spoken {
    fn of(operation: &impl Serialize) -> Self {
        let text = serde_json::to_vec(operation).expect("commands can be encoded");
        let mut name = Vec::new();
        let fields = own_fields(&text, &mut name);
        // A name with a dot is complete.
        let name = match name[..] {
            [_, whole] if whole.contains('.') => whole.to_owned(),
            _ => name.join("."),
        };
        Self { name, fields: fields.to_vec() }
    }

    /// Encodes it as one flat object, after the fields of an envelope that are there already.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"command\":\"");
        out.extend_from_slice(self.name.as_bytes());
        out.push(b'"');
        if self.fields.len() > 2 {
            out.push(b',');
            out.extend_from_slice(&self.fields[1..self.fields.len() - 1]);
        }
    }
}

impl From<&Command> for Spoken {
    fn from(command: &Command) -> Self {
        Self::of(command)
    }
}

impl From<&Query> for Spoken {
    fn from(query: &Query) -> Self {
        let Query::At(at, query) = query else { return Self::of(query) };
        let Self { name, mut fields } = Self::of(query);
        fields.pop();
        fields.extend_from_slice(if fields.len() > 1 { b",\"at\":" } else { b"\"at\":" });
        serde_json::to_writer(&mut fields, at).expect("moments can be encoded");
        fields.push(b'}');
        Self { name, fields }
    }
}

/// Parses the bare result of an operation, for clients.
pub fn reply(name: &str, result: &[u8]) -> Result<Reply, serde_json::Error> {
    let unknown = || serde::de::Error::custom(format!("there is no operation `{name}`"));
    let operation = operation(name).ok_or_else(unknown)?;
    let primitive = operation.parts().0;
    if result == b"{}" {
        return tagged(&[b"{\"", primitive.as_bytes(), b"\":\"done\"}"]);
    }
    let as_reply = |tag: &str| {
        let (primitive, tag) = (primitive.as_bytes(), tag.as_bytes());
        tagged(&[b"{\"", primitive, b"\":{\"", tag, b"\":", result, b"}}"])
    };
    let usual = as_reply(operation.reply);
    match operation.other_reply {
        Some(other) => usual.or_else(|error| as_reply(other.reply).map_err(|_| error)),
        None => usual,
    }
}

fn tagged<T: DeserializeOwned>(parts: &[&[u8]]) -> Result<T, serde_json::Error> {
    let text = parts.concat();
    let text = std::str::from_utf8(&text).map_err(serde::de::Error::custom)?;
    // From text, as events are read: reading bytes is another copy of the code for every type.
    serde_json::from_str(text)
}
